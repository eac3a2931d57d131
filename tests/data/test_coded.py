"""Columns and codes: any carrier of the same cells gives the same names and numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nearer.data.coded import check_coded, column_of, names_in


def cells(column):
    return [column.cell(row) for row in range(len(column))]


def text(*values):
    return column_of(list(values))


def test_the_ends_of_integers():
    for dtype in (np.int8, np.uint16, np.int32, np.int64, np.uint64):
        ends = np.array([np.iinfo(dtype).min, min(np.iinfo(dtype).max, 2**63 - 1), 5], dtype)
        for column in map(column_of, (ends, pa.array(ends), pd.Series(ends))):
            assert names_in([column]).find(column).tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="18446744073709551615"):
        column_of(np.array([0, 2**64 - 1], np.uint64))


@pytest.mark.parametrize("given", [
    ["b", None, "a", ""], np.array(["b", None, "a", ""], object), pd.Series(["b", None, "a", ""]),
    pd.Series(["b", None, "a", ""], dtype="category"), pa.array(["b", None, "a", ""], pa.large_string()),
    pa.chunked_array([["b", None], ["a", ""]]),
    pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["a", ""]).dictionary_encode()]),
], ids=lambda given: type(given).__name__)  # fmt: skip
def test_text_of_any_carrier_is_the_same_column(given):
    column = column_of(given)
    assert column.is_text
    assert cells(column) == ["b", None, "a", None]
    assert column.empty().tolist() == [False, True, False, True]
    assert cells(column.take(np.array([2, 0]))) == ["a", "b"]


def test_cells_of_several_kinds_become_text():
    assert cells(column_of(["a", 1, 2.0, None, 2.5, True])) == ["a", "1", "2", None, "2.5", "True"]
    assert cells(column_of(np.array([1.0, 2.0])).spelled()) == ["1", "2"]
    for wrong in (["a", [1]], np.array([1j])):
        with pytest.raises(TypeError):
            column_of(wrong)
    broken = pa.Array.from_buffers(pa.string(), 1, [*pa.array(["é"]).buffers()[:2], pa.py_buffer(b"\xe9x")])
    with pytest.raises(ValueError, match="UTF8"):
        column_of(broken)


def test_text_read_as_numbers():
    numbers, bad = (
        text(" 1.5", "+2", "-3e2", ".5", "NA", "", "many", "1,5", "0x10", "1_000").without(["NA"]).as_numbers()
    )
    assert numbers[:4].tolist() == [1.5, 2, -300, 0.5]
    assert np.isnan(numbers[4:]).all()
    assert bad.tolist() == [False] * 6 + [True] * 4
    assert text("1,5", "2").as_numbers(decimal_comma=True)[0].tolist() == [1.5, 2]


@pytest.mark.parametrize("numbers", [[-3, 0, 7], [5, 6, 7], [0, 1, 2], [-(2**62), 0, 2**62]])
def test_codes_are_places_and_strangers_have_none(numbers):
    coding = names_in([column_of(numbers)])
    assert coding.find(column_of(numbers[::-1])).tolist() == [2, 1, 0]
    assert coding.find(column_of([numbers[2], numbers[0] - 1, numbers[2] + 1])).tolist() == [2, -1, -1]
    assert pickle.loads(pickle.dumps(coding)).find(column_of(numbers)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(("values", "reason"), [
    (["p", None, ""], "row 1 has no person.*2"), ([1.0, 1.5, 2.0], "1.5"), (np.zeros((3, 2), int), r"\(3, 2\)"),
    (["p", "q"], r"\(2,\).*\(3,\)"), (["p", "q\0", "r"], "NUL"),
])  # fmt: skip
def test_names_that_are_missing_or_none_are_refused(values, reason):
    with pytest.raises(ValueError, match=f"^people: .*{reason}"):
        check_coded(values, 3, "people", "person")
