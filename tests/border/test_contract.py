"""The contract of the border: a table means the same in every carrier, or is refused in the same words."""

from __future__ import annotations

import re

import pytest
from carriers import CARRIERS, Sheet, on_cluster
from hypothesis import HealthCheck, Phase, given, settings
from tables import FAULTS, KINDS, TOLD_FAULTS, cases, refused

import nearer.io.blocks

_CALM = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
_ASKED = "can be read in two ways"  # numbers that may be objects as well as positions


def examples(count):
    """Settings: few examples, the same ones each time."""
    # A failing table is small already; making it smaller would take minutes.
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=_CALM,
        phases=[Phase.generate],
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(nearer.io.blocks, "_SCAN_ROWS", 2)


def in_blocks(text):
    """A refusal as far as it does not depend on how much of the table a reader saw."""
    text = re.sub(r"; \d+ rows in all:[^;]*|; \d+ such cells in this column| \(\d+ such rows(?: of \d+)?\)", "", text)
    # A cluster does not read its data again to find the first of such answers.
    text = re.sub(r"'[^']*' is none of the objects shown in that row( \(\d+ such row of \d+\))?", "not shown", text)
    text = re.sub(r"\d+ answers? of \d+ name none of the objects shown", "not shown", text)
    text = re.sub(r"\n {14}[^\n]*", "", text)  # of the first rows only the very first may be in the first block
    return re.sub(r"T(, row -?\d+| is)", "T", text)


def agree(sheet, folder, meant=None):
    """Every carrier gives what is meant, or what the first one gives."""
    first = meant
    for name, carry in CARRIERS.items():
        found = carry(sheet, folder)
        first = first or found
        if _ASKED in found.refusal and not first.refusal:
            first = found
        if name == "stream":
            assert in_blocks(found.refusal) == in_blocks(first.refusal), name
        else:
            assert found.refusal == first.refusal, name
        assert found.refusal or found.agrees(first), (name, found, first)
    return first


@pytest.mark.parametrize("kind", KINDS)
def test_every_carrier_says_what_was_written(kind, tmp_path):
    @examples(8)
    @given(case=cases(kinds=(kind,)))
    def check(case):
        agree(case.sheet, tmp_path, case.meant)

    check()


@pytest.mark.parametrize("fault", FAULTS)
def test_every_carrier_refuses_in_the_same_words(fault, tmp_path):
    @examples(5)
    @given(sheet=refused(fault))
    def check(sheet):
        assert agree(sheet, tmp_path).refusal

    check()


def test_a_header_repeated_in_mid_table_is_left_out_by_every_carrier(tmp_path):
    @examples(4)
    @given(case=cases(told=False))
    def check(case):
        rows = [[None if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
                for row in case.sheet.rows]  # fmt: skip
        rows.insert(2, case.sheet.names)
        plain = agree(case.sheet, tmp_path)
        doubled = agree(Sheet(case.sheet.names, rows), tmp_path)
        assert doubled.refusal == plain.refusal
        if not plain.refusal:
            assert (doubled.said, doubled.weights, doubled.participants) == (
                plain.said,
                plain.weights,
                plain.participants,
            )
            assert dict(doubled.dropped) == dict(plain.dropped) | {"header repeated": 1}

    check()


def test_a_dask_frame_and_parquet_on_a_cluster_say_what_was_written(client_here, tmp_path):
    @examples(8)
    @given(case=cases(told=False))
    def check(case):
        for frame in (True, False):
            found = on_cluster(case.sheet, tmp_path, client_here, frame)
            assert _ASKED in found.refusal or found.agrees(case.meant), (frame, found, case.meant)

    check()


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in TOLD_FAULTS])
def test_a_cluster_refuses_in_the_same_words(fault, client_here, tmp_path):
    @examples(2)
    @given(sheet=refused(fault))
    def check(sheet):
        meant = CARRIERS["dict"](sheet, tmp_path)
        for frame in (True, False):
            found = on_cluster(sheet, tmp_path, client_here, frame)
            assert in_blocks(found.refusal) == in_blocks(meant.refusal), frame

    check()


@pytest.mark.parametrize("names", [["0", "1", "2"], ["1", "2", "3"]])
def test_columns_called_by_numbers_have_no_names_in_any_carrier(names, client_here, tmp_path):
    rows = [["oboe", "flute", "drum"], ["gong", "drum", "harp"], ["harp", "oboe", "gong"]]
    for rows_too in (rows, [[*row, "0"] for row in rows]):
        sheet = Sheet([*names, "3" if names[0] == "0" else "4"][: len(rows_too[0])], rows_too)
        first = agree(sheet, tmp_path)
        assert (
            first.said == tuple(map(tuple, rows))
            if len(rows_too[0]) == 3
            else "4 columns without names" in first.refusal
        )
        for frame in (True, False):
            found = on_cluster(sheet, tmp_path, client_here, frame)
            assert found.agrees(first) if first.said else in_blocks(found.refusal) == in_blocks(first.refusal)


def test_the_further_header_rows_of_qualtrics_are_left_out_by_every_carrier(tmp_path):
    names = ["reference", "left", "right", "response", "participant"]
    texts = ["reference", "left", "right", "Which is more like the first?", "participant"]
    imports = [f'{{"ImportId":"QID{number}"}}' for number in range(5)]
    rows = [["oboe", "flute", "drum", "left", "p1"], ["gong", "drum", "harp", "right", "p2"]]
    found = agree(Sheet(names, [texts, imports, *rows]), tmp_path)
    assert found.said == (("oboe", "flute", "drum"), ("gong", "harp", "drum"))
    assert found.dropped == (("further header row", 2),)


def test_whole_numbers_with_a_decimal_point_are_those_numbers_in_every_carrier(tmp_path):
    rows = [["3.0", "1", "2", "1.0"], ["12", "2.0", "7", "7.0"], ["7", "3", "12", "3.0"]]
    found = agree(Sheet(["anchor", "left", "right", "answer"], rows), tmp_path)
    assert found.said == (("3", "1", "2"), ("12", "7", "2"), ("7", "3", "12"))
    assert found.objects == ("1", "2", "3", "7", "12")


@pytest.mark.parametrize("cell", ["several", 0, 9])
def test_a_number_of_chosen_candidates_must_be_one(cell, tmp_path):
    rows = [["oboe", "flute", "drum", "gong", "1"], ["gong", "drum", "harp", "oboe", str(cell)]]
    found = agree(Sheet(["query", "ref_1", "ref_2", "ref_3", "n_select"], rows), tmp_path)
    assert "is not a number from 1 to 3" in found.refusal


DETAILS = {
    "RT": ([1200.5, 900.0, None, 2100.0], "seconds", [1.2005, 0.9, None, 2.1]),
    "rt_ms": ([1200.5, 900.0, None, 2100.0], "seconds", [1.2005, 0.9, None, 2.1]),
    "response time": ([1.5, 0.75, None, 2.25], "seconds", [1.5, 0.75, None, 2.25]),
    "key_resp.rt": ([1.5, 0.75, None, 2.25], "seconds", [1.5, 0.75, None, 2.25]),
    "trial_index": ([4, 0, None, 7], "order", [4, 0, None, 7]),
    "Trial Number": (["4", "0", None, "7"], "order", [4, 0, None, 7]),
    "Side": (["Left", "right", None, "RIGHT"], "side", ["first", "second", None, "second"]),
    "position": ([1, 2, None, 2], "side", ["first", "second", None, "second"]),
    "catch": (["yes", "no", None, "no"], "catch", [True, False, False, False]),
    "attention_check": ([1, 0, None, 0], "catch", [True, False, False, False]),
    "correct": (["True", "False", None, "False"], "correct", [True, False, None, False]),
    "Alg.Label": (["Random", "Greedy", None, "Random"], "chosen_by", ["Random", "Greedy", "unknown", "Random"]),
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_of_answers_are_kept_by_every_carrier_that_keeps_them(name, tmp_path):
    cells, role, expected = DETAILS[name]
    rows = [["oboe", "flute", "drum"], ["gong", "drum", "harp"], ["harp", "oboe", "gong"], ["oboe", "gong", "harp"]]
    sheet = Sheet(["anchor", "near", "far", name], [[*row, cell] for row, cell in zip(rows, cells)])
    found = agree(sheet, tmp_path)
    assert found.details == {role: expected}
    assert found.said == tuple(map(tuple, rows))


def test_answers_tell_which_side_was_chosen_in_every_carrier(tmp_path):
    rows = [["oboe", "flute", "drum", "left"], ["gong", "drum", "harp", "right"], ["oboe", "oboe", "gong", "left"]]
    found = agree(Sheet(["anchor", "left", "right", "answer"], rows), tmp_path)
    assert found.details == {"side": ["first", "second"]}
    odd = [["oboe", "flute", "drum", "drum"], ["gong", "drum", "harp", "gong"]]
    found = agree(Sheet(["a", "b", "c", "odd"], odd), tmp_path)
    assert found.details == {"side": ["third", "third", "first", "first"]}
