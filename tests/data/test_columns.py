"""Columns of cells, the coder, and people: any carrier of the same cells gives the same names and numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.data import Comparisons, columns
from nearer.data.cells import MISSING, is_whole
from nearer.data.columns import Coding, Column, column_of, distinct, whole_numbers
from nearer.data.values import People, check_people, check_weights

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def cells(column):
    return [column.cell(row) for row in range(len(column))]


def text(*values):
    return column_of(list(values))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("carrier", [np.asarray, pa.array, pd.Series])
def test_integers_of_any_width_are_the_same_column(dtype, carrier):
    column = column_of(carrier(np.array([3, 0, 120], dtype)))
    assert cells(column) == [3, 0, 120]
    assert column.cells.dtype in (np.int32, np.int64)  # sums of narrower ones overflow
    assert Coding.of([column]).values.tolist() == [0, 3, 120]


def test_narrow_integers_far_apart_do_not_overflow():
    column = column_of(np.array([-128, 127, 0], np.int8))
    coding = Coding.of([column])
    assert coding.values.tolist() == [-128, 0, 127]
    assert coding.encode(column).tolist() == [0, 2, 1]


def test_integers_beyond_64_bits_are_refused():
    with pytest.raises(TypeError, match="the integer 18446744073709551615 is beyond the signed 64-bit range"):
        column_of(np.array([0, 2**64 - 1], np.uint64))
    assert cells(column_of(np.array([0, 2**63 - 1], np.uint64))) == [0, 2**63 - 1]


@pytest.mark.parametrize(
    "given",
    [
        ["b", None, "a", ""],
        np.array(["b", None, "a", ""], object),
        pd.Series(["b", None, "a", ""]),
        pd.Series(["b", None, "a", ""], dtype="category"),
        pa.array(["b", None, "a", ""]),
        pa.array(["b", None, "a", ""], pa.large_string()),
        pa.array(["b", None, "a", ""]).dictionary_encode(),
        pa.chunked_array([["b", None], ["a", ""]]),
        pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["a", ""]).dictionary_encode()]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_text_of_any_carrier_is_the_same_column(given):
    column = column_of(given)
    assert column.is_text
    assert cells(column) == ["b", None, "a", ""]
    assert column.empty().tolist() == [False, True, False, True]
    assert cells(column.take(np.array([2, 0]))) == ["a", "b"]


def test_missing_words_are_exact_but_for_blanks_around_them():
    column = text(*MISSING, " NA ", "Na", "nA", "none", "0")
    assert column.empty(MISSING).tolist() == [True] * (len(MISSING) + 1) + [False] * 4
    assert column.empty().tolist() == [True] + [False] * (len(MISSING) + 4)
    assert column_of(np.array([1.0, np.nan])).empty().tolist() == [False, True]
    assert column_of([1, None, 3]).empty(MISSING).tolist() == [False, True, False]


def test_cells_of_several_kinds_become_text():
    assert cells(column_of(["a", 1, 2.0, None, 2.5, True])) == ["a", "1", "2", None, "2.5", "True"]
    assert cells(column_of(np.array([1.0, 2.0])).spelled()) == ["1", "2"]
    with pytest.raises(TypeError, match=r"row 2 is \[1\] \(list\), expected text or a number"):
        column_of(["a", [1]])
    with pytest.raises(TypeError, match="a column of dtype complex128 holds neither text nor numbers"):
        column_of(np.array([1j]))


def test_text_that_is_not_utf8_is_refused():
    bad = pa.Array.from_buffers(pa.string(), 1, [*pa.array(["é"]).buffers()[:2], pa.py_buffer(b"\xe9x")])
    with pytest.raises(ValueError, match=r"^table: column 'near': Invalid UTF8 sequence"):
        Comparisons.from_labels_table(pa.table({"anchor": ["a"], "near": bad, "far": ["c"]}))


def test_masked_entries_are_empty_cells():
    assert cells(column_of(np.ma.array([1, 2, 3], mask=[0, 1, 0]))) == [1, None, 3]
    assert cells(column_of(np.ma.array([1.5, 2, 3], mask=[0, 1, 0]))) == [1.5, None, 3]


def test_text_read_as_numbers():
    numbers, bad = text(" 1.5", "+2", "-3e2", ".5", "NA", "", "many", "1,5", "0x10").as_numbers()
    assert numbers[:4].tolist() == [1.5, 2, -300, 0.5]
    assert np.isnan(numbers[4:]).all()
    assert bad.tolist() == [False] * 6 + [True] * 3


@pytest.mark.parametrize(
    ("word", "whole"),
    [
        *((word, True) for word in ("0", "17", "9" * 18)),
        *((word, False) for word in ("007", "-1", "1.0", "", "٣", "²", " 1", "1" + "0" * 18)),
    ],
)
def test_whole_numbers_in_plain_form(word, whole):
    assert is_whole(word) is whole


def test_numbers_that_are_not_whole_are_named():
    with pytest.raises(ValueError, match=r"^row 2 is 1\.5, expected a name or a whole number$"):
        whole_numbers(Column(np.array([1.0, 1.5])))
    with pytest.raises(ValueError, match=r"^row 1 is inf, expected"):
        whole_numbers(Column(np.array([np.inf])))
    with pytest.raises(ValueError, match="holds true and false"):
        whole_numbers(Column(np.array([True])))


class TestCoding:
    def test_names_are_sorted_numbers_by_size_texts_by_code_point(self):
        assert Coding.of([column_of([10, 9]), column_of([200.0])]).values.tolist() == [9, 10, 200]
        assert Coding.of([text("b", "B"), text("a", "é", "10", "9")]).names().tolist() == [
            "10",
            "9",
            "B",
            "a",
            "b",
            "é",
        ]

    def test_numbers_beside_text_are_spelled(self):
        coding = Coding.of([column_of([10, 9]), text("a", "9")])
        assert coding.names().tolist() == ["10", "9", "a"]
        assert coding.encode(column_of([9, 10, 8])).tolist() == [1, 0, -1]

    def test_texts_that_do_not_occur_are_left_out(self):
        column = pd.Series(pd.Categorical(["a", "c"], categories=["a", "b", "c"]))
        assert Coding.of([column_of(column)]).names().tolist() == ["a", "c"]

    @pytest.mark.parametrize("numbers", [[-3, 0, 7], [5, 6, 7], [0, 1, 2], [-(2**62), 0, 2**62]])
    def test_encode_gives_places_and_refuses_strangers(self, numbers):
        coding = Coding.of([column_of(numbers)])
        assert coding.encode(column_of(numbers[::-1])).tolist() == [2, 1, 0]
        assert coding.encode(column_of([numbers[2], numbers[0] - 1, numbers[2] + 1])).tolist() == [2, -1, -1]
        moved = coding.encode(column_of([*numbers, numbers[0] - 1]), np.array([7, 8, 9], np.int32))
        assert moved.tolist() == [7, 8, 9, -1]

    def test_text_that_spells_a_number_finds_it(self):
        coding = Coding.of([column_of([0, 4, 9])])
        assert coding.encode(text("9", "4", "04", "x", "-1", "0")).tolist() == [2, 1, -1, -1, -1, 0]

    def test_union(self):
        numbers, more, words = (
            Coding.of([column_of([5, 1])]),
            Coding.of([column_of([-2, 5])]),
            Coding.of([text("x", "5")]),
        )
        assert Coding.union([numbers, more]).values.tolist() == [-2, 1, 5]
        assert Coding.union([numbers, words]).names().tolist() == ["1", "5", "x"]
        assert Coding.union([words, more]).names().tolist() == ["-2", "5", "x"]
        empty = Coding(np.empty(0, np.int64))
        assert Coding.union([empty, words]).names().tolist() == ["5", "x"]
        assert len(Coding.union([empty, empty])) == 0

    def test_pickled(self):
        for column in (column_of([3, 1]), text("b", "a")):
            coding = pickle.loads(pickle.dumps(Coding.of([column])))
            assert coding.encode(column).tolist() == [1, 0]

    @given(st.lists(st.integers(-(2**40), 2**40), min_size=1), st.lists(st.integers(-50, 50), min_size=1))
    def test_against_sorted_sets(self, one, other):
        coding = Coding.union([Coding.of([column_of(one)]), Coding.of([column_of(other)])])
        expected = sorted({*one, *other})
        assert coding.values.tolist() == expected
        assert [expected[place] for place in coding.encode(column_of(one))] == one


class TestPeople:
    def test_names_are_held_once(self):
        people = check_people(["q", "p", "q"], 3)
        assert people.names.tolist() == ["p", "q"]
        assert people.codes.tolist() == [1, 0, 1]
        assert people.each().tolist() == ["q", "p", "q"]
        assert check_people(people, 3) is people

    def test_numbers_stay_numbers(self):
        people = check_people(np.array([9, 10, 9], np.int8), 3)
        assert people.names.dtype == np.int64
        assert people.each().tolist() == [9, 10, 9]

    def test_rows_taken_leave_out_those_who_are_gone(self):
        people = check_people(["q", "p", "r", "q"], 4)
        some = people[[0, 2]]
        assert some.names.tolist() == ["q", "r"]
        assert some.each().tolist() == ["q", "r"]
        assert some == check_people(["q", "r"], 2)
        assert some != check_people(["q", "q"], 2)

    def test_joined_and_repeated(self):
        one, two = check_people(["b", "a"], 2), check_people(["c", "b"], 2)
        assert People.joined([one, two]) == check_people(["b", "a", "c", "b"], 4)
        mixed = People.joined([one, check_people([7], 1)])
        assert mixed.each().tolist() == ["b", "a", "7"]
        assert one.repeated(2) == check_people(["b", "b", "a", "a"], 4)

    def test_nothing_can_be_written(self):
        people = check_people(["q", "p"], 2)
        for array in (people.codes, people.names, people.each()):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]

    @pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8])
    def test_the_array_given_is_not_held(self, dtype):
        given = np.array([0, 1, 2], dtype)  # codes of their own
        people = check_people(given, 3)
        given[:] = 0
        assert people.each().tolist() == [0, 1, 2]

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"^participants: row 1 has no participant \(first of 2 missing\)$"):
            check_people(["p", None, ""], 3)
        with pytest.raises(ValueError, match=r"^participants: row 2 is 1\.5, expected a name or a whole number$"):
            check_people([1.0, 1.5], 2)
        with pytest.raises(ValueError, match=r"^groups: got shape \(2, 2\), expected one cell for each row$"):
            check_people(np.zeros((2, 2), int), 2, "groups")


def test_weights_in_any_carrier_are_not_held():
    array = np.array([1.0, 2.0])
    for carrier in (array, array[:], pd.Series(array), pa.array(array), memoryview(array)):
        assert not np.shares_memory(check_weights(carrier, 2), np.asarray(carrier))
    frame = pd.DataFrame({"anchor": [0], "near": [1], "far": [2]})
    series = pd.Series([3.0])
    cmp = Comparisons.from_labels_table(frame, weights=series)
    series.iloc[0] = 9.0
    assert cmp.weights.tolist() == [3.0]


def test_tables_in_memory_are_not_held():
    columns = {name: np.array([spot, 3 - spot], np.int32) for spot, name in enumerate(("anchor", "near", "far"))}
    columns["weight"] = np.array([1.0, 2.0])
    columns["participant"] = np.array([0, 1], np.int32)
    cmp = Comparisons.from_labels_table(columns)
    before = pickle.loads(pickle.dumps(cmp))
    for column in columns.values():
        column[:] = column[::-1].copy()
    assert cmp == before


def test_weights_beside_a_table_must_count_in_the_rows_left():
    rows = [["a", "b", "c"], ["b", "b", "c"]]
    with pytest.warns(UserWarning, match="1 row dropped"):
        assert Comparisons.from_labels_table(rows, weights=[2, 1]).weights.tolist() == [2]
    with pytest.raises(ValueError, match=r"no row is left \(1 row dropped: .*, rows of weight 0 do not count\)"):
        Comparisons.from_labels_table(rows, weights=[0, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Comparisons.from_distances, "distances: got a masked array with masked entries, expected a square matrix"),
        (Comparisons.from_knn_graph, "graph: got a masked array with masked entries, expected a square matrix"),
        (
            lambda X: Comparisons.from_points(X, 5),
            "points: got a masked array with masked entries, expected numbers of",
        ),
    ],
)
def test_masked_matrices_are_refused(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make(np.ma.array(1 - np.eye(3), mask=np.eye(3)))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64])
def test_distinct_numbers(dtype):
    ends = np.iinfo(dtype)
    for cells in ([], [3], [3, 3], [2, 3, 2, 0, 3], [ends.max, ends.min, ends.max, ends.min], [[5, 4], [4, 5]]):
        cells = np.array(cells, dtype)
        np.testing.assert_array_equal(distinct(cells), np.unique(cells), strict=True)


@given(
    st.lists(st.sampled_from(["a", "b", "", "ß", None]), min_size=80, max_size=90),
    st.lists(st.sampled_from(["a", "b", "x", "y", None]), max_size=60),
    st.integers(1, 50),
)
def test_texts_looked_up_among_the_first_are_those_of_each_cell(first, rest, size):
    texts = [*first, *rest]
    chunks = pa.chunked_array([texts[start : start + size] for start in range(0, len(texts), size)], pa.string())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_FIRST_ROWS", 20)
        found = columns._looked_up(chunks)
    assert found is not None
    assert cells(found) == texts
    assert sorted(found.texts()) == sorted({*texts} - {None})


def test_texts_that_differ_are_not_looked_up(monkeypatch):
    monkeypatch.setattr(columns, "_FIRST_ROWS", 20)
    many = pa.chunked_array([[f"name {row}" for row in range(100)]])
    assert columns._looked_up(many) is None
    assert columns._looked_up(pa.chunked_array([["a"] * 79])) is None
    assert cells(column_of(many)) == many.to_pylist()


def test_texts_looked_up_must_be_unicode(monkeypatch):
    monkeypatch.setattr(columns, "_FIRST_ROWS", 4)
    broken = pa.array([b"a"] * 20 + [b"\xff"], pa.binary()).view(pa.string())
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        columns._looked_up(pa.chunked_array([broken]))


@pytest.mark.parametrize("letter", ["\0", "'", "c"])
def test_a_letter_that_no_text_holds_is_known_without_a_look_at_each(letter):
    assert text("ab", f"a{letter}b", None).may_hold(letter)
    assert not text("ab", None).may_hold(letter)
    assert not column_of(np.arange(3)).may_hold(letter)
    assert not text(None, None).may_hold(letter)


@pytest.mark.parametrize("column", [text("c", None, "a", "zz"), column_of(np.array([7, 5, 9, 1]))])
@pytest.mark.parametrize("names", [text("a", "b", "c"), column_of(np.array([5, 6, 7]))])
@pytest.mark.parametrize("numbers", [None, np.array([30, 20, 10], np.int32)])
def test_some_rows_are_numbered_as_all_are(column, names, numbers):
    coding = Coding.of([names])
    known = dict(zip(coding.names().tolist(), [0, 1, 2] if numbers is None else numbers.tolist()))
    expected = [known.get(str(cell), -1) for cell in cells(column)]
    assert coding.encode(column, numbers).tolist() == expected
    encode = coding.encoder(column, numbers)
    assert [*encode(slice(0, 3)), *encode(slice(3, 4))] == expected
