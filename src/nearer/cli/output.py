"""What commands print (results to standard output, the rest to standard error) and write (whole or not at all)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from nearer.cli.interrupt import held
from nearer.registry import WRITTEN

if TYPE_CHECKING:
    import numpy as np

SUMMARY = "summary.json"
_DECLARING = ("--columns", "--answers", "--where")
# Controls that could move the cursor, colour the terminal or reverse the text; line ends and tabs may stay.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Spell out control characters, so that a label cannot command the terminal."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def can_put_right(error: Exception) -> bool:
    """Whether the user can correct an error, also of a database or a cluster."""
    if isinstance(error, (ValueError, OSError, ImportError, MemoryError)):
        return not isinstance(error, BrokenPipeError)
    return type(error).__module__.startswith(("sqlalchemy.", "nearer.distributed."))


def explain(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return visible(f"{error.filename}: {error.strerror}")
    if type(error).__module__.startswith("sqlalchemy."):
        told = str(getattr(error, "orig", error)).strip().split("\n")[0]
        return visible(f"the database failed: {told}")
    return visible(str(error) or type(error).__name__)


def plain(value: Any) -> Any:
    """Values as JSON has them; what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def json_text(values: Mapping[str, Any]) -> str:
    return json.dumps(plain(values), indent=2, allow_nan=False)


def repeat_command() -> str:
    """The command line as it was given, with --force, ready for a shell."""
    given = click.get_current_context().meta.get("nearer.arguments", [])
    return shlex.join(["nearer", *given, *([] if "--force" in given else ["--force"])])


def command_with(options: str) -> str:
    """The command line as it was given, with other options for the columns of a file."""
    kept: list[str] = []
    given = iter(click.get_current_context().meta.get("nearer.arguments", []))
    for word in given:
        if word in _DECLARING:
            next(given, None)  # its value
        elif word != "--strict" and not word.startswith(tuple(f"{option}=" for option in _DECLARING)):
            kept.append(word)
    return f"{shlex.join(['nearer', *kept])} {options}"


@dataclass(frozen=True)
class Say:
    """What a command prints: results as JSON if asked for; if quiet, only results, warnings and errors."""

    as_json: bool
    quiet: bool

    def note(self, text: str) -> None:
        if not self.quiet:
            click.echo(visible(text), err=True)

    def compiling(self) -> contextlib.AbstractContextManager[None]:
        """Report, during a block, why the first computation on a machine takes longer."""
        from nearer.kernels import while_compiling

        return while_compiling(lambda: self.note("compiling for this machine, once: some seconds"))

    def result(self, values: Mapping[str, Any], text: str | None = None, is_data: bool = False) -> None:
        """Print `values` as JSON, or `text` if any; controls are spelt out, except in data for another program."""
        if self.as_json:
            click.echo(json_text(values))
        elif text is not None:
            click.echo(text if is_data and not sys.stdout.isatty() else visible(text))

    def done(self, values: Mapping[str, Any], told: str) -> None:
        """Print a result whose text is left out if quiet."""
        self.result(values, None if self.quiet else told)


class Command(click.Command):
    """A command that gets a `Say` first, with examples, `more` below them, and --json, --quiet and --debug."""

    def __init__(self, *, examples: Sequence[str], more: str = "", params: list[click.Parameter], **attributes: Any):
        lines = "\n".join(["\b", "Example:", *(f"  {example}" for example in examples)])
        super().__init__(params=[*params, *_SPEAKING], epilog=f"{lines}\n\n{more}".rstrip(), **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        ctx.params["say"] = Say(ctx.params.pop("as_json"), ctx.params.pop("quiet"))
        return super().invoke(ctx)


def speaking(
    *examples: str, more: str = "", group: click.Group | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """Decorator that makes a function a `Command`, of a group perhaps."""
    make: Any = click.command if group is None else group.command
    return make(cls=Command, examples=examples, more=more)


_SPEAKING = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but results, warnings and errors."),
    click.Option(
        ["--debug"], is_flag=True, expose_value=False, is_eager=True, help="Show where errors arise.",
        callback=lambda ctx, _, value: ctx.meta.update({"nearer.debug": value}),
    ),
)  # fmt: skip

# What can be written, by ending; here so that --help does not load the library.
TABLES = (".csv",)
ANSWERS = WRITTEN
POSITIONS = (".csv", ".npz", ".mat")
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")


class OutputFile(click.Path):
    """A file to write, refused before any work if it has another ending, exists without --force, or is given twice."""

    def __init__(self, *endings: str):
        super().__init__()
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from nearer.io.files import check_ending, refuse_unwritable

        path = os.fsdecode(super().convert(value, param, ctx))
        if self.endings:
            check_ending(path, self.endings)
        force = ctx is not None and ctx.params.get("force", False)
        if os.path.isfile(path) and not force:
            raise FileExistsError(f"{path}: exists already; use --force to replace it")
        refuse_unwritable(path, force)
        claim(path, "" if param is None else param.get_error_hint(ctx))
        return path


def claim(path: str | os.PathLike[str], what: str) -> None:
    """Note what a command will write to a file; refuse a file for two things."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        place = os.path.normcase(os.path.realpath(path))
        other = ctx.meta.setdefault("nearer.outputs", {}).setdefault(place, what)
        if other != what:
            raise ValueError(f"{os.fspath(path)}: got the same for {other} and {what}, expected a file for each")


class OutputFolder:
    """A folder of results, prepared in a hidden one and moved into place at the end, unless an error precedes `keep`.

    A new folder appears as a whole. In one that exists, summary.json is removed first and moved last: where it is
    there, the other files belong to it.
    """

    def __init__(self, path: str | os.PathLike[str], names: Sequence[str], force: bool):
        self.path, self.shown = Path(os.path.realpath(path)), Path(path)
        self.names, self.force = tuple(names), force
        self._temporary: Path | None = None
        self._kept = False
        for file in (self.path, *(self.path / name for name in names)):
            claim(file, "the folder of results")
        self._refuse()
        self._make_temporary().rmdir()  # a folder that cannot be written to is refused before any work

    def _refuse(self) -> None:
        from nearer.io.files import refuse_dangling

        refuse_dangling(self.shown)
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.shown}: is a file, expected a folder to write to")
        there = [name for name in self.names if (self.path / name).exists()]
        if there and not self.force:
            raise FileExistsError(f"{self.shown}: holds {', '.join(there)} already; use --force to replace")
        blocked = [name for name in there if (self.path / name).is_dir()]
        if blocked:
            raise IsADirectoryError(f"{self.shown / blocked[0]}: is a directory where a file is to be written")
        if not self.path.exists() and not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.shown}: the folder {self.shown.parent} does not exist")

    def _make_temporary(self) -> Path:
        from nearer.io.files import part_name, remove_leftovers

        home = self.path if self.path.is_dir() else self.path.parent  # on the same file system
        remove_leftovers(home)
        temporary = home / part_name(self.path)
        try:
            temporary.mkdir()
        except OSError as error:
            raise OSError(f"{self.shown}: cannot be written to: {error.strerror}") from error
        return temporary

    def keep(self) -> None:
        """From here on, put what was written in place also after an error (but not after ctrl-C)."""
        self._kept = True

    def __enter__(self) -> Path:
        self._temporary = self._make_temporary()
        return self._temporary

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._temporary is not None
        try:
            if kind is None or (self._kept and issubclass(kind, Exception)):
                self._refuse()
                written = [name for name in self.names if (self._temporary / name).exists()]
                with held():
                    self._move(self._temporary, written)
                if kind is not None:
                    click.echo(f"{self.shown}: kept {', '.join(written)}, written before this failed:", err=True)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _move(self, temporary: Path, written: Sequence[str]) -> None:
        if not self.path.exists():
            temporary.rename(self.path)
            return
        (self.path / SUMMARY).unlink(missing_ok=True)
        for name in sorted(self.names, key=lambda name: name == SUMMARY):  # it comes last
            if name in written:
                os.replace(temporary / name, self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)

    def files(self) -> list[str]:
        return [str(self.shown / name) for name in self.names]


def csv_text(table: Mapping[str, Sequence[Any]], spec: str = "") -> str:
    """A table as CSV: text is guarded and quoted where needed, floats are formatted by `spec`, NaN is empty."""
    from nearer.io.text import text_cells

    def number(value: Any) -> str:
        return "" if value != value else f"{value:{spec}}" if isinstance(value, float) else str(value)

    columns = (
        text_cells(values, name) if any(isinstance(value, str) for value in values) else map(number, values)
        for name, values in table.items()
    )
    return "".join(f"{','.join(row)}\n" for row in [tuple(table), *zip(*columns)])


def write_summary(folder: Path, values: Mapping[str, Any]) -> None:
    (folder / SUMMARY).write_text(json_text(values) + "\n", encoding="utf-8")


def write_text(path: str, text: str, force: bool) -> None:
    """Write a text file, whole or not at all."""
    from nearer.io.files import atomic_write

    with atomic_write(path, force, mode="w") as file:
        file.write(text)


def give_table(say: Say, text: str, out: str | None, force: bool, values: Mapping[str, Any], told: str) -> None:
    """Write a table to a file, or print it; `values` is the result as JSON."""
    if out is not None:
        write_text(out, text, force)
        say.note(f"wrote {out}: {told}")
    say.result(values, None if out is not None else text.rstrip("\n"), is_data=True)


def give_positions(
    say: Say, positions: np.ndarray, labels: Any, out: str | None, force: bool, values: Mapping[str, Any]
) -> None:
    """Write positions (n, n_components) to a file, or print them as CSV; `values` are further entries of the JSON."""
    from nearer.coordinates import write_embedding
    from nearer.data.messages import counted

    table = {"label": [str(label) for label in labels]}
    table |= {f"x{axis + 1}": column.tolist() for axis, column in enumerate(positions.T)}
    if out is not None:
        write_embedding(out, positions, table["label"], force=force)
        say.note(f"wrote {out}: {counted(len(positions), 'object')}")
    say.result({"positions": table, **values}, None if out is not None else csv_text(table).rstrip("\n"), is_data=True)
