"""A fitted map in a file: arrays and JSON in a zip archive, no code, every byte under a checksum.

Layout, format 1
----------------
An uncompressed zip archive with a fixed order and no dates, so that the same model gives the same bytes:

- ``header.json`` : format version, class and parameters of the estimator, scalar results, the feature map's
  parameters, and for every array its name, dtype, shape and SHA-256.
- ``<name>.npy`` : one NumPy array each (version 1.0, little-endian, never pickled).
- The comment of the archive is ``nearer-model sha256:`` and the SHA-256 of all bytes before the comment.

The checksums find damage, not malice: whoever wants to can write a well-formed file. Loading such a file runs nothing
that it contains; at worst it gives a wrong map.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

import nearer
from nearer.data.errors import FileFormatError
from nearer.estimator_base import BaseOrdinalEmbedding
from nearer.featuremap import FeatureMap
from nearer.io.files import atomic_write
from nearer.io.modelparts import (
    Arrays,
    decode_estimator,
    decode_feature_map,
    encode_estimator,
    encode_feature_map,
)

__all__ = ["FORMAT", "load", "save_model"]

FORMAT = 1
_HEADER = "header.json"
_SEAL = b"nearer-model sha256:"
_SEAL_LENGTH = len(_SEAL) + 64
_KINDS = ("b", "i", "u", "f", "U")
_CHUNK = 1 << 22


def save_model(
    estimator: BaseOrdinalEmbedding,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    feature_map: FeatureMap | None = None,
    with_comparisons: bool = True,
) -> None:
    """Write a fitted estimator, and optionally a fitted feature map; see `BaseOrdinalEmbedding.save`."""
    if not hasattr(estimator, "embedding_"):
        raise ValueError("save: the estimator is not fitted")
    feature_map = getattr(estimator, "feature_map_", None) if feature_map is None else feature_map
    arrays: Arrays = {}
    header: dict[str, Any] = {
        "format": FORMAT,
        "written_by": f"nearer {nearer.__version__}",
        "estimator": encode_estimator(estimator, arrays, with_comparisons),
        "feature_map": None if feature_map is None else encode_feature_map(feature_map, arrays),
    }
    if estimator.callbacks is not None:
        warnings.warn("save: callbacks cannot be written to a file and are left out", stacklevel=3)
    with atomic_write(path, force) as file:
        _pack(file, header, arrays)


def load(path: str | os.PathLike[str]) -> BaseOrdinalEmbedding:
    """Read a map that `OrdinalEmbedding.save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator
        Of the class that was saved, fitted, ready to score, place and be fitted further. A feature map saved with it
        is its ``feature_map_``.

    Raises
    ------
    ValueError
        The file is not such a file, is from a newer version, or is damaged; the message names the file.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            header, arrays = _unpacked(file)
        estimator = decode_estimator(header["estimator"], arrays)
        if header["feature_map"] is not None:
            estimator.feature_map_ = decode_feature_map(header["feature_map"], arrays)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except OSError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        # The checksums were right, so the file was written wrong: by other hands, or by a version with a fault.
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{path}: does not hold what a model of format {FORMAT} must ({reason})") from error
    return estimator


class _Sealed:
    """Passes bytes on to a file and hashes them, holding back as many of the last as the seal takes."""

    def __init__(self, file: IO[bytes]):
        self.file, self.hash, self.tail = file, hashlib.sha256(), b""

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        ready = max(len(self.tail) + len(view) - _SEAL_LENGTH, 0)
        first, second = self.tail[:ready], view[: max(ready - len(self.tail), 0)]
        self.tail = self.tail[len(first) :] + bytes(view[len(second) :])
        for part in (first, second):
            self.hash.update(part)
            self.file.write(part)
        return len(view)

    def flush(self) -> None:
        self.file.flush()

    def seal(self) -> None:
        """Write the checksum in the place of the bytes held back."""
        self.file.write(_SEAL + self.hash.hexdigest().encode())


def _pack(file: IO[bytes], header: dict[str, Any], arrays: Arrays) -> None:
    """Write the archive, one array at a time."""
    header["arrays"] = {}
    for name, array in arrays.items():
        digest = hashlib.sha256()
        for part in _npy(array):
            digest.update(part)
        about = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest.hexdigest()}
        header["arrays"][name] = about
    text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False).encode()
    sealed = _Sealed(file)
    with zipfile.ZipFile(cast(Any, sealed), "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b"0" * _SEAL_LENGTH
        for name, parts in [(_HEADER, iter([text])), *((f"{name}.npy", _npy(array)) for name, array in arrays.items())]:
            with archive.open(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)
    sealed.seal()


def _unpacked(file: IO[bytes]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays, every byte checked."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _SEAL_LENGTH, 0))
    seal = file.read()
    file.seek(0)
    start = file.read(4)
    if not seal.startswith(_SEAL):
        if start == b"PK\x03\x04" and _HEADER.encode() in file.read(256):
            raise FileFormatError("is cut short or damaged: the checksum at its end is missing")
        raise FileFormatError("is not a model that nearer saved")
    file.seek(0)
    digest, left = hashlib.sha256(), size - _SEAL_LENGTH
    while left > 0 and (part := file.read(min(_CHUNK, left))):
        digest.update(part)
        left -= len(part)
    if digest.hexdigest().encode() != seal[len(_SEAL) :]:
        raise FileFormatError("is damaged: its bytes do not match the checksum at its end")
    try:
        with zipfile.ZipFile(file) as archive:
            return _members(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise FileFormatError(f"is not a readable archive ({error})") from error


def _members(archive: zipfile.ZipFile) -> tuple[dict[str, Any], Arrays]:
    names = archive.namelist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
        raise FileFormatError("holds compressed members, which a model never does")
    if _HEADER not in names:
        raise FileFormatError(f"has no {_HEADER}")
    header = json.loads(archive.read(_HEADER))
    version = header["format"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileFormatError(f"has format {version!r}, expected a number from 1 to {FORMAT}")
    if version > FORMAT:
        raise FileFormatError(
            f"was written by {header.get('written_by')!s} in format {version}; nearer {nearer.__version__} reads "
            f"formats up to {FORMAT}: a newer version is needed"
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
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.kind not in _KINDS or dtype.str != about["dtype"] or list(shape) != about["shape"] or fortran:
        raise FileFormatError(f"array {name} has dtype {dtype} and shape {shape}, not those that the header says")
    rest = memoryview(data)[buffer.tell() :]
    count = 1
    for length in shape:
        count *= int(length)
    if count * dtype.itemsize != len(rest):
        raise FileFormatError(f"array {name} has {len(rest):,} bytes, not those of shape {shape}")
    return np.frombuffer(rest, dtype=dtype).reshape(shape).copy()
