"""Checks of paths, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from nearer.data.messages import FileFormatError, listed
from nearer.data.validate import check_bool


def is_pattern(path: str) -> bool:
    """Whether a path stands for files by a pattern such as ``parts/*.parquet``, and is no file itself."""
    return not os.path.exists(path) and any(mark in path for mark in "*?[")


def refuse_irregular(path: str | os.PathLike[str]) -> None:
    """Refuse what is neither a file nor a folder: a pipe could block for ever, a device could be without end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise FileFormatError(f"{os.fspath(path)}: is not a regular file")


def chosen_sheet(path: str, sheet: str | None, names: Sequence[str], what: str) -> str:
    """The sheet or variable that was asked for, or the only one."""
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet is None or sheet not in names:
        got = f"several {what}" if sheet is None else f"the option `sheet` as {sheet!r}"
        expected = f"the option `sheet` as one of {listed(map(repr, names)) or 'none'}"
        raise FileFormatError(f"{path}: got {got}, expected {expected}")
    return sheet


def refuse_dangling(path: str | os.PathLike[str]) -> None:
    if os.path.islink(path) and not os.path.exists(path):
        raise FileNotFoundError(f"{os.fspath(path)}: is a link to {os.readlink(path)}, which does not exist")


def refuse_impossible_text(array: np.ndarray) -> None:
    """Refuse text with code points beyond Unicode, which Python itself cannot hold."""
    for name in array.dtype.names or ():
        refuse_impossible_text(array[name])
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise FileFormatError("holds damaged text: code points beyond Unicode")


def refuse_unwritable(path: str | os.PathLike[str], force: bool = False) -> None:
    """Refuse a file that could not be written; one that exists is replaced if `force` says so."""
    check_bool(force, "force")
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a directory, expected the name of a file to write")
    if path.exists() and not force:
        raise FileExistsError(f"{path}: exists already; use --force to replace it, force=True in Python")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist")
    refuse_dangling(path)


def check_ending(path: str | os.PathLike[str], endings: Sequence[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        what = repr(ending) if ending else "a name without an ending"
        raise ValueError(f"{os.fspath(path)}: got {what}, expected one that can be written: {', '.join(endings)}")
    return ending


def part_name(path: Path) -> str:
    """A unique hidden name for what will become `path`."""
    return f".{path.name[:40]}.{secrets.token_hex(6)}.part"


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], force: bool = False, *, mode: str = "wb") -> Iterator[IO[Any]]:
    """Write a file next to its final place, then rename it; if the block raises, what was at `path` stays.

    An existing file is refused unless `force` says to replace it. Text ("w") is UTF-8.
    """
    path = Path(path)
    refuse_unwritable(path, force)
    temporary = path.with_name(part_name(path))
    options = {"mode": "x+b"} if mode == "wb" else {"mode": "x", "encoding": "utf-8", "newline": ""}
    try:
        with open(temporary, **options) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            refuse_unwritable(path, force)
            os.chmod(temporary, path.stat().st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
