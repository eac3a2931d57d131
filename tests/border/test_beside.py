"""Columns that are not used: those that split the answers into parts that contradict each other, and others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

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


def alarms(frame, tmp_path, **told):
    """The alarms of a frame, which must be those of the same table as a file."""
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    found = read_comparisons(frame, **told).alarms
    assert read_comparisons(tmp_path / "a.csv", **told).alarms == found
    assert read_comparisons(tmp_path / "a.parquet", **told).alarms == found
    return found


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


@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
def test_agreement_is_the_sum_over_pairs(kind):
    rng = np.random.default_rng(3)
    index = Comparisons.from_points(rng.normal(size=(6, 2)), 40, kind=kind, random_state=rng).index
    own = rng.random(len(index)) < 0.4
    pair, n_pairs = contradictions._pairs(index)
    signs: dict = {}
    counts: dict = {}
    for row, mine in zip(index.tolist(), own.tolist()):
        near, far = (row[:2], [row[0], row[2]]) if len(row) == 3 else (row[:2], row[2:])
        for ends, sign in ((near, 1), (far, -1)):
            key = frozenset(ends), mine
            signs[key] = signs.get(key, 0) + sign
            counts[key] = counts.get(key, 0) + 1
    pairs = {key for key, _ in signs}
    agreed = sum(signs.get((key, True), 0) * signs.get((key, False), 0) for key in pairs)
    chance = sum(counts.get((key, True), 0) * counts.get((key, False), 0) for key in pairs)
    assert n_pairs == len(pairs)
    assert contradictions._agreement(pair, n_pairs, own) == pytest.approx(agreed / chance**0.5)
    assert contradictions._agreement(pair, n_pairs, np.ones(len(index), bool)) == 0


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
    for cell in ("999", "True", "left", "—"):
        frame = pd.DataFrame([*rows, (rows[0][0], cell, rows[0][2])], columns=COLUMNS["triplets"])
        assert any(repr(cell) in alarm for alarm in read_comparisons(frame).alarms)


def test_values_of_columns_that_are_not_used_are_shown_where_they_are_few():
    frame = table(ASKED, ["left", "right"], ("mode", ["most", "least"]))
    frame = frame.assign(pregunta="¿Cuál es parecido?", task="main", number=np.arange(len(frame)))
    understood = read_comparisons(frame).understood
    assert "columns not used: mode (most, least), pregunta (¿Cuál es parecido?), task, number" in understood


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


def test_a_third_option_in_the_middle_is_an_option():
    rows = [
        (*row, "flute") for row in [("oboe", "flute", "drum"), ("flute", "gong", "oboe"), ("drum", "gong", "flute")]
    ]
    read = read_comparisons(pd.DataFrame(rows, columns=["left", "middle", "right", "odd"]))
    assert len(read.comparisons) == 6
    assert read.dropped == {}


@pytest.mark.parametrize("with_people", [False, True])
def test_answers_as_fast_as_others_about_the_same_are_told(with_people, tmp_path):
    frame = table(ASKED, ["left", "right"], ("rt", np.arange(12) * 37 + 812))
    frame = frame.assign(participant=np.resize(["p1", "p2", "p3", "p4", "p5"], 12)) if with_people else frame
    assert alarms(frame, tmp_path) == ()
    assert any(
        "12 comparisons with the" in alarm and "response time and objects of another" in alarm
        for alarm in alarms(pd.concat([frame, frame]), tmp_path)
    )
    whole = frame.assign(rt=2)
    assert alarms(pd.concat([whole, whole]).rename(columns={"rt": "rt_seconds"}), tmp_path) == ()


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
