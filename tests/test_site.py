"""The documentation site as a reader opens it: from the disk, without a network, in a real Chromium."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from browser import start_browser
from browser_page import Page

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for name in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    if "NEARER_SITE" in os.environ:  # built just now
        return ROOT / os.environ["NEARER_SITE"]
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def page(site, tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser") / "profile")
    yield Page(driver, site)
    driver.quit()


@pytest.mark.parametrize("name", ["index.html", "api/losses.html"])
def test_search_works_from_the_disk(page, name):
    page.visit(page.folder / name)
    page.type(".md-search__input", "noise ceiling")
    page.wait("document.querySelector('.md-search-result__link') !== null")
    found = page.js("return [...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)")
    assert any("conclusions.html" in link for link in found)
    page.assert_clean(n_files=None)


def test_what_is_not_on_the_site_is_not_found(page):
    page.visit(page.folder / "index.html")
    page.type(".md-search__input", "qwertzuiop")
    page.wait("document.querySelector('.md-search-result__meta').textContent.includes('No matching')")


def test_blocks_of_javascript_are_javascript(page):
    page.visit(page.folder / "collecting.html")
    found = page.js("return [...document.querySelectorAll('.language-js code')].map((code) => code.innerText)")
    assert len(found) == 2
    for code in found:
        page.js("new Function(arguments[0])", code)  # parsed, not run: jsPsych is not there


def test_copied_are_the_commands_alone(page):
    page.visit(page.folder / "first-map.html")
    block = page.js("return document.querySelector('.language-console code').innerText")
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    assert 0 < len(commands) < len(block.splitlines())
    page.js(
        "window.copied = null; document.addEventListener('copy', (event) => {"
        "  window.copied = event.clipboardData.getData('text/plain'); });"
    )
    page.driver.find_element(
        "css selector", ".language-console .md-code__button, .language-console .md-clipboard"
    ).click()
    page.wait("window.copied !== null")
    assert page.js("return window.copied").splitlines() == commands
