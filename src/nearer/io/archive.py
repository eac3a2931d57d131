"""Arrays and JSON in one file: a zip archive without code, every byte under a checksum.

Layout
------
An uncompressed zip archive with a fixed order and no dates, so that the same content gives the same bytes:

- ``header.json`` : format version, what the writer put there, and for every array its name, dtype, shape and SHA-256.
- ``<name>.npy`` : one NumPy array each (version 1.0, little-endian, never pickled).
- The comment of the archive is ``nearer-<kind> sha256:`` and the SHA-256 of all bytes before the comment.

The checksums find damage, not malice: whoever wants to can write a well-formed file. Reading such a file runs nothing
that it contains.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np

import nearer
from nearer.data.errors import FileFormatError
from nearer.io.files import refuse_impossible_text

__all__ = ["Arrays", "as_json", "from_json", "little_endian", "read_archive", "write_archive"]

Arrays = dict[str, np.ndarray]

_HEADER = "header.json"
_CHUNK = 1 << 22


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
    sealed = _Sealed(file, kind)
    with zipfile.ZipFile(cast(Any, sealed), "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b"0" * sealed.length
        for name, parts in [(_HEADER, iter([text])), *((f"{name}.npy", _npy(array)) for name, array in arrays.items())]:
            with archive.open(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)
    sealed.seal()


def read_archive(file: IO[bytes], kind: str, version: int) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays, every byte checked; the version is the newest that is known.

    A FileFormatError says that it is no such file, newer, or damaged; it is to be put after the name of the file.
    """
    seal = _seal(kind)
    length = len(seal) + 64
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - length, 0))
    found = file.read()
    file.seek(0)
    if not found.startswith(seal):
        start = file.read(256)
        if start.startswith(b"PK\x03\x04") and _HEADER.encode() in start:
            raise FileFormatError("is cut short or damaged: the checksum at its end is missing")
        raise FileFormatError(f"is not a {kind} that nearer saved")
    digest, left = hashlib.sha256(), size - length
    while left > 0 and (part := file.read(min(_CHUNK, left))):
        digest.update(part)
        left -= len(part)
    if digest.hexdigest().encode() != found[len(seal) :]:
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


class _Sealed:
    """Passes bytes on to a file and hashes them, holding back as many of the last as the seal takes."""

    def __init__(self, file: IO[bytes], kind: str):
        self.file, self.hash, self.tail, self.mark = file, hashlib.sha256(), b"", _seal(kind)
        self.length = len(self.mark) + 64

    def write(self, data: Any) -> int:
        held = memoryview(self.tail + data)
        ready = max(len(held) - self.length, 0)
        self.hash.update(held[:ready])
        self.file.write(held[:ready])
        self.tail = bytes(held[ready:])
        return len(data)

    def flush(self) -> None:
        self.file.flush()

    def seal(self) -> None:
        """Write the checksum in the place of the bytes held back."""
        self.file.write(self.mark + self.hash.hexdigest().encode())


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
