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

from nearer import kernels

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_spec = importlib.util.spec_from_file_location("docs_pages", DOCS / "pages.py")
pages = importlib.util.module_from_spec(_spec)
sys.modules["docs_pages"] = pages
_spec.loader.exec_module(pages)

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FIGURES = sorted((DOCS / "figures").glob("*.py"))
# A session of the command line or of Python on a page, by the name of the page.
PAGES = {path.relative_to(ROOT).as_posix(): path for path in pages.pages()}


@pytest.mark.pages
@pytest.mark.parametrize("name", PAGES)
def test_page_runs_and_says_what_it_shows(name, tmp_path):
    try:
        found = pages.complaints(PAGES[name], tmp_path)
    except pages.MissingProgram as error:
        if os.environ.get("NEARER_REQUIRE_INTERPRETERS") == "1":
            raise
        pytest.skip(f"the rest of the page: {error}")
    assert "\n".join(found) == ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example shows something"


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.name)
def test_tables_of_a_page_are_those_of_the_library(path):
    text = path.read_text(encoding="utf-8")
    assert pages.with_tables(text) == text, f"python docs/pages.py {path.name} writes them anew"


def test_every_table_is_on_a_page_about_files():
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in ("formats.md", "layouts.md"))
    for name in pages.TABLES:
        assert f"<!-- begin {name} -->\n| " in text


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
    assert pages.alike("  1,234.5 % of -2.1e-05", "1,180 % of 0.3")  # another machine
    assert not pages.alike("78.7 % of 10", "50.1 % of 10")
    assert not pages.alike("78.7 % of 10", "78.7 % in 10")


def test_runner_leaves_out_that_code_is_compiled(tmp_path, monkeypatch):
    # Every fit needs this kernel, and no disk has it.
    monkeypatch.setattr(kernels, "value_block", kernels._njit(kernels._sources["value_block"]))
    pages._write_answers(tmp_path / "answers.csv")
    fit = "nearer fit answers.csv -o out --cv 0 --n-init 1"
    (ran,) = pages.run_page(f"```console\n$ {fit}\n```\n", tmp_path)
    assert len(kernels.value_block.signatures) == 1
    assert "fitting: " in ran.real
    assert "compiling" not in ran.real


KNOWN = {"python", "console", "text", "sh", "r", "matlab", "js", *pages.FILE_LANGUAGES}


def test_every_block_is_of_a_kind_that_is_run():
    """A block without a language, or in one that nobody runs, would be a promise that nobody keeps."""
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for block in pages.blocks(path.read_text(encoding="utf-8")):
            assert block.language in KNOWN, f"{path.name}: a block of the kind {block.language!r}: {block.text[:60]}"
            assert block.language not in pages.FILE_LANGUAGES or block.title, f"{path.name}: {block.text[:60]}"


def test_output_without_its_command_is_shown_nowhere():
    for path in PAGES.values():
        before = ""
        for block in pages.blocks(path.read_text(encoding="utf-8")):
            if block.language == "text":
                assert before in ("python", "r", "matlab"), f"{path.name}: {block.text[:60]}"
                assert not block.after.strip(), f"{path.name}: {block.text[:60]} does not follow what prints it"
            before = block.language


def test_runner_refuses_what_a_shell_could_not_do(tmp_path):
    for line, told in (
        ("make breakfast", "no such target"), ("pip install '.[breakfast]'", "no such extra"), ("brew tea", "expected"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=told):
            list(pages.run_page(f"```sh\n{line}\n```\n", tmp_path))


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


@pytest.mark.parametrize(
    "name", [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))]
)
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
    named = re.compile(r"`((?:\w+|\.ci)/[\w./]+)`")
    assert [name for name in named.findall(text) if not (ROOT / name).is_file()] == []
    promises = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert promises
    assert [line for line in promises if not named.search(line)] == []
