"""`Table`: named columns, from whatever carries them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.data.coded import column_of


@dataclass
class Table(ABC):
    """Named columns, whatever they were read from (text, Parquet, a frame, ...)."""

    name: str  # as shown in messages: the path of a file, or "table"
    form: str  # what carries it, in words, such as "comma-separated"
    names: list[str]  # one for each column; "" for a column without a name
    labels: np.ndarray | None = None  # all objects (n_objects,), as stored by a file that this package wrote
    n_objects: int | None = None  # likewise, where objects are numbers
    is_index: bool = False  # whether it is a bare array of object numbers: triplets or quadruplets by its width
    notes: list[str] = field(default_factory=list)  # what else was done to read it

    @abstractmethod
    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        """Read the columns at some positions, each anything that `column_of` takes, by position."""

    @abstractmethod
    def head(self, n_rows: int) -> list[list[str]]:
        """Show the first rows as text."""

    def place(self, row: int) -> str:
        return f"row {row + 1}"

    def title(self, position: int) -> str:
        name = self.names[position]
        return f"column {name!r}" if name else f"column {position + 1}"


@dataclass
class MemoryTable(Table):
    """Columns in memory, each anything that `column_of` takes."""

    columns: Sequence[Any] = ()
    above: int = 0  # rows above the data, which count in messages
    first_row: int = 0  # rows before the first, where this is a block of something larger

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        return {position: self.columns[position] for position in positions}

    def head(self, n_rows: int) -> list[list[str]]:
        shown: list[list[str]] = []
        for column in self.columns:
            try:
                cells = column_of(column[:n_rows])
                shown.append(["" if (cell := cells.cell(row)) is None else str(cell) for row in range(len(cells))])
            except (TypeError, ValueError, IndexError):
                shown.append([])  # no column at all
        n_shown = max(map(len, shown), default=0)
        return [list(row) for row in zip(*(cells or ["?"] * n_shown for cells in shown))]

    def place(self, row: int) -> str:
        return f"row {self.above + self.first_row + row + 1}"
