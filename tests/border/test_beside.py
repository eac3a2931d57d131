"""Columns that are not used: those that split the answers into parts that contradict each other, and others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tables import alarms

from nearer.data import Comparisons, contradictions
from nearer.io import FileFormatError, read_comparisons


def answered(n_rows=400, n_objects=15, kind="triplets", noise=0.1, random_state=0):
    """Answers about points of a plane, as names."""
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n_objects, 2))
    made = Comparisons.from_points(X, n_rows, kind=kind, noise=noise, random_state=rng)
    return np.array([f"object {number:02d}" for number in range(n_objects)])[made.index]


def turned(rows, which):
    """Near and far exchanged in some rows."""
    rows = rows.copy()
    rows[which] = rows[which][:, [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]]
    return rows


COLUMNS = {"triplets": ["anchor", "near", "far"], "quadruplets": ["i", "j", "l", "k"]}


@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
@pytest.mark.parametrize("words", [("zwyczajnie", "odwrotnie"), ("0", "1"), ("x", "y", "z")])
@pytest.mark.parametrize("told", [False, True])
def test_a_column_whose_values_say_that_answers_are_turned_is_told_in_any_words(kind, words, told, tmp_path):
    rows = answered(3000, kind=kind)
    value = np.random.default_rng(1).integers(0, len(words), len(rows))
    frame = pd.DataFrame(turned(rows, value == 1), columns=COLUMNS[kind])
    frame = frame.assign(mode=np.array(words, object)[value], half=np.array(["p", "q"], object)[value[::-1] % 2])
    columns = {"columns": {role: role for role in COLUMNS[kind]}} if told else {}
    found = alarms(frame, tmp_path, **columns)
    assert any("column 'mode' is not used, but answers where it is" in alarm for alarm in found)
    assert not any("'half'" in alarm for alarm in found)
    assert alarms(frame.assign(mode=frame["half"]), tmp_path, **columns) == ()


@pytest.mark.parametrize("side", ["side_of_a", "strana"])
def test_sides_that_were_exchanged_are_told_however_many_rows_there_are(side, tmp_path):
    rows = answered(600)
    rng = np.random.default_rng(2)
    first, left = (
        rng.random(len(rows)) < 0.5,
        rng.random(len(rows)) < 0.5,
    )  # the answer is option a; a stands on the left
    frame = pd.DataFrame(
        {
            "reference": rows[:, 0],
            "option_a": np.where(first, rows[:, 1], rows[:, 2]),
            "option_b": np.where(first, rows[:, 2], rows[:, 1]),
            "response": np.where(first == left, "left", "right"),
            side: np.where(left, "left", "right"),
        }
    )
    found = alarms(frame, tmp_path)
    assert any(side in alarm for alarm in found)
    assert "answers read as positions: " in read_comparisons(frame).understood
    assert "left = option_a" in read_comparisons(frame).understood


def test_parts_that_agree_are_not_told_in_many_draws():
    told = 0
    for seed in range(200):
        rows = answered(200, noise=0.25 if seed % 2 else 0.5, random_state=seed)
        value = np.random.default_rng(seed).integers(0, 2, len(rows)).astype(str)
        found = read_comparisons(pd.DataFrame(rows, columns=COLUMNS["triplets"]).assign(half=value)).alarms
        told += any("contradict" in alarm for alarm in found)
    assert told <= 1


def judged(rows, others):
    """How far answers agree with others, by definition: in standard deviations, and as a share."""
    found = []
    for row in rows:
        leanings = []
        for ends in (row[:2], [row[0], row[2]] if len(row) == 3 else row[2:]):
            near = sum({*ends} == {*other[:2]} for other in others)
            far = sum({*ends} == ({other[0], other[2]} if len(other) == 3 else {*other[2:]}) for other in others)
            leanings.append((near - far) / (near + far) ** 0.5 if near + far else None)
        found += [leanings[0] - leanings[1]] if None not in leanings else []
    found = np.array(found)
    size = np.sqrt((found**2).sum()) if len(found) else 0
    return (found.sum() / size, np.sign(found).mean()) if size else (0, 0)


@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
@pytest.mark.parametrize("seed", range(12))
def test_parts_contradict_each_other_by_definition(kind, seed):
    rng = np.random.default_rng(seed)
    made = Comparisons.from_points(rng.normal(size=(6, 2)), 80, kind=kind, noise=0.1, random_state=rng)
    own = rng.random(len(made)) < 0.4
    index = made.flipped(own if seed % 3 else own & (rng.random(len(made)) < 0.5)).index
    pair, n_pairs = contradictions._pairs(index)
    parts = index[own].tolist(), index[~own].tolist()
    both = [judged(*parts), judged(*parts[::-1])]
    expected = all(z <= -contradictions._SURE and share <= -contradictions._MOST for z, share in both)
    counts = contradictions._counts(pair, n_pairs)
    assert contradictions._contradict(pair, counts, own) == expected
    assert not contradictions._contradict(pair, counts, np.ones(len(index), bool))


def test_what_is_not_used_need_not_be_readable():
    rows = answered(300)
    mixed = [*["p", "q"] * 149, 3.5, [1, 2]]
    read = read_comparisons(pd.DataFrame(rows, columns=COLUMNS["triplets"]).assign(beside=mixed))
    assert len(read.comparisons) == 300


ASKED = "reference,left,right,response"
SOME = [("oboe", "flute", "drum"), ("drum", "oboe", "gong"), ("flute", "gong", "oboe"), ("gong", "drum", "flute")]


def table(header, answers=("",), beside=None):
    rows = [(*row, answers[spot % len(answers)]) for spot, row in enumerate(SOME * 3)]
    rows = [tuple(filter(None, row)) for row in rows]
    frame = pd.DataFrame(rows, columns=header.split(",")[: len(rows[0])])
    return frame if beside is None else frame.assign(**{beside[0]: np.resize(beside[1], len(frame))})


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (table("reference,item_a,item_b,response", ["left", "right"], ("order", ["AB", "BA"])), "'order' ('AB', 'BA')"),
        (table(ASKED, ["left", "right"], ("trial", ["practice_1", "2"])), "'trial' ('practice_1', '2')"),
        (table(ASKED, ["left", "right"], ("mode", ["closest", "furthest"])), "may ask for what is near in some rows"),
        (table("anchor,near,far", beside=("human_choice", ["near", "far"])), "names what is near and what is far"),
        (table(ASKED, ["left", "right"], ("q", ["Lequel est le moins proche ?"])), "may ask for what is farther"),
        (table(ASKED, ["left", "right"], ("q", ["Was ist hier unähnlicher?"])), "may ask for what is farther"),
        (table(ASKED, ["left", "right"], ("participant", ["p1", "consensus"])), "'consensus' may be no person"),
    ],
)  # fmt: skip
def test_columns_that_were_passed_over_are_told(frame, words, tmp_path):
    assert any(words in alarm for alarm in alarms(frame, tmp_path))


def test_one_cell_that_is_no_word_is_told():
    rows = [tuple(row) for row in answered(60)]
    for cell in ("True", "left", "—"):
        frame = pd.DataFrame([*rows, (rows[0][0], cell, rows[0][2])], columns=COLUMNS["triplets"])
        assert any(repr(cell) in alarm for alarm in read_comparisons(frame).alarms)


def test_values_of_columns_that_are_not_used_are_shown_where_they_are_few():
    frame = table(ASKED, ["left", "right"], ("mode", ["most", "least"]))
    frame = frame.assign(pregunta="¿Cuál es parecido?", task="main", number=np.arange(len(frame)))
    understood = read_comparisons(frame).understood
    assert "columns not used: mode (most, least), pregunta (¿Cuál es parecido?), task (main), number" in understood


@pytest.mark.parametrize(
    "word", ["timeout", "TIMEOUT", "Timed out", "no response", "No-Response", "skip", "NR", "missing", "-", "—", "[]"]
)
def test_words_for_no_answer_are_left_out_whatever_their_case(word):
    frame = table(ASKED, ["left", "right", word])
    read = read_comparisons(frame)
    assert read.dropped == {"no answer": 4}
    assert len(read.comparisons) == 8


def test_an_object_may_be_called_like_no_answer():
    frame = pd.DataFrame([("oboe", "Skip", "drum", "Skip"), ("drum", "Skip", "oboe", "oboe")], columns=ASKED.split(","))
    assert read_comparisons(frame).dropped == {}


@pytest.mark.parametrize("name", ["farther", "rejected", "loser", "least_similar", "unchosen"])
@pytest.mark.parametrize("by", ["object", "side"])
def test_what_is_farther_may_be_the_answer(name, by, tmp_path):
    frame = table(f"reference,left,right,{name}", ["left", "right"])
    if by == "object":
        frame[name] = [row[row[name]] for _, row in frame.iterrows()]
    frame.to_csv(tmp_path / "a.csv", index=False)
    wanted = read_comparisons(frame.rename(columns={name: "response"})).comparisons
    for source in (frame, tmp_path / "a.csv"):
        read = read_comparisons(source)
        assert read.kind == "answers"
        assert read.comparisons.index.tolist() == wanted.index[:, [0, 2, 1]].tolist()


@pytest.mark.parametrize(
    ("header", "answers"),
    [
        ("Referenz,links,rechts,Antwort", ["links", "rechts"]),
        ("référence,gauche,droite,réponse", ["gauche", "droite"]),
        ("referencia,izquierda,derecha,respuesta", ["izquierda", "derecha"]),
        ("riferimento,sinistra,destra,risposta", ["sinistra", "destra"]),
        ("referência,esquerda,direita,resposta", ["esquerda", "direita"]),
        ("reference,top,bottom,picked", ["top", "bottom"]),
        ("INPUT:reference,INPUT:left,INPUT:right,OUTPUT:response", ["left", "right"]),
    ],
)
def test_columns_in_other_languages_and_of_other_programs(header, answers):
    wanted = read_comparisons(table(ASKED, ["left", "right"])).comparisons
    assert read_comparisons(table(header, answers)).comparisons == wanted
    german = pd.DataFrame(SOME, columns=["Referenz", "näher", "ferner"])
    assert read_comparisons(german).columns == {"anchor": "Referenz", "near": "näher", "far": "ferner"}


@pytest.mark.parametrize("camps", [2, 4])
def test_several_values_may_say_that_answers_are_turned(camps):
    rows = answered(3000, n_objects=12)
    value = np.random.default_rng(1).integers(0, 2 * camps, len(rows))
    frame = pd.DataFrame(turned(rows, value % 2 == 1), columns=COLUMNS["triplets"])
    read = read_comparisons(frame.assign(prompt=np.array([*"abcdefgh"], object)[value]))
    (alarm,) = read.alarms
    said = {cell for cell in "abcdefgh"[: 2 * camps] if f"{cell!r}" in alarm.partition("where it is ")[2]}
    assert said in ({*"aceg"[:camps]}, {*"bdfh"[:camps]})


def test_a_mind_that_was_changed_is_told():
    frame = pd.DataFrame(answered(60), columns=COLUMNS["triplets"]).assign(participant="p1", trial=np.arange(60))
    assert read_comparisons(frame).alarms == ()
    again = frame.iloc[[7]].rename(columns={"near": "far", "far": "near"})
    (alarm,) = read_comparisons(pd.concat([frame, again])).alarms
    assert "1 comparison with the participant, number of the trial and objects of another" in alarm


@pytest.mark.parametrize("names", [("left", "middle", "right", "central"), ("links", "mitte", "rechts", "odd")])
def test_three_options_of_which_one_is_in_the_middle(names):
    sets = [(1, 2, 3), (2, 3, 4), (4, 1, 2), (3, 4, 1)]
    read = read_comparisons(pd.DataFrame([(*row, row[1]) for row in sets], columns=names))
    assert len(read.comparisons) == 8


def test_a_third_option_in_the_middle_is_an_option():
    rows = [
        (*row, "flute") for row in [("oboe", "flute", "drum"), ("flute", "gong", "oboe"), ("drum", "gong", "flute")]
    ]
    read = read_comparisons(pd.DataFrame(rows, columns=["left", "middle", "right", "odd"]))
    assert len(read.comparisons) == 6
    assert read.dropped == {}


def test_answers_as_fast_as_others_about_the_same_are_told(tmp_path):
    frame = table(ASKED, ["left", "right"], ("rt", np.arange(12) * 37 + 812))
    frame = frame.assign(participant=np.resize(["p1", "p2", "p3", "p4", "p5"], 12))
    assert alarms(frame, tmp_path) == ()
    words = "12 comparisons with the participant, response time and objects of another"
    assert any(words in alarm for alarm in alarms(pd.concat([frame, frame]), tmp_path))


def test_answers_that_stand_twice_are_seen_among_many(monkeypatch):
    monkeypatch.setattr("nearer.data.tables._ENOUGH", 300)
    frame = pd.DataFrame(answered(1000), columns=COLUMNS["triplets"])
    frame = frame.assign(participant=np.arange(1000) % 7, rt=np.arange(1000) + 812)
    assert read_comparisons(frame).alarms == ()
    (alarm,) = read_comparisons(pd.concat([frame, frame])).alarms
    assert "at least 285 comparisons with the participant, response time and objects" in alarm  # of people 0 and 6


@pytest.mark.parametrize("unknown", [0, 0.05])
def test_answers_that_take_as_long_by_chance_are_not_told(unknown):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(answered(2000, n_objects=5), columns=COLUMNS["triplets"])
    frame["participant"] = rng.integers(0, 4, len(frame)).astype(str)
    for times in (rng.integers(1, 9, len(frame)), rng.integers(1, 90, len(frame)) / 10):
        seconds = np.where(rng.random(len(frame)) < unknown, np.nan, times)
        assert not any("response time" in alarm for alarm in read_comparisons(frame.assign(seconds=seconds)).alarms)


# header, cells of the columns beyond the third, whether they are objects
OPEN = {
    "wzorzec,lewy,prawy,gdzie": [["tam", "tu"]],
    "reference,option_a,option_b,dist_a,dist_b": [["0.5", "0.25", "0.7"], ["0.1", "0.9", "0.3"]],
    "reference,option_a,option_b,b_better": [["True", "False"]],
    "reference,option_a,option_b,first_answer,final_answer": [["flute", "gong"], ["gong", "flute"]],
    "T1_ref,T1_a,T1_b,T2_ref,T2_a,T2_b": [["oboe", "drum"], ["gong", "flute"], ["drum", "oboe"]],
    "anchor,positive,foil_1,foil_2": [["oboe", "drum"]],
    "head,relation,tail": [],
}


@pytest.mark.parametrize("header", OPEN)
def test_no_proposal_where_a_column_that_may_tell_would_be_left_out(header):
    frame = table(",".join(header.split(",")[:3]))
    if header.startswith("head"):
        frame["relation"] = np.resize(["isa", "partof", "near to"], len(frame))
    frame = frame.assign(
        **{name: np.resize(cells, len(frame)) for name, cells in zip(header.split(",")[3:], OPEN[header])}
    )
    with pytest.raises(FileFormatError) as error:
        read_comparisons(frame)
    message = str(error.value)
    assert (
        "': ...," in message
        or "answers=" in message
        or "no column is left" in message
        or "'answer': 'b_better'" in message
    )


@pytest.mark.parametrize("name", ["discarded", "Which is less similar?", "most_distant"])
def test_a_column_that_says_what_is_farther_is_proposed_as_that(name):
    frame = table(f"reference,option_a,option_b,{name}", ["flute", "drum"])
    frame[name] = frame["option_a"]
    with pytest.raises(FileFormatError, match=r"'far': '" + name.replace("?", r"\?")) as error:
        read_comparisons(frame)
    assert "is farther from oboe, somebody answered flute" in str(error.value)


def test_a_view_of_memory_is_an_array():
    read = read_comparisons(memoryview(np.arange(6).reshape(2, 3)))
    assert read.comparisons.index.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "header",
    [
        "anchor,near,far,pos", "anchor,left,right,choice,pos", "anchor,near,far,neg", "anchor,a,b,answer,links",
        "anchor,left,right,response,clicked", "anchor,left,right,response,picked", "anchor,a,b,answer,top",
        "a,b,c,odd,middle", "anchor,a,b,answer,text1,text2", "left,right,anchor,answer,text_left,text_right",
        "anchor,near,far,text1,text2",
    ],
)  # fmt: skip
def test_names_that_often_mean_something_else_do_not_disturb(header):
    names = header.split(",")
    rows = pd.DataFrame(
        SOME * 3,
        columns=[name for name in names if name in ("anchor", "near", "far", "left", "right", "a", "b", "c")][:3],
    )
    if {"choice", "response", "answer", "odd"} & {*names}:
        answer = next(name for name in names if name in ("choice", "response", "answer", "odd"))
        rows[answer] = rows["left" if "left" in rows else "a"]
    more = {name: [f"{name} {number}" for number in range(len(rows))] for name in names if name not in rows}
    read = read_comparisons(rows.assign(**more)[names])
    assert len(read.comparisons) == len(rows) * (2 if "odd" in names else 1)
    assert not {*more} & {*read.columns.values()}


@pytest.mark.parametrize(("name", "cells"), [("different", ["1", "2"]), ("rejected", ["0", "1"]), ("other", ["", "x"])])
def test_a_mark_of_answers_is_not_what_is_farther(name, cells):
    frame = table(f"anchor,a,b,{name}", ["x"])
    frame[name] = np.resize(cells, len(frame))
    with pytest.raises(FileFormatError, match="no column for answer of answers"):
        read_comparisons(frame)


@pytest.mark.parametrize("answers", [{"+": "a", "-": "b"}, "+=a,-=b", {"nl": "a", "nr": "b"}])
def test_what_the_user_says_of_answers_counts(answers):
    cells = ["nl", "nr"] if "nl" in answers else ["+", "-"]
    read = read_comparisons(table("anchor,a,b,answer", cells), answers=answers)
    assert len(read.comparisons) == 12
    assert read.dropped == {}


@pytest.mark.parametrize("by", ["object", "side"])
def test_words_to_skip_may_stand_among_answers_of_any_kind(by):
    frame = table(ASKED, ["left", "right"])
    wanted = read_comparisons(frame.iloc[1:]).comparisons
    if by == "object":
        frame["response"] = [row[row["response"]] for _, row in frame.iterrows()]
    frame.loc[0, "response"] = "weiss nicht"
    with pytest.raises(FileFormatError, match="weiss nicht"):
        read_comparisons(frame)
    read = read_comparisons(frame, answers={"weiss nicht": "skip"})
    assert read.comparisons == wanted
    assert read.dropped == {"answer to be skipped": 1}


def test_a_sign_is_no_rating():
    frame = table("anchor,a,b,answer", ["1", "2", "9"])
    with pytest.raises(FileFormatError, match="'2', '9', which is no answer when read as 'sign'"):
        read_comparisons(frame, answers="sign")
    assert len(read_comparisons(table("anchor,a,b,answer", ["1", "-3"]), answers="sign").comparisons) == 12


def test_a_total_is_not_proposed_as_votes():
    frame = table("anchor,a,b,votes_a", ["1", "2"]).assign(n=5)
    with pytest.raises(FileFormatError) as error:
        read_comparisons(frame)
    assert "'votes_b': 'n'" not in str(error.value)


def test_columns_that_are_not_used_leave_the_others_as_they_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("anchor,near,far,comment\n'=a,b,c,-3\nb,c,'=a,4\nc,b,'=a,-3\n")
    read = read_comparisons(path)
    assert read.comparisons.labels.tolist() == ["=a", "b", "c"]
    assert sum("apostrophe" in note for note in read.notes) == 1


@pytest.mark.parametrize("value", ["less", "odwrotnie", ""])
def test_values_beyond_the_first_rows_are_seen(value, tmp_path):
    rows = answered(3000, random_state=5)
    late = np.arange(len(rows)) >= 1500
    frame = pd.DataFrame(turned(rows, late), columns=COLUMNS["triplets"])
    frame = frame.assign(
        pol=np.where(late, value, "x"), block=np.where(np.arange(len(rows)) == 2500, "practice", "main")
    )
    found = alarms(frame, tmp_path)
    assert any("'pol' is not used, but answers where it is" in alarm for alarm in found)
    assert any("'block' ('main', 'practice')" in alarm for alarm in found)
    assert f"pol (x, {value or 'empty'})" in read_comparisons(frame).understood


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_a_mark_that_stands_once_among_many_rows_is_seen(kind):
    frame = pd.DataFrame(answered(5000), columns=COLUMNS["triplets"]).assign(exclude=0)
    frame.loc[3333, "exclude"] = 1
    frame = frame.astype({"exclude": str}) if kind == "text" else frame
    assert any("'exclude' ('0', '1')" in alarm for alarm in read_comparisons(frame).alarms)


def test_odd_ones_out_are_judged_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    sets = np.array([rng.choice(12, 3, replace=False) for _ in range(2000)])
    sums = [np.linalg.norm(X[row][:, None] - X[row], axis=2).sum(axis=1) for row in sets]
    most, least = (
        row[np.arange(len(sets)), spot] for row, spot in ((sets, np.argmax(sums, 1)), (sets, np.argmin(sums, 1)))
    )
    turned_round = rng.random(len(sets)) < 0.5
    names = np.array([f"object {number}" for number in range(12)])
    frame = pd.DataFrame(names[sets], columns=["a", "b", "c"]).assign(
        odd=names[np.where(turned_round, least, most)], q=np.where(turned_round, "p", "r")
    )
    assert any("'q' is not used, but answers where it is" in alarm for alarm in read_comparisons(frame).alarms)


def test_a_row_that_stands_alone_is_found_among_many(monkeypatch):
    monkeypatch.setattr("nearer.data.rows._IN_CACHE", 100)
    rows = [tuple(row) for row in answered(1000, n_objects=6)]
    assert read_comparisons(pd.DataFrame(rows, columns=COLUMNS["triplets"])).alarms == ()
    for spot in (500, 1000):
        frame = pd.DataFrame([*rows[:spot], ("sum", "of", "all"), *rows[spot:]], columns=COLUMNS["triplets"])
        (alarm,) = read_comparisons(frame).alarms
        assert f"row {spot + 1} ('sum', 'of', 'all'): objects that stand in no other row" in alarm
    frame = pd.DataFrame([*rows, *[(row[0], "equal to", row[2]) for row in rows[:60]]], columns=COLUMNS["triplets"])
    assert any("'equal to' (" in alarm for alarm in read_comparisons(frame).alarms)
