"""What commands write: files and folders that appear whole or not at all, positions as CSV."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nearer.cli._say import Say

if TYPE_CHECKING:
    import numpy as np

__all__ = ["OutputFolder", "give_positions", "refuse_existing"]


def refuse_existing(path: str | os.PathLike[str], force: bool) -> Path:
    """Refuse, before any work, a file that could not be written later.

    Parameters
    ----------
    path : path-like
    force : bool
        Whether an existing file may be replaced.

    Returns
    -------
    pathlib.Path
        The file to write.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target}: is a directory, expected the name of a file to write")
    if target.exists() and not force:
        raise FileExistsError(f"{target}: exists already; use --force to replace it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist")
    return target


class OutputFolder:
    """A folder of results. Everything is prepared in a hidden folder, and moved in place at the end.

    Parameters
    ----------
    path : path-like
        May exist; other files in it stay as they are.
    names : sequence of str
        Files that will be written.
    force : bool
        Replace those that exist; without it they are refused at once.
    """

    def __init__(self, path: str | os.PathLike[str], names: Sequence[str], force: bool):
        self.path = Path(os.path.abspath(path))
        self.shown = Path(path)
        self.names = tuple(names)
        self.force = force
        self._temporary: Path | None = None
        self._refuse()
        self._make_temporary().rmdir()  # a folder that cannot be written to is refused before any work

    def _refuse(self) -> None:
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

    def __enter__(self) -> Path:
        """The hidden folder to write to."""
        self._temporary = self._make_temporary()
        return self._temporary

    def _make_temporary(self) -> Path:
        # Inside a folder that exists, which may be a file system of its own; else beside it.
        home = self.path if self.path.is_dir() else self.path.parent
        temporary = home / f".{self.path.name[:40]}.{secrets.token_hex(6)}.part"
        try:
            temporary.mkdir()
        except OSError as error:
            raise OSError(f"{self.shown}: cannot be written to: {error.strerror}") from error
        return temporary

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._temporary is not None
        try:
            if kind is None:
                self._refuse()
                self._move(self._temporary)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _move(self, temporary: Path) -> None:
        if not self.path.exists():
            temporary.rename(self.path)  # all files at once
            return
        for name in self.names:
            os.replace(temporary / name, self.path / name)

    def files(self) -> list[str]:
        """The files as the user would name them."""
        return [str(self.shown / name) for name in self.names]


def give_positions(
    say: Say, positions: np.ndarray, labels: Any, out: str | None, force: bool, values: Mapping[str, Any]
) -> None:
    """Write positions (n, n_components) to a CSV file, or print them as one.

    Parameters
    ----------
    say : Say
    positions : array (n, n_components)
    labels : sequence (n,)
    out : str or None
        File to write; None to print.
    force : bool
        Replace an existing file.
    values : mapping
        What else JSON should say.
    """
    from nearer.io import write_embedding
    from nearer.io.text import text_cells

    table = {"label": [str(label) for label in labels]}
    table |= {f"x{axis + 1}": column.tolist() for axis, column in enumerate(positions.T)}
    text = None
    if out is not None:
        write_embedding(out, positions, table["label"], force=force)
        say.note(f"wrote {out}: {len(positions):,} objects")
    else:
        cells = text_cells(table["label"], "label")
        rows = (",".join([cell, *map(_cell, row)]) for cell, row in zip(cells, positions.tolist()))
        text = "\n".join([",".join(table), *rows])
    say.result({"positions": table, **values}, text, is_data=True)


def _cell(value: float) -> str:
    return "" if value != value else repr(value)
