"""One browser for the tests of a file."""

from __future__ import annotations

import pytest

from browser import start_browser
from browser_page import Page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    driver = start_browser(folder / "profile")
    yield Page(driver, folder)
    driver.quit()
