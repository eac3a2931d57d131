"""Parquet as tables: a file, a folder, a pattern, or some row groups of a file."""

from __future__ import annotations

import contextlib
import glob
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearer.data.coded import is_text
from nearer.data.messages import FileFormatError, counted, listed
from nearer.data.validate import check_objects
from nearer.tables.table import MemoryTable, Table

META_KEY = b"nearer"
_LOGS = ("_delta_log", ".hoodie")  # of Delta Lake and Hudi: they say which files of a folder are current


@dataclass
class RowGroups(Table):
    """Some row groups of a Parquet file, at a path or an fsspec URL; small, so that it can be sent to workers."""

    row_groups: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()  # rows of all row groups of the file
    texts: tuple[str, ...] = ()  # columns that hold text

    @property
    def n_rows(self) -> int:
        return sum(self.lengths[group] for group in self.row_groups)

    @property
    def first_row(self) -> int:
        return sum(self.lengths[: self.row_groups[0]]) if self.row_groups else 0

    def pieces(self, size: int, shuffled: bool) -> list[RowGroups]:
        """The units that are read in turn: the whole file, or its row groups if these are to be shuffled."""
        return [replace(self, row_groups=(group,)) for group in self.row_groups] if shuffled else [self]

    def place(self, row: int) -> str:
        return f"row {self.first_row + row + 1}"

    def read(self, positions: Sequence[int], use_threads: bool = False) -> dict[int, Any]:
        names = [self.names[position] for position in positions]
        with _open_file(self.name, self.texts) as file:
            data = file.read_row_groups(list(self.row_groups), columns=names, use_threads=use_threads)
            return {position: data.column(name) for position, name in zip(positions, names)}

    def head(self, n_rows: int) -> list[list[str]]:
        tables = self.batches(n_rows, range(len(self.names)))
        return list(itertools.islice(itertools.chain.from_iterable(table.head(n_rows) for table in tables), n_rows))

    def batches(self, size: int, positions: Sequence[int]) -> Iterator[MemoryTable]:
        names = [self.names[position] for position in positions]
        table = MemoryTable(self.name, self.form, self.names, self.labels, self.n_objects, first_row=self.first_row)
        with _open_file(self.name, self.texts) as file:
            for batch in file.iter_batches(batch_size=size, row_groups=list(self.row_groups), columns=names):
                columns = {position: batch.column(name) for position, name in zip(positions, names)}
                yield replace(table, columns=[columns.get(position) for position in range(len(self.names))])
                table.first_row += batch.num_rows


@dataclass
class ParquetTable(Table):
    files: list[RowGroups] = field(default_factory=list)

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        parts = [file.read(positions, use_threads=True) for file in self.files]
        return {position: self._column(position, [part[position] for part in parts]) for position in positions}

    def _column(self, position: int, parts: Sequence[Any]) -> Any:
        """Join the parts of a column; its type comes from the parts with cells, and text never becomes numbers."""
        parts = [part if part.null_count < len(part) else pa.nulls(len(part)) for part in parts]
        try:
            tables = [pa.table([part], names=[self.names[position]]) for part in parts]
            return pa.concat_tables(tables, promote_options="permissive").column(0)
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise FileFormatError(f"{self.name}: {self.title(position)}: {str(error).splitlines()[0]}") from error

    def head(self, n_rows: int) -> list[list[str]]:
        return next(file for file in self.files if file.n_rows).head(n_rows)

    def place(self, row: int) -> str:
        for file in self.files if len(self.files) > 1 else ():
            if row < file.n_rows:
                return f"{Path(file.name).name} row {row + 1}"
            row -= file.n_rows
        return super().place(row)


def open_parquet(path: str) -> ParquetTable:
    names, left_out = parquet_files(path)
    files = open_row_groups(path, list(map(look_into, names)), left_out)
    first = files[0]
    form = "Parquet" if len(files) == 1 else f"{len(files):,} Parquet files"
    return ParquetTable(path, form, first.names, first.labels, first.n_objects, notes=first.notes, files=files)


def open_row_groups(path: str, found: Sequence[RowGroups], left_out: Sequence[str] = ()) -> list[RowGroups]:
    first = found[0]
    for table in found:
        if sorted(table.names) != sorted(first.names):
            expected = f"expected {listed(first.names)} as in {first.name}"
            raise FileFormatError(f"{table.name}: got the columns {listed(table.names)}, {expected}")
    if not any(table.n_rows for table in found):
        raise FileFormatError(f"{path}: has no rows")
    notes = [f"{counted(len(left_out), 'file')} left out, not read as Parquet: {listed(left_out)}"] if left_out else []
    stored = dict.fromkeys(label for table in found if table.labels is not None for label in table.labels.tolist())
    sizes = [table.n_objects for table in found if table.n_objects is not None]
    n_objects = max(sizes) if len(sizes) == len(found) else None
    labels, n_objects = (np.array(list(stored)), len(stored)) if stored else (None, n_objects)
    return [replace(table, names=first.names, notes=notes, labels=labels, n_objects=n_objects) for table in found]


def look_into(url: str) -> RowGroups:
    """Read the footer of a Parquet file, with the `labels` and `n_objects` that this package wrote into it."""
    with _open_file(url) as file:
        lengths = tuple(file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups))
        schema = file.schema_arrow
    try:
        known = json.loads((schema.metadata or {}).get(META_KEY, b"{}"))
        n_objects = known.get("n_objects")
        labels = check_objects(n_objects, known.get("labels"))[1]
    except (ValueError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{url}: the stored list of objects is damaged ({error})") from error
    texts = tuple(field.name for field in schema if is_text(field.type))
    if twice := [name for name in schema.names if schema.names.count(name) > 1]:
        raise FileFormatError(f"{url}: two columns are called {twice[0]!r}, expected a name for each")
    groups = tuple(range(len(lengths)))
    return RowGroups(url, "Parquet", schema.names, labels, n_objects, row_groups=groups, lengths=lengths, texts=texts)


@contextlib.contextmanager
def _open_file(url: str, texts: Sequence[str] = ()) -> Iterator[Any]:
    """Open a Parquet file at a path or fsspec URL, and name it in errors; columns `texts` are read as codes."""
    try:
        with contextlib.ExitStack() as stack:
            source: Any = url
            if "://" in url:
                import fsspec  # type: ignore[import-untyped]

                source = stack.enter_context(fsspec.open(url, "rb"))
            # pyarrow would otherwise fetch all row groups at once
            yield stack.enter_context(pq.ParquetFile(source, read_dictionary=list(texts), pre_buffer=False))
    except FileFormatError:
        raise
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:  # KeyError: a column is gone
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{url}: cannot be read as Parquet: {reason}") from error


def parquet_files(path: str | Path) -> tuple[list[str], list[str]]:
    path = Path(path)
    if path.is_file():
        return [str(path)], []
    if path.is_dir():
        return parquet_among(str(path), (str(file) for file in path.rglob("*") if file.is_file()))
    files = sorted(glob.glob(str(path), recursive=True))
    if not files:
        raise FileFormatError(f"{path}: no such file")
    return files, []


def parquet_among(folder: str, files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Divide the files below a folder, except hidden ones, by their endings: those to read, and those left out."""
    inside = {file: Path(os.path.relpath(file, folder)) for file in sorted(files)}
    for part in itertools.chain.from_iterable(name.parents for name in inside.values()):
        if part.name in _LOGS or "=" in part.name:
            what = "a log of which files are current" if part.name in _LOGS else "the values of a column"
            raise FileFormatError(f"{folder}: its folder {part} stands for {what}, expected plain Parquet files")
    seen = {file: name for file, name in inside.items() if not any(part[0] in "._" for part in name.parts)}
    read = [file for file, name in seen.items() if name.suffix.lower() in (".parquet", ".pq")]
    if not read:
        raise FileFormatError(f"{folder}: is a directory without Parquet files; expected a file")
    return read, [str(name) for file, name in seen.items() if file not in {*read}]
