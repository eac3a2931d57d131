"""`Refusal`: a table that cannot be read as it is, with what to declare so that it can."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence

from nearer.data.messages import FileFormatError
from nearer.tables.layout import Layout
from nearer.tables.table import Table

_WIDTH = 160  # maximum length of a line that shows columns or cells


class Refusal(FileFormatError):
    """A table does not say what its rows mean, or says it in two ways.

    `remedies` are layouts to declare, in which "?" stands for what only the user knows.
    """

    def __init__(self, table: Table, problem: str, remedies: Sequence[Layout], note: str = "") -> None:
        self.name, self.problem, self.remedies, self.note = table.name, problem, tuple(remedies), note
        rows = [(table.place(row), cells) for row, cells in enumerate(table.head(2))]
        shown = [name or f"({position})" for position, name in enumerate(table.names, 1)]
        self.came = [f"columns: {_cut(shown)}", *(f"{place}: {_cut(cells)}" for place, cells in rows)]
        super().__init__(self.render(lambda layout: f"layout={layout!r}"))

    def __reduce__(self) -> tuple:
        return copyreg.__newobj__, (Refusal, *self.args), self.__dict__  # type: ignore[attr-defined]

    def render(self, declare: Callable[[Layout], str], otherwise: str = "") -> str:
        """The message, at most 12 lines; `declare` writes a layout for the front end that shows it."""
        lines = [f"{self.name}: {self.problem}", *self.came, *([self.note] if self.note else [])]
        lines.append("Declare it:" if len(self.remedies) == 1 else "Declare which it is:")
        lines += [f"  {declare(layout)}" for layout in self.remedies[: 11 - len(lines)]]
        return "\n  ".join([*lines, *([otherwise] if otherwise else [])])


def _cut(cells: Sequence[str]) -> str:
    text = ", ".join(" ".join(cell.split())[:40] for cell in cells)
    return text if len(text) <= _WIDTH else text[:_WIDTH] + " ..."
