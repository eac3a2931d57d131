"""The files and folders that commands write, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from nearer.cli.interrupt import held
from nearer.cli.output import Say, json_text

if TYPE_CHECKING:
    import numpy as np

SUMMARY = "summary.json"
TABLES = (".csv",)


class OutputFile(click.Path):
    """A file to write, refused before any work if it has another ending, exists without --force, or is given twice."""

    def __init__(self, *endings: str):
        super().__init__()
        self.endings = endings

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from nearer.io.files import check_ending, refuse_unwritable

        path = os.fsdecode(super().convert(value, param, ctx))
        if self.endings:
            check_ending(path, self.endings)
        force = ctx.params.get("force", False)
        if os.path.isfile(path) and not force:
            raise FileExistsError(f"{path}: exists already; use --force to replace it")
        refuse_unwritable(path, force)
        claim(path, param.get_error_hint(ctx))
        return path


class OutputFolder(click.Path):
    """A folder for the results called `names`, refused before any work like an `OutputFile`."""

    def __init__(self, *names: str):
        super().__init__()
        self.names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        folder = Path(os.fsdecode(super().convert(value, param, ctx)))
        for file in (folder, *(folder / name for name in self.names)):
            claim(file, "the folder of results")
        return Results(folder, self.names, ctx.params.get("force", False))


def claim(path: str | os.PathLike[str], what: str) -> None:
    """Note what a command will write to a file; refuse a file for two things."""
    place = os.path.normcase(os.path.realpath(path))
    claimed = click.get_current_context().meta.setdefault("nearer.outputs", {})
    other = claimed.setdefault(place, what)
    if other != what:
        raise ValueError(f"{os.fspath(path)}: got the same for {other} and {what}, expected a file for each")


class Results:
    """A folder of results, prepared in a hidden one and moved into place at the end, unless an error precedes `keep`.

    A new folder appears as a whole. In one that exists, summary.json is removed first and moved last: where it is
    there, the other files belong to it.
    """

    def __init__(self, path: Path, names: Sequence[str], force: bool):
        self.path, self.shown = Path(os.path.realpath(path)), path
        self.names, self.force = names, force
        self._kept = False
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
            raise IsADirectoryError(f"{self.shown / blocked[0]}: is a directory, but a file must be written there")
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
        try:
            if kind is None or (self._kept and issubclass(kind, Exception)):
                self._refuse()
                written = [name for name in self.names if (self._temporary / name).exists()]
                with held():
                    self._move(written)
                if kind is not None:
                    click.echo(f"{self.shown}: kept {', '.join(written)}, written before this failed:", err=True)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _move(self, written: Sequence[str]) -> None:
        if not self.path.exists():
            self._temporary.rename(self.path)
            return
        (self.path / SUMMARY).unlink(missing_ok=True)
        for name in sorted(self.names, key=lambda name: name == SUMMARY):  # it comes last
            if name in written:
                os.replace(self._temporary / name, self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)

    def files(self) -> list[str]:
        return [str(self.shown / name) for name in self.names]


def write_summary(folder: Path, values: Mapping[str, Any]) -> None:
    (folder / SUMMARY).write_text(json_text(values) + "\n", encoding="utf-8")


def write_text(path: str, text: str, force: bool) -> None:
    """Write a text file, whole or not at all."""
    from nearer.io.files import atomic_write

    with atomic_write(path, force, mode="w") as file:
        file.write(text)


def write_picture(say: Say, axes: Any, path: str) -> None:
    from nearer.plots import save_figure

    save_figure(axes, path, force=say.force)
    say.note(f"wrote {path}")


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


def give_table(
    say: Say, table: Mapping[str, Sequence[Any]], out: str | None, values: Mapping[str, Any], about: str
) -> None:
    """Write a table to a CSV file, or print it; `values` is the result as JSON."""
    text = csv_text(table, ".6g")
    if out is not None:
        write_text(out, text, say.force)
        say.note(f"wrote {out}: {about}")
    say.result(values, None if out is not None else text.rstrip("\n"), is_data=True)


def give_positions(say: Say, positions: np.ndarray, labels: Any, out: str | None, values: Mapping[str, Any]) -> None:
    """Write positions (n, n_components) to a file, or print them as CSV; `values` are further entries of the JSON."""
    from nearer.coordinates import write_embedding
    from nearer.data.messages import counted

    table = {"label": [str(label) for label in labels]}
    table |= {f"x{axis + 1}": column.tolist() for axis, column in enumerate(positions.T)}
    if out is not None:
        write_embedding(out, positions, table["label"], force=say.force)
        say.note(f"wrote {out}: {counted(len(positions), 'object')}")
    say.result({"positions": table, **values}, None if out is not None else csv_text(table).rstrip("\n"), is_data=True)
