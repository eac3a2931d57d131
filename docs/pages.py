"""Run what the documentation shows, page by page, and write the real output back with ``python docs/pages.py``.

In a page, in order and in one empty folder:

- a fenced block with ``title="name"`` in a data language is written to that file; ``<!-- votes.csv is data.csv -->``
  copies data.csv from the folder that NEARER_DATA names. Without that folder, blocks that mention the file by its name
  without the ending are left out;
- between ``<!-- begin kinds -->`` and ``<!-- end kinds -->``, and likewise for the other `TABLES`, is a table that is
  made from what the library knows;
- a ``python`` block is run, in one namespace for the page, unless it needs machines (`NEEDS_MACHINES`): then it is
  compiled; a ``text`` block right after it is what it prints;
- in a ``console`` block, lines that begin with ``$ nearer`` or ``$ head`` are run, the lines after them are what they
  say. A command that is meant to fail ends with ``# exit code 2``;
- ``r`` and ``matlab`` blocks are run by Rscript and octave-cli where these are installed;
- in an ``sh`` block, lines that begin with ``nearer`` are run, with answers about European cities as answers.csv unless
  the page made one; targets of make and extras of pip must exist, and other programs must be known (`OTHER_PROGRAMS`):
  what they do takes long, or machines.

``js`` blocks are parsed in a browser by tests/test_site.py. Give names of pages to run only those, and ``--check`` to
compare without writing.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

DOCS = Path(__file__).resolve().parent
FILE_LANGUAGES = ("csv", "tsv", "json", "jsonl", "toml")
NEEDS_MACHINES = ("head-node", "dask_jobqueue", "dask_kubernetes")
INTERPRETERS = {"r": ("Rscript", "-e"), "matlab": ("octave-cli", "--quiet", "--eval")}
# Octave has nothing to draw with until it is told so, where there is no screen.
PREAMBLES = {"matlab": "graphics_toolkit('gnuplot'); figure('visible', 'off');\n"}
OTHER_PROGRAMS = (
    "python -m experiments", "nearer collect serve", "python -m benchmarks.regression", "python -m benchmarks.human",
    "uv tool install .", "pipx install .", "python3 -m venv", "py -m venv", "source .venv", r".venv\Scripts\activate",
    "python -m pip install .", "dask scheduler", "dask worker", "_NEARER_COMPLETE=",
)  # fmt: skip
_FENCE = re.compile(r"^( *)```+ *(\w*)([^\n]*)\n(.*?)^\1```+ *$", re.MULTILINE | re.DOTALL)
_DATA = re.compile(r"<!-- (\S+) is (\S+) -->")
_TITLE = re.compile(r'title="([^"]+)"')
_EXIT_CODE = re.compile(r"# exit code (\d+)\s*$")
_NUMBER = re.compile(r"[-+]?(\d[\d,]*(\.\d*)?(e[-+]?\d+)?|\binf\b|\bnan\b)")


class MissingProgram(RuntimeError):
    """A block needs a program that is not installed here."""


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
    paths = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
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
    return block.language in ("python", "console", "sh", *INTERPRETERS)


def run_page(text: str, folder: Path) -> Iterator[Ran]:
    """Run a page in a folder, block by block."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    data, without = os.environ.get("NEARER_DATA"), []
    for name, source in _DATA.findall(text):
        if data:
            shutil.copyfile(Path(data) / source, folder / name)
        else:
            without.append(Path(name).stem)
    for block in blocks(text):
        if any(stem in block.text or stem in block.title for stem in without):
            continue
        line = text.count("\n", 0, block.start)
        own = folder / "answers.csv"
        if block.language == "sh" and " answers.csv" in block.text and not own.exists():
            _write_answers(own)
        if block.language == "text" and printed is not None and not block.after.strip():
            yield Ran(line, block.text, printed, block.start, block.end, block.indent)
        printed = None
        if block.title and block.language in FILE_LANGUAGES:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            # Padded, so that errors name the line of the page.
            code = compile("\n" * line + block.text, "page", "exec")
            if any(word in block.text for word in NEEDS_MACHINES):
                continue
            with _inside(folder), contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)
            printed = out.getvalue()
        elif block.language in INTERPRETERS:
            program, *options = INTERPRETERS[block.language]
            if not shutil.which(program):
                raise MissingProgram(f"line {line}: {program} is not installed")
            printed = _run([program, *options, PREAMBLES.get(block.language, "") + block.text], folder)
        elif block.language == "sh":
            with _inside(folder):
                for command in filter(None, block.text.splitlines()):
                    _shell(command)
        elif block.language == "console":
            with _inside(folder):
                real = "".join(_command(command) for command in _commands(block.text))
            yield Ran(line, block.text, real, block.start, block.end, block.indent)


def alike(shown: str, real: str) -> bool:
    """Whether two outputs say the same: the words to the letter, the numbers about, as they differ between machines."""
    return _letters(shown) == _letters(real) and all(map(_about, _numbers(shown), _numbers(real)))


def _numbers(text: str) -> list[float]:
    return [float(match[0].replace(",", "")) for match in _NUMBER.finditer(text)]


def _about(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= 2 + 0.2 * max(abs(one), abs(other)) or one != one


def _letters(text: str) -> str:
    return "".join(_NUMBER.sub("0", text).split())


def _write_answers(path: Path) -> None:
    from nearer import Comparisons
    from nearer.datasets import load_eurodist
    from nearer.io import write_comparisons

    cities = load_eurodist()
    answers = Comparisons.from_distances(cities.distances, 1500, labels=cities.names, random_state=0)
    people = [f"p{row % 10}" for row in range(len(answers))]
    write_comparisons(path, Comparisons(answers.index, labels=cities.names, participants=people))


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _shell(command: str) -> None:
    """Run a line that is meant for a shell if it is of nearer; else see that it can be right."""
    words = shlex.split(command, comments=True)
    if words[0] == "nearer" and not command.startswith(OTHER_PROGRAMS):
        _command(command.partition(">>")[0])
    elif words[0] == "make":
        targets = (DOCS.parent / "Makefile").read_text(encoding="utf-8")
        if not re.search(rf"^{words[1]}:", targets, re.MULTILINE):
            raise RuntimeError(f"{command}: there is no such target")
    elif extra := re.search(r"pip install '[^']*\[(\w+)\]'", command):
        if f"\n{extra[1]} = [" not in (DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"):
            raise RuntimeError(f"{command}: there is no such extra")
    elif not command.startswith(OTHER_PROGRAMS):
        raise RuntimeError(f"{command}: expected nearer, make, or one of {', '.join(OTHER_PROGRAMS)}")


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

        from nearer.cli.app import cli
        from nearer.cli.output import Say
        from nearer.kernels import while_compiling

        # That code is compiled is said once on a machine, which need not be this one.
        with mock.patch.object(Say, "compiling"), while_compiling(lambda: None):
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


# ---- tables made from what the library knows -----------------------------------------------------------------------

HOLDS = {
    "anchor": "the object asked about", "near": "the nearer option", "far": "the farther option",
    "a": "the first option", "b": "the second option", "c": "the third option",
    "answer": "the nearer option",
    "odd": "the odd one", "central": "the most central one",
    "participant": "who answered", "weight": "0 or more",
    "seconds": "response time", "milliseconds": "response time", "order": "number of the trial",
    "side": "of the chosen option: left, right, first, second, third",
    "catch": "attention check: yes or no", "correct": "yes or no",
    "chosen_by": "how the question was chosen",
}  # fmt: skip


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _markdown(*rows: Sequence[str]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def kinds_table() -> str:
    """What a row may be, by its columns."""
    from nearer import registry
    from nearer.tables.layout import FORMS

    written: dict[str, list[str]] = {}
    for kind in registry.KINDS:
        said: dict[tuple[str, ...], list[str]] = {}
        for form in FORMS:
            if form.kind == kind and not form.declared:
                said.setdefault(form.objects, []).append(_code(form.said))
        written[kind] = [
            _code(objects) + (f" with {' or '.join(answers)}" if any(answers) else "")
            for objects, answers in said.items()
        ]
    written["rankings"] = [f"{_code(('anchor', 'rank_1', 'rank_2'))}, ...; optional {_code(('n_chosen', 'ordered'))}"]
    return _markdown(
        ("kind", "a row is", "columns"),
        *((kind, entry.help, "; ".join(written[kind])) for kind, entry in registry.KINDS.items()),
    )


def names_table() -> str:
    """All names of columns that are known without a declaration."""
    from nearer.tables.layout import OPTIONAL
    from nearer.tables.resolve import known

    others = known()["names"]
    roles = dict.fromkeys((*(role for role in others if role not in OPTIONAL), *OPTIONAL))
    return _markdown(
        ("column", "other names", "holds"),
        *((f"`{role}`", _code(others.get(role, ())), HOLDS[role]) for role in roles),
    )


def programs_table() -> str:
    """Programs whose files are recognised, and what they fix."""
    from nearer.tables.resolve import known

    rows = [(", ".join(dict.fromkeys(one["name"].split()[0] for one in known()["program"])), "all columns")]
    for dialect in known()["dialect"]:
        fixed = [f"{role} is `{column}`" for role, column in dialect["columns"].items()]
        if prefixes := dialect.get("prefixes"):
            fixed.append(f"{_code(map(str.strip, prefixes))} before a name is ignored")
        if missing := dialect.get("missing"):
            fixed.append(f"{_code(missing)} is missing")
        if skipped := dialect.get("skip_rows"):
            fixed.append(f"{skipped} rows below the header are skipped")
        rows.append((dialect["name"], "; ".join(fixed)))
    return _markdown(("program", "fixes"), *rows)


def formats_table() -> str:
    """Formats of files, and the options of the command line that concern them."""
    from nearer.registry import FORMATS

    rows = []
    for entry in FORMATS.values():
        taken = inspect.signature(entry.load()).parameters
        options = [f"--{option}" for option in ("sheet", "encoding", "delimiter") if option in taken]
        rows.append((entry.help, f"`{' '.join(entry.endings)}`", _code(options)))
    return _markdown(("format", "endings", "options"), *rows)


TABLES = {"kinds": kinds_table, "names": names_table, "programs": programs_table, "formats": formats_table}


def with_tables(text: str) -> str:
    """A page with its tables made anew."""
    for name, made in TABLES.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            text = f"{before}{begin}{made()}\n{end}{rest.partition(end)[2]}"
    return text


def complaints(path: Path, folder: Path) -> list[str]:
    """Run a page in a folder; what it says otherwise than the page shows."""
    found = []
    try:
        for ran in run_page(path.read_text(encoding="utf-8"), folder):
            if not alike(ran.shown, ran.real):
                found.append(
                    f"{path.name}, line {ran.line}: shows\n{ran.shown}\nbut says\n{ran.real}\n"
                    f"(python docs/pages.py {path.name} writes what it says)"
                )
    except MissingProgram:
        if not found:
            raise
    return found


def refresh(path: Path) -> int:
    """Run a page and write the real outputs and tables into it; returns how many outputs changed."""
    text = with_tables(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        ran = []
        with contextlib.suppress(MissingProgram):
            ran.extend(run_page(text, Path(folder)))
    changed = 0
    for item in reversed(ran):
        new = "".join(f"{item.indent}{row}".rstrip() + "\n" for row in item.real.splitlines())
        changed += new != text[item.start : item.end]
        text = text[: item.start] + new + text[item.end :]
    path.write_text(text, encoding="utf-8")
    return changed


if __name__ == "__main__":
    wanted = [name for name in sys.argv[1:] if name != "--check"]
    failed = 0
    for page in pages():
        if wanted and page.name not in wanted and page.stem not in wanted:
            continue
        if "--check" in sys.argv:
            with tempfile.TemporaryDirectory() as place:
                found = complaints(page, Path(place))
            failed += len(found)
            sys.stdout.write(f"{page.name}: {len(found)} complaints\n" + "\n".join(found))
        else:
            sys.stdout.write(f"{page.name}: {refresh(page)} changed\n")
    sys.exit(failed > 0)
