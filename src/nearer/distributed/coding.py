"""Names of objects become rows of the points, the same on every worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nearer.io.columns import Column


@dataclass(frozen=True)
class Coding:
    """The distinct objects of some comparisons; an object's place in `values` is its row of the points.

    Attributes
    ----------
    values : int64 (n,) sorted, or a pyarrow array of n distinct texts
    """

    values: Any

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Whether objects are called by text rather than by number."""
        return not isinstance(self.values, np.ndarray)

    def texts(self) -> np.ndarray:
        """The objects' names as str (n,)."""
        return np.array(self.values.to_pylist() if self.is_text else self.values.tolist(), dtype=str)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Coding:
        """The objects that occur in some columns: numbers in numeric order, texts in code point order."""
        if columns[0].is_text:
            import pyarrow as pa
            import pyarrow.compute as pc

            values = pc.unique(pa.chunked_array([_used(column) for column in columns]))
            return cls(values.take(pc.sort_indices(values)))
        lowest = min(int(column._cells.min()) for column in columns)
        size = max(int(column._cells.max()) for column in columns) - lowest + 1
        if size > 16 * sum(map(len, columns)) + 1024:
            return cls(np.unique(np.concatenate([np.unique(column._cells) for column in columns])).astype(np.int64))
        seen = np.zeros(size, dtype=bool)
        for column in columns:
            seen[column._cells - lowest] = True
        return cls(np.flatnonzero(seen) + lowest)

    @classmethod
    def union(cls, codings: Sequence[Coding]) -> Coding:
        """All objects of several codings."""
        if len({coding.is_text for coding in codings}) > 1:
            raise ValueError("comparisons: some parts name objects by text and some by number, expected one of them")
        if codings[0].is_text:
            import pyarrow as pa
            import pyarrow.compute as pc

            values = pc.unique(pa.chunked_array([coding.values for coding in codings]))
            return cls(values.take(pc.sort_indices(values)))
        return cls(np.unique(np.concatenate([coding.values for coding in codings])))

    def encode(self, columns: Sequence[Column]) -> np.ndarray:
        """Rows of the points for columns (N,) of names: int32 (N, n_columns)."""
        index = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
        for place, column in enumerate(columns):
            index[:, place] = self._encode_text(column) if column.is_text else self._encode_numbers(column._cells)
        return index

    def _encode_text(self, column: Column) -> np.ndarray:
        import pyarrow.compute as pc

        if not self.is_text:
            raise ValueError("objects are called by text here and by number elsewhere")
        places = pc.index_in(column.values, value_set=self.values).fill_null(-1).to_numpy().astype(np.int32)
        found = places[column.codes]
        if found.size and found.min() < 0:
            row = int(np.argmax(found < 0))
            raise ValueError(f"row {row}: {column.cell(row)!r} was not there when the labels were collected")
        return found

    def _encode_numbers(self, numbers: np.ndarray) -> np.ndarray:
        if self.is_text:
            raise ValueError("objects are called by number here and by text elsewhere")
        if not numbers.size:
            return numbers
        low, high = int(self.values[0]), int(self.values[-1])
        inside = low <= int(numbers.min()) and int(numbers.max()) <= high
        if inside and self._table is not None:
            found = self._table[numbers - low] if low or not self._is_range else numbers
        else:
            found = np.minimum(np.searchsorted(self.values, numbers), len(self) - 1)
        if not inside or not (self._is_range or np.array_equal(self.values[found], numbers)):
            row = int(np.argmax(self.values[found] != numbers))
            raise ValueError(f"row {row}: object {numbers[row]} was not there when the objects were collected")
        return found

    @cached_property
    def _is_range(self) -> bool:
        return int(self.values[-1]) - int(self.values[0]) + 1 == len(self)

    @cached_property
    def _table(self) -> np.ndarray | None:
        """Number (from the lowest) -> row, where the numbers are dense enough for a table."""
        low = int(self.values[0])
        size = int(self.values[-1]) - low + 1
        if size > 16 * len(self) + 1024:
            return None
        table = np.full(size, -1, dtype=np.int32)
        table[self.values - low] = np.arange(len(self), dtype=np.int32)
        return table

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}  # the table is made anew where it is needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _used(column: Column) -> Any:
    """The texts that occur in a column, which may be fewer than its dictionary holds."""
    used = np.unique(column.codes) if column.codes is not None else np.empty(0, np.int32)
    import pyarrow as pa

    return column.values.take(pa.array(used)) if column.values is not None else pa.array([], pa.string())
