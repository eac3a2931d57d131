"""Parquet (a file, a folder, a pattern) and NumPy files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import open_arrays, open_matrix
from .columns import Column, MemorySource, Source, column_from_arrow
from .errors import FileFormatError, listed

META_KEY = b"nearer"


@dataclass
class ParquetSource(Source):
    """One or more Parquet files with the same columns, read one after the other."""

    files: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def read(self, positions: Sequence[int]) -> list[Column]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [self.names[position] for position in positions]
        parts = []
        for file in self.files:
            schema = pq.read_schema(file)
            text = [name for name in names if pa.types.is_string(schema.field(name).type)]
            parts.append(pq.read_table(file, columns=names, read_dictionary=text, partitioning=None))
        columns = []
        for position, name in zip(positions, names):
            try:
                chunks = [chunk for part in parts for chunk in part.column(name).chunks]
                columns.append(column_from_arrow(pa.chunked_array(chunks, parts[0].schema.field(name).type)))
            except (TypeError, pa.ArrowInvalid) as error:
                raise FileFormatError(f"{self.path}: {self.title(position)}: {error}") from error
        return columns

    def place(self, row: int) -> str:
        if len(self.files) == 1:
            return super().place(row)
        for file, length in zip(self.files, self.lengths):
            if row < length:
                return f"{Path(file).name} row {row + 1}"
            row -= length
        return super().place(row)


def parquet_files(path: str | Path) -> list[str]:
    """Return the Parquet files that `path` (a file, a folder or a pattern such as ``data/*.parquet``) stands for."""
    import glob

    path = Path(path)
    if path.is_dir():
        found = [file for ending in ("*.parquet", "*.pq") for file in path.rglob(ending)]
        hidden = [file for file in found if any(part[0] in "._" for part in file.relative_to(path).parts)]
        files = sorted(str(file) for file in set(found) - set(hidden))
        if not files:
            raise FileFormatError(f"{path}: is a directory without Parquet files; expected a file")
        return files
    if path.exists():
        return [str(path)]
    files = sorted(glob.glob(str(path), recursive=True))
    if not files:
        raise FileFormatError(f"{path}: no such file")
    return files


def open_parquet(path: str | Path) -> ParquetSource:
    """Open Parquet files far enough to know their columns.

    Returns
    -------
    ParquetSource
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = parquet_files(path)
    lengths, schema = [], None
    for file in files:
        try:
            part = pq.ParquetFile(file)
        except (pa.ArrowInvalid, OSError) as error:
            raise FileFormatError(f"{file}: is not a Parquet file: {str(error).splitlines()[0]}") from error
        if schema is None:
            schema = part.schema_arrow
        elif part.schema_arrow.names != schema.names:
            raise FileFormatError(
                f"{file}: columns {listed(part.schema_arrow.names)} differ from {listed(schema.names)} of {files[0]}"
            )
        lengths.append(part.metadata.num_rows)
        part.close()
    if schema is None or not sum(lengths):
        raise FileFormatError(f"{path}: has no rows")
    known = json.loads((schema.metadata or {}).get(META_KEY, b"{}"))
    labels = known.get("labels")
    form = "Parquet" if len(files) == 1 else f"{len(files):,} Parquet files"
    return ParquetSource(
        path=str(path),
        form=form,
        names=schema.names,
        header=True,
        labels=None if labels is None else np.array(labels, dtype=str),
        n_objects=known.get("n_objects"),
        files=files,
        lengths=lengths,
    )


def open_numpy(path: str | Path, *, kind: str | None = None, variable: str | None = None) -> MemorySource:
    """Open a .npy array (memory-mapped) or the arrays of a .npz archive.

    Returns
    -------
    MemorySource
    """
    name = str(path)
    try:
        loaded: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return open_matrix(name, "NumPy array", loaded)
        with loaded:
            arrays = {key: loaded[key] for key in loaded.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, FileFormatError):
            raise
        pickled = any(word in str(error) for word in ("pickle", "Object arrays", "Python objects"))
        why = "it holds Python objects (pickled), which are not read: loading them could run code" if pickled else error
        raise FileFormatError(f"{name}: is not a readable NumPy file: {why}") from error
    if {"coords", "data", "shape"} <= set(arrays) and arrays["coords"].ndim == 2:
        # A sparse tensor: entry (i, j, k) counts the answers that j is nearer to i than k, negative for the contrary.
        arrays = {"triplets": arrays["coords"].T, "response": arrays["data"]}
    return open_arrays(name, "NumPy archive", arrays, kind=kind, variable=variable)
