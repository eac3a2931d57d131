"""Archives for saved models and checkpoints: arrays and JSON in one file, every byte under a checksum.

An uncompressed zip archive with a fixed order and no dates, so that the same content gives the same bytes:

- ``header.json`` : format version, what the writer put there, and for every array its name, dtype, shape and SHA-256.
- ``<name>.npy`` : one NumPy array each (version 1.0, little-endian, never pickled).
- The comment of the archive is ``nearer-<kind> sha256:`` and the SHA-256 of all bytes before the comment.

The checksums detect damage, not malice; reading a file runs nothing that it contains, and takes memory for the
bytes that are there, not for the lengths and shapes that it states.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

import nearer
from nearer.data import FileFormatError
from nearer.io.files import refuse_impossible_text

Arrays = dict[str, np.ndarray]

_HEADER = "header.json"
_CHUNK = 1 << 22
_DIGITS = 64  # of a SHA-256


def write_archive(file: IO[bytes], kind: str, version: int, header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays; `kind` is one word, arrays are as `little_endian` gives them."""
    header = {"format": version, "written_by": f"nearer {nearer.__version__}", **header, "arrays": {}}
    for name, array in arrays.items():
        digest = hashlib.sha256()
        _write_npy(SimpleNamespace(write=digest.update), array)
        header["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest.hexdigest()}
    text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _seal(kind) + b"0" * _DIGITS
        with _member(archive, _HEADER) as member:
            member.write(text)
        for name, array in arrays.items():
            with _member(archive, f"{name}.npy") as member:
                _write_npy(member, array)
    checksum = _checksum(file, file.tell() - len(archive.comment))
    file.seek(-_DIGITS, os.SEEK_END)
    file.write(checksum)


def read_archive(file: IO[bytes], kind: str, version: int) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays, every byte checked; `version` is the newest known. Errors do not name the file."""
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
            held = archive.infolist()
            if any(one.compress_type != zipfile.ZIP_STORED for one in held):
                raise FileFormatError("is not a readable archive (its members are compressed)")
            if sum(one.file_size for one in held) > size:
                raise FileFormatError("is not a readable archive (its members overlap)")
            return _members(archive, version, size)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, KeyError) as error:
        raise FileFormatError(f"is not a readable archive ({error})") from error


def as_json(value: Any, arrays: Arrays, part: Callable[[Any], Any] | None = None) -> Any:
    """Nested dicts, lists, numbers and texts as JSON, exactly; arrays go to `arrays`. `from_json` undoes it.

    `part` encodes any other value as an object with one key, or decodes one, given the key and its content.
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
        return {"dict": {str(key): as_json(item, arrays, part) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return [as_json(item, arrays, part) for item in value]
    return value if part is None or value is None or isinstance(value, (bool, int, float, str)) else part(value)


def from_json(value: Any, arrays: Arrays, part: Callable[[str, Any], Any] | None = None) -> Any:
    if isinstance(value, list):
        return [from_json(item, arrays, part) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if part is not None and kind != "dict":
        return part(kind, content)
    return {key: from_json(item, arrays, part) for key, item in content.items()}


def little_endian(array: np.ndarray) -> np.ndarray:
    """An array in C order and little-endian, the same bytes on every machine; objects become text."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "O":
        array = array.astype(str)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _seal(kind: str) -> bytes:
    return f"nearer-{kind} sha256:".encode()


def _checksum(file: IO[bytes], size: int) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (part := file.read(min(_CHUNK, size))):
        digest.update(part)
        size -= len(part)
    return digest.hexdigest().encode()


def _members(archive: zipfile.ZipFile, newest: int, size: int) -> tuple[dict[str, Any], Arrays]:
    header = json.loads(archive.read(_HEADER))
    version = header["format"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileFormatError(f"has format {version!r}, expected a number from 1 to {newest}")
    if version > newest:
        writer = f"was written by {header.get('written_by')!s} in format {version}"
        raise FileFormatError(f"{writer}; nearer {nearer.__version__} reads formats up to {newest}: update it")
    listed = header["arrays"]
    if sorted(archive.namelist()) != sorted([_HEADER, *(f"{name}.npy" for name in listed)]):
        raise FileFormatError("does not hold the arrays that its header lists")
    return header, {name: _array(name, archive.read(f"{name}.npy"), about, size) for name, about in listed.items()}


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True)


def _write_npy(file: Any, array: np.ndarray) -> None:
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


def _array(name: str, data: bytes, about: dict[str, Any], size: int) -> np.ndarray:
    """One array, if it is as the header says, in an archive of `size` bytes."""
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise FileFormatError(f"array {name} is damaged: its bytes do not match its checksum")
    try:
        shape, dtype, start = _read_npy_header(data)
    except Exception as error:  # the header is parsed as Python, which can fail in many ways
        raise FileFormatError(f"array {name} cannot be read ({error})") from error
    if dtype.kind not in "biufU" or dtype.str != about["dtype"] or list(shape) != about["shape"]:
        raise FileFormatError(f"array {name} has dtype {dtype}, shape {shape}, not as in the header")
    n_bytes = math.prod(shape) * dtype.itemsize
    # A shape could state any number of rows that take no bytes.
    rows = math.prod(max(length, 1) for length in shape)
    if min(shape, default=0) < 0 or n_bytes != len(data) - start or not dtype.itemsize or rows > size:
        found = f"{len(data) - start:,} bytes"
        raise FileFormatError(f"array {name} cannot be read (dtype {dtype}, shape {shape} do not match its {found})")
    array = np.frombuffer(data, dtype, offset=start).reshape(shape).copy()
    refuse_impossible_text(array)
    return array


def _read_npy_header(data: bytes) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape and dtype of an array, and where its bytes start; nothing is allocated for it."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("not in version 1.0 of the format")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if is_fortran:
        raise ValueError("not in C order")
    return shape, dtype, file.tell()
