"""One browser for the tests of a file; no page may write to its console, or ask for anything from a network."""

from __future__ import annotations

import pytest

from browser import start_browser
from browser_page import Page


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    driver = start_browser(folder / "profile")
    yield Page(driver, folder)
    driver.quit()


@pytest.fixture
def page(browser):
    yield browser
    browser.assert_clean()
