"""The contract of the border: a table means the same in every carrier, or is refused in the same words."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from carriers import CARRIERS, Sheet, on_cluster, outcome, tried
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from tables import FAULTS, KINDS, TOLD_FAULTS, cases, refused

import nearer.io.blocks
from nearer import OrdinalEmbedding
from nearer.cli import cli
from nearer.data.roles import ALIASES
from nearer.io import read_comparisons
from nearer.solvers import GD

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
    outcomes = {name: carry(sheet, folder) for name, carry in CARRIERS.items()}
    asked = [found for found in outcomes.values() if _ASKED in found.refusal]
    first = (asked or [meant or outcomes["dict"]])[0]
    for name, found in outcomes.items():
        if name == "stream":
            assert in_blocks(found.refusal) == in_blocks(first.refusal), name
        else:
            assert found.refusal == first.refusal, name
        assert found.refusal or found.agrees(first), (name, found, first)
    return first


@pytest.mark.parametrize("kind", KINDS)
def test_every_carrier_says_what_was_written(kind, tmp_path):
    @examples(6)
    @given(case=cases(kinds=(kind,)))
    def check(case):
        agree(case.sheet, tmp_path, case.meant)

    check()


ROWS = [["oboe", "flute", "drum", "gong"], ["gong", "drum", "harp", "oboe"], ["harp", "oboe", "gong", "drum"]]


@pytest.mark.parametrize(
    "roles", [("anchor", "near", "far"), ("anchor", "a", "b", "answer"), ("a", "b", "c", "odd"), ("i", "j", "l", "k")]
)
def test_every_name_for_a_role_means_it_in_every_carrier(roles, tmp_path):
    plain = [[*row[:-1], row[2 if "odd" in roles else 1]] if roles[-1] in ("answer", "odd") else row for row in ROWS]
    plain = [row[: len(roles)] for row in plain]
    beside = {"participant": ["p", "q", "p"], "weight": [1.0, 2.0, 3.0]} if "near" in roles else {"weight": [1.0] * 3}
    rows = [[*row, *more] for row, more in zip(plain, zip(*beside.values()))]
    meant = CARRIERS["dict"](Sheet([*roles, *beside], rows), tmp_path)
    assert meant.said
    carriers = list(CARRIERS)
    for number in range(max(len(ALIASES[role]) for role in (*roles, *beside))):
        names = [ALIASES[role][number % len(ALIASES[role])] for role in (*roles, *beside)]
        sheet = Sheet(names, rows)
        for name in (carriers[number % len(carriers)], carriers[(number + 5) % len(carriers)]):
            found = CARRIERS[name](sheet, tmp_path)
            assert found.agrees(meant), (name, names, found)


def test_fit_and_the_command_line_read_what_was_written(tmp_path):
    model = OrdinalEmbedding(solver=GD(max_epochs=1), random_state=0)
    table, written = tmp_path / "table.csv", tmp_path / "written.parquet"

    def converted():
        ran = CliRunner().invoke(cli, ["convert", str(table), str(written), "--force", "--quiet"])
        if ran.exit_code:
            raise ValueError(ran.output)
        return read_comparisons(written).comparisons

    @examples(8)
    @given(case=cases(told=False))
    def check(case):
        read = CARRIERS["CSV"](case.sheet, tmp_path)
        frame = pd.DataFrame(case.sheet.columns())
        ways = [lambda: model.fit(frame).comparisons_, lambda: model.fit(table).comparisons_, converted]
        for way, take in enumerate(ways):
            found = tried(lambda take=take: outcome(take(), None), str(table))
            assert bool(found.refusal) == bool(read.refusal), (way, found.refusal, read.refusal)
            assert found.refusal or found.agrees(read), (way, found, read)

    check()


@pytest.mark.parametrize("fault", FAULTS)
def test_every_carrier_refuses_in_the_same_words(fault, tmp_path):
    @examples(4)
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


@pytest.mark.parametrize("numbered", [False, True])
def test_rankings_of_fewer_candidates_end_with_empty_cells_in_every_carrier(numbered, tmp_path):
    words = ["oboe", "flute", "drum", "gong", "harp"]
    rows = [[0, 1, 2, 3, 4], [4, 3, 2, None, None], [2, 0, 1, 4, None], [3, 3, 1, None, None]]
    cells = [[cell if numbered or cell is None else words[cell] for cell in row] for row in rows]
    found = agree(Sheet(["anchor", "rank_1", "rank_2", "rank_3", "rank_4"], cells), tmp_path)
    said = "012 013 014 023 024 034 432 201 204 214"
    assert found.said == tuple(tuple(n if numbered else words[int(n)] for n in row) for row in said.split())
    assert found.dropped == (("the query (first) cannot be among its own candidates", 1),)
    for gap in ([0, 1, None, 3, 4], [0, 1, None, None, None]):
        row = [cell if numbered or cell is None else words[cell] for cell in gap]
        refused = agree(Sheet(["anchor", "rank_1", "rank_2", "rank_3", "rank_4"], [*cells, row]), tmp_path)
        assert "column 'rank_2': empty cell" in refused.refusal
    chosen = Sheet(["anchor", "rank_1", "rank_2", "rank_3", "n_chosen"], [[*row[:4], 3] for row in cells[:3]])
    assert "'3' is not a number from 1 to 2" in agree(chosen, tmp_path).refusal
    names = ["anchor", "rank_1", "rank_2", "rank_3", "n_chosen", "ordered"]
    told = agree(Sheet(names, [[*cells[0][:4], 2, "yes"], [*cells[1][:4], 2, "no"]]), tmp_path).refusal
    assert "column 'n_chosen': '2' is not a number from 1 to 1" in told
