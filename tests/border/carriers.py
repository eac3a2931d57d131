"""One table in every carrier: what is written here must be read alike, or be refused alike.

A table is column names and rows of cells; a cell is text, a number, or None. `CARRIERS` maps the name of a carrier to a
function (table, folder) -> `Outcome`.
"""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nearer.data import Comparisons
from nearer.data.values import detail_cells
from nearer.io import open_blocks, read_comparisons


@dataclass(frozen=True)
class Sheet:
    """A table to be carried; `options` are those of `read_comparisons`."""

    names: list[str]
    rows: list[list[Any]]
    options: dict[str, Any] = field(default_factory=dict)

    def columns(self) -> dict[str, list[Any]]:
        """Column name -> cells."""
        return {name: [row[spot] for row in self.rows] for spot, name in enumerate(self.names)}


@dataclass(frozen=True)
class Outcome:
    """What a carrier gave: comparisons by label, or a refusal.

    Rows of weight 0 say nothing and are left out: a stream passes over a block of them. `dropped` and `details` are
    None where a carrier does not keep them, `participants` is () where nothing says who answered, and `refusal` is ""
    where it read the table.
    """

    said: tuple[tuple[str, ...], ...] = ()
    weights: tuple[float, ...] | None = None
    objects: tuple[str, ...] = ()
    participants: tuple[str | int, ...] = ()
    dropped: tuple[tuple[str, int], ...] | None = None
    refusal: str = ""
    details: Any = None

    def agrees(self, other: Outcome) -> bool:
        """Whether two carriers gave the same, as far as both keep it."""
        mine, theirs = vars(self), vars(other)
        optional = ("dropped", "details")
        kept = [key for key in mine if key not in optional or not (mine[key] is None or theirs[key] is None)]
        return all(mine[key] == theirs[key] for key in kept)


def _labels(labels: Any, n_objects: int) -> list[str]:
    return [str(number) for number in range(n_objects)] if labels is None else labels.tolist()


def outcome(comparisons: Comparisons, dropped: dict[str, int] | None) -> Outcome:
    """What comparisons say."""
    labels = _labels(comparisons.labels, comparisons.n_objects)
    participants = () if comparisons.participants is None else tuple(comparisons.participants.tolist())
    said = [tuple(labels[place] for place in row) for row in comparisons.index.tolist()]
    weights = None if comparisons.weights is None else comparisons.weights.tolist()
    found = counting(said, weights, participants, labels, dropped)
    if comparisons.details is None:
        return found
    return replace(found, details=detail_cells(comparisons.details))


def counting(said: Any, weights: Any, participants: Any, labels: Any, dropped: Any) -> Outcome:
    """An outcome without the rows of weight 0."""
    rows = [spot for spot in range(len(said)) if weights is None or weights[spot] > 0]
    return Outcome(
        tuple(said[spot] for spot in rows),
        None if weights is None else tuple(weights[spot] for spot in rows),
        tuple(labels),
        tuple(participants[spot] for spot in rows) if participants else (),
        None if dropped is None else tuple(sorted(dropped.items())),
    )


def refusal(error: Exception, name: str = "table", offset: int = 0) -> str:
    """Reduce a message to what does not depend on the carrier: its name is T, rows of data are counted from 1."""
    text = re.sub(r"partition \d+ of the Dask collection|the Dask collection", "T", str(error))
    text = re.sub(r"\S*\.(csv|tsv|xlsx|json|jsonl|parquet)\b", "T", text.replace(name, "T"))
    text = re.sub(r"^table\b", "T", text)
    text = re.sub(r"^T, line 1: columns", "T: columns", text)  # the place of a header
    text = re.sub(r"\n  the first row is taken as names[^\n]*", "", text)  # said of text and sheets alone
    return re.sub(r"\b(?:line|row) (\d+)", lambda found: f"row {int(found[1]) - offset}", text)


def tried(read: Callable[[], Outcome], name: str = "table", offset: int = 0) -> Outcome:
    """What reading gives, or why it was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read()
        except ValueError as error:
            return Outcome(refusal=refusal(error, name, offset))


def _file(write: Callable[[Sheet, Path], None], ending: str, offset: int = 0) -> Callable[[Sheet, Path], Outcome]:
    """A carrier that is a file."""

    def carry(sheet: Sheet, folder: Path) -> Outcome:
        path = folder / f"table{ending}"
        write(sheet, path)

        def read() -> Outcome:
            result = read_comparisons(path, **sheet.options)
            return outcome(result.comparisons, result.dropped)

        return tried(read, str(path), offset)

    return carry


def _memory(make: Callable[[Sheet], Any]) -> Callable[[Sheet, Path], Outcome]:
    """A carrier in memory."""

    def carry(sheet: Sheet, folder: Path) -> Outcome:
        def read() -> Outcome:
            result = read_comparisons(make(sheet), **sheet.options)
            return outcome(result.comparisons, result.dropped)

        return tried(read)

    return carry


def _text(cell: Any) -> str:
    return "" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell)


def _write_delimited(delimiter: str) -> Callable[[Sheet, Path], None]:
    def write(sheet: Sheet, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerows([sheet.names, *([_text(cell) for cell in row] for row in sheet.rows)])

    return write


def _write_xlsx(sheet: Sheet, path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for line, row in enumerate([sheet.names, *sheet.rows], 1):
        for spot, cell in enumerate(row, 1):
            if cell is not None:
                written = book.active.cell(line, spot, cell)
                written.data_type = "s" if isinstance(cell, str) else written.data_type  # no formula
    book.save(path)


def _records(sheet: Sheet) -> list[dict[str, Any]]:
    return [dict(zip(sheet.names, row)) for row in sheet.rows]


def _write_json(sheet: Sheet, path: Path) -> None:
    path.write_text(json.dumps(_records(sheet), ensure_ascii=False), encoding="utf-8")


def _write_jsonl(sheet: Sheet, path: Path) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in _records(sheet))
    path.write_text("".join(lines), encoding="utf-8")


def _arrow(sheet: Sheet) -> Any:
    import pyarrow as pa

    return pa.table(sheet.columns())


def _write_parquet(sheet: Sheet, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_arrow(sheet), path, row_group_size=2)


def _pandas(sheet: Sheet) -> Any:
    import pandas as pd

    return pd.DataFrame(sheet.columns())


def _polars(sheet: Sheet) -> Any:
    import polars as pl

    return pl.DataFrame(sheet.columns())


def _stream(sheet: Sheet, folder: Path) -> Outcome:
    """Blocks of two rows, put together again."""
    path = folder / "table.parquet"
    _write_parquet(sheet, path)

    def read() -> Outcome:
        reader = open_blocks(path, **sheet.options)
        blocks = list(reader.blocks(2))
        together = Comparisons.concat(blocks) if len(blocks) > 1 else blocks[0]
        assert reader.total_weight == (len(together) if together.weights is None else together.weights.sum())
        assert reader.has_weights == (together.weights is not None)
        dropped = {reason: count for reason, (count, _) in reader.dropped.items()}
        bare = list(reader.without_participants().blocks(2))
        assert all(block.people is None for block in bare)
        assert Comparisons.concat(bare) == together._with(people=None)
        assert_same_people(reader.participants, together.participants)
        return outcome(together, dropped)

    return tried(read, str(path))


def assert_same_people(names: Any, each: Any) -> None:
    """What is known of all people is what their answers say: the same names, numbers as numbers, sorted."""
    assert (names is None) == (each is None)
    assert names is None or names.tolist() == sorted(set(each.tolist()))


def on_cluster(sheet: Sheet, folder: Path, client: Any, frame: bool) -> Outcome:
    """The table as a Dask dataframe of two partitions, or as Parquet read by workers; neither takes options."""
    from nearer.distributed.data import open_data

    path = folder / "table.parquet"
    source: Any = str(path)
    if frame:
        import dask.dataframe as dd

        source = dd.from_pandas(_pandas(sheet), npartitions=2, sort=False)
    else:
        _write_parquet(sheet, path)

    def read() -> Outcome:
        data = open_data(source, client, n_shards=2)
        labels = _labels(data.labels, data.n_all)
        together = Comparisons.concat(list(data.blocks()))
        assert_same_people(data.participants, together.participants)
        said = [tuple(labels[data.seen[place]] for place in row) for row in together.index.tolist()]
        weights = None if together.weights is None else together.weights.tolist()
        participants = () if together.participants is None else tuple(together.participants.tolist())
        return counting(said, weights, participants, labels, None)

    return tried(read, str(path))


CARRIERS: dict[str, Callable[[Sheet, Path], Outcome]] = {
    "dict": _memory(Sheet.columns),
    "list of dicts": _memory(_records),
    "pandas": _memory(_pandas),
    "polars": _memory(_polars),
    "Arrow": _memory(_arrow),
    "CSV": _file(_write_delimited(","), ".csv", 1),
    "TSV": _file(_write_delimited("\t"), ".tsv", 1),
    "spreadsheet": _file(_write_xlsx, ".xlsx", 1),
    "JSON": _file(_write_json, ".json"),
    "JSON lines": _file(_write_jsonl, ".jsonl"),
    "Parquet": _file(_write_parquet, ".parquet"),
    "stream": _stream,
}
