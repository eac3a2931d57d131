"""Run what the documentation shows, page by page, and write the real output back with ``python docs/pages.py``.

In a page, in order and in one empty folder:

- a fenced block with ``title="name"`` in a data language is written to that file;
- a ``python`` block is run, in one namespace for the page; a ``text`` block right after it is what it prints;
- in a ``console`` block, lines that begin with ``$ nearer`` or ``$ head`` are run, the lines after them are what they
  say. A command that is meant to fail ends with ``# exit code 2``.

Give names of pages to run only those.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
FILE_LANGUAGES = ("csv", "tsv", "json", "jsonl", "toml")
NOT_RUN = ("cluster.md",)  # its programs need machines
_FENCE = re.compile(r"^( *)```+ *(\w*)([^\n]*)\n(.*?)^\1```+ *$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_EXIT_CODE = re.compile(r"# exit code (\d+)\s*$")
_NUMBER = re.compile(r"[-+]?(\d[\d,]*(\.\d*)?(e[-+]?\d+)?|\binf\b|\bnan\b)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, title and text, and where its text stands in the page."""

    language: str
    title: str
    text: str
    start: int
    end: int
    indent: str
    after: str


@dataclass(frozen=True)
class Ran:
    """What a block says on the page, what it says when run, and the place of that in the page."""

    line: int
    shown: str
    real: str
    start: int
    end: int
    indent: str


def pages() -> list[Path]:
    """All pages that hold something to run."""
    paths = [path for path in sorted(DOCS.rglob("*.md")) if path.name not in NOT_RUN]
    return [path for path in paths if any(is_run(block) for block in blocks(path.read_text(encoding="utf-8")))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page; `after` is the text between a block and the one before it."""
    found, before = [], 0
    for match in _FENCE.finditer(text):
        title = _TITLE.search(match[3])
        indent = match[1]
        body = "".join(line.removeprefix(indent) for line in match[4].splitlines(keepends=True))
        gap = text[before : match.start()]
        found.append(Block(match[2], title[1] if title else "", body, match.start(4), match.end(4), indent, gap))
        before = match.end()
    return found


def is_run(block: Block) -> bool:
    return block.language in ("python", "console")


def run_page(text: str, folder: Path) -> Iterator[Ran]:
    """Run a page in a folder, block by block."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(text):
        line = text.count("\n", 0, block.start)
        if block.language == "text" and printed is not None and not block.after.strip():
            yield Ran(line, block.text, printed, block.start, block.end, block.indent)
        printed = None
        if block.title and block.language in FILE_LANGUAGES:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            with _inside(folder), contextlib.redirect_stdout(io.StringIO()) as out:
                # Padded, so that errors name the line of the page.
                exec(compile("\n" * line + block.text, "page", "exec"), namespace)
            printed = out.getvalue()
        elif block.language == "console":
            with _inside(folder):
                real = "".join(_command(command) for command in _commands(block.text))
            yield Ran(line, block.text, real, block.start, block.end, block.indent)


def alike(shown: str, real: str) -> bool:
    """Whether two outputs say the same, whatever the numbers: these differ a little between machines."""
    return _letters(shown) == _letters(real)


def _letters(text: str) -> str:
    return "".join(_NUMBER.sub("0", text).split())


def _commands(text: str) -> list[str]:
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def _command(line: str) -> str:
    """Run one command; returns the line and all it says."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "head":
        count, name = int(arguments[0].lstrip("-")), arguments[1]
        said = "".join(Path(name).read_text(encoding="utf-8").splitlines(keepends=True)[:count])
    elif program == "nearer":
        from click.testing import CliRunner

        from nearer.cli import cli

        result = CliRunner().invoke(cli, arguments, prog_name="nearer", terminal_width=100)
        expected = _EXIT_CODE.search(line)
        if result.exit_code != (int(expected[1]) if expected else 0):
            raise RuntimeError(f"{line}: exit code {result.exit_code}\n{result.output}") from result.exception
        said = result.output
    else:
        raise RuntimeError(f"{line}: only nearer and head can be run")
    return f"$ {line}\n" + "".join(f"{row}\n" for row in said.rstrip().splitlines())


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def refresh(path: Path) -> int:
    """Run a page and write the real outputs into it; returns how many changed."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        ran = list(run_page(text, Path(folder)))
    changed = 0
    for item in reversed(ran):
        new = "".join(f"{item.indent}{row}".rstrip() + "\n" for row in item.real.splitlines())
        changed += new != text[item.start : item.end]
        text = text[: item.start] + new + text[item.end :]
    path.write_text(text, encoding="utf-8")
    return changed


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for page in pages():
        name = page.relative_to(DOCS).as_posix()
        if not wanted or name in wanted or page.stem in wanted:
            sys.stdout.write(f"{name}: {refresh(page)} changed\n")
