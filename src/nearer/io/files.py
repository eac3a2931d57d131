"""Files that appear whole or not at all, and archives: arrays and JSON in one file, every byte under a checksum.

Archives
--------
An uncompressed zip archive with a fixed order and no dates, so that the same content gives the same bytes:

- ``header.json`` : format version, what the writer put there, and for every array its name, dtype, shape and SHA-256.
- ``<name>.npy`` : one NumPy array each (version 1.0, little-endian, never pickled).
- The comment of the archive is ``nearer-<kind> sha256:`` and the SHA-256 of all bytes before the comment.

The checksums find damage, not malice: whoever wants to can write a well-formed file. Reading such a file runs nothing
that it contains.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import math
import os
import platform
import re
import secrets
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

import nearer
from nearer.data.errors import FileFormatError
from nearer.data.values import check_bool


def is_pattern(path: str) -> bool:
    """Whether a path stands for files by a pattern such as ``parts/*.parquet``, and is no file itself."""
    return not os.path.exists(path) and any(mark in path for mark in "*?[")


def refuse_irregular(path: str | os.PathLike[str]) -> None:
    """Refuse what is neither a file nor a folder: a pipe could block for ever, a device could be without end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise FileFormatError(f"{os.fspath(path)}: is not a regular file")


def refuse_dangling(path: str | os.PathLike[str]) -> None:
    """Refuse to write to a link that leads nowhere."""
    if os.path.islink(path) and not os.path.exists(path):
        raise FileNotFoundError(f"{os.fspath(path)}: is a link to {os.readlink(path)}, which does not exist")


def refuse_impossible_text(array: np.ndarray) -> None:
    """Refuse text of numbers that no character has, which Python itself cannot take."""
    for name in array.dtype.names or ():
        refuse_impossible_text(array[name])
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise FileFormatError("holds text that is damaged: numbers that no character has")


def refuse_unwritable(path: str | os.PathLike[str], force: bool = False) -> None:
    """Refuse a file that could not be written; one that exists is replaced if `force` says so."""
    check_bool(force, "force")
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a directory, expected the name of a file to write")
    if path.exists() and not force:
        raise FileExistsError(f"{path}: exists already; use force=True to replace it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist")
    refuse_dangling(path)


def check_ending(path: str | os.PathLike[str], endings: Sequence[str]) -> str:
    """Give the ending of a file to write, in small letters; refuse one that would lie about what is in the file."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        what = repr(ending) if ending else "a name without an ending"
        raise ValueError(f"{os.fspath(path)}: got {what}, expected one that can be written: {', '.join(endings)}")
    return ending


_PART = re.compile(r"\..*\.([0-9a-f]{8})-([0-9]+)-[0-9a-f]{12}\.part")


@functools.cache
def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def part_name(path: Path) -> str:
    """A hidden name, all its own, for what will become `path`; it says which process of which machine writes."""
    return f".{path.name[:40]}.{_machine()}-{os.getpid()}-{secrets.token_hex(6)}.part"


@functools.lru_cache(maxsize=64)
def remove_leftovers(folder: Path) -> None:
    """Remove what processes of this machine that were killed have left half-written in a folder; once a process."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _PART.fullmatch(entry.name)
            if found and found[1] == _machine() and not _is_alive(int(found[2])):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # there os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


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
    file object open for writing; a binary one can be read as well.

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
    refuse_unwritable(path, force)
    remove_leftovers(path.parent)
    temporary = path.with_name(part_name(path))
    options = {"mode": "x+b"} if mode == "wb" else {"mode": "x", "encoding": encoding or "utf-8", "newline": ""}
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


# ---- archives ------------------------------------------------------------------------------------------------------

Arrays = dict[str, np.ndarray]

_HEADER = "header.json"
_CHUNK = 1 << 22
_DIGITS = 64  # of a SHA-256


def write_archive(file: IO[bytes], kind: str, version: int, header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays, one array at a time.

    The kind is what the file is, one word, and the version that of the format. The header is JSON, to which "format",
    "written_by" and "arrays" are added; arrays are as `little_endian` gives them.
    """
    header = {"format": version, "written_by": f"nearer {nearer.__version__}", **header, "arrays": {}}
    for name, array in arrays.items():
        digest = hashlib.sha256()
        for part in _npy(array):
            digest.update(part)
        header["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest.hexdigest()}
    text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _seal(kind) + b"0" * _DIGITS
        for name, parts in [(_HEADER, iter([text])), *((f"{name}.npy", _npy(array)) for name, array in arrays.items())]:
            with archive.open(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)
    checksum = _checksum(file, file.tell() - len(archive.comment))
    file.seek(-_DIGITS, os.SEEK_END)
    file.write(checksum)


def read_archive(file: IO[bytes], kind: str, version: int) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays, every byte checked; the version is the newest that is known.

    A FileFormatError says that it is no such file, newer, or damaged; it is to be put after the name of the file.
    """
    seal = _seal(kind)
    length = len(seal) + _DIGITS
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - length, 0))
    found = file.read()
    if not found.startswith(seal):
        file.seek(0)
        start = file.read(256)
        if start.startswith(b"PK\x03\x04") and _HEADER.encode() in start:
            raise FileFormatError("is cut short or damaged: the checksum at its end is missing")
        raise FileFormatError(f"is not a {kind} that nearer saved")
    if _checksum(file, size - length) != found[len(seal) :]:
        raise FileFormatError("is damaged: its bytes do not match the checksum at its end")
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(info.file_size for info in archive.infolist()) > size:
                raise FileFormatError("is not a readable archive (its members lie over each other)")
            return _members(archive, kind, version)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise FileFormatError(f"is not a readable archive ({error})") from error


def as_json(value: Any, arrays: Arrays) -> Any:
    """Turn nested dicts, lists, numbers and texts into JSON; arrays go to `arrays`, under names that stand for them.

    `from_json` turns it back, tuples as lists; every number keeps its bits.
    """
    if isinstance(value, np.ndarray):
        name = f"array_{len(arrays)}"
        arrays[name] = little_endian(value)
        return {"array": name}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}  # JSON has no infinities and no NaN
    if isinstance(value, dict):
        return {"dict": {str(key): as_json(item, arrays) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return [as_json(item, arrays) for item in value]
    return value


def from_json(value: Any, arrays: Arrays) -> Any:
    """Turn back what `as_json` gave."""
    if isinstance(value, list):
        return [from_json(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    return float(content) if kind == "float" else {key: from_json(item, arrays) for key, item in content.items()}


def little_endian(array: np.ndarray) -> np.ndarray:
    """Return an array in C order and little-endian, the same bytes on every machine; objects are taken as text."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "O":
        array = array.astype(str)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _seal(kind: str) -> bytes:
    return f"nearer-{kind} sha256:".encode()


def _checksum(file: IO[bytes], size: int) -> bytes:
    """The SHA-256 of the first bytes of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (part := file.read(min(_CHUNK, size))):
        digest.update(part)
        size -= len(part)
    return digest.hexdigest().encode()


def _members(archive: zipfile.ZipFile, kind: str, newest: int) -> tuple[dict[str, Any], Arrays]:
    names = archive.namelist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
        raise FileFormatError(f"holds compressed members, which a {kind} never does")
    if _HEADER not in names:
        raise FileFormatError(f"has no {_HEADER}")
    header = json.loads(archive.read(_HEADER))
    version = header["format"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileFormatError(f"has format {version!r}, expected a number from 1 to {newest}")
    if version > newest:
        raise FileFormatError(
            f"was written by {header.get('written_by')!s} in format {version}; nearer {nearer.__version__} reads "
            f"formats up to {newest}: a newer version is needed"
        )
    listed = header["arrays"]
    if sorted(names) != sorted([_HEADER, *(f"{name}.npy" for name in listed)]):
        raise FileFormatError("holds other arrays than its header lists")
    return header, {name: _array(name, archive.read(f"{name}.npy"), about) for name, about in listed.items()}


def _npy(array: np.ndarray) -> Iterator[Any]:
    """The array in NumPy's format 1.0, in pieces."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, np.lib.format.header_data_from_array_1_0(array))
    yield buffer.getvalue()
    data = array.reshape(-1).view(np.uint8)
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK].data


def _array(name: str, data: bytes, about: dict[str, Any]) -> np.ndarray:
    """One array, if it is what the header says; nothing is allocated on the word of the file alone."""
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise FileFormatError(f"array {name} is damaged: its bytes do not match its checksum")
    buffer = io.BytesIO(data)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise FileFormatError(f"array {name} is not of NumPy's format 1.0")
    try:
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    except Exception as error:  # it is parsed as Python, which can fail in many ways
        raise FileFormatError(f"array {name} has a header that cannot be read ({error})") from error
    if dtype.kind not in "biufU" or dtype.str != about["dtype"] or list(shape) != about["shape"] or fortran:
        raise FileFormatError(f"array {name} has dtype {dtype} and shape {shape}, not those that the header says")
    rest = memoryview(data)[buffer.tell() :]
    if math.prod(map(int, shape)) * dtype.itemsize != len(rest):
        raise FileFormatError(f"array {name} has {len(rest):,} bytes, not those of shape {shape}")
    array = np.frombuffer(rest, dtype=dtype).reshape(shape).copy()
    refuse_impossible_text(array)
    return array
