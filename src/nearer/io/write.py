"""Comparisons written to CSV, JSON lines, Parquet or NumPy files."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearer.data import Comparisons
from nearer.data.answers import SIDE_NAMES
from nearer.data.coded import Coded
from nearer.data.comparisons import INDEX_COLUMNS
from nearer.data.messages import counted
from nearer.io.files import atomic_write, check_ending
from nearer.io.parquet import META_KEY
from nearer.io.text import text_cells
from nearer.registry import WRITTEN

logger = logging.getLogger(__name__)
_GROUP = 1 << 20  # rows of a row group of Parquet
_BLOCK = 1 << 16
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}


def write_comparisons(path: str | os.PathLike[str], comparisons: Comparisons, *, force: bool = False) -> None:
    """Write comparisons to a file, the format by its ending.

    Each comparison is a row; where answers gave several, or none (attention checks), the columns ``answer_number`` and
    ``question_kind`` say which rows are one answer. Figures on what was left out (`Comparisons.flow`) are kept in the
    column ``flow``. Only Parquet and .npz keep the order of labels and objects that
    occur in no comparison. In CSV and TSV, an apostrophe guards labels that a spreadsheet could run as a formula;
    reading removes it.

    Parameters
    ----------
    path : path-like
        Ending .csv, .tsv, .txt, .jsonl, .parquet or .npz.
    comparisons : Comparisons
    force : bool, default=False
        Replace an existing file.
    """
    ending = check_ending(path, WRITTEN)
    if ending == ".npz":
        with atomic_write(path, force) as file:
            np.savez_compressed(file, allow_pickle=False, **_arrays(comparisons))
    elif ending in (".parquet", ".pq"):
        _write_parquet(path, comparisons, force)
    else:
        if unseen := int(np.count_nonzero(~comparisons.seen)):
            logger.warning("%s: %s in no comparison cannot be kept in this format", path, counted(unseen, "object"))
        _write_lines(path, comparisons, _DELIMITERS.get(ending), force)


def _columns(comparisons: Comparisons) -> dict[str, tuple[np.ndarray, Any]]:
    """Columns by name: values (n,) and None, or codes (n,) and their names, of which the last, None, has code -1."""
    index, answers, answer = comparisons.index, comparisons.answers, comparisons.answer
    weights, labels, every = comparisons.weights, comparisons.labels, np.arange(len(index))
    is_whole = comparisons.flow == answers.flow(comparisons.n_answers, {})
    plain = comparisons.kind == answers.kind and answer is None and answers.votes is None and answers.catch is None
    plain = plain and is_whole
    if answer is not None:  # a row for each comparison, and one without objects for each answer that gave none
        silent = np.flatnonzero(np.bincount(answer, minlength=len(answers)) == 0)
        every = np.concatenate([answer, silent])
        index = np.concatenate([index, np.full((len(silent), index.shape[1]), -1, np.int32)])
        weights = None if weights is None else np.concatenate([weights, np.ones(len(silent))])
        labels = np.arange(comparisons.n_objects).astype(str) if labels is None and len(silent) else labels
    found: dict[str, Any] = {name: (column, labels) for name, column in zip(INDEX_COLUMNS[index.shape[1]], index.T)}
    if weights is not None:
        found["weight"] = weights, None
    if not plain:
        kinds = answers.kind if isinstance(answers.kind, Coded) else Coded.constant(answers.kind, len(answers))
        found |= {"answer_number": (every, None), "question_kind": (kinds.codes[every], kinds.names)}
        if answers.votes is not None:
            found["votes"] = answers.votes[every], None
    words = {"side": SIDE_NAMES[:-1], "catch": ["false", "true"], "correct": ["false", "true"]}
    for name, values in answers.known().items():
        if isinstance(values, Coded):
            found[name] = values.codes[every], values.names
        elif name in words:
            found[name] = values[every].astype(np.int8), words[name]
        elif name in ("order", "seconds"):
            found[name] = np.where(values < 0, np.nan, values)[every] if (values < 0).any() else values[every], None
    if not is_whole:  # in the first row
        found["flow"] = np.append(0, np.full(len(every) - 1, -1)), [json.dumps(comparisons.flow.to_dict())]
    for name, (values, names) in found.items():
        cells = None if names is None else [*np.asarray(names, dtype=object).tolist(), None]
        found[name] = values, None if cells is None else np.array(cells, dtype=object)
    return found


def _arrays(comparisons: Comparisons) -> dict[str, np.ndarray]:
    stored: dict[str, np.ndarray] = {"n_objects": np.array(comparisons.n_objects)}
    if comparisons.labels is not None:
        stored["labels"] = comparisons.labels.astype(str)
    for name, (values, names) in _columns(comparisons).items():
        if name == "flow":  # once: every cell of an array is as long as the longest
            stored[name] = np.array(names[0])
            continue
        is_number = names is None or (name in INDEX_COLUMNS[comparisons.index.shape[1]] and values.min() >= 0)
        stored[name] = values if is_number else np.array(["" if cell is None else cell for cell in names[values]])
    return stored


def _blocks(columns: dict[str, tuple[np.ndarray, Any]]) -> Iterator[dict[str, list[Any]]]:
    for start in range(0, len(next(iter(columns.values()))[0]), _BLOCK):
        block = {}
        for name, (values, names) in columns.items():
            some = values[start : start + _BLOCK]
            cells = (some if names is None else names[some]).tolist()
            block[name] = [None if cell != cell else cell for cell in cells] if names is None else cells
        yield block


def _write_lines(path: Any, comparisons: Comparisons, delimiter: str | None, force: bool) -> None:
    columns = _columns(comparisons)
    for name, (values, names) in columns.items():
        if delimiter and names is not None:  # distinct texts are quoted once
            what = "label" if name in INDEX_COLUMNS[comparisons.index.shape[1]] else name
            columns[name] = values, np.array([*text_cells(map(str, names[:-1]), what, delimiter), ""], dtype=object)
    with atomic_write(path, force, mode="w") as file:
        file.write(delimiter.join(columns) + "\n" if delimiter else "")
        for block in _blocks(columns):
            if delimiter:
                texts = (cells if isinstance(cells[0], str) else map(_cell, cells) for cells in block.values())
                rows = (delimiter.join(row) for row in zip(*texts))
            else:
                rows = (json.dumps(dict(zip(block, row)), ensure_ascii=False) for row in zip(*block.values()))
            file.writelines(row + "\n" for row in rows)


def _cell(number: float | None) -> str:
    return "" if number is None else repr(number).removesuffix(".0")


def _write_parquet(path: Any, comparisons: Comparisons, force: bool) -> None:
    arrays = {}
    for name, (values, names) in _columns(comparisons).items():
        array = pa.array(np.ascontiguousarray(values), from_pandas=True, mask=None if names is None else values < 0)
        if names is not None:
            array = pa.DictionaryArray.from_arrays(array.cast(pa.int32()), pa.array(names[:-1].tolist()))
        arrays[name] = array
    known = {"n_objects": int(comparisons.n_objects)}
    if comparisons.labels is not None:
        known["labels"] = comparisons.labels.tolist()
    table = pa.table(arrays).replace_schema_metadata({META_KEY: json.dumps(known).encode()})
    ends, answer = [*range(_GROUP, len(table), _GROUP), len(table)], comparisons.answer
    with atomic_write(path, force) as file, pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        start = 0
        for end in ends:  # no answer spans two row groups
            while answer is not None and end < len(answer) and answer[end] == answer[end - 1]:
                end += 1
            if end > start:
                writer.write_table(table.slice(start, end - start), end - start)
            start = end
