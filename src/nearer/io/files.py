"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from nearer.data.errors import FileFormatError


def refuse_irregular(path: str | os.PathLike[str]) -> None:
    """Refuse what is neither a file nor a folder: a pipe could block for ever, a device could be without end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise FileFormatError(f"{os.fspath(path)}: is not a regular file")


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], force: bool = False, *, mode: str = "wb", encoding: str | None = None
) -> Iterator[IO[Any]]:
    """Write a file beside its final place, then rename it into place.

    If the block raises, the temporary file is removed and whatever was at `path` stays as it was.

    Parameters
    ----------
    path : path-like
        The file to write. Its folder must exist.
    force : bool, default=False
        Replace an existing file. Without it an existing file is refused before anything is written.
    mode : {"wb", "w"}
        Binary or text.
    encoding : str, optional
        Of text; UTF-8 by default.

    Yields
    ------
    file object open for writing.

    Raises
    ------
    FileExistsError
        `path` exists and `force` is False.
    IsADirectoryError, FileNotFoundError
        `path` is a directory, or its folder does not exist.
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode must be 'wb' or 'w', got {mode!r}")
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a directory, expected the name of a file to write")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist")
    _refuse_existing(path, force)
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.part")
    options = {"mode": "xb"} if mode == "wb" else {"mode": "x", "encoding": encoding or "utf-8", "newline": ""}
    try:
        with open(temporary, **options) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            _refuse_existing(path, force)
            os.chmod(temporary, path.stat().st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _refuse_existing(path: Path, force: bool) -> None:
    if not force and path.exists():
        raise FileExistsError(f"{path}: exists already; pass force=True to replace it")
