"""What commands print and write: results to standard output, the rest to standard error, files as a whole."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from nearer.cli.interrupt import handled_by

SUMMARY = "summary.json"
TABLES = (".csv",)
_DECLARING = ("--columns", "--answers", "--where", "--strict")
# Controls that could move the cursor, colour the terminal or reverse the text; line ends and tabs may stay.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Spell out control characters, so that a label cannot control the terminal."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def json_text(values: Mapping[str, Any]) -> str:
    """Values and arrays as JSON; non-finite numbers become null."""

    text = json.dumps(values, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
    return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2)


def repeat_command() -> str:
    """The command line as it was given, with --force, ready for a shell."""
    given = click.get_current_context().meta.get("nearer.arguments", [])
    return shlex.join(["nearer", *given, *([] if "--force" in given else ["--force"])])


def command_with(options: str) -> str:
    """The command line as it was given, with other options for the columns of a file."""
    given = click.get_current_context().meta.get("nearer.arguments", [])
    values = {at + 1 for at, word in enumerate(given) if word in _DECLARING and word != "--strict"}
    kept = [word for at, word in enumerate(given) if at not in values and word.partition("=")[0] not in _DECLARING]
    return f"{shlex.join(['nearer', *kept])} {options}"


@dataclass(frozen=True)
class Say:
    """What a command prints: results as JSON if asked for; if quiet, only results, warnings and errors."""

    as_json: bool
    quiet: bool
    force: bool = False  # whether files are replaced

    def note(self, text: str) -> None:
        if not self.quiet:
            click.echo(visible(text), err=True)

    def compiling(self) -> contextlib.AbstractContextManager[None]:
        """Report, during a block, why the first computation on a machine takes longer."""
        from nearer.kernels import while_compiling

        return while_compiling(lambda: self.note("compiling for this machine, once: some seconds"))

    def result(self, values: Mapping[str, Any], text: str | None = None) -> None:
        """Print `values` as JSON, or else `text`, its control characters spelled out on a terminal."""
        if self.as_json:
            click.echo(json_text(values))
        elif text is not None:
            click.echo(visible(text) if sys.stdout.isatty() else text)

    def done(self, values: Mapping[str, Any], text: str) -> None:
        """Print a result whose text is left out if quiet."""
        self.result(values, None if self.quiet else text)

    def table(self, table: Mapping[str, Sequence[Any]], values: Mapping[str, Any], out: str | None) -> None:
        """Write a table to a CSV file, or print it; `values` is the result as JSON."""
        from nearer.io.text import csv_text

        text = csv_text(table, ".6g")
        if out is not None:
            self.write(out, text)
        self.result(values, text.rstrip("\n") if out is None else None)

    def positions(self, positions: Any, labels: Any, values: Mapping[str, Any], out: str | None) -> None:
        """Write positions (n, n_components) to a file, or print them as CSV; `values` are further results."""
        from nearer.coordinates import columns_of_map, write_embedding
        from nearer.io.text import csv_text

        table = columns_of_map(positions, [str(label) for label in labels])
        if out is not None:
            write_embedding(out, positions, table["label"], force=self.force)
            self.note(f"wrote {out}")
        self.result({"positions": table, **values}, csv_text(table).rstrip("\n") if out is None else None)

    def picture(self, drawn: Any, path: str, dpi: float = 200) -> None:
        from nearer.plots import save_figure

        save_figure(drawn, path, dpi=dpi, force=self.force)
        self.note(f"wrote {path}")

    def write(self, path: str, text: str) -> None:
        """Write a text file, whole or not at all."""
        from nearer.io.files import atomic_write

        with atomic_write(path, self.force, mode="w") as file:
            file.write(text)
        self.note(f"wrote {path}")


class OutputFile(click.Path):
    """A file to write, refused before any work if it has another ending or exists without --force."""

    def __init__(self, *endings: str):
        super().__init__()
        self.endings = endings

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from nearer.io.files import check_ending, refuse_unwritable

        path = os.fsdecode(super().convert(value, param, ctx))
        check_ending(path, self.endings)
        refuse_unwritable(path, ctx.params.get("force", False))
        return path


class Results:
    """A folder for results called `names`, prepared in a hidden one and moved into place at the end.

    A read-only folder is refused at once. A new folder appears as a whole. In one that exists, summary.json is
    removed first and moved last: where it exists, the other files belong to it.
    """

    def __init__(self, folder: str | os.PathLike[str], names: Sequence[str], force: bool):
        self.folder, self.names, self.force = Path(folder), names, force
        self.wrote = f"wrote {', '.join(str(self.folder / name) for name in names)}"
        self._refuse()
        self._make_temporary().rmdir()  # a folder that cannot be written to is refused before any work

    @contextlib.contextmanager
    def writing(self) -> Iterator[Path]:
        """The folder to write to; after an error, what was written is kept if the summary is there."""
        temporary = self._make_temporary()
        try:
            yield temporary
            self._move(temporary)
        except Exception:
            if (temporary / SUMMARY).exists():
                self._move(temporary)
            raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _refuse(self) -> None:
        from nearer.io.files import refuse_dangling, refuse_unwritable

        refuse_dangling(self.folder)
        there = [name for name in self.names if (self.folder / name).exists()]
        if there and not self.force:
            raise FileExistsError(f"{self.folder}: holds {', '.join(there)} already; use --force to replace")
        for name in there:
            refuse_unwritable(self.folder / name, force=True)

    def _make_temporary(self) -> Path:
        from nearer.io.files import part_name

        home = self.folder if self.folder.exists() else self.folder.parent  # on the same file system
        temporary = home / part_name(self.folder)
        try:
            temporary.mkdir()
        except OSError as error:
            raise OSError(f"{self.folder}: cannot be written to: {error.strerror}") from error
        return temporary

    def _move(self, temporary: Path) -> None:
        self._refuse()
        with handled_by(signal.SIG_IGN):
            if not self.folder.exists():
                temporary.rename(self.folder)
                return
            (self.folder / SUMMARY).unlink(missing_ok=True)
            for name in sorted(self.names, key=lambda name: name == SUMMARY):  # it comes last
                if (temporary / name).exists():
                    os.replace(temporary / name, self.folder / name)
                else:
                    (self.folder / name).unlink(missing_ok=True)


_OUTPUT = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    click.Option(["-q", "--quiet"], is_flag=True, help="Print only results, warnings and errors."),
    click.Option(["--debug"], is_flag=True, expose_value=False, help="Show where errors arise."),
)


class Command(click.Command):
    """A command that gets a `Say` first, with examples, and --json, --quiet and --debug."""

    def __init__(self, *, examples: Sequence[str], params: list[click.Parameter], **attributes: Any):
        lines = "\n".join(["\b", "Example:", *(f"  {example}" for example in examples)])
        super().__init__(params=[*params, *_OUTPUT], epilog=lines, **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        given = ctx.params
        given["say"] = Say(given.pop("as_json"), given.pop("quiet"), given.pop("force", False))
        return super().invoke(ctx)


def command(*examples: str, group: Any = click) -> Callable[[Callable[..., Any]], click.Command]:
    """Decorator that makes a function a `Command`, of `group` if given."""
    return group.command(cls=Command, examples=examples)
