"""The documentation tells the truth: everything it shows runs, and says what the page says it says."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import sys
from pathlib import Path

import benchmarks.figures
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_spec = importlib.util.spec_from_file_location("docs_pages", DOCS / "pages.py")
pages = importlib.util.module_from_spec(_spec)
sys.modules["docs_pages"] = pages
_spec.loader.exec_module(pages)

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FIGURES = sorted((DOCS / "figures").glob("*.py"))
# A session of the command line or of Python on a page, by the name of the page.
PAGES = {path.relative_to(DOCS).as_posix(): path for path in pages.pages()}


@pytest.mark.parametrize("name", PAGES)
def test_page_runs_and_says_what_it_shows(name, tmp_path):
    text = PAGES[name].read_text(encoding="utf-8")
    for ran in pages.run_page(text, tmp_path):
        assert pages.alike(ran.shown, ran.real), (
            f"docs/{name}, line {ran.line}: shows\n{ran.shown}\nbut says\n{ran.real}\n"
            f"(python docs/pages.py {name} writes what it says)"
        )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example shows something"


def test_there_are_pages_and_examples():
    assert len(PAGES) >= 8
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_every_figure_script_has_its_output_and_is_shown(path):
    if path.name.startswith("_"):
        return
    made = [path.with_suffix(ending) for ending in (".svg", ".png", ".md") if path.with_suffix(ending).exists()]
    assert made, f"{path.name} made nothing"
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    for file in made:
        assert f"figures/{file.name}" in text, f"no page shows {file.name}"
    compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_every_figure_on_a_page_exists_and_has_a_script():
    for page in DOCS.rglob("*.md"):
        for name in re.findall(r"\(((?:\.\./)*figures/[^)]+)\)", page.read_text(encoding="utf-8")):
            file = (page.parent / name).resolve()
            assert file.is_file(), f"{page.name} shows {name}, which is not there"
            # Those of benchmarks are drawn by one script, from their saved results.
            name_of_result = file.stem.removeprefix("benchmark-")
            drawn = name_of_result in benchmarks.figures.FIGURES or file.with_suffix(".py").is_file()
            assert drawn, f"{name} has no script"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        if not name.startswith("figures/"):
            assert name in navigation, f"docs/{name} is not in mkdocs.yml"


def test_runner_reports_a_wrong_output(tmp_path):
    text = "```python\nprint(1 + 1, 'two')\n```\n\n```text\n3 three\n```\n"
    (ran,) = pages.run_page(text, tmp_path)
    assert ran.real == "2 two\n"
    assert not pages.alike(ran.shown, ran.real)
    assert pages.alike("  1,234.5 % of -2.1e-05", "7 % of 3")


def test_runner_reports_a_wrong_exit_code(tmp_path):
    with pytest.raises(RuntimeError, match="exit code 2"):
        list(pages.run_page("```console\n$ nearer check nothing.csv\n```\n", tmp_path))
    (ran,) = pages.run_page("```console\n$ nearer check nothing.csv  # exit code 2\n```\n", tmp_path)
    assert "no such file" in ran.real
    assert os.listdir(tmp_path) == []


def test_no_page_loads_anything_from_the_network():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.html"), *DOCS.rglob("*.css"), *DOCS.rglob("*.svg")]:
        text = page.read_text(encoding="utf-8")
        loads = re.findall(r"(?:src=|!\[[^]]*\]\(|url\(|@import )[\"']?(?:https?:)?//[^\s)\"']+", text)
        assert not loads, f"{page.name} loads {loads}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *(f"docs/{name}" for name in PAGES)])
def test_links_lead_somewhere(name):
    page = ROOT / name
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{name} leads to {target}, which is not there"
        if anchor and file.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            there = {
                re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-") for heading in headings
            }
            assert anchor[1:] in there, f"{name} leads to {target}{anchor}, which is not there"


def test_every_promise_names_tests_that_exist():
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 25
    missing = [
        f"{file}::{test}" for file, test in named if f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []
    promises = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert [line for line in promises if "`tests/" not in line] == []
