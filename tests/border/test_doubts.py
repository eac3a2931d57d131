"""What a table says beside its answers, and names that may be none: told by an alarm, and only there."""

from __future__ import annotations

import copy
import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tables import alarms

from nearer import OrdinalEmbedding
from nearer.data import Comparisons, as_comparisons
from nearer.io import FileFormatError, open_blocks, read_comparisons

# reference, left, right, place of the answer
ASKED = [
    ("oboe", "flute", "drum", 0), ("drum", "oboe", "gong", 1), ("flute", "gong", "harp", 1),
    ("gong", "drum", "flute", 0), ("harp", "flute", "drum", 0), ("horn", "harp", "gong", 0),
    ("oboe", "drum", "horn", 1), ("drum", "gong", "harp", 0),
]  # fmt: skip
TRIPLETS = [(anchor, options[place], options[1 - place]) for anchor, *options, place in ASKED]


def asked(answer=("left", "right"), names=("reference", "left", "right", "response"), **beside):
    """A table of questions with the answers as sides, and what stands beside them: lists, repeated as needed."""
    frame = pd.DataFrame([(*row[:3], answer[row[3]]) for row in ASKED], columns=list(names))
    return frame.assign(
        **{name: np.resize(np.array(cells, dtype=object), len(frame)) for name, cells in beside.items()}
    )


def said(names=("anchor", "near", "far"), rows=TRIPLETS, **beside):
    frame = pd.DataFrame(rows, columns=list(names))
    return frame.assign(
        **{name: np.resize(np.array(cells, dtype=object), len(frame)) for name, cells in beside.items()}
    )


OPTIONS = ("reference", "option_a", "option_b", "response")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (asked(names=OPTIONS, swapped=["0", "1"]), "'swapped' ('0', '1') is not used, but may say that things"),
        (asked(names=OPTIONS, display_order=["AB", "BA"]), "'display_order'"),
        (asked(pressed=["right", "left", "left"]), "'pressed' ('right', 'left') is not used, but names other sides"),
        (asked(shown_first=["oboe", "drum"]), "'shown_first' ('oboe', 'drum') is not used, but holds objects"),
        (said(("anchor", "chosen", "unchosen"), touched=["oboe", "drum", "gong"]), "holds objects of other columns"),
        (asked(block=["practice", "main"]), "'block' ('practice', 'main') is not used, but seems to say"),
        (asked(AssignmentStatus=["Approved", "Rejected"]), "'AssignmentStatus'"),
        (asked(valid=["TRUE", "FALSE"]), "'valid'"),
        (asked(exclude=["0", "1"]), "'exclude'"),
        (asked(remark=["", "ignore, child ran away"]), "'remark'"),
        (asked(attempt=["1", "2"]), "'attempt' ('1', '2') is not used, but may say that several rows"),
        (asked(question=["Which one is LESS similar?"]), "may ask for what is farther"),
        (said(("anchor", "positive", "negative"), correct=["1", "0"]), "'correct' says that some answers are wrong"),
        (said(("anchor", "positive", "negative"), acc=["1", "0"]), "'acc' says that some answers are wrong"),
    ],
)  # fmt: skip
def test_columns_that_bear_on_the_answers_are_told(frame, words, tmp_path):
    assert any(words in alarm for alarm in alarms(frame, tmp_path))


@pytest.mark.parametrize(
    "frame",
    [
        asked(correct_response=["oboe", "drum"]),
        asked(group=["training", "control"], age=["31", "45"]),
        asked(valid=["TRUE"], exclude=["0"], block=["1", "2"], status=["Approved"]),
        asked(note=["", "nice"]),
        asked(question=["Which one is more similar?"]),
        said(("anchor", "chosen", "unchosen"), correct=["1", "0"]),
        said(),
    ],
)
def test_other_columns_are_not_told(frame, tmp_path):
    assert alarms(frame, tmp_path) == ()


def test_what_the_user_says_is_not_told_again():
    frame = asked(names=OPTIONS, swapped=["0", "1"])
    assert read_comparisons(frame, columns="anchor,a,b,answer,-").alarms == ()
    assert read_comparisons(frame, kind="answers").alarms == ()


@pytest.mark.parametrize("name", ["—", "999", "+", "TRUE", "left", "''"])
def test_marks_numbers_and_sides_among_names_are_told(name, tmp_path):
    rows = [*TRIPLETS, ("horn", name, "drum"), ("gong", name, "harp")]
    assert any(f"{name!r} (2 rows)" in alarm or "'" in name for alarm in alarms(said(rows=rows), tmp_path))
    assert read_comparisons(said(rows=rows)).alarms


def many(n_rows, seed=0, words=("oboe", "flute", "drum", "gong", "harp", "horn", "tuba", "viola")):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(words, 3, replace=False).tolist()) for _ in range(n_rows)]


def test_a_word_that_is_never_an_anchor_is_told_once_that_is_no_chance(tmp_path):
    rows = list(dict.fromkeys(many(400)))[:200]
    assert alarms(said(rows=rows), tmp_path) == ()
    rows[::10] = [(row[0], "keine Ahnung", row[2]) for row in rows[::10]]
    (alarm,) = alarms(said(rows=rows), tmp_path)
    assert "'keine Ahnung' (" in alarm
    assert "among the objects: in one column of objects alone" in alarm
    rows = [(row[0], row[1], "left") if row[2] == "viola" else row for row in rows]
    rows[1::10] = [(row[0], "left", row[2]) for row in rows[1::10]]
    rows = [row for row in rows if "keine Ahnung" not in row and row.count("left") < 2]
    (alarm,) = alarms(said(rows=rows), tmp_path)
    assert "'left' (" in alarm
    assert "in no cell of column 'anchor'" in alarm


@pytest.mark.data
@pytest.mark.parametrize("file", ["music.csv", "material_train_votes.csv"])
def test_answers_of_people_give_no_alarm(file):
    folder = os.environ.get("NEARER_DATA")
    if not folder:
        pytest.skip("NEARER_DATA is not set")
    assert read_comparisons(os.path.join(folder, file)).alarms == ()


@pytest.mark.parametrize("n_names", [5, 12, 60])
@pytest.mark.parametrize("n_rows", [8, 30, 100, 400])
def test_random_questions_are_hardly_ever_told(n_names, n_rows):
    words = [f"{letter}{letter}o" for letter in map(chr, range(0x4E00, 0x4E00 + n_names))]
    told = sum(bool(read_comparisons(said(rows=many(n_rows, seed, words))).alarms) for seed in range(20))
    assert told <= 1


def test_a_stream_counts_names_as_memory_does(tmp_path):
    rows = many(300)
    rows[::10] = [(row[0], "keine Ahnung", row[2]) for row in rows[::10]]
    frame = said(rows=rows)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50)
    with pytest.warns(UserWarning, match=r"'keine Ahnung' \([0-9]+ rows\)"):
        open_blocks(tmp_path / "a.parquet")


def test_anchors_that_are_no_objects_are_told(tmp_path):
    for each in ("is it a sound {}", "{}"):
        rows = [(each.format(number), *row[1:]) for number, row in enumerate([*TRIPLETS, *TRIPLETS])]
        assert any("column 'anchor': none of its names" in alarm for alarm in alarms(said(rows=rows), tmp_path))


@pytest.mark.parametrize("anchors", [["lute"], ["lute", "lyre"], ["lute", "lyre", "zither"]])
def test_anchors_may_be_few_and_others_than_the_options(anchors, tmp_path):
    rows = [(anchors[number % len(anchors)], *row[1:]) for number, row in enumerate(many(60))]
    assert alarms(said(rows=rows), tmp_path) == ()


def test_questions_asked_again_are_no_sign(tmp_path):
    words = [f"{letter}{letter}o" for letter in map(chr, range(0x4E00, 0x4E00 + 20))]
    assert alarms(said(rows=many(60, 1, words) * 10), tmp_path) == ()


def test_what_is_said_of_people_is_no_answer(tmp_path):
    people = [f"p{number}" for number in range(4)] * 2
    told = {"participant": people, "hand": ["left", "right"], "list": ["A", "B"], "version": ["1.0", "1.1"]}
    assert alarms(asked(counterbalance=["1", "2"], **told), tmp_path) == ()
    assert any(
        "'hand'" in alarm for alarm in alarms(asked(hand=["left", "left", "right"], participant=["p1"]), tmp_path)
    )


def test_columns_of_other_kinds_are_not_told(tmp_path):
    beside = {"n": range(1, 9), "comment": [f"that was so different {number}" for number in range(8)]}
    assert alarms(asked(prev_response=["oboe", "drum"], **beside), tmp_path) == ()


def test_numbers_beside_the_names_are_left_out():
    frame = said(anchor_id=range(8), near_id=range(8), far_id=range(8))
    assert read_comparisons(frame).comparisons == read_comparisons(said()).comparisons


@pytest.mark.parametrize("answer", [("a", "l"), ("l", "a"), ("b", "r"), ("r", "b")])
def test_words_for_sides_are_not_mixed(answer):
    with pytest.raises(FileFormatError, match="cannot tell which option that is"):
        read_comparisons(asked(answer=answer))


def test_a_check_that_was_passed_is_no_catch_question():
    details = read_comparisons(asked(attention_check=["pass", "fail"])).comparisons.details
    assert details.catch is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("french horn", "french_horn"), ("french-horn", "frenchhorn"), ("café", "cafe"), ("it's", "it’s"),
        ("img1", "img_01"), ("oboe", "OBOE.PNG"), ("oboe", "img/oboe.png"), ("A&B", "A&amp;B"), ("oboe", "oboe*"),
        ("oboe", '<img src="oboe.png">'), ("a b", "a%20b"),
    ],
)  # fmt: skip
def test_names_that_may_be_one_are_told(one, other, tmp_path):
    rows = [*TRIPLETS, (one, "flute", "drum"), (other, "gong", "harp")]
    assert any("may be written in more than one way" in alarm for alarm in alarms(said(rows=rows), tmp_path))
    people = said(participant=[one, other])
    assert any("participant may be written in more than one way" in alarm for alarm in alarms(people, tmp_path))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"), ("A", "A'"), ("1-2", "12"), ("x 1 2", "x 12"), ("-1", "1"), ("A", "A-"),
        ("cat/001.jpg", "dog/001.jpg"), ("か", "が"),
    ],
)  # fmt: skip
def test_names_that_are_not_one_are_not_told(one, other, tmp_path):
    rows = [*TRIPLETS, (one, "flute", "drum"), (other, "gong", "harp")]
    assert not any("more than one way" in alarm for alarm in alarms(said(rows=rows), tmp_path))


@pytest.mark.parametrize("name", ["timeout", "########", "[object Object]", "1-Mar", "4.00638E+12", "cafÃ©", "#oboe"])
def test_names_that_a_program_made_are_told(name, tmp_path):
    rows = [*TRIPLETS, ("horn", name, "drum"), (name, "oboe", "harp")]
    assert any(repr(name) in alarm for alarm in alarms(said(rows=rows), tmp_path))


@pytest.mark.parametrize("mark", ["!{}", "¬{}", "-{}", "{}*", "≠{}", "{}?"])
def test_marks_at_answers_are_not_passed_over(mark):
    with pytest.raises(FileFormatError, match="cannot tell which option that is"):
        read_comparisons(asked(answer=(mark.format("left"), mark.format("right"))))


@pytest.mark.parametrize("answer", [('"left"', '"right"'), ("(left)", "(right)"), ("Left.", "Right."), ("L", "R")])
def test_quotes_brackets_and_letters_of_sides_are_read(answer):
    index = read_comparisons(asked(answer=answer)).comparisons.index
    np.testing.assert_array_equal(index, read_comparisons(asked()).comparisons.index)


def test_answers_that_are_objects_or_places_are_refused():
    rows = [(2, 0, 1, 0), (0, 1, 2, 1), (1, 0, 2, 0), (2, 1, 0, 1), (0, 2, 1, 1)]
    frame = pd.DataFrame(rows, columns=["reference", "a", "b", "response"])
    with pytest.raises(FileFormatError, match="can be read in two ways"):
        read_comparisons(frame)


def test_options_in_another_order_are_told(tmp_path):
    turned = asked(answer=("first", "second"), names=("reference", "right", "left", "response"))
    assert any("the first option is taken to be column 'left'" in alarm for alarm in alarms(turned, tmp_path))
    named = asked(answer=("right", "left"), names=("reference", "right", "left", "response"))
    assert alarms(named, tmp_path) == ()


def test_questions_side_by_side_are_refused():
    wide = pd.concat([said(("anchor_1", "near_1", "far_1")), said(("anchor_2", "near_2", "far_2"))], axis=1)
    with pytest.raises(FileFormatError, match="'anchor_1', 'anchor_2' would be left out"):
        read_comparisons(wide)


def test_answers_that_stand_twice_are_told(tmp_path):
    frame = said(participant=["p1"], trial=np.arange(1, 9))
    assert alarms(frame, tmp_path) == ()
    (alarm,) = alarms(pd.concat([frame, frame[:2]]), tmp_path)
    assert alarm.startswith("2 comparisons with the participant, number of the trial and objects of another")


def test_labels_that_may_be_counted_from_1_are_told():
    rows = pd.DataFrame([(1, 2, 3), (2, 1, 3), (3, 2, 4), (4, 3, 1)], columns=["anchor", "near", "far"])
    labels = ["oboe", "flute", "drum", "gong", "harp"]
    assert any("say index_base=1" in alarm for alarm in read_comparisons(rows, labels=labels).alarms)
    assert read_comparisons(rows, labels=labels, index_base=1).alarms == ()


@pytest.mark.parametrize("cells", [[1, -1], ["yes", "no"]])
def test_answers_beside_triplets_are_told(cells, tmp_path):
    (alarm,) = alarms(said(("i", "j", "k"), y=cells), tmp_path)
    assert "'y'" in alarm
    assert "may say which pair is nearer" in alarm
    with pytest.warns(UserWarning, match="may say which pair is nearer"):
        as_comparisons(said(("i", "j", "k"), y=cells))


def test_counts_of_rows_are_told(tmp_path):
    (alarm,) = alarms(said(n=[1, 3]), tmp_path)
    assert "'n' ('1', '3') is not used, but may say how often a row was answered: then say weight=" in alarm
    assert alarms(said(n=[1, 3], weight=[1, 2]), tmp_path) == ()
    assert alarms(said(n=[1]), tmp_path) == ()


def test_pandas_columns_in_another_order_are_refused():
    questions = asked().drop(columns="response")
    answers = pd.Series([row[3] == 0 for row in ASKED])
    expected = Comparisons.from_answers(questions, answers)
    assert Comparisons.from_answers(questions, answers.to_numpy()) == expected
    assert Comparisons.from_answers(questions[:4], answers[4:]) is not None  # other rows: by position, as ever
    for table, column in ((questions, answers[::-1]), (questions[::-1], answers)):
        with pytest.raises(ValueError, match="answers: its index has the rows of the table in another order"):
            Comparisons.from_answers(table, column)
    weights = pd.Series(np.arange(1.0, 9.0))
    with pytest.raises(ValueError, match="weights: its index has"):
        as_comparisons(said(), sample_weight=weights[::-1])
    with pytest.raises(ValueError, match="participants: its index has"):
        Comparisons.from_labels_table(said(), participants=weights[::-1].astype(int))


def quadruplets(n_rows=40):
    rng = np.random.default_rng(0)
    return np.array([rng.choice(12, 4, replace=False) for _ in range(n_rows)])


@pytest.mark.parametrize(
    ("place", "numbers", "why"),
    [
        (3, [0, 1], "a last column of 0 and 1 only"),
        (3, [1, 2], "last column holds no more than two numbers"),
        (0, [501, 502, 503], "column 1 shares no number with the others"),
        (0, range(100, 140), "column 1 shares no number with the others"),
    ],
)
def test_arrays_of_four_columns_that_hold_other_than_objects_are_refused(place, numbers, why, tmp_path):
    rows = quadruplets()
    rows[:, place] = np.resize(list(numbers), len(rows))
    rows = rows[[len(set(row)) == 4 for row in rows.tolist()]]
    np.save(tmp_path / "a.npy", rows)
    for read in (as_comparisons, read_comparisons, lambda _: read_comparisons(tmp_path / "a.npy")):
        with pytest.raises(ValueError, match=why):
            read(rows)
    assert len(Comparisons.from_quadruplets(rows)) == len(rows)
    assert len(read_comparisons(rows, kind="quadruplets").comparisons) == len(rows)


def test_arrays_of_quadruplets_are_read():
    assert len(as_comparisons(quadruplets())) == 40
    around = quadruplets()
    around[:, 2] = around[:, 0] = np.resize([20, 21], 40)  # about two anchors
    assert len(as_comparisons(around)) == 40
    reference = quadruplets()
    reference[:, 2:] = 20, 21  # all compared with one pair
    assert len(as_comparisons(reference)) == 40
    for seed in range(100):
        sparse = np.random.default_rng(seed).permuted(np.tile(np.arange(200), (15, 1)), axis=1)[:, :4]
        assert len(as_comparisons(sparse)) == 15


def test_answers_about_one_anchor_are_refused():
    rows = np.array([[9, a, b, (a + b) % 2] for a in range(2, 8) for b in range(2, 8) if a != b])
    with pytest.raises(ValueError, match=r"are those answers\? Then give fit"):
        as_comparisons(rows)
    rows = quadruplets()
    rows[:, 0] = np.arange(100, 140)
    with pytest.raises(ValueError, match="Then leave that column out"):
        as_comparisons(rows)


@pytest.fixture(scope="module")
def maps():
    rows = many(60)
    index = Comparisons.from_labels_table(said(rows=rows)).index
    make = OrdinalEmbedding(n_components=1, random_state=0)
    return clone(make).fit(said(rows=rows)), clone(make).fit(index)


def test_no_doubt_is_told_of_names_on_the_map(maps, recwarn):
    few = [("oboe", "flute", "drum"), ("gong", "harp", "tuba"), ("gong", "harp", "horn"), ("oboe", "harp", "horn")]
    few = said(rows=few)
    maps[0].predict(few)
    maps[0].score(few)
    assert [str(warning.message) for warning in recwarn] == []


def test_answers_about_other_objects_are_told(maps):
    numbers = said(rows=[(1, 2, 3), (2, 3, 1), (3, 1, 4)])
    for use in (maps[0].predict, copy.deepcopy(maps[0]).partial_fit):
        with pytest.warns(UserWarning, match="none of the objects compared, 4 in all, is on the map"):
            use(numbers)


def test_objects_counted_from_one_are_told(maps):
    n = maps[1].n_objects_
    rows = np.array([(i, i % n + 1, (i + 1) % n + 1) for i in range(1, n + 1)])
    for use in (maps[1].score, maps[1].place, copy.deepcopy(maps[1]).partial_fit):
        with pytest.warns(
            UserWarning, match=f"the numbers 1 to {n}, the objects of the map are 0 to {n - 1}: are they"
        ):
            use(rows)


@pytest.mark.parametrize("option", ["kind", "participant", "weight"])
def test_options_that_are_no_names_are_refused(option):
    with pytest.raises(ValueError, match=f"^{option}: got .*, expected a name or None"):
        read_comparisons(said(), **{option: np.zeros(2, dtype=[("a", int)])})


def test_what_is_no_list_is_refused():
    comparisons = Comparisons([[0, 1, 2]])
    for take in (
        lambda: as_comparisons([[0, 1, 2]], comparisons),
        lambda: as_comparisons([[0, 1, 2]], sample_weight=comparisons),
        lambda: Comparisons([[0, 1, 2]], labels=comparisons),
        lambda: Comparisons.from_points(comparisons, 5),
    ):
        with pytest.raises(ValueError, match="got Comparisons, expected"):
            take()
    with pytest.raises(ValueError, match="labels: got a masked array"):
        Comparisons([[0, 1, 2]], labels=np.ma.array(["a", "b", "c"], mask=[0, 1, 0]))
    with pytest.raises(ValueError, match="expected"):
        as_comparisons(said().groupby("anchor"))
    assert len(as_comparisons(memoryview(np.array([[0, 1, 2], [1, 2, 0]])))) == 2


@pytest.mark.parametrize("ending", ["id", "idx", "name", "filename"])
def test_names_of_columns_may_end_alike(ending, tmp_path):
    frame = said((f"anchor_{ending}", f"near_{ending}", f"far_{ending}"))
    assert read_comparisons(frame).comparisons == read_comparisons(said()).comparisons
    frame = asked(names=(f"reference_{ending}", f"left_{ending}", f"right_{ending}", "response"))
    assert read_comparisons(frame).comparisons == read_comparisons(asked()).comparisons
    with pytest.raises(FileFormatError, match="say which is which"):
        read_comparisons(said((f"anchor_{ending}", f"near_{ending}", "other_one")))


def test_objects_in_rows_that_do_not_count_are_passed_over(tmp_path):
    rows = asked().to_dict("records")
    (tmp_path / "a.json").write_text(json.dumps([*rows, {"trial_type": "survey", "response": {"Q0": "fine"}}]))
    result = read_comparisons(tmp_path / "a.json")
    assert result.comparisons == read_comparisons(asked()).comparisons
    assert result.dropped == {"no objects": 1}
    (tmp_path / "a.json").write_text(json.dumps([*rows, {**rows[0], "response": {"Q0": "fine"}}]))
    with pytest.raises(FileFormatError, match="Q0"):
        read_comparisons(tmp_path / "a.json")


def test_warnings_name_the_line_that_read_the_table():
    with pytest.warns(UserWarning, match="'exclude'") as told:
        OrdinalEmbedding(n_components=1, random_state=0).fit(asked(exclude=["0", "1"]))
    assert {warning.filename for warning in told} == {__file__}


def test_the_number_of_rows_is_no_weight(tmp_path):
    rows = said().to_dict("records")
    for count, told in ((8, ()), (300, ("'count' is 300, but there are 8 rows; is a part missing?",))):
        (tmp_path / "a.json").write_text(json.dumps({"count": count, "results": rows}))
        result = read_comparisons(tmp_path / "a.json")
        assert (result.alarms, result.comparisons.weights) == (told, None)


def test_arrays_beside_the_rows_are_told_as_columns_are(tmp_path):
    rows = np.array([[1, 2, 3], [2, 1, 3], [3, 2, 4], [4, 3, 1], [2, 4, 1]])
    labels = np.array(["oboe", "flute", "drum", "gong", "harp"])
    np.savez(tmp_path / "a.npz", triplets=rows, labels=labels, mask=np.array([1, 1, 0, 1, 1]))
    counted, masked = read_comparisons(tmp_path / "a.npz").alarms
    assert "say index_base=1" in counted
    assert "'mask' ('1', '0') is not used, but seems to say that some rows are not to count" in masked
    np.savez(tmp_path / "a.npz", triplets=rows - 1, labels=labels)
    assert read_comparisons(tmp_path / "a.npz").alarms == ()


@pytest.mark.parametrize("content", ['"', "1,2,3,4\r\noboe,flute,"])
def test_scraps_of_text_are_refused(content, tmp_path):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(FileFormatError, match="line"):
        read_comparisons(tmp_path / "a.csv")


def test_predictions_about_objects_without_a_place_are_told(maps):
    rows = said(rows=[("oboe", "flute", "drum"), ("gong", "harp", "zither")])
    with pytest.warns(
        UserWarning, match="1 of 2 comparisons name an object without a place on the map; False is"
    ) as told:
        assert not maps[0].predict(rows)[1]
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="their probability is given as 1/2"):
        assert maps[0].predict_proba(rows)[1, 1] == 0.5


def test_two_columns_of_weights_are_told(tmp_path):
    assert any("weight read from 'weight', not from 'count'" in alarm for alarm in
               alarms(said(weight=[1, 2], count=[2, 3]), tmp_path))  # fmt: skip


@pytest.mark.parametrize("mark", ["\u3164", "\u2800", "\ufe0f", "\u034f"])
def test_invisible_characters_are_told(mark, tmp_path):
    rows = [*TRIPLETS, ("oboe" + mark, "flute", "drum")]
    assert any("written in more than one way, by" in alarm for alarm in alarms(said(rows=rows), tmp_path))
    assert read_comparisons(said(rows=rows), fold_names=True).comparisons.n_objects == 6


def test_a_tuple_of_lists_may_be_rows_or_columns():
    with pytest.raises(FileFormatError, match="are they its columns or its rows"):
        as_comparisons(([0, 1, 2], [1, 2, 0], [2, 0, 1]))
    assert len(as_comparisons([[0, 1, 2], [1, 2, 0], [2, 0, 1]])) == 3


def test_labels_numbered_in_another_order_are_refused():
    labels = pd.Series(["a", "b", "c"], index=[2, 0, 1])
    with pytest.raises(ValueError, match="labels: the index numbers the objects in another order"):
        Comparisons([[0, 1, 2]], labels=labels)
    assert Comparisons([[0, 1, 2]], labels=labels.sort_index()).labels.tolist() == ["b", "c", "a"]


def test_names_of_rows_of_points_and_distances_stay():
    points = pd.DataFrame({"x": [0.0, 1.0, 3.0, 7.0]}, index=["a", "b", "c", "d"])
    made = Comparisons.from_points(points, 20, random_state=0)
    assert made.labels.tolist() == ["a", "b", "c", "d"]
    turned = Comparisons.from_points(points[::-1], 20, random_state=0, labels=["a", "b", "c", "d"])
    assert turned == made
    distances = pd.DataFrame(abs(points.to_numpy() - points.to_numpy().T), index=points.index, columns=points.index)
    all_of_them = Comparisons.from_distances(distances)
    assert all_of_them.labels.tolist() == ["a", "b", "c", "d"]
    assert Comparisons.from_distances(distances.loc[::-1, ["b", "a", "d", "c"]], labels=list("abcd")) == all_of_them
    with pytest.raises(ValueError, match="points: the index names other rows"):
        Comparisons.from_points(points, 20, labels=["a", "b", "c", "e"])
    assert Comparisons.from_points(points.reset_index(drop=True), 20).labels is None
