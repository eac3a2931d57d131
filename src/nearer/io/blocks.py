"""Comparisons read a block at a time, for data that need not fit in memory: on this machine, or by workers."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from nearer.data import Comparisons, FileFormatError
from nearer.data.coded import Column, names_in
from nearer.data.messages import listed
from nearer.data.validate import check_objects
from nearer.io.arrays import open_numpy
from nearer.io.files import is_pattern, refuse_irregular
from nearer.io.parquet import RowGroups, look_into, open_row_groups, parquet_files
from nearer.io.read import as_layouts, nothing_left, warn_dropped
from nearer.tables.decode import Decoded, Dropped, Objects, decode, join_dropped, number_objects, unused_columns
from nearer.tables.layout import OPTIONAL, Layout
from nearer.tables.resolve import Plan, positions_of, resolve
from nearer.tables.table import MemoryTable, Table

logger = logging.getLogger(__name__)
_SCAN_ROWS = 1 << 20
_BLOCK_ENDINGS = (".npy", ".parquet", ".pq")
_NOT_KEPT = tuple(role for role in OPTIONAL if role not in ("weight", "catch"))  # fields that no fit needs


@dataclass(frozen=True)
class Counts:
    n_comparisons: int = 0
    weight: float = 0.0  # of all of them
    width: int = 0  # 3 or 4, 0 if there are none
    names: Column = field(default_factory=lambda: names_in([]))  # of objects, in rows that could be read
    seen: Column = field(default_factory=lambda: names_in([]))  # those that occur in comparisons
    weighted: bool = False  # whether the comparisons have weights of their own
    n_checks: int = 0
    dropped: Dropped = field(default_factory=dict)

    def join(self, other: Counts) -> Counts:
        if self.width and other.width and self.width != other.width:
            raise ValueError("comparisons: some parts hold triplets and some quadruplets, expected one kind")
        return Counts(
            self.n_comparisons + other.n_comparisons,
            self.weight + other.weight,
            self.width or other.width,
            names_in([self.names, other.names]),
            names_in([self.seen, other.seen]),
            self.weighted or other.weighted,
            self.n_checks + other.n_checks,
            join_dropped(self.dropped, other.dropped),
        )


def plan_blocks(first: Table, layouts: Sequence[Layout] = ()) -> list[Plan]:
    return [resolve(first, one).without(_NOT_KEPT) for one in layouts or (None,)]


def count_block(table: Table, plans: Sequence[Plan]) -> Counts:
    found, dropped = decode(table, plans, table.read(positions_of(plans)))
    return reduce(Counts.join, map(_counts, found), Counts(dropped=dropped))


def _counts(found: Decoded) -> Counts:
    made = Comparisons.from_parts(found.parts())
    checks = made.answers.n_checks
    dropped: Dropped = {reason: (count, "") for reason, count in made.dropped.items()}
    if not len(made):
        return Counts(names=found.names, n_checks=checks, dropped=dropped)
    return Counts(
        len(made),
        total_weight(made),
        made.index.shape[1],
        found.names,
        found.names.take(made.seen),
        made.weights is not None,
        checks,
        dropped,
    )


def total_weight(made: Comparisons) -> float:
    return float(len(made)) if made.weights is None else float(made.weights.sum())


@dataclass(frozen=True)
class BlockPlan:
    """How a block becomes comparisons: the same for every block, decided once."""

    plans: tuple[Plan, ...]
    objects: Objects

    def comparisons(self, table: Table) -> Comparisons | None:
        found, _ = decode(table, self.plans, table.read(positions_of(self.plans)), self.objects.names)
        made = [Comparisons.from_parts(one.parts(self.objects)) for one in found]
        made = [part.replaced(dropped={}) for part in made if total_weight(part) > 0]
        return _in_one(made) if made else None


def settle(
    name: str, total: Counts, first: Table, plans: Sequence[Plan], n_objects: int | None
) -> tuple[BlockPlan, np.ndarray]:
    """Decide how blocks become comparisons, and which objects, by number, occur in them; warn of rows left out."""
    if not total.weight:
        raise FileFormatError(f"{name}: {nothing_left(total.dropped, total.n_checks, total.n_comparisons)}")
    objects = number_objects(total.names, first, plans[0].layout, n_objects=n_objects)
    warn_dropped(name, total.dropped)
    if unused := unused_columns(first, plans):
        logger.info("%s: not used: %s", name, listed(unused, 12))
    seen = np.sort(objects.numbers[objects.names.find(total.seen)])
    return BlockPlan(tuple(plans), objects), seen


def in_blocks(path: str | os.PathLike[str]) -> bool:
    """Whether a path is read block by block: a .npy file, Parquet, a folder, a pattern or a URL of Parquet."""
    name = os.fspath(path)
    return "://" in name or is_pattern(name) or os.path.isdir(name) or Path(name).suffix.lower() in _BLOCK_ENDINGS


def open_blocks(path: str | os.PathLike[str], layout: Any = None, *, n_objects: int | None = None) -> BlockReader:
    """Open a .npy file or Parquet (file, folder or pattern) for reading block by block, without details of answers.

    The file is read once to know its objects and to check every row; every pass checks again what it reads.
    """
    name = os.fspath(path)
    refuse_irregular(name)
    if os.path.isfile(name) and not in_blocks(name):
        raise FileFormatError(f"{name}: can be read in blocks only as .npy or Parquet; convert it first")
    check_objects(n_objects, None)
    if Path(name).suffix.lower() == ".npy":
        array = open_numpy(name)
        if not array.is_index:
            raise FileFormatError(f"{name}: got {array.form} of other numbers, expected integers (n, 3) or (n, 4)")
        tables: Sequence[RowGroups | _NumpyRows] = [_NumpyRows(**vars(array))]
    else:
        files, left_out = parquet_files(name)
        tables = open_row_groups(name, list(map(look_into, files)), left_out)
    first = next(table for table in tables if table.n_rows)
    plans = plan_blocks(first, as_layouts(layout, name))
    return BlockReader(name, tables, first, plans, n_objects)


class BlockReader:
    """Comparisons that stay on disk, and what is known of all of them.

    `n_comparisons`, `n_columns` (3 or 4), `n_objects`, `labels`, `seen` (n_objects,), `total_weight`, `has_weights`,
    `dropped`.
    """

    def __init__(
        self,
        path: str,
        files: Sequence[RowGroups | _NumpyRows],
        first: Table,
        plans: Sequence[Plan],
        n_objects: int | None,
    ) -> None:
        self._files = files
        self._states = {file.name: _state(file.name) for file in files}
        self._only: list[Comparisons] | None = None
        self._positions = positions_of(plans)
        self._whole = any("answer_number" in plan.at for plan in plans)  # row groups; no answer spans two
        total = reduce(Counts.join, (count_block(table, plans) for table in self._tables(_SCAN_ROWS)), Counts())
        self._plan, seen = settle(path, total, first, plans, n_objects)
        objects = self._plan.objects
        self.n_comparisons, self.n_columns = total.n_comparisons, total.width
        self.total_weight, self.has_weights = total.weight, total.weighted
        self.n_objects, self.labels, self.dropped = objects.n_objects, objects.labels, total.dropped
        self.seen = np.zeros(self.n_objects, dtype=bool)
        self.seen[seen] = True

    def blocks(self, size: int = 1 << 18, rng: np.random.Generator | None = None) -> Iterator[Comparisons]:
        """Yield all comparisons, about `size` at a time, in order or by `rng` in random order; answers stay whole."""
        if self.n_comparisons > size:
            yield from self._read(size, rng)
            return
        if self._only is None:  # a single block is kept for the next pass
            self._only = list(self._read(size, rng))
        for file in self._states:
            self._refuse_changed(file)
        yield from self._only

    def _tables(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Table]:
        """Yield tables of at most `size` rows with the columns needed, in order or, by `rng`, in random order."""
        pieces = [piece for file in self._files for piece in file.pieces(size, self._whole or rng is not None)]
        if rng is not None:
            pieces = [pieces[number] for number in rng.permutation(len(pieces)).tolist()]
        for piece in pieces:
            self._refuse_changed(piece.name)
            yield from piece.batches(max(size, piece.n_rows) if self._whole else size, self._positions)

    def _refuse_changed(self, file: str) -> None:
        if _state(file) != self._states[file]:
            raise FileFormatError(f"{file}: has changed since it was first read")

    def _read(self, size: int, rng: np.random.Generator | None) -> Iterator[Comparisons]:
        """Yield blocks of about `size` comparisons."""
        rest: list[Comparisons] = []
        for part in filter(None, map(self._plan.comparisons, self._tables(size, rng))):
            whole, start = _in_one([*rest, part]), 0
            ends = np.flatnonzero(np.diff(whole.of_rows(np.arange(len(whole.answers))), append=-1)) + 1  # of answers
            while len(whole) - start >= size:
                last, first = np.searchsorted(ends, [start + size, start], side="right")
                cut = int(ends[max(last - 1, first)])  # an answer may be longer than a block
                yield whole.take(slice(start, cut))
                start = cut
            rest = [whole.take(slice(start, None))] if start < len(whole) else []
        yield from rest


def _in_one(parts: list[Comparisons]) -> Comparisons:
    return parts[0] if len(parts) == 1 else Comparisons.concat(parts)


def _state(file: str) -> tuple[int, int, int]:
    try:
        status = os.stat(file)
    except OSError as error:
        raise FileFormatError(f"{file}: no such file") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass
class _NumpyRows(MemoryTable):
    """Rows of a .npy array of integers, which stays on disk."""

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])

    def pieces(self, size: int, shuffled: bool) -> list[_NumpyRows]:
        starts = range(0, self.n_rows, size)
        return [replace(self, columns=[cells[at : at + size] for cells in self.columns], first_row=at) for at in starts]

    def batches(self, size: int, positions: Sequence[int]) -> Iterator[Table]:
        yield self
