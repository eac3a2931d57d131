"""Tables and what carries them: what is written here must mean the same in every carrier, or be refused by all."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nearer import Comparisons, Layout
from nearer.io import open_blocks, read_comparisons


@dataclass(frozen=True)
class Sheet:
    """A table, the layout it needs, and what it says: for each row its comparisons by name, none for a check."""

    names: list[str]
    rows: list[list[Any]]
    layout: Layout | None = None
    says: list[list[tuple[str, ...]]] = field(default_factory=list)
    core: tuple[str, ...] = ()  # columns without which a row says nothing
    strange: str = ""  # a known name that this kind of table does not use

    def columns(self) -> dict[str, list[Any]]:
        return {name: [row[at] for row in self.rows] for at, name in enumerate(self.names)}

    def ordered(self, order: list[int]) -> Sheet:
        rows = [[row[at] for at in order] for row in self.rows]
        return replace(self, names=[self.names[at] for at in order], rows=rows)

    def renamed(self, new: dict[str, str]) -> Sheet:
        return replace(self, names=[new.get(name, name) for name in self.names])

    def with_column(self, name: str, cells: list[Any]) -> Sheet:
        """The same with a further column, in front of the others."""
        return replace(self, names=[name, *self.names], rows=[[cell, *row] for cell, row in zip(cells, self.rows)])

    def said(self) -> list[tuple[str, ...]]:
        return [comparison for row in self.says for comparison in row]


def spelled(comparisons: Comparisons) -> list[tuple[str, ...]]:
    """The rows of comparisons by the names of their objects."""
    labels = comparisons.labels if comparisons.labels is not None else np.arange(comparisons.n_objects).astype(str)
    return [tuple(row) for row in labels[comparisons.index].tolist()]


# ---- carriers ------------------------------------------------------------------------------------------------------


def records(sheet: Sheet) -> list[dict[str, Any]]:
    return [dict(zip(sheet.names, row)) for row in sheet.rows]


def write_delimited(sheet: Sheet, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([sheet.names, *sheet.rows])


def write_xlsx(sheet: Sheet, path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for line, row in enumerate([sheet.names, *sheet.rows], 1):
        for at, cell in enumerate(row, 1):
            if cell is not None:
                written = book.active.cell(line, at, cell)
                written.data_type = "s" if isinstance(cell, str) else written.data_type  # no formula
    book.save(path)


def write_json(sheet: Sheet, path: Path) -> None:
    path.write_text(json.dumps(records(sheet), ensure_ascii=False), encoding="utf-8")


def write_jsonl(sheet: Sheet, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in records(sheet)), encoding="utf-8")


def arrow(sheet: Sheet) -> Any:
    import pyarrow as pa

    return pa.table(sheet.columns())


def write_parquet(sheet: Sheet, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(arrow(sheet), path, row_group_size=2)


def write_npz(sheet: Sheet, path: Path) -> None:
    columns = {}
    for name, cells in sheet.columns().items():
        is_text = any(isinstance(cell, str) for cell in cells)
        filled = [("" if is_text else np.nan) if cell is None else cell for cell in cells]
        columns[name] = np.array(filled, dtype=str if is_text else None)
    np.savez(path, **columns)


def pandas(sheet: Sheet) -> Any:
    import pandas as pd

    return pd.DataFrame(sheet.columns())


def polars(sheet: Sheet) -> Any:
    import polars as pl

    return pl.DataFrame(sheet.columns())


WRITERS: dict[str, Callable[[Sheet, Path], None]] = {
    ".csv": write_delimited, ".tsv": write_delimited, ".xlsx": write_xlsx, ".json": write_json, ".jsonl": write_jsonl,
    ".parquet": write_parquet, ".npz": write_npz,
}  # fmt: skip
MAKERS: dict[str, Callable[[Sheet], Any]] = {
    "dict": Sheet.columns, "list of dicts": records, "pandas": pandas, "polars": polars, "Arrow": arrow,
}  # fmt: skip
CARRIERS = (*MAKERS, *WRITERS)


def carried(sheet: Sheet, carrier: str, folder: Path) -> Any:
    """What `read_comparisons` takes: the table in memory, or the path of a file."""
    if carrier in MAKERS:
        return MAKERS[carrier](sheet)
    path = folder / f"table{carrier}"
    WRITERS[carrier](sheet, path)
    return path


def read(sheet: Sheet, carrier: str, folder: Path, layout: Any = None) -> Any:
    return read_comparisons(carried(sheet, carrier, folder), sheet.layout if layout is None else layout)


def streamed(sheet: Sheet, folder: Path, size: int = 2) -> tuple[Any, Comparisons]:
    """A reader of blocks, and its blocks put together."""
    reader = open_blocks(carried(sheet, ".parquet", folder), sheet.layout)
    return reader, Comparisons.concat(list(reader.blocks(size)))


# ---- tables of every kind ------------------------------------------------------------------------------------------

WORDS = ["oboe", "flute", "drum", "gong", "harp", "Cor anglais", "größe", "007", "x,y;z", 'a "b"', "NA", "=sum"]
KINDS = (
    "triplets", "quadruplets", "by object", "by far object", "by column", "by code", "pairs", "votes", "votes on pairs",
    "odd-one-out", "odd by code", "most-central", "rankings", "chosen of several",
)  # fmt: skip
_WEIGHTS, _SECONDS = st.sampled_from([0.5, 1.0, 2.25]), st.sampled_from([None, 0.25, 1.5, 30.0])
OPTIONAL = {
    "participant": st.sampled_from(["p1", "P 2", "é"]) | st.none(), "weight": _WEIGHTS, "seconds": _SECONDS,
    "order": st.sampled_from([None, 0, 7]), "catch": st.sampled_from(["yes", "no", None]),
    "correct": st.sampled_from(["true", "false", None]), "side": st.sampled_from(["left", "right", None]),
    "chosen_by": st.sampled_from(["random", "uncertainty"]),
}  # fmt: skip


@st.composite
def sheets(draw: Any, kind: str) -> Sheet:
    """Tables of a kind, of objects by name or number, with some optional columns."""
    pool = draw(st.sampled_from([WORDS, list(range(6)), [3, 10, 20, 100, 5]]))
    n_rows = draw(st.integers(2, 6))
    rows, says = [], []
    for _ in range(n_rows):
        shown = draw(st.permutations(pool))[:5]
        row, said = _row(kind, shown, draw)
        rows.append(row)
        says.append([tuple(map(str, comparison)) for comparison in said])
    names, core, strange, layout = _HEADS[kind]
    sheet = Sheet(list(names), rows, layout, says, core, strange)
    for role in draw(st.lists(st.sampled_from(sorted(OPTIONAL)), unique=True, max_size=4)):
        cells = draw(st.lists(OPTIONAL[role], min_size=n_rows, max_size=n_rows))
        if role == "catch":
            cells[0] = "no"
            says = [[] if cell == "yes" else said for cell, said in zip(cells, says)]
        if role == "participant" and draw(st.booleans()):
            cells = [None if cell is None else len(cell) for cell in cells]
        sheet = replace(sheet.with_column(role, cells), says=says)
    return sheet


def _row(kind: str, shown: list[Any], draw: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
    x, y, z, w, v = shown
    first = draw(st.booleans())
    near, far = (y, z) if first else (z, y)
    if kind == "triplets":
        return [x, y, z], [(x, y, z)]
    if kind == "quadruplets":
        return [x, y, z, w], [(x, y, z, w)]
    if kind in ("by object", "by far object", "by column", "by code"):
        cell = {"by object": near, "by far object": far, "by column": "Left" if first else "right"}
        return [x, y, z, cell.get(kind, "f" if first else "j")], [(x, near, far)]
    if kind == "pairs":
        return [x, y, z, w, "a" if first else "b"], [(x, y, z, w) if first else (z, w, x, y)]
    if kind in ("votes", "votes on pairs"):
        votes = draw(st.sampled_from([(3, 0), (0, 1), (2, 5)]))
        both = [(x, y, z), (x, z, y)] if kind == "votes" else [(x, y, z, w), (z, w, x, y)]
        return [*([x, y, z] if kind == "votes" else shown[:4]), *votes], [one for one, n in zip(both, votes) if n]
    if kind in ("odd-one-out", "odd by code", "most-central"):
        at = draw(st.integers(0, 2))
        picked, (p, q) = shown[at], [one for place, one in enumerate(shown[:3]) if place != at]
        cell = at + 1 if kind == "odd by code" else picked
        said = [(p, picked, q), (q, picked, p)] if kind == "most-central" else [(p, q, picked), (q, p, picked)]
        return [x, y, z, cell], said
    if kind == "rankings":
        ranked = [y, z, w, v][: draw(st.integers(2, 4))]
        pairs = [(x, a, b) for at, a in enumerate(ranked) for b in ranked[at + 1 :]]
        return [x, *ranked, *[None] * (4 - len(ranked))], pairs
    said = [(x, a, b) for a in (y, z) for b in (w, v)]
    said = [(x, y, z), *said] if first else said
    return [*shown, 2, "yes" if first else "no"], sorted(said, key=lambda one: shown.index(one[1]))


_ASK, _SET, _PAIRS = ("anchor", "a", "b"), ("a", "b", "c"), ("i", "j", "l", "k")
_RANKS = ("anchor", "rank_1", "rank_2", "rank_3", "rank_4")
# Columns, those that are needed, a known name that is not used, and what must be declared.
_HEADS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str, Layout | None]] = {
    "triplets": (("anchor", "near", "far"), ("anchor", "near", "far"), "answer", None),
    "quadruplets": (_PAIRS, _PAIRS, "odd", None),
    "by object": ((*_ASK, "answer"), (*_ASK, "answer"), "odd", None),
    "by far object": ((*_ASK, "far"), (*_ASK, "far"), "votes_a", None),
    "by column": (("reference", "left", "right", "response"), ("reference", "left", "right", "response"), "near", None),
    "by code": ((*_ASK, "answer"), (*_ASK, "answer"), "rank_1", Layout(answers={"f": "a", "j": "b"})),
    "pairs": ((*_PAIRS, "answer"), _PAIRS, "votes_b", None),
    "votes": ((*_ASK, "votes_a", "votes_b"), (*_ASK, "votes_a", "votes_b"), "near", None),
    "votes on pairs": ((*_PAIRS, "votes_a", "votes_b"), _PAIRS, "central", None),
    "odd-one-out": ((*_SET, "odd"), (*_SET, "odd"), "near", None),
    "odd by code": ((*_SET, "odd"), (*_SET, "odd"), "far", Layout(answers={1: "a", 2: "b", 3: "c"})),
    "most-central": ((*_SET, "central"), (*_SET, "central"), "odd", None),
    "rankings": (_RANKS, ("anchor", "rank_1", "rank_2"), "near", None),
    "chosen of several": ((*_RANKS, "n_chosen", "ordered"), ("anchor", "rank_1"), "far", None),
}
