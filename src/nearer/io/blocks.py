"""Comparisons read a block at a time, for data that need not fit in memory: on this machine, or by workers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import IO, Any

import numpy as np

from nearer.data import Comparisons, FileFormatError
from nearer.data.columns import Coding, Column, MemoryTable, Table, distinct
from nearer.data.errors import counted
from nearer.data.roles import Roles, find_roles
from nearer.data.rows import Rows, joined_counts
from nearer.data.tables import (
    Facts,
    Meaning,
    nothing_left,
    resolve,
    rows_to_parts,
    scan,
    warn_of,
)
from nearer.data.values import Options
from nearer.io.files import is_pattern, refuse_irregular
from nearer.io.formats import open_matrix
from nearer.io.parquet import look_into, open_row_groups, parquet_files

logger = logging.getLogger(__name__)
_SCAN_ROWS = 1 << 20
_BLOCK_ENDINGS = (".npy", ".parquet", ".pq")


# ---- what all block readers share ----------------------------------------------------------------------------------


@dataclass
class Counts:
    """What a block gives, once its names are coded."""

    n_comparisons: int = 0
    weight: float = 0.0  # of all of them
    width: int = 0  # 3 or 4, 0 if there are none
    seen: Coding = field(default_factory=lambda: Coding(np.empty(0, np.int64)))  # names that occur in them
    weighted: bool = False  # whether they have weights of their own
    n_counting: int = 0  # those of a weight above 0: the others are lost where a block holds nothing else
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)  # reason -> rows left out, where the first is

    def join(self, other: Counts) -> Counts:
        """Put what two blocks give together."""
        if self.width and other.width and self.width != other.width:
            raise ValueError("comparisons: some parts hold triplets and some quadruplets, expected one kind")
        return Counts(
            self.n_comparisons + other.n_comparisons, self.weight + other.weight, self.width or other.width,
            Coding.union([self.seen, other.seen]), self.weighted or other.weighted,
            self.n_counting + other.n_counting, joined_counts(self.dropped, other.dropped),
        )  # fmt: skip


@dataclass
class Scanned:
    """What a first look at a block found; `counts` is None where they depend on what other blocks hold."""

    facts: Facts
    counts: Counts | None

    def join(self, other: Scanned) -> Scanned:
        """Put what two blocks say together."""
        counts = None if self.counts is None or other.counts is None else self.counts.join(other.counts)
        return Scanned(self.facts.join(other.facts), counts)


@dataclass(frozen=True)
class Recipe:
    """How a block becomes comparisons: the same for every block, decided once."""

    roles: Roles
    options: Options
    meaning: Meaning

    def comparisons(self, table: Table) -> Comparisons | None:
        """Read a block; None if no row of it counts."""
        return self._made(Rows.of(table, self.roles, self.options, known=True))

    def _made(self, rows: Rows) -> Comparisons | None:
        parts = rows_to_parts(rows, self.meaning, self.options)
        return None if parts is None else Comparisons._make(replace(parts, people=None, details=None, dropped={}))

    def counts(self, table: Table) -> Counts:
        """Read a block for what it gives, and what is left out of it."""
        return self._counts(Rows.of(table, self.roles, self.options, known=True))

    def _counts(self, rows: Rows, names: Coding | None = None) -> Counts:
        """Count what rows give; objects are called by their numbers, or by the `names` these stand for."""
        made = self._made(rows)
        if made is None:
            return Counts(dropped=rows.dropped)
        weight = float(len(made)) if made.weights is None else float(made.weights.sum())
        seen = np.flatnonzero(made.seen)
        return Counts(
            len(made), weight, made.index.shape[1], Coding(seen if names is None else names.values.take(seen)),
            made.weights is not None, _n_counting(made), rows.dropped,
        )  # fmt: skip


def _n_counting(made: Comparisons) -> int:
    return len(made) if made.weights is None else int(np.count_nonzero(made.weights))


def scan_block(table: Table, roles: Roles, options: Options) -> Scanned:
    """Look at a block: which names occur in it, and where that tells, what it gives."""
    rows = Rows.of(table, roles, options)
    facts = scan(rows)
    names = facts.objects
    if roles.layout.extra:  # what answers say hangs on all of them
        return Scanned(facts, None)
    if not len(names):
        return Scanned(facts, Counts(dropped=rows.dropped))
    own = Recipe(roles, options, Meaning(names, np.arange(len(names), dtype=np.int32), None, len(names)))
    return Scanned(facts, own._counts(rows, names))


def settle(
    name: str,
    scanned: Scanned,
    table: Table,
    roles: Roles,
    options: Options,
    tables: Callable[[], Iterable[Table]],
    count: Callable[[Recipe], Iterable[Counts]],
) -> tuple[Recipe, Counts]:
    """Decide how blocks become comparisons; what is left out or doubtful is warned about.

    Gives that, and what all blocks give together, the objects that occur by their numbers.

    Parameters
    ----------
    name : str
        What the blocks are called together, for messages.
    scanned : Scanned
        Of all blocks.
    table : Table
        One of them, for names of columns.
    roles, options : Roles, Options
    tables : callable
        Gives the blocks again, to find the place of what is refused.
    count : callable
        Counts the blocks anew by a recipe, where `scanned` could not tell what they give.
    """
    meaning = resolve(
        scanned.facts, roles, table, options, lambda: (Rows.of(one, roles, options, True) for one in tables())
    )
    recipe, total = Recipe(roles, options, meaning), scanned.counts
    if total is not None and meaning.is_injective:
        total = replace(total, seen=_named_objects(meaning, total.seen))
    else:
        total = reduce(Counts.join, count(recipe))
    if not total.n_comparisons:
        raise FileFormatError(f"{name}: {nothing_left(total.dropped, 'weight' in roles.at)}")
    warn_of(name, meaning.alarms, total.dropped)
    for note in (*roles.notes, *meaning.notes):
        logger.info("%s: %s", name, note)
    return recipe, total


def _named_objects(meaning: Meaning, seen: Coding) -> Coding:
    """Numbers of the objects that have some names, ascending."""
    codes = np.arange(len(seen), dtype=np.int32)
    column = Column(codes, seen.values) if seen.is_text else Column(seen.values)
    return Coding(distinct(meaning.names.encode(column, meaning.numbers)))


# ---- blocks on this machine ----------------------------------------------------------------------------------------


def in_blocks(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is read block by block: a .npy file, Parquet, a folder, a pattern or a URL of Parquet."""
    name = os.fspath(path)
    return "://" in name or is_pattern(name) or os.path.isdir(name) or Path(name).suffix.lower() in _BLOCK_ENDINGS


def open_blocks(path: str | os.PathLike[str], *, n_objects: int | None = None, **options: Any) -> BlockReader:
    """Open comparisons for reading block by block.

    The file is read once to know its objects and to check every row; what is then read again is checked each time.

    Parameters
    ----------
    path : path-like
        A .npy file, or Parquet: a file, a folder or a pattern.
    n_objects : int, optional
        Says that whole numbers are object numbers 0..n_objects-1.
    **options : Any
        As in `nearer.io.read_comparisons`.
    """
    name = os.fspath(path)
    refuse_irregular(name)
    if os.path.isfile(name) and not in_blocks(name):
        raise FileFormatError(f"{name}: can be read in blocks only as .npy or Parquet; convert it first")
    files = _NumpyFile(name) if Path(name).suffix.lower() == ".npy" else _ParquetFiles(name)
    return BlockReader(files, Options(n_objects=n_objects, **options))


class BlockReader:
    """Comparisons that stay on disk.

    Attributes
    ----------
    path : str
    n_comparisons : int
        Rows that count.
    n_columns : int
        3 or 4.
    n_objects : int
    labels : ndarray of str, shape (n_objects,), or None
    seen : ndarray of bool, shape (n_objects,)
        Which objects occur.
    total_weight : float
    has_weights : bool
    dropped : dict of str to (int, str)
        Reason -> rows left out, and where the first is.
    notes, alarms : list of str
    """

    def __init__(self, files: _Files, options: Options) -> None:
        self._files = files
        self._only: list[Comparisons] | None = None
        self.path = files.path
        roles = find_roles(files.first, options).without_details()

        def tables() -> Iterator[Table]:
            return files.tables(_SCAN_ROWS, roles.positions)

        blocks = (scan_block(table, roles, options) for table in tables())
        first = next(blocks, None)
        if first is None:
            raise FileFormatError(f"{self.path}: has no rows")
        scanned = reduce(Scanned.join, blocks, first)
        self._recipe, counts = settle(
            self.path, scanned, files.first, roles, options, tables, lambda recipe: map(recipe.counts, tables())
        )
        meaning = self._recipe.meaning
        self.n_comparisons, self.n_columns = counts.n_comparisons, counts.width
        self._n_counting = counts.n_counting
        self.total_weight, self.has_weights = counts.weight, counts.weighted
        self.n_objects, self.labels, self.dropped = meaning.n_objects, meaning.labels, counts.dropped
        self.seen = np.zeros(self.n_objects, dtype=bool)
        self.seen[counts.seen.values] = True
        self.notes, self.alarms = [*roles.notes, *meaning.notes], meaning.alarms

    def blocks(self, size: int = 1 << 18) -> Iterator[Comparisons]:
        """Yield the comparisons in order, `size` at a time; the last block may be shorter."""
        if size < 1:
            raise ValueError(f"size: got {size}, expected at least 1")
        return self._passed(size)

    def shuffled_blocks(self, size: int, rng: np.random.Generator) -> Iterator[Comparisons]:
        """Yield all comparisons once, in blocks of about `size` whose order is random.

        Parquet files are shuffled by row group, so a block mixes distant parts of the data if row groups are smaller.
        """
        return self._passed(size, rng)

    def _passed(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Comparisons]:
        """Yield all comparisons in blocks; if there is but one block, it is kept for the next pass."""
        tables = self._files.tables(size, self._recipe.roles.positions, rng)
        blocks = self._complete(_joined(map(self._recipe.comparisons, tables), size))
        if self.n_comparisons > size:
            yield from blocks
            return
        if self._only is None:
            self._only = list(blocks)
        self._files.unchanged()
        yield from self._only

    def _complete(self, blocks: Iterator[Comparisons]) -> Iterator[Comparisons]:
        """Pass blocks on, and see to it that a whole pass gives all that there was at first."""
        count = 0
        for block in blocks:
            count += _n_counting(block)
            yield block
        if count != self._n_counting:
            raise FileFormatError(
                f"{self.path}: gave {counted(count, 'comparison')}, and {self._n_counting:,} when it was first read; "
                "it has changed since"
            )


def _joined(parts: Iterator[Comparisons | None], size: int) -> Iterator[Comparisons]:
    """Put the rows of all parts into blocks of `size`; only the last may be shorter."""
    kept: list[Comparisons] = []
    count = 0
    for part in parts:
        start, length = 0, 0 if part is None else len(part)
        while part is not None and start < length:
            cut = min(start + size - count, length)
            kept.append(part._rows(slice(start, cut)))
            count, start = count + cut - start, cut
            if count == size:
                yield Comparisons.concat(kept) if len(kept) > 1 else kept[0]
                kept, count = [], 0
    if kept:
        yield Comparisons.concat(kept) if len(kept) > 1 else kept[0]


class _Files:
    """Files that hold one table, read in blocks; a file that changes meanwhile is refused."""

    path: str
    first: Table

    def __init__(self, files: list[str]) -> None:
        self._states = {file: _state(file) for file in files}

    def tables(self, size: int, positions: Sequence[int], rng: np.random.Generator | None = None) -> Iterator[Table]:
        """Yield tables of at most `size` rows with the columns at some positions, in order or, by `rng`, in none."""
        raise NotImplementedError

    def unchanged(self, *files: str) -> None:
        """Refuse files, all or some, that are not as they were when they were first read."""
        for file in files or self._states:
            if _state(file) != self._states[file]:
                raise FileFormatError(f"{file}: has changed since it was first read")


def _state(file: str) -> tuple[int, int, int]:
    try:
        status = os.stat(file)
    except OSError as error:
        raise FileFormatError(f"{file}: no such file") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


class _NumpyFile(_Files):
    """A .npy array of integers (n, 3) or (n, 4), read by plain reads: a file cut short gives an error, not a crash."""

    def __init__(self, path: str) -> None:
        super().__init__([path])
        self.path = path
        try:
            with open(path, "rb") as file:
                version = np.lib.format.read_magic(file)
                header = (
                    np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                )
                self._shape, self._fortran, self._dtype = header(file)
                self._offset = file.tell()
        except Exception as error:  # NumPy raises many kinds for a damaged header
            raise FileFormatError(f"{path}: is not a readable NumPy array: {error}") from error
        shape, dtype = self._shape, self._dtype
        if len(shape) != 2 or shape[1] not in (3, 4) or dtype.kind not in "iu":
            raise FileFormatError(f"{path}: got {dtype} of shape {shape}, expected integers (n, 3) or (n, 4)")
        if not shape[0]:
            raise FileFormatError(f"{path}: the array has no rows")
        self.first = self._table(0, min(3, shape[0]))

    def _table(self, start: int, stop: int) -> MemoryTable:
        self.unchanged(self.path)
        n_rows, width = self._shape
        with open(self.path, "rb", buffering=0) as file:
            if self._fortran:
                rows = np.stack(
                    [self._read(file, column * n_rows + start, stop - start) for column in range(width)], axis=1
                )
            else:
                rows = self._read(file, start * width, (stop - start) * width).reshape(-1, width)
        return replace(open_matrix(self.path, "NumPy array", np.asfortranarray(rows)), first_row=start)

    def _read(self, file: IO[bytes], first: int, count: int) -> np.ndarray:
        file.seek(self._offset + first * self._dtype.itemsize)
        found = np.fromfile(file, self._dtype, count)
        if len(found) != count:
            raise FileFormatError(f"{self.path}: is cut short, expected {self._shape[0]:,} rows")
        return found.astype(self._dtype.newbyteorder("="), copy=False)

    def tables(self, size: int, positions: Sequence[int], rng: np.random.Generator | None = None) -> Iterator[Table]:
        starts = np.arange(0, self._shape[0], size)
        for start in (starts if rng is None else rng.permutation(starts)).tolist():
            yield self._table(start, min(start + size, self._shape[0]))


class _ParquetFiles(_Files):
    """Parquet files with the same columns."""

    def __init__(self, path: str) -> None:
        files, left_out = parquet_files(path)
        self._tables = open_row_groups(path, list(map(look_into, files)), left_out)
        super().__init__([table.name for table in self._tables])
        self.path, self.first = path, next(table for table in self._tables if table.n_rows)

    def tables(self, size: int, positions: Sequence[int], rng: np.random.Generator | None = None) -> Iterator[Table]:
        parts = self._tables
        if rng is not None:
            groups = [table.part([group]) for table in self._tables for group in table.row_groups]
            parts = [groups[number] for number in rng.permutation(len(groups)).tolist()]
        for part in parts:
            self.unchanged(part.name)
            yield from part.batches(size, positions)
