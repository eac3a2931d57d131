"""From cells to answers: what a cell says, which rows count, attention checks, numbers of objects."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pytest
from carriers import spelled

from nearer import Layout
from nearer.io import FileFormatError, read_comparisons
from nearer.io.coerce import as_comparisons
from nearer.io.read import warn_dropped
from nearer.tables import Refusal
from nearer.warning_types import InputWarning

T = {"anchor": ["oboe", "gong", "harp"], "near": ["flute", "harp", "oboe"], "far": ["drum", "oboe", "gong"]}
SAYS = list(zip(*T.values()))
ASK = {"anchor": ["oboe", "gong", "harp"], "a": ["flute", "harp", "oboe"], "b": ["drum", "oboe", "gong"]}
SET = {"a": ["oboe", "gong", "harp"], "b": ["flute", "harp", "oboe"], "c": ["drum", "oboe", "gong"]}
PAIRS = {"i": ["oboe", "gong"], "j": ["flute", "harp"], "l": ["drum", "oboe"], "k": ["gong", "drum"]}


def read(table, layout=None, **options):
    return read_comparisons(table, layout, **options)


def made(table, layout=None, **options):
    return read(table, layout, **options).comparisons


def dropped(result):
    return {reason: count for reason, (count, _) in result.dropped.items()}


def refused(table, layout=None, match="", **options):
    with pytest.raises(FileFormatError, match=match) as caught:
        read(table, layout, **options)
    return str(caught.value)


# ---- what was answered ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "cells", "layout"),
    [
        ("answer", ["a", "B", " a "], None),
        ("near", ["flute", "oboe", "oboe"], None),
        ("far", ["b", "a", "b"], None),
        ("answer", [1, 0, 1], Layout(answers={1: "a", 0: "b"})),
        ("answer", [1.0, -1.0, 1.0], Layout(answers={"1": "a", "-1": "b"})),
        ("answer", [True, False, True], Layout(answers={"True": "a", "1": "a", "False": "b", "0": "b"})),
        ("answer", ["f", "oboe", "a"], Layout(answers={"f": "a"})),
        ("answer", ["b", "a", "b"], Layout(answers={"a": "b", "b": "a"})),  # what is declared comes first
    ],
)  # fmt: skip
def test_every_coding_of_an_answer(role, cells, layout):
    found = made(ASK | {role: cells}, layout)
    assert spelled(found) == [("oboe", "flute", "drum"), ("gong", "oboe", "harp"), ("harp", "oboe", "gong")]
    assert found.answers.side.tolist() == [0, 1, 0] if role != "far" else True


def test_objects_called_as_roles_are_objects():
    ask = {"reference": ["d", "d"], "left": ["b", "c"], "right": ["c", "b"], "response": ["b", "b"]}
    assert spelled(made(ask)) == [("d", "b", "c")] * 2
    ask = {"anchor": ["d", "d"], "a": ["b", "c"], "b": ["c", "b"], "answer": ["b", "b"]}
    for layout in (None, Layout(answer="answer")):
        with pytest.raises(Refusal, match="row 1") as caught:  # the column b, or the object
            read(ask, layout)
        assert spelled(made(ask, caught.value.remedies[0])) == [("d", "b", "c")] * 2


def test_columns_without_a_name_are_listed_and_can_be_selected_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("anchor,near,far,,\noboe,flute,drum,practice,\ngong,harp,drum,test,\n")
    assert [name.split(" (")[0] for name in read(path).unused] == ["column 4"]
    refused(path, Layout(strict=True), match="4")
    assert spelled(made(path, Layout(where={"4": "test"}))) == [("gong", "harp", "drum")]


@pytest.mark.parametrize("cells", [["1.0", "0.0"], ["Y", "N"], [1.0, 0.0], [True, False], ["yes", ""]])
def test_attention_checks_are_marked_in_several_ways(cells):
    table = {"anchor": ["x", "x"], "near": ["y", "z"], "far": ["z", "y"], "catch": cells}
    assert made(table).answers.is_check().tolist() == [True, False]
    refused({**table, "catch": ["perhaps", "no"]}, match="on_bad_rows")  # not: leave the column aside


def test_answers_that_are_none_of_the_options_are_refused_with_the_first_row_or_dropped():
    table = ASK | {"answer": ["flute", "drum", "x"]}
    assert "row 2" in refused(table, match="'drum'")
    result = read(table, Layout(on_bad_rows="drop"))
    assert spelled(result.comparisons) == [("oboe", "flute", "drum")]
    assert sum(dropped(result).values()) == 2
    assert result.comparisons.n_objects == 3  # objects of dropped rows are not known


def test_rows_without_an_answer_are_counted():
    table = ASK | {"answer": ["flute", None, "skipped"], "seconds": [1.0, None, 2.0]}
    result = read(table, Layout(answers={"skipped": "skip"}))
    assert dropped(result) == {"no answer": 2}
    assert (result.n_rows, len(result.comparisons)) == (3, 1)
    assert dropped(read(table, Layout(missing=["skipped"]))) == {"no answer": 2}
    votes = read(ASK | {"votes_a": [1, None, 0], "votes_b": [None, None, 0]})
    assert (len(votes.comparisons), dropped(votes)["no answer"]) == (1, 1)
    assert votes.comparisons.dropped["without votes"] == 1


# ---- rows that count -----------------------------------------------------------------------------------------------


def test_where_selects_rows_and_counts_the_others():
    table = {**T, "task": ["test", "practice", " main "], "block": [1, 1, 2]}
    result = read(table, Layout(where={"task": ["test", "main"]}))
    assert spelled(result.comparisons) == [SAYS[0], SAYS[2]]
    ((reason, count),) = dropped(result).items()
    assert count == 1
    assert all(word in reason for word in ("task", "test", "main"))
    assert result.unused == ("block",)
    assert spelled(made(table, Layout(where={"task": ["test", "main"], "block": 2}))) == [SAYS[2]]
    assert spelled(made({**T, "note": [None, "x", ""]}, Layout(where={"note": ""}))) == [SAYS[0], SAYS[2]]
    for cells in ([1, 2, 1], [1.0, 2.0, 1.0], ["1.0", "2", "+1"]):  # numbers compare as numbers
        assert spelled(made({**T, "block": cells}, Layout(where={"block": "1"}))) == [SAYS[0], SAYS[2]]
    for cells in ([True, False, True], ["true", "false", "true"]):
        assert spelled(made({**T, "ok": cells}, Layout(where={"ok": True}))) == [SAYS[0], SAYS[2]]
    refused(table, Layout(where={"tusk": "test"}), match="'task'")
    refused(table, Layout(where={"task": "demo"}), match="no comparison is left")


def test_a_header_repeated_and_rows_to_skip(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Title\nanchor,near,far\n(text),(text),(text)\noboe,flute,drum\nanchor,near,far\ngong,harp,oboe\n")
    result = read(path, Layout(header_row=2, skip_rows=1), delimiter=",")
    assert spelled(result.comparisons) == SAYS[:2]
    assert dropped(result) == {"further header row": 1, "header repeated": 1}
    assert result.dropped["header repeated"][1] == "line 5"
    path.write_text("anchor,near,far\noboe,flute,drum\nFar,anchor,near\ndrum,oboe,flute\n")
    refused(path, match="t.csv, line 3: .*another order")
    names = {"anchor": ["near", "far"], "near": ["far", "near"], "far": ["oboe", "oboe"]}  # objects may be called so
    assert len(made(names)) == 2


@pytest.mark.parametrize("missing", [["NA"], "NA", ["NA", "-99"]])
def test_missing_codes_and_bad_rows(missing):
    table = {"anchor": ["oboe", "NA", "harp"], "near": ["flute", "NA", "NA"], "far": ["drum", "NA", "gong"]}
    assert len(made(table)) == 2  # without a declaration NA is an object like any other
    assert "row 3" in refused(table, Layout(missing=missing), match="'near'")
    result = read(table, Layout(missing=missing, on_bad_rows="drop"))
    assert spelled(result.comparisons) == SAYS[:1]
    assert dropped(result) == {"no objects": 1, "missing cell": 1}
    with pytest.warns(InputWarning) as caught:
        warn_dropped(result.path, result.dropped)
    assert len(caught) == 2


def test_numbers_of_optional_columns():
    layout = Layout(decimal_comma=True, missing=["-"])
    times = {"rt_ms": ["812,5", "-", "1040"], "trial": ["1", "-", "3"]}
    found = made({**T, **times, "weight": ["0,5", "1.5", "2"]}, layout)
    assert found.weights.tolist() == [0.5, 1.5, 2]
    np.testing.assert_array_equal(found.answers.seconds, [0.8125, np.nan, 1.04])
    assert found.answers.order.tolist() == [1, -1, 3]
    coded = made({**T, "seconds": [1.0, -99.0, 2.0]}, Layout(missing=["-99"]))
    np.testing.assert_array_equal(coded.answers.seconds, [1, np.nan, 2])
    assert made({**T, "seconds": [1, 2, 3], "rt_ms": [9, 9, 9]}).answers.seconds.tolist() == [1, 2, 3]
    assert made({**T, "RT": [1, 2, 3], "time": [1, 2, 3]}).answers.seconds is None
    assert made({**T, "RT": [1, 2, 3]}, Layout(milliseconds="RT")).answers.seconds.tolist() == [0.001, 0.002, 0.003]


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("weight", [1, -1, 1]), ("weight", ["1", "heavy", "1"]), ("weight", [1, None, 1]), ("weight", [1, np.inf, 1]),
        ("weight", ["1", "0,5", "1"]), ("seconds", [1, -1, 1]), ("seconds", ["1", "soon", "1"]), ("order", [1, 1.5, 2]),
        ("catch", ["yes", "maybe", "no"]), ("correct", [1, 2, 0]), ("side", ["left", "up", "right"]),
    ],
)  # fmt: skip
def test_a_cell_that_cannot_be_read_is_refused_with_its_row(column, cells):
    assert "row 2" in refused({**T, column: cells}, match=f"'{column}'")


def test_what_else_is_known_of_an_answer():
    table = {
        **T, "Subject": ["p1", None, "p2"], "side": ["left", "2", None], "catch": ["no", "0", "false"],
        "is_correct": ["TRUE", "no", None], "strategy": ["random", "random", None],
    }  # fmt: skip
    answers = made(table).answers
    assert answers.participant.each().tolist() == ["p1", "unknown", "p2"]
    assert answers.side.tolist() == [0, 1, -1]
    assert answers.correct.tolist() == [1, 0, -1]
    assert answers.chosen_by.each().tolist() == ["random", "random", "unknown"]
    assert not answers.is_check().any()
    numbers = made({**T, "participant": [10, 9, 10]}).participants
    assert numbers.tolist() == [10, 9, 10]
    assert made({**T, "participant": ["10", "9", "10"]}).participants.tolist() == [10, 9, 10]
    assert made({**T, "participant": ["010", "9", "10"]}).participants.tolist() == ["010", "9", "10"]
    assert made({**T, "participant": [None] * 3}).participants is None


# ---- attention checks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "correct"),
    [
        ({"anchor": ["x", "x", "x"], "near": ["y", "x", "y"], "far": ["z", "y", "x"]}, [1, 0]),
        ({"anchor": ["x", "x", "x"], "a": ["y", "x", "y"], "b": ["z", "y", "x"], "answer": ["y", "x", "y"]}, [1, 0]),
        ({"anchor": ["x", "x", "x"], "a": ["y", "y", "y"], "b": ["z", "y", "y"], "answer": ["a", "a", "b"]}, [-1, -1]),
        ({"a": ["x", "x", "x"], "b": ["y", "x", "y"], "c": ["z", "y", "x"], "odd": ["z", "c", "a"]}, [1, 0]),
        ({"a": ["x", "x", "x"], "b": ["y", "x", "y"], "c": ["z", "y", "x"], "central": ["z", "c", "a"]}, [0, 1]),
        ({"anchor": ["x", "x", "x"], "rank_1": ["y", "x", "y"], "rank_2": ["z", "y", "x"]}, [1, 0]),
    ],
)
def test_a_question_that_shows_an_object_twice_is_an_attention_check(table, correct):
    found = made(table)
    assert found.answers.is_check().tolist() == [False, True, True]
    assert found.answers.correct.tolist() == [-1, *correct]
    assert found.n_answers == 1
    assert {*(found.answer.tolist())} == {0}
    assert found.dropped == {}


def test_a_column_marks_attention_checks():
    table = {**T, "catch": ["no", "yes", None], "correct": [None, "no", None], "participant": ["p", "p", "q"]}
    found = made(table)
    assert found.answers.is_check().tolist() == [False, True, False]
    assert found.answers.correct.tolist() == [-1, 0, -1]
    assert spelled(found) == [SAYS[0], SAYS[2]]
    assert found.participants.tolist() == ["p", "q"]
    assert found.answers.participant.each().tolist() == ["p", "p", "q"]
    result = read(table)
    assert result.facts()["n_attention_checks"] == 1
    assert "attention check" in result.understood
    refused({**T, "catch": ["yes"] * 3}, match="attention checks")
    assert not made({**T, "catch": [None] * 3}).answers.is_check().any()
    refused({"anchor": ["x"], "rank_1": ["y"], "rank_2": ["z"], "catch": ["yes"]}, match="attention check")
    refused({"anchor": ["x"], "a": ["y"], "b": ["z"], "votes_a": [0], "votes_b": [0]}, match="^table: ")


def test_participants_who_are_known_only_in_some_parts():
    table = {**T, "participant": ["p", None, None], "part": ["1", "2", "2"]}
    found = made(table, [Layout(where={"part": "1"}), Layout(where={"part": "2"})])
    assert found.participants.tolist() == ["p", "unknown", "unknown"]


def test_quadruplets_may_share_objects_and_degenerate_ones_are_dropped():
    table = {
        "i": ["x", "x", "x", "x", "x"], "j": ["y", "y", "y", "x", "y"], "l": ["x", "y", "y", "y", "x"],
        "k": ["z", "z", "x", "z", "y"],
    }  # fmt: skip
    found = made(table)
    assert spelled(found) == [("x", "y", "x", "z"), ("x", "y", "y", "z")]
    assert found.dropped == {"degenerate": 3}
    assert not found.answers.is_check().any()


# ---- rankings ------------------------------------------------------------------------------------------------------


def test_rankings_of_different_lengths_numbers_chosen_and_orders():
    table = {
        "anchor": ["x", "x", "x"], "rank_1": ["p", "p", "p"], "rank_2": ["q", "q", "q"], "rank_3": ["r", "r", None],
        "n_chosen": [1, 2, 1], "ordered": ["yes", "no", "yes"],
    }  # fmt: skip
    found = made(table)
    assert spelled(found) == [("x", "p", "q"), ("x", "p", "r"), ("x", "p", "r"), ("x", "q", "r"), ("x", "p", "q")]
    assert found.answer.tolist() == [0, 0, 1, 1, 2]
    for column, cell in (("n_chosen", 3), ("n_chosen", 0), ("n_chosen", "two"), ("ordered", "maybe")):
        refused(table | {column: [*table[column][:1], cell, *table[column][2:]]}, match=f"row 2.*'{column}'")
    refused({name: cells for name, cells in table.items() if name != "n_chosen"}, match="n_chosen")
    gap = table | {"rank_2": ["q", None, "q"]}
    refused(gap, match="row 2.*'rank_2'")
    assert dropped(read(gap, Layout(on_bad_rows="drop"))) == {"missing cell": 1}


# ---- objects -------------------------------------------------------------------------------------------------------


def test_names_are_sorted_numbers_by_size():
    assert made(T).labels.tolist() == ["drum", "flute", "gong", "harp", "oboe"]
    assert made({"anchor": [10, 9], "near": [9, 200], "far": [200, 10]}).labels.tolist() == ["9", "10", "200"]
    assert made({"anchor": ["10"], "near": ["9"], "far": ["200"]}).labels.tolist() == ["9", "10", "200"]
    assert made({"anchor": ["007"], "near": ["9"], "far": ["10"]}).labels.tolist() == ["007", "10", "9"]
    counted = made({"anchor": [0.0, 1.0], "near": [1, 2], "far": ["2", "0"]})
    assert counted.labels is None
    assert counted.index.tolist() == [[0, 1, 2], [1, 2, 0]]


@pytest.mark.parametrize("cell", [1.5, 2.0**60])
def test_what_is_neither_name_nor_whole_number_is_no_object(cell):
    refused({"anchor": [1, 2], "near": [2, 1], "far": [3, cell]}, match="'far'")


def test_names_are_compared_in_one_unicode_form():
    composed, apart = (unicodedata.normalize(form, "größe") for form in ("NFC", "NFD"))
    found = made({"anchor": [apart, "x"], "a": ["x", composed], "b": ["y", "y"], "answer": ["x", apart]})
    assert found.labels.tolist() == [composed, "x", "y"]
    assert spelled(found)[1] == ("x", composed, "y")
    assert len(made({**T, "participant": [composed, apart, apart]}).answers.participant.names) == 1
    assert made({composed: T["anchor"], "near": T["near"], "far": T["far"]}, Layout(anchor=apart)).n_objects == 5


def test_labels_say_the_order_and_all_objects():
    labels = ["oboe", "harp", "gong", "flute", "drum", "bell"]
    found = made(T, labels=labels)
    assert (found.n_objects, found.labels.tolist()) == (6, labels)
    assert spelled(found) == SAYS
    refused(T, labels=labels[1:], match="'oboe'")
    with pytest.raises(ValueError, match="labels"):
        read(T, labels=["oboe", "oboe"])
    numbers = {"anchor": [1], "near": [2], "far": [3]}
    assert spelled(made(numbers, Layout(index_base=1), labels=["x", "y", "z"])) == [("x", "y", "z")]
    refused(numbers, labels=["x", "y", "z"], match="index_base")


@pytest.mark.parametrize(
    ("layout", "options", "n_objects", "labels"),
    [
        (None, {}, 3, ["1", "3", "5"]),
        (None, {"n_objects": 9}, 9, None),
        (Layout(index_base=0), {}, 6, None),
        (Layout(index_base=1), {}, 5, ["1", "2", "3", "4", "5"]),
        (Layout(index_base=1), {"n_objects": 7}, 7, ["1", "2", "3", "4", "5", "6", "7"]),
    ],
)
def test_numbers_of_objects(layout, options, n_objects, labels):
    table = {"anchor": [1, 5], "near": [3, 1], "far": [5, 3]}
    for cells in (table, {name: list(map(str, column)) for name, column in table.items()}):
        found = made(cells, layout, **options)
        assert found.n_objects == n_objects
        assert (None if found.labels is None else found.labels.tolist()) == labels
        assert spelled(found) == [("1", "3", "5"), ("5", "1", "3")]


def test_numbers_out_of_range_are_refused():
    table = {"anchor": [1, 5], "near": [3, 1], "far": [5, 3]}
    refused(table, n_objects=5, match="object number 5.*index_base = 1")
    refused(table | {"far": [0, 3]}, Layout(index_base=1), match="object number 0")
    refused(table | {"far": [10**7, 3]}, Layout(index_base=0), match="10,000,000")
    refused(T, n_objects=5, match="object numbers")
    with pytest.raises(ValueError, match="n_objects"):
        read(table, n_objects=-1)


# ---- the result ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "sentence"), [
    (SET | {"odd": ["a", "b", "c"]}, "flute is nearer to drum than to oboe"),
    (PAIRS, "oboe and flute are nearer to each other than drum and gong"),
])  # fmt: skip
def test_every_summary_ends_with_what_the_first_row_says(table, sentence):
    assert read(table).understood.endswith(f"first row: {sentence}")


def test_what_an_estimator_is_given():
    frame = pd.DataFrame(T)
    assert as_comparisons(frame) == made(T)
    assert as_comparisons(frame, sample_weight=[1, 2, 3]).weights.tolist() == [1, 2, 3]
    weighted = as_comparisons(frame.assign(weight=[2, 2, 2]), sample_weight=[1, 2, 3])
    assert weighted.weights.tolist() == [2, 4, 6]
    asked = pd.DataFrame(ASK)
    for y in ([1, -1, 1], np.array([True, False, True])):
        assert spelled(as_comparisons(asked, y))[1] == ("gong", "oboe", "harp")
    assert as_comparisons(asked, np.array([[2, 1], [0, 1], [1, 0]])).weights.tolist() == [2, 1, 1, 1]
    with pytest.raises(ValueError, match="another order"):
        as_comparisons(frame, sample_weight=pd.Series([1, 2, 3], index=[2, 1, 0]))
    assert as_comparisons(np.array([[0, 1, 2]])).index.tolist() == [[0, 1, 2]]
    assert as_comparisons([[0, 1, 2]], y=[-1]).index.tolist() == [[0, 2, 1]]
    with pytest.warns(InputWarning, match="1 row dropped"):
        as_comparisons({name: [*cells, None] for name, cells in T.items()})


@pytest.mark.parametrize(
    "source",
    [
        3, None, [], {}, "", [1, 2, 3], [["a", "b"], ["c"]], pd.Series([1, 2]),
        {"anchor": ["x"], "near": ["y", "z"], "far": ["z"]},
        {"anchor": [["x"]], "near": ["y"], "far": ["z"]}, {"anchor": ["x\0"], "near": ["y"], "far": ["z"]},
        {"anchor": ["\ud800"], "near": ["y"], "far": ["z"]}, [{"anchor": "x", "near": "y", "far": "z"}, 5],
        (np.array([1, 2]), np.array([2, 3]), np.array([3, 1])), np.empty((0, 3), int), [["oboe", "flute", "drum"]],
    ],
    ids=lambda source: str(source)[:30],
)  # fmt: skip
def test_what_is_no_table_of_comparisons_is_refused(source):
    with pytest.raises(ValueError, match=r"."):
        read(source)
