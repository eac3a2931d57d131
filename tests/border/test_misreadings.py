"""What was once read wrong in silence, each as a test: refused with a remedy that works, or read rightly."""

from __future__ import annotations

import ast
import csv
import datetime
import gzip
import io
import json
import sqlite3
import subprocess
import sys
import unicodedata
from collections import UserDict, deque
from dataclasses import make_dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from carriers import CARRIERS, Sheet
from scipy.io import savemat

from nearer import FeatureMap, OrdinalEmbedding
from nearer.data import Comparisons, as_comparisons
from nearer.data.roles import role_of
from nearer.io import FileFormatError, open_blocks, read_comparisons, write_comparisons
from nearer.metrics import comparison_accuracy, procrustes_distance, worst_comparisons

# anchor, near, far
SAID = [("oboe", "flute", "drum"), ("gong", "drum", "harp"), ("harp", "oboe", "gong"), ("flute", "oboe", "drum")]


def said(comparisons):
    """Rows by label."""
    labels = [str(number) for number in range(comparisons.n_objects)]
    if comparisons.labels is not None:
        labels = comparisons.labels.tolist()
    return [tuple(labels[number] for number in row) for row in comparisons.index.tolist()]


def text(header, rows=SAID):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture
def both(tmp_path):
    """Write a text as a file and make it a frame; gives both ways to read it."""

    def make(content, name="answers.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return {"file": path, "frame": pd.read_csv(path, keep_default_na=False)}

    return make


def refusal(source, **told):
    with pytest.raises(FileFormatError) as error:
        read_comparisons(source, **told)
    return str(error.value)


def remedy(message):
    """What a refusal says to paste."""
    proposal = message.rsplit("for example: columns=", 1)[1].split(" or ")[0]
    return ast.literal_eval(proposal)


@pytest.mark.parametrize("header", ["stim,foil,pick", "wzorzec,bliżej,dalej", "cue,c1,c2", "A,B,C"])
@pytest.mark.parametrize("carrier", ["file", "frame"])
def test_unknown_headers_are_refused_with_rows_roles_and_a_remedy(both, header, carrier):
    source = both(text(header))[carrier]
    message = refusal(source)
    for row in SAID[:3]:
        assert " | ".join(row) in message
    assert " | ".join(SAID[3]) not in message
    for word in (*header.split(","), "anchor, near, far", "votes_a", "odd-one-out", "rank_1", "participant, weight"):
        assert word in message
    told = remedy(message)
    assert set(told.values()) <= set(header.split(","))
    read = read_comparisons(source, columns=told)
    assert set(read.comparisons.labels) == {"oboe", "flute", "drum", "gong", "harp"}
    # What was picked is nearer, never farther; what a row says then is shown beside.
    order = (0, 2, 1) if header.endswith("pick") else (0, 1, 2)
    assert said(read.comparisons) == [tuple(row[spot] for spot in order) for row in SAID]
    anchor, near, far = said(read.comparisons)[0]
    assert f"a row says: {anchor} is nearer to {near} than to {far}\n" in message


def test_unknown_headers_in_their_order_give_the_rows_as_written(both):
    source = both(text("stim,foil,pick"))["file"]
    read = read_comparisons(source, columns={"anchor": "stim", "far": "foil", "near": "pick"})
    assert said(read.comparisons) == [(anchor, pick, foil) for anchor, foil, pick in SAID]


@pytest.mark.parametrize("fourth", [(0, 1, 1, 0), (1, 2, 1, 2), ("p1", "p1", "p2", "p2"), (11, 12, 13, 14)])
@pytest.mark.parametrize("in_front", [True, False])
def test_four_unnamed_columns_are_refused(tmp_path, fourth, in_front):
    rows = [(more, *row) if in_front else (*row, more) for row, more in zip(SAID, fourth)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    for source in (path, pd.DataFrame(rows), rows):
        assert "4 columns without names: which is what cannot be told" in refusal(source)
    told = read_comparisons(path, columns="participant,anchor,near,far" if in_front else "anchor,near,far,-")
    assert said(told.comparisons) == SAID


@pytest.mark.parametrize("extra", ["subject", "trial", "rt"])
def test_a_named_column_in_front_is_no_object(both, extra):
    rows = [(number // 2, *row) for number, row in enumerate(SAID)]
    for source in both(text(f"{extra},anchor,near,far", rows)).values():
        read = read_comparisons(source)
        assert said(read.comparisons) == SAID
        assert (read.comparisons.participants is not None) == (extra == "subject")


@pytest.mark.parametrize("choice", ["oboe", "1", "a"])
def test_three_objects_and_a_choice_are_no_quadruplet(both, choice):
    rows = [(*row, choice) for row in SAID]
    for source in both(text("a,b,c,choice", rows)).values():
        message = refusal(source)
        assert "odd-one-out (a, b, c, odd)" in message
        assert "most-central (a, b, c, central)" in message


@pytest.mark.parametrize("word", ["NA", "None", "nan", "NaN", "null", "N/A", ""])
@pytest.mark.parametrize("carrier", ["file", "frame"])
def test_words_for_missing_are_no_objects(both, word, carrier):
    source = both(text("anchor,near,far", [*SAID, ("oboe", word, "gong")]))[carrier]
    assert "line 6" in refusal(source) or "row 5" in refusal(source)
    read = read_comparisons(source, on_missing="drop")
    assert said(read.comparisons) == SAID
    assert read.dropped == {"missing cell": 1}
    assert "1 row dropped: missing cell" in read.understood
    if word:
        assert said(read_comparisons(source, keep_na=True).comparisons) == [*SAID, ("oboe", word, "gong")]


def test_a_header_repeated_by_cat_is_no_row(both):
    rows = [*SAID[:2], ("anchor", "near", "far"), *SAID[2:]]
    for source in both(text("anchor,near,far", rows)).values():
        read = read_comparisons(source)
        assert said(read.comparisons) == SAID
        assert read.dropped == {"header repeated": 1}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("above", [0, 1, 4])
@pytest.mark.parametrize(
    "header", ["\ufeffanchor,near,far", '\ufeff"anchor","near","far"', "Anchor,Near,Far", " anchor , near,far\u00a0"]
)
def test_a_header_repeated_in_another_spelling_is_no_row(tmp_path, header, above, times):
    path = tmp_path / "joined.csv"
    part = text(header).splitlines(keepends=True)
    path.write_text("".join([*text("anchor,near,far", SAID[:above]).splitlines(keepends=True), *part * times]))
    read = read_comparisons(path)
    assert said(read.comparisons) == [*SAID[:above], *SAID * times]
    assert read.dropped == {"header repeated": times}
    assert f"{times} row{'s' * (times > 1)} dropped: header repeated" in read.understood


def test_files_with_a_byte_order_mark_joined_end_to_end(tmp_path):
    path = tmp_path / "joined.csv"
    path.write_bytes(text("anchor,near,far").encode("utf-8-sig") * 3)
    read = read_comparisons(path)
    assert said(read.comparisons) == SAID * 3
    assert read.dropped == {"header repeated": 2}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("above", [0, 1, 4])
@pytest.mark.parametrize("header", ["reference,closer,farther", "far,near,anchor", "\ufeffhead,winner,loser"])
def test_other_names_of_columns_among_the_rows_are_refused(both, header, above, times):
    rows = [*SAID[:above], *[tuple(header.split(",")), *SAID] * times]
    for source in both(text("anchor,near,far", rows)).values():
        message = refusal(source)
        assert "names of columns among the rows" in message
        assert f"line {above + 2}:" in message or f"row {above + 1}:" in message


def test_objects_called_like_columns_stay_objects(both):
    letters = [("I", "J", "K"), ("J", "K", "L"), ("K", "I", "J"), ("L", "J", "I")]
    items = [("item1", "item2", "item3"), ("item4", "item5", "item6"), ("item7", "item8", "item9")]
    places = [("center", "left", "right"), ("left", "center", "right"), ("right", "center", "left")]
    mixed = [*SAID, ("target", "near", "far"), ("oboe", "target", "far")]
    for header, rows in (("i,j,k", letters), ("anchor,near,far", items), ("anchor,near,far", mixed)):
        for source in both(text(header, rows)).values():
            assert said(read_comparisons(source).comparisons) == rows
    for source in both(text("anchor,near,far", places)).values():
        assert said(read_comparisons(source).comparisons) == places
    odd = [("a", "b", "c", "b"), ("b", "c", "d", "d"), ("A", "B", "C", "A"), ("a", "c", "d", "c")]
    for source in both(text("a,b,c,odd", odd)).values():
        read = read_comparisons(source)
        assert not read.dropped
        assert len(read.comparisons) == 8


def test_objects_called_like_columns_stay_objects_in_small_blocks(tmp_path):
    rows = [*SAID, ("center", "near", "far"), *SAID, ("oboe", "center", "far"), ("near", "oboe", "drum")]
    pd.DataFrame(rows, columns=["anchor", "near", "far"]).to_parquet(tmp_path / "a.parquet")
    blocks = open_blocks(tmp_path / "a.parquet").blocks(5)
    assert said(Comparisons.concat(list(blocks))) == rows


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("oboe", "Oboe"),
        (unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")),
        ("a b", "a  b"),
        ("oboe", "oboe\u200b"),
        ("flute", "flu\u00adte"),
        ("\u05d0\u05d1", "\u05d0\u05d1\u200f"),
        ("oboe", "\ufeffoboe"),
    ],
)
def test_names_written_in_two_ways_are_told_and_joined_on_request(both, one, other):
    rows = [(one, "harp", "drum"), (other, "drum", "gong")]
    for source in both(text("anchor,near,far", rows)).values():
        read = read_comparisons(source)
        assert read.comparisons.n_objects == 5
        assert len(read.alarms) == 1
        assert "fold_names=True" in read.alarms[0]
        folded = read_comparisons(source, fold_names=True)
        assert folded.comparisons.n_objects == 4
        assert not folded.alarms
    with pytest.warns(UserWarning, match="written in more than one way"):
        as_comparisons(pd.DataFrame(rows, columns=["anchor", "near", "far"]))


@pytest.mark.parametrize("other", ["anna ", "ANNA", "anna\u200b"])
def test_people_written_in_two_ways_are_told(both, other):
    rows = [(*row, who) for row, who in zip(SAID, ["anna", other, "ben", "ben"])]
    for source in both(text("anchor,near,far,participant", rows)).values():
        read = read_comparisons(source)
        assert len(set(read.comparisons.participants)) == 3
        assert [alarm.split(",")[0] for alarm in read.alarms] == ["1 participant written in more than one way"]
        assert "taken as different people" in read.understood


def test_a_second_row_of_the_header_is_told(both):
    second = ("The sound played", "Sounds alike", "Does not")
    for source in both(text("anchor,near,far", [second, *SAID, *SAID])).values():
        read = read_comparisons(source)
        assert said(read.comparisons)[0] == second  # kept: only the user can tell
        assert len(read.alarms) == 1
        assert "'The sound played', 'Sounds alike', 'Does not'" in read.alarms[0]
        assert "a further row of the header" in read.understood
    sparse = [(f"a{number}", f"b{number}", f"c{number}") for number in range(4)]
    for rows in ([*sparse, *SAID], SAID, [sparse[0], ("oboe", "flute", "drum"), ("gong", "harp", "drum")]):
        for source in both(text("anchor,near,far", rows)).values():
            assert not read_comparisons(source).alarms
    known = [("Reference item", "Nearer item", "Farther item"), *SAID]
    for source in both(text("anchor,near,far", known)).values():
        assert "is it a second row of the header?" in refusal(source)


def test_one_number_written_in_two_ways_is_told(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("anchor,near,far\n1,2.0,3.0\n2,1.0,x\n")
    read = read_comparisons(path)
    assert read.comparisons.n_objects == 6
    assert "2 names written in more than one way" in read.alarms[0]
    assert "'1'/'1.0', '2'/'2.0'" in read.alarms[0]
    assert said(read_comparisons(path, fold_names=True).comparisons) == [("1", "2", "3.0"), ("2", "1", "x")]


def test_names_written_in_two_ways_are_told_by_fit():
    frame = pd.DataFrame([*SAID, ("Oboe", "flute", "drum")], columns=["anchor", "near", "far"])
    with pytest.warns(UserWarning, match="'Oboe'/'oboe'"):
        OrdinalEmbedding(n_components=1, n_init=1, random_state=0).fit(frame)


def test_head_loser_winner_is_the_same_from_file_and_frame(both):
    sources = both(text("head,loser,winner", [(anchor, far, near) for anchor, near, far in SAID]))
    assert said(read_comparisons(sources["file"]).comparisons) == SAID
    assert said(read_comparisons(sources["frame"]).comparisons) == SAID
    assert said(as_comparisons(sources["frame"])) == SAID
    assert said(Comparisons.from_labels_table(sources["frame"])) == SAID


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "Int64"])
def test_a_frame_of_numbers_goes_by_its_names(dtype):
    rows = np.array([(0, 1, 2), (2, 3, 0), (3, 0, 1)])
    frame = pd.DataFrame({"far": rows[:, 2], "near": rows[:, 1], "anchor": rows[:, 0]}).astype(dtype)
    assert as_comparisons(frame).index.tolist() == rows.tolist()
    odd = frame.rename(columns={"far": "foil"})
    with pytest.raises(FileFormatError, match="no column for far of triplets"):
        as_comparisons(odd)


def test_a_worker_is_no_object(both):
    rows = [(*row, f"w{number % 2}") for number, row in enumerate(SAID)]
    sources = both(text("anchor,winner,loser,worker", rows))
    for comparisons in (read_comparisons(sources["file"]).comparisons, as_comparisons(sources["frame"])):
        assert said(comparisons) == SAID
        assert comparisons.participants.tolist() == ["w0", "w1", "w0", "w1"]


def weighted():
    """One-dimensional truth; a third of the rows say the contrary and have weight 0."""
    rng = np.random.default_rng(0)
    points = np.arange(8.0)
    index = np.array([rng.choice(8, 3, replace=False) for _ in range(240)])
    near, far = abs(points[index[:, 0]] - points[index[:, 1]]), abs(points[index[:, 0]] - points[index[:, 2]])
    index = index[near != far]
    swap = (near > far)[near != far]
    index[swap] = index[swap][:, [0, 2, 1]]
    wrong = np.arange(len(index)) % 3 == 0
    index[wrong] = index[wrong][:, [0, 2, 1]]
    return Comparisons(index, n_objects=8, weights=np.where(wrong, 0.0, 2.5))


def test_weights_that_were_written_come_back_in_every_way(tmp_path):
    comparisons = weighted()
    path = tmp_path / "w.parquet"
    write_comparisons(path, comparisons)
    assert read_comparisons(path).comparisons.weights.tolist() == comparisons.weights.tolist()
    reader = open_blocks(path)
    blocks = Comparisons.concat(list(reader.blocks(50)))
    assert reader.has_weights
    assert reader.total_weight == comparisons.weights.sum()
    assert blocks.index.tolist() == comparisons.index.tolist()
    assert blocks.weights.tolist() == comparisons.weights.tolist()


def test_a_block_of_weight_0_is_no_sign_of_change(tmp_path):
    path = tmp_path / "w.parquet"
    write_comparisons(path, Comparisons([[0, 1, 2]] * 6, weights=[1, 1, 0, 0, 0, 2]))
    assert sum(block.weights.sum() for block in open_blocks(path).blocks(2)) == 4


def test_fit_from_a_parquet_file_uses_its_weights(tmp_path):
    path, comparisons = tmp_path / "w.parquet", weighted()
    write_comparisons(path, comparisons)
    model = OrdinalEmbedding(n_components=1, n_init=4, random_state=0)
    assert model.fit(str(path)).score(comparisons) == pytest.approx(1.0, abs=0.02)


def test_numbers_counted_from_1_stay_the_names(tmp_path):
    rows = [(1, 2, 4), (4, 2, 1), (2, 4, 1), (1, 4, 6)]
    path = tmp_path / "rows.csv"
    path.write_text(text("anchor,near,far", rows))
    read = read_comparisons(path, index_base=1).comparisons
    assert read.labels.tolist() == ["1", "2", "3", "4", "5", "6"]
    assert said(read) == [tuple(map(str, row)) for row in rows]
    assert said(read_comparisons(path).comparisons) == said(read)
    for name in ("again.csv", "again.jsonl", "again.parquet", "again.npz"):
        write_comparisons(tmp_path / name, read)
        assert said(read_comparisons(tmp_path / name).comparisons) == said(read), name
    with pytest.warns(UserWarning, match=r"2 of 6 objects occur in no comparison \(first: '3'\)"):
        model = OrdinalEmbedding(n_components=1, n_init=1, random_state=0).fit(read)
    assert model.labels_.tolist() == read.labels.tolist()


def test_labels_that_are_numbers_survive_an_archive(tmp_path):
    comparisons = Comparisons([[0, 1, 2], [2, 0, 1]], labels=["2", "0", "1"])
    write_comparisons(tmp_path / "again.npz", comparisons)
    assert said(read_comparisons(tmp_path / "again.npz").comparisons) == [("2", "0", "1"), ("1", "2", "0")]


def test_the_command_line_keeps_numbers_counted_from_1(tmp_path):
    from click.testing import CliRunner

    from nearer.cli import cli

    path = tmp_path / "rows.csv"
    path.write_text(text("anchor,near,far", [(1, 2, 4), (4, 2, 1), (2, 4, 1), (1, 4, 6)]))
    options = ["fit", str(path), "--index-base", "1", "-d", "1", "--cv", "0", "-o", str(tmp_path / "out"), "--quiet"]
    result = CliRunner().invoke(cli, options)
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "out" / "embedding.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("index", [["participant"], ["weight"], ["participant", "weight"]])
def test_a_named_index_of_pandas_is_a_column_as_in_parquet(tmp_path, index):
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    frame = frame.assign(participant=["anna", "ben", "anna", "ben"], weight=[1.0, 2.0, 3.0, 4.0]).set_index(index)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        read = read_comparisons(source).comparisons
        assert said(read) == SAID
        assert read.participants.tolist() == ["anna", "ben", "anna", "ben"]
        assert read.weights.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_an_index_that_says_nothing_changes_nothing():
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    for same in (frame.set_index("anchor", drop=False), frame.iloc[::-1].iloc[::-1], frame.rename_axis("row")):
        assert said(read_comparisons(same).comparisons) == SAID
    numbered = pd.DataFrame(SAID, index=pd.Index([5, 6, 7, 8], name="row"))
    assert said(read_comparisons(numbered).comparisons) == SAID
    with pytest.raises(FileFormatError, match="participant"):
        read_comparisons(numbered.rename_axis("participant"))


@pytest.mark.parametrize("weights", [[True, False, True, True], [True, None, True, True]])
def test_true_and_false_are_no_weights_and_no_votes(tmp_path, weights):
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"]).assign(weight=weights)
    (tmp_path / "a.json").write_text(frame.to_json(orient="records"))
    for source in (frame, tmp_path / "a.json"):
        assert "is not a weight, 0 or more" in refusal(source, on_missing="drop")
    with pytest.raises(ValueError, match="weight"):
        Comparisons.from_labels_table(frame.dropna(), weights=np.ones(len(frame.dropna())))
    votes = pd.DataFrame(SAID, columns=["anchor", "a", "b"]).assign(votes_a=[True, False, True, True], votes_b=1)
    assert "'True' is not a number of votes" in refusal(votes)


def test_masked_cells_are_missing():
    numbers = np.ma.array([[0, 1, 2], [1, 2, 0]], mask=[[0, 0, 0], [0, 1, 0]])
    names = np.ma.array(SAID, mask=[[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    for source, place in ((numbers, "row 2, column 2"), (names, "row 2, column 3")):
        assert f"{place}: empty cell" in refusal(source)
        assert read_comparisons(source, on_missing="drop").dropped == {"missing cell": 1}
    with pytest.raises(FileFormatError, match="row 2, column 3: empty cell"):
        Comparisons.from_labels_table(names)


def test_an_empty_cell_with_a_code_is_empty():
    cells = pa.array(["flute", None, "oboe", "oboe"]).dictionary_encode(null_encoding="encode")
    anchor, _, far = (pa.array(column) for column in zip(*SAID))
    assert "row 2, column 'near': empty cell" in refusal(pa.table({"anchor": anchor, "near": cells, "far": far}))
    near = pa.array(["flute", "drum", "oboe", "oboe"])
    people = read_comparisons(pa.table({"anchor": anchor, "near": near, "far": far, "participant": cells}))
    assert people.comparisons.participants.tolist() == ["flute", "unknown", "oboe", "oboe"]


@pytest.mark.parametrize(
    "cells",
    [("12345678901234567890", "12345678901234567891"), ("9007199254740993", "9007199254740992.0")],
)
def test_people_whose_numbers_lost_digits_are_refused(tmp_path, cells):
    path = tmp_path / "a.jsonl"
    rows = zip(SAID, cells * 2)
    path.write_text(
        "".join(f'{{"anchor": "{a}", "near": "{b}", "far": "{c}", "participant": {who}}}\n' for (a, b, c), who in rows)
    )
    message = refusal(path)
    assert "line 1, column 'participant'" in message
    assert "give them as text" in message
    read = read_comparisons(path, participant="")
    assert said(read.comparisons) == SAID


def test_people_with_long_numbers_stay_apart():
    table = dict(zip(("anchor", "near", "far"), zip(*SAID)))
    ids = [2**60, 2**60 + 1, 2**60, 2**60 + 1]
    exact = [pa.array(list(map(Decimal, ids))), pa.array(ids), ids, [float(number % 2**60) for number in ids]]
    for people in exact:
        read = read_comparisons({**{name: list(cells) for name, cells in table.items()}, "participant": people})
        assert len(set(read.comparisons.participants.tolist())) == 2
    gaps = pa.array([*ids[:3], None])
    read = read_comparisons({**{name: list(cells) for name, cells in table.items()}, "participant": gaps})
    assert set(map(str, read.comparisons.participants.tolist())) == {str(2**60), str(2**60 + 1), "unknown"}


def test_columns_that_cannot_be_read_are_refused_by_name():
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    cut = pd.cut(pd.Series([1.0, 2.0, 3.0, 4.0]), 2)
    assert "column 'near': a column of type" in refusal(frame.assign(near=cut))
    assert "column 'participant': a column of type" in refusal(frame.assign(participant=cut))
    assert said(read_comparisons(frame.assign(bins=cut)).comparisons) == SAID
    wide = pl.DataFrame(frame.to_dict("list")).with_columns(pl.lit(1, dtype=pl.Int128).alias("bins"))
    assert said(read_comparisons(wide).comparisons) == SAID
    assert "column 'participant': a column of type Int128" in refusal(wide.rename({"bins": "participant"}))


@pytest.mark.parametrize("source", [pd.Series(["a", "b"]), pl.Series(["a", "b"])])
def test_one_column_is_no_table(source):
    assert "got a Series, which is one column" in refusal(source)


def test_rows_that_are_not_there_yet_are_refused():
    lazy = pl.DataFrame(SAID, schema=["anchor", "near", "far"], orient="row").lazy()
    assert "say .collect() first" in refusal(lazy)
    assert said(read_comparisons(lazy.collect()).comparisons) == SAID


@pytest.mark.parametrize("cells", ["abc", {"x", "y", "z"}, {"x": 1, "y": 2, "z": 3}])
def test_letters_and_sets_are_no_columns(cells):
    assert "column 'anchor': got" in refusal({"anchor": cells, "near": ["d", "e", "f"], "far": ["g", "h", "i"]})


def test_the_index_of_a_dask_frame_is_refused_where_it_would_be_lost():
    dask = pytest.importorskip("dask.dataframe")
    from nearer.data.values import Options
    from nearer.distributed.data import _partitions

    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"]).assign(weight=[4.0, 3.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=r"index 'weight' would not be read; say .reset_index\(\) first"):
        _partitions(dask.from_pandas(frame.set_index("weight"), npartitions=1), None, None, Options())
    rows = frame[["anchor", "near", "far"]]
    with pytest.raises(ValueError, match=r"index 'user' would not be read; say .reset_index\(\) first"):
        _partitions(dask.from_pandas(rows.set_index(pd.Index([1, 2, 3, 4], name="user")), 1), None, None, Options())
    lines = dask.from_pandas(rows.set_index(pd.Index([1, 2, 3, 4], name="line")), 1)
    pieces, roles = _partitions(lines, None, dask.from_pandas(frame, npartitions=1)["weight"], Options())
    weights = pieces[0].read([roles.at["weight"]])[0]
    assert weights.cells.tolist() == [4.0, 3.0, 2.0, 1.0]  # not the index, which comes after the columns


# The rows of SAID with the columns the other way round: a reader that overlooks the names inverts every one.
TURNED = ["far", "near", "anchor"]
TURNED_ROWS = [[far, near, anchor] for anchor, near, far in SAID]


@pytest.mark.parametrize("called", ["columns", "fields", "names", "header", "colnames"])
@pytest.mark.parametrize("rows_called", ["data", "rows"])
def test_names_of_columns_beside_the_rows_are_used(tmp_path, called, rows_called):
    path, archive = tmp_path / "split.json", tmp_path / "split.npz"
    path.write_text(json.dumps({called: TURNED, "index": [0, 1, 2, 3], rows_called: TURNED_ROWS}))
    np.savez(archive, **{called: np.array(TURNED), rows_called: np.array(TURNED_ROWS)})
    for source in (path, archive):
        read = read_comparisons(source)
        assert said(read.comparisons) == SAID
        assert f"the columns of {rows_called!r} are named by {called!r}" in read.understood


def test_names_of_columns_beside_the_rows_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "split.json"
    path.write_text(json.dumps({"columns": [*TURNED, "weight"], "data": TURNED_ROWS}))
    assert "'columns' holds 4 names for 3 columns of 'data'" in refusal(path)
    path.write_text(json.dumps({"columns": ["stim", "foil", "pick"], "data": TURNED_ROWS}))
    assert "columns 'stim', 'foil', 'pick': no column for" in refusal(path)
    path.write_text(json.dumps({"columns": TURNED, "fields": TURNED, "data": TURNED_ROWS}))
    assert "'columns', 'fields' all could name the columns" in refusal(path)


def test_names_beside_numbers_are_still_those_of_the_objects(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, data=np.array([[0, 1, 2], [2, 1, 0]]), names=np.array(["oboe", "left", "right"]))
    assert said(read_comparisons(path).comparisons) == [("oboe", "left", "right"), ("right", "left", "oboe")]


def rows_in_every_way(folder, rows):
    """Rows without a place for names: files, then what is in memory."""
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "object.json").write_text(json.dumps({"study": "x", "data": rows}))
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.save(folder / "rows.npy", np.array(rows))
    np.savez(folder / "rows.npz", data=np.array(rows))
    files = [folder / name for name in ("rows.json", "rows.jsonl", "rows.npy", "object.json", "rows.npz")]
    return files, [rows, np.array(rows), np.array(rows, object), pd.DataFrame(rows)]


def test_names_in_the_first_row_are_used_by_every_carrier(tmp_path):
    files, held = rows_in_every_way(tmp_path, [TURNED, *TURNED_ROWS])
    for source in (*files, *held):
        read = read_comparisons(source)
        assert said(read.comparisons) == SAID
        assert "is taken as the names of the columns" in read.understood
    for source in held:
        assert said(as_comparisons(source)) == SAID
    # Told otherwise, every row is data.
    for source in (*files, *held):
        assert len(read_comparisons(source, header=False).comparisons) == 5


def test_a_row_below_names_in_the_first_is_counted_with_them(tmp_path):
    rows = [TURNED, *TURNED_ROWS, ["oboe", "", "gong"]]
    files, held = rows_in_every_way(tmp_path, rows)
    for source in (*files[:3], *held):
        assert any(place in refusal(source) for place in ("row 6", "line 6"))


def test_objects_called_as_columns_are_no_header(tmp_path):
    rows = [["left", "oboe", "i"], ["i", "left", "oboe"], ["oboe", "j", "left"], ["i", "j", "k"]]
    _, held = rows_in_every_way(tmp_path, rows)
    for source in held:
        assert said(read_comparisons(source).comparisons) == list(map(tuple, rows))


@pytest.mark.parametrize(
    "above", ["Results,May,2024", "Study 4,v2,1.3", "# exported by LabTool, on 3 May, 2024", "a,b,c"]
)
def test_a_line_above_the_names_is_refused(tmp_path, above):
    path = tmp_path / "rows.csv"
    path.write_text(f"{above}\n" + text("far,near,anchor", TURNED_ROWS))
    message = refusal(path)
    assert "line 2: 'far', 'near', 'anchor' are names of columns" in message
    assert "remove what stands above the names, or say header=False" in message
    path.write_text(f"{above}\n\n{above}\n" + text("far,near,anchor", TURNED_ROWS))
    assert "line 4: 'far', 'near', 'anchor' are names of columns" in refusal(path)
    rows = [above.split(","), TURNED, *TURNED_ROWS]
    pd.DataFrame(rows).to_excel(tmp_path / "rows.xlsx", header=False, index=False)
    files, held = rows_in_every_way(tmp_path, rows)
    for source in (tmp_path / "rows.xlsx", *files, *held):
        assert "'far', 'near', 'anchor' are names of columns" in refusal(source)


def test_a_line_above_letters_for_names_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    for rows in ([(0, 1, 2), (2, 1, 0)], SAID):
        path.write_text("Results,May,2024\n" + text("i,k,j", rows))
        assert "line 2: 'i', 'k', 'j' are names of columns" in refusal(path)
    path.write_text("a,b,1\nb,1,a\ni,k,j\n")
    assert said(read_comparisons(path).comparisons) == [("a", "b", "1"), ("b", "1", "a"), ("i", "k", "j")]


def test_objects_called_as_columns_below_the_first_row_are_data(tmp_path):
    rows = [("near", "oboe", "2"), ("anchor", "near", "far"), ("2", "far", "oboe")]
    path = tmp_path / "rows.csv"
    path.write_text(text("1,2,oboe", rows))
    assert said(read_comparisons(path).comparisons) == [("1", "2", "oboe"), *rows]


@pytest.fixture
def parts(tmp_path):
    """Write one Parquet file for each list of cells of a column beside the objects; gives the folder."""

    def make(column, *cells):
        for number, part in enumerate(cells):
            table = {"anchor": ["oboe"] * len(part), "near": ["flute"] * len(part), "far": ["drum"] * len(part)}
            if column in table:
                table[column] = part
            pq.write_table(pa.table(table | {column: part}), tmp_path / f"part{number}.parquet")
        return tmp_path

    return make


NO_TYPE = pa.nulls(1)


@pytest.mark.parametrize("empty", [NO_TYPE, pa.array([None], pa.float64()), pa.array([None], pa.int64())])
@pytest.mark.parametrize("turned", [False, True])
def test_a_file_without_a_cell_does_not_empty_the_others(parts, empty, turned):
    cells = [empty, pa.array(["p1"])]
    read = read_comparisons(parts("participant", *(cells[::-1] if turned else cells)))
    assert read.comparisons.participants.tolist() == (["p1", "unknown"] if turned else ["unknown", "p1"])


def test_answers_in_the_second_file_alone_are_read(tmp_path):
    for number, response in enumerate([NO_TYPE, pa.array(["flute"])]):
        cells = {"anchor": ["oboe"], "a": ["flute"], "b": ["drum"], "response": response}
        pq.write_table(pa.table(cells), tmp_path / f"part{number}.parquet")
    read = read_comparisons(tmp_path)
    assert said(read.comparisons) == [("oboe", "flute", "drum")]
    assert read.dropped == {"no answer": 1}


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [
        ("anchor", pa.array([7]), pa.array(["007"])),
        ("participant", pa.array([7]), pa.array(["007"])),
        ("participant", pa.array([1.0]), pa.array(["01"])),
        ("participant", pa.array([True]), pa.array(["1"])),
        ("weight", pa.array([True]), pa.array([1])),
    ],
)
def test_text_in_one_file_and_numbers_in_another_are_refused(parts, column, first, second):
    for cells in ([first, second], [second, first]):
        message = refusal(parts(column, *cells))
        assert f"column {column!r}: the files hold it as different types" in message
        assert f"{cells[0].type} in " in message
        assert "part0.parquet" in message
        assert f"{cells[1].type} in " in message
        assert "part1.parquet" in message


def test_numbers_of_several_widths_are_one_column(parts):
    whole = parts("anchor", pa.array([7], pa.int32()), pa.array([8], pa.int64()), pa.array([9], pa.uint8()))
    assert [row[0] for row in said(read_comparisons(whole).comparisons)] == ["7", "8", "9"]
    mixed = parts("weight", pa.array([2]), pa.array([0.5]), pa.array([1.5], pa.float32()))
    assert read_comparisons(mixed).comparisons.weights.tolist() == [2.0, 0.5, 1.5]
    wide = parts("participant", pa.array(["p1"]), pa.array(["p2"], pa.large_string()), NO_TYPE)
    assert read_comparisons(wide).comparisons.participants.tolist() == ["p1", "p2", "unknown"]


def test_numbers_that_a_common_type_cannot_hold_are_refused(parts):
    message = refusal(parts("participant", pa.array([2**53 + 1]), pa.array([0.5])))
    assert "part0.parquet: column 'participant'" in message


@pytest.mark.parametrize(
    "rows",
    [
        ["oboe,flute,drum,512", "drum,gong,oboe,433"],
        ["oboe,flute,drum,512", "gong,harp,viola,433"],
        ['"oboe","flute","drum",512', '"gong","harp","viola",433'],
        ["1,2,4,512", "2,1,4,433"],
        ["1,2,4,512", "3,4,2,433"],
        ['"1","2","4","512"', '"2","1","4","433"'],
    ],
)
def test_a_header_one_name_short_is_refused_unless_the_rows_are_named(tmp_path, rows):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["anchor,near,far", *rows]))
    message = refusal(path)
    assert "line 1: 3 names for 4 columns, and the first cells, '" in message
    assert "the last cells are '512', '433': write a name for each column in the header" in message


@pytest.mark.parametrize("quoted", ["all", "names", "none"])
@pytest.mark.parametrize("names", [("1", "2", "3", "4"), ("2", "5", "17", "103"), ("r1", "r2", "r4", "r3")])
def test_names_of_rows_as_r_writes_them_are_no_objects(tmp_path, names, quoted):
    marks = {"all": ('"', '"'), "names": ('"', ""), "none": ("", "")}[quoted]
    rows = [
        [f"{marks[0]}{name}{marks[0]}", *(f"{marks[1]}{cell}{marks[1]}" for cell in row)]
        for name, row in zip(names, SAID)
    ]
    path = tmp_path / "rows.csv"
    path.write_text(text("anchor,near,far", rows))
    if quoted == "none" and names[0] == "r1":
        assert "need not be the names of the rows" in refusal(path)
    else:
        assert said(read_comparisons(path).comparisons) == SAID


def test_names_of_rows_beside_numbers_are_told_by_their_marks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"i","j","k","rt"\n"1",1,2,4,0.5\n"2",2,1,4,0.7\n')
    assert said(read_comparisons(path).comparisons) == [("1", "2", "4"), ("2", "1", "4")]


def test_unknown_words_in_the_first_row_of_a_file_are_refused_as_in_text(tmp_path):
    files, held = rows_in_every_way(tmp_path, [["Vorlage", "gewählt", "verworfen"], *map(list, SAID)])
    for source in files:
        message = refusal(source)
        assert "columns 'Vorlage', 'gewählt', 'verworfen': none of these names is known" in message
        assert "if it is data, say header=False" in message
        told = read_comparisons(source, columns={"anchor": "Vorlage", "near": "gewählt", "far": "verworfen"})
        assert said(told.comparisons) == SAID
    for source in held:
        assert len(read_comparisons(source).comparisons) == 5
        assert said(read_comparisons(source, header=True, columns="anchor,near,far").comparisons) == SAID


@pytest.mark.parametrize("odd", [{0: "a"}, {"a"}, "abc", 5, None, [pd.NA, "b"]])
def test_columns_by_number_that_are_none_are_refused(odd):
    with pytest.raises((FileFormatError, TypeError)):
        read_comparisons({0: odd, 1: ["b", "c"], 2: ["c", "a"]})


@pytest.mark.parametrize(
    ("told", "said_twice"),
    [
        ("anchor=w,near=x,near=y,far=z", "'near' is said twice, 'x' and 'y'"),
        ({"anchor": "w", "near": "x", "nearer": "y", "far": "z"}, "two columns are said to be the near, 2 and 3"),
        (["anchor", "near", "near", "far"], "two columns are said to be the near, 2 and 3"),
        ("anchor,near,near,far", "two columns are said to be the near, 2 and 3"),
    ],
)
def test_a_role_told_twice_is_refused(both, told, said_twice):
    for source in both(text("w,x,y,z", [(*row, "bell") for row in SAID])).values():
        with pytest.raises(ValueError, match=said_twice):
            read_comparisons(source, columns=told)


def test_an_answer_told_twice_is_refused(both):
    for source in both(text("anchor,a,b,answer", [(*row, "f") for row in SAID])).values():
        with pytest.raises(ValueError, match="'f' is said twice, 'a' and 'b'"):
            read_comparisons(source, answers="f=a,f=b")


def test_a_rank_that_two_columns_have_is_refused(both):
    for source in both(text("anchor,rank_1,rank_2,rank_3,rank3", [(*row, "bell", "horn") for row in SAID])).values():
        assert "columns 'rank_3', 'rank3' could each be the rank_3" in refusal(source)


LEFT_OVER = {
    "ranks of options": (
        "anchor,option1,option2,option3,rank1,rank2,rank3", "oboe,flute,drum,gong,1,3,2",
        "'option1', 'option2', 'option3'",
    ),
    "ranks of two": ("anchor,item1,item2,rank1,rank2", "oboe,flute,drum,2,1", "'item1', 'item2'"),
    "anchor beside two pairs": ("anchor,near_1,near_2,far_1,far_2", "oboe,flute,drum,gong,harp", "'anchor'"),
    "votes of three": ("anchor,a,b,c,votes_a,votes_b,votes_c", "oboe,flute,drum,gong,5,2,9", "'c', 'votes_c'"),
    "third votes": ("anchor,a,b,votes_a,votes_b,votes_c", "oboe,flute,drum,5,2,9", "'votes_c'"),
    "three options": ("reference,option_a,option_b,option_c,response", "oboe,flute,drum,gong,flute", "'option_c'"),
    "anchor and odd": ("anchor,a,b,odd", "oboe,flute,drum,gong", "'anchor'"),
    "anchor and central": ("anchor,a,b,central", "oboe,flute,drum,gong", "'anchor'"),
    "second far": ("anchor,near,far,far_2", "oboe,flute,drum,gong", "'far_2'"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OVER)
def test_a_known_object_that_the_layout_would_leave_out_is_refused(both, case):
    header, row, left = LEFT_OVER[case]
    for source in both(f"{header}\n{row}\n").values():
        message = refusal(source)
        assert f"{left} would be left out" in message
        assert "say kind=" in message


def test_what_was_left_out_is_left_out_if_told(both):
    for source in both(text("anchor,near,far,far_2", [(*row, "bell") for row in SAID])).values():
        assert said(read_comparisons(source, kind="triplets").comparisons) == SAID
        told = {"anchor": "anchor", "near": "near", "far": "far"}
        assert said(read_comparisons(source, columns=told).comparisons) == SAID
        assert "columns says which is the c, but triplets" in refusal(source, columns={**told, "c": "far_2"})


@pytest.mark.parametrize("more", ["i", "rt,trial,condition", "left,right", "option_a,option_b,option_c"])
def test_columns_beside_that_are_no_part_of_the_comparison_stay_allowed(both, more):
    rows = [(*row, *(str(spot) for spot in range(len(more.split(","))))) for row in SAID]
    for source in both(text(f"anchor,near,far,{more}", rows)).values():
        assert said(read_comparisons(source).comparisons) == SAID


NO_OBJECTS = {
    "yes and no": ("reference,other,similar", [("oboe", "flute", "yes"), ("gong", "drum", "no")], "similar"),
    "0 and 1": ("reference,other,similar", [("oboe", "flute", 1), ("gong", "drum", 0)], "similar"),
    "true and false": ("target,other,selected", [("oboe", "flute", True), ("gong", "drum", False)], "selected"),
    "true, and numbers": ("target,other,selected", [(7, 3, True), (4, 12, False)], "selected"),
    "TRUE, and numbers": ("target,other,selected", [("7", "3", "TRUE"), ("4", "12", "FALSE")], "selected"),
    "measurements": ("anchor,near,far", [("oboe", 0.31, 0.82), ("gong", 0.5, 1.0)], "near"),
    "numbers alone": ("anchor,near,far", [(1, 0.31, 0.82), (2, 0.5, 1.0)], "near"),
    "ranks": ("anchor,x1,rank1,rank2", [("oboe", "flute", 1, 2), ("gong", "drum", 2, 1)], "rank1"),
    "sides": ("left,right,odd", [("oboe", "flute", "left"), ("gong", "drum", "right")], "odd"),
    "names of columns": ("left_image,right_image,odd", [("oboe", "flute", "Left_image"), ("gong", "drum", "b")], "odd"),
    "positions": ("left,right,central", [("oboe", "flute", 2), ("gong", "drum", 1)], "central"),
}  # fmt: skip
WHY_NO_OBJECTS = (
    "an answer, not an object",
    "measurements, not objects",
    "not a whole number",
    "or a position, not an",
)


@pytest.mark.parametrize("case", NO_OBJECTS)
def test_columns_of_answers_and_measurements_are_no_objects_in_any_carrier(case, tmp_path):
    header, rows, column = NO_OBJECTS[case]
    sheet = Sheet(header.split(","), [list(row) for row in rows])
    refusals = {name: carry(sheet, tmp_path).refusal for name, carry in CARRIERS.items()}
    for name, message in refusals.items():
        assert f"column {column!r}: " in message, name
        assert any(why in message for why in WHY_NO_OBJECTS), name
    # What is true or false to a carrier itself cannot be told to be a name.
    assert len({message.partition("; if these")[0] for message in refusals.values()}) == 1
    with pytest.raises(FileFormatError, match="column"):
        Comparisons.from_labels_table(pd.DataFrame(rows, columns=sheet.names), weights=np.array([1, 2]))


@pytest.mark.parametrize("case", NO_OBJECTS)
def test_what_looks_like_no_object_is_one_if_told(case, both):
    header, rows, _ = NO_OBJECTS[case]
    source = both(text(header, rows))["file"]
    message = refusal(source)
    if "say so: columns=" in message:
        told = ast.literal_eval(message.split("say so: columns=")[1])
        assert {str(cell) for cell in rows[0]} >= set(said(read_comparisons(source, columns=told).comparisons)[0])


@pytest.mark.parametrize(
    "rows",
    [
        [("maybe", "yes", "no"), ("yes", "no", "maybe")],
        [("0.5 l", "0.5", "1"), ("0.5", "1", "0.5 l")],
        [("0", "1", "2"), ("2", "1", "0")],
        [("a", "b", "c"), ("b", "a", "c")],
        [("x", "12", "15"), ("y", "13", "12")],
    ],
)
def test_words_and_numbers_that_are_objects_stay_objects(both, rows):
    for source in both(text("anchor,near,far", rows)).values():
        assert said(read_comparisons(source).comparisons) == rows


def test_letters_stay_objects_beside_an_odd_one(both):
    for source in both("a,b,odd\na,b,c\nc,b,a\n").values():
        assert len(read_comparisons(source).comparisons) == 4


@pytest.mark.parametrize("index", ["anchor", "near", "far"])
def test_no_proposal_gives_a_column_another_role_than_its_name_means(index):
    rows = [(*row, person, 1) for row, person in zip(SAID, "aabb")]
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far", "participant", "weight"]).drop(columns=index)
    message = refusal(frame)
    assert f"no column for {index} of triplets" in message
    assert f"no column is left that could be the {index}" in message
    assert "columns=" not in message
    message = refusal(frame.assign(foil=[row[["anchor", "near", "far"].index(index)] for row in SAID]))
    others = {role: role for role in ("anchor", "near", "far") if role != index}
    assert remedy(message) == {**others, index: "foil"}


@pytest.mark.parametrize(
    ("names", "proposed"),
    [
        ("person_id subject stim foil pick", {"anchor": "stim", "near": "pick", "far": "foil"}),
        ("V1 V2 V3 V4", {"i": "V1", "j": "V2", "l": "V3", "k": "V4"}),
        ("a b c choice", {"a": "a", "b": "b", "c": "c", "odd": "choice"}),
        ("noise image1 image2 image3 choice", {"a": "image1", "b": "image2", "c": "image3", "odd": "choice"}),
        ("wzorzec lewy prawy wybór", {"anchor": "wzorzec", "a": "lewy", "b": "prawy", "answer": "wybór"}),
        ("rt subject foo anchor bar", {"anchor": "anchor", "near": "foo", "far": "bar"}),
        ("noise anchor L_img R_img resp_obj", {"anchor": "anchor", "a": "L_img", "b": "R_img", "answer": "resp_obj"}),
        ("modelo uno dos elegido", {"anchor": "modelo", "a": "uno", "b": "dos", "answer": "elegido"}),
    ],
)
def test_a_proposal_is_what_the_names_and_the_cells_allow(names, proposed):
    names = names.split()
    objects = [name for name in names if name not in ("person_id", "subject", "rt", "noise")]
    # Of four columns of objects, the last one picks one of two before, but where all are pairs.
    pairs = ("gong", "oboe", "flute", "harp") if names[0] == "V1" else ()
    last = pairs or [row[1 + spot % 2] for spot, row in enumerate(SAID)]
    columns = zip(*((*row, cell) for row, cell in zip(SAID, last)))
    cells = {name: [1, 2, 3, 4] for name in names} | dict(zip(objects, columns))
    assert remedy(refusal(pd.DataFrame(cells))) == proposed


def test_a_proposal_keeps_to_the_kind_that_was_told():
    rows = [(*row, 1, number) for number, row in enumerate(SAID)]
    frame = pd.DataFrame(rows, columns=["anchor", "a", "b", "yes_a", "yes_b"])
    told = {"anchor": "anchor", "a": "a", "b": "b", "votes_a": "yes_a", "votes_b": "yes_b"}
    assert remedy(refusal(frame, kind="votes")) == told
    assert len(read_comparisons(frame, kind="votes", columns=told).comparisons) == 7
    four = pd.DataFrame([(*row, row[1]) for row in SAID], columns=list("pqrs"))
    assert remedy(refusal(four, kind="answers")) == {"anchor": "p", "a": "q", "b": "r", "answer": "s"}
    commas = pd.DataFrame(SAID, columns=["anchor", "near, they said", "rest"])
    assert remedy(refusal(commas)) == {"anchor": "anchor", "near": 2, "far": "rest"}


def test_a_known_column_that_is_empty_or_far_to_the_right_is_proposed_as_what_it_is():
    empty = pd.DataFrame([("", *row[1:]) for row in SAID], columns=["anchor", "foo", "bar"])
    assert remedy(refusal(empty)) == {"anchor": "anchor", "near": "foo", "far": "bar"}
    names = [f"c{number}" for number in range(60)]
    wide = pd.DataFrame([[*map(str, range(60)), row[0]] for row in SAID], columns=[*names, "anchor"])
    assert "columns={'anchor': " in refusal(wide)


def test_fit_says_who_takes_the_options_that_a_refusal_names(both):
    for source in both(text("stim,foil,pick")).values():
        with pytest.raises(FileFormatError) as error:
            OrdinalEmbedding().fit(source)
        told = str(error.value)
        assert told.endswith("the columns of a Dask frame can be renamed")
        assert "such options are those of nearer.io.read_comparisons, whose .comparisons can be fitted" in told
        columns = remedy(told.rpartition("\n")[0])
        OrdinalEmbedding(random_state=0).fit(read_comparisons(source, columns=columns).comparisons)
    with pytest.raises(FileFormatError) as error:
        OrdinalEmbedding().fit("no such file.csv")
    assert "read_comparisons" not in str(error.value)


def test_where_columns_leave_too_much_open_only_roles_are_proposed():
    frame = pd.DataFrame({f"Q{number}": [f"{number}{row}" for row in "abcdef"] for number in range(9)})
    assert "columns={'anchor': ..., 'near': ..., 'far': ...} with the names of your columns" in refusal(frame)


def test_a_first_row_that_may_be_data_is_told(tmp_path):
    path = tmp_path / "images.csv"
    path.write_text("image1,image2,image3\nimage2,image1,image3\n")
    assert "if it is data, say header=False" in refusal(path)
    rows = [("image1", "image2", "image3"), ("image2", "image1", "image3")]
    assert said(read_comparisons(path, header=False).comparisons) == rows
    path.write_text("image1,image2,image3\noboe,flute,drum\n")
    assert "header=False" not in refusal(path)


def test_ranks_are_no_objects_even_if_the_options_are_left_out(both):
    for source in both("anchor,option1,option2,rank1,rank2\noboe,flute,drum,1,2\ngong,harp,oboe,2,1\n").values():
        assert "column 'rank1': every cell is a number or a side" in refusal(source, kind="rankings")


def test_known_labels_are_objects_whatever_they_look_like(both):
    rows = [("1.1", "1.2", "2.1"), ("2.1", "1.2", "1.1")]
    source = both(text("anchor,near,far", rows))["file"]
    assert "line 2, column 'anchor': 1.1 is not a whole number" in refusal(source)
    assert said(read_comparisons(source, labels=["1.1", "1.2", "2.1"]).comparisons) == rows
    assert said(read_comparisons(source, columns="anchor,near,far").comparisons) == rows


def test_the_command_line_says_how_answers_can_be_names(tmp_path):
    from click.testing import CliRunner

    from nearer.cli import cli

    path = tmp_path / "rows.csv"
    path.write_text("reference,other,similar\noboe,flute,yes\ngong,drum,no\n")
    result = CliRunner().invoke(cli, ["check", str(path)])
    assert result.exit_code == 2
    assert "say so: --columns anchor=reference,near=similar,far=other" in result.output


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("near", "nearer nearest closer closest winner chosen selected positive similar more_similar most_similar"),
        ("far", "farther further farthest loser other unchosen not_chosen rejected negative different"),
        ("far", "less_similar least_similar"),
        ("i", "near_1 near_a"),
        ("j", "near_2 near_b"),
        ("l", "far_1 far_a"),
        ("k", "far_2 far_b"),
    ],
)
def test_what_names_of_columns_mean(role, names):
    assert {role_of(name) for name in names.split()} == {role}


MISSING_WORDS = ["NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "undefined", "NaT"]


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_every_word_for_a_missing_value_is_known(word, tmp_path):
    (tmp_path / "a.csv").write_text(f"anchor,near,far\na,b,c\nb,c,a\nc,a,{word}\n")
    assert "means missing" in refusal(tmp_path / "a.csv")


def test_names_are_folded_onto_labels(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far\ncat,DOG,cow\nDog,cow,Cat\n")
    found = read_comparisons(tmp_path / "a.csv", labels=["Cow", "Dog", "Cat"], fold_names=True).comparisons
    assert found.index.tolist() == [[2, 1, 0], [1, 0, 2]]


def test_text_in_one_part_and_numbers_in_another_are_refused_in_blocks(parts):
    for column in ("anchor", "participant"):
        with pytest.raises(FileFormatError, match=f"column '{column}': some parts hold it as text and some as numbers"):
            open_blocks(parts(column, pa.array([7]), pa.array(["007"])))
    with pytest.warns(UserWarning, match="1 row dropped: missing cell"):
        void = open_blocks(parts("anchor", pa.array(["7"]), pa.array([None], pa.float64())), on_missing="drop")
    assert void.n_comparisons == 1
    for empty in (NO_TYPE, pa.array([None], pa.float64())):  # which have no say
        people = open_blocks(parts("participant", empty, pa.array(["p1"]), empty))
        assert Comparisons.concat(list(people.blocks(1))).participants.tolist() == ["unknown", "p1", "unknown"]


def _scanned(frame, npartitions):
    """What a cluster finds in a Dask frame, without a cluster."""
    from functools import reduce

    from nearer.data.tables import resolve
    from nearer.data.values import Options
    from nearer.distributed.data import _partitions
    from nearer.io.blocks import Scanned, scan_block

    dask = pytest.importorskip("dask.dataframe")
    pieces, roles = _partitions(dask.from_pandas(frame, npartitions=npartitions, sort=False), None, None, Options())
    scanned = reduce(Scanned.join, [scan_block(piece, roles, Options()) for piece in pieces])
    return resolve(scanned.facts, roles, pieces[0], Options())


def test_names_in_the_first_row_of_a_dask_frame_are_refused():
    with pytest.raises(FileFormatError, match="row 1: 'far', 'near', 'anchor' are names of columns, but the columns"):
        _scanned(pd.DataFrame([TURNED, *TURNED_ROWS]), 1)
    assert _scanned(pd.DataFrame(SAID), 2).n_objects == 5


@pytest.mark.parametrize("names", [TURNED, ["k", "j", "i"]])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_names_in_the_first_row_below_numbers_are_used_or_refused_by_every_carrier(tmp_path, client_here, names, count):
    frame = pd.DataFrame([names, *TURNED_ROWS[:count]], columns=["0", "1", "2"])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_json(tmp_path / "a.json", orient="records")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    held = [frame, pl.DataFrame(frame.to_dict("list")), pa.Table.from_pandas(frame), frame.to_dict("list")]
    for source in (*held, tmp_path / "a.json", tmp_path / "a.jsonl"):
        assert said(read_comparisons(source).comparisons) == SAID[:count]
    told = f"row 1: {str(names)[1:-1]} are names of columns, but the columns are called 0, 1, 2"
    assert "are names of columns, but above them stands '0', '1', '2'" in refusal(tmp_path / "a.csv")
    assert told in refusal(tmp_path / "a.parquet")
    dask = pytest.importorskip("dask.dataframe")
    for read in (
        lambda: open_blocks(tmp_path / "a.parquet"),
        lambda: by_cluster(str(tmp_path / "a.parquet"), client_here),
        lambda: by_cluster(dask.from_pandas(frame, npartitions=1), client_here),
    ):
        with pytest.raises(FileFormatError, match=told):
            read()
    for source in (held[0], tmp_path / "a.parquet", tmp_path / "a.jsonl"):
        assert len(read_comparisons(source, header=False).comparisons) == count + 1
    frame.iloc[:0].to_parquet(tmp_path / "0.parquet")  # says nothing
    for read in (read_comparisons, open_blocks, lambda path: by_cluster(str(path), client_here)):
        with pytest.raises(FileFormatError, match=told.removeprefix("row 1: ")):
            read(tmp_path / "?.parquet")


@pytest.mark.parametrize("name", ["near", "far", "chosen"])
def test_bits_beside_names_are_no_objects(both, name):
    header = f"anchor,{'far' if name != 'far' else 'near'},{name}"
    rows = [(anchor, near, number % 2) for number, (anchor, near, _) in enumerate(SAID)]
    for source in both(text(header, rows)).values():
        assert "an answer, not an object" in refusal(source)


@pytest.mark.parametrize("word", ["#REF!", "#VALUE!", "#NAME?", "#BEZUG!"])
def test_what_a_spreadsheet_could_not_work_out_is_told(both, word):
    for source in both(text("anchor,near,far", [*SAID, ("oboe", word, "drum")])).values():
        assert any(
            word in alarm and "may stand for a missing cell" in alarm for alarm in read_comparisons(source).alarms
        )


def test_quotes_escaped_by_a_backslash_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text('anchor,near,far\n"the \\"big\\" one",b,c\nb,c,"the \\"big\\" one"\n')
    assert "a.csv, line 2: text follows the quotation mark that closes a cell" in refusal(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text('anchor,near,far\nC:\\img\\,"say ""b""",c\nC:\\img\\,c,"say ""b"""\n')
    assert not read_comparisons(tmp_path / "b.csv").alarms


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_a_key_twice_in_a_json_object_is_refused(tmp_path, ending):
    row = '{"anchor": "a", "near": "b", "far": "c", "near": "d"}'
    path = tmp_path / f"a{ending}"
    path.write_text(row if ending == ".jsonl" else f"[{row}]")
    assert "the key 'near' occurs 2 times in one object" in refusal(path)


def test_stored_objects_of_several_files_are_put_together(tmp_path):
    for number, rows in enumerate([[("x", "y", "z")], [("p", "q", "z")]]):
        known = Comparisons.from_labels_table(rows, labels=[*sorted(set(rows[0])), f"unasked {number}"])
        write_comparisons(tmp_path / f"{number}.parquet", known)
    for found in (read_comparisons(tmp_path).comparisons, open_blocks(tmp_path)):
        assert found.labels.tolist() == ["x", "y", "z", "unasked 0", "p", "q", "unasked 1"]
    assert said(read_comparisons(tmp_path).comparisons) == [("x", "y", "z"), ("p", "q", "z")]
    numbers = pa.table({"anchor": [0], "near": [1], "far": [2]})
    for number, labels in enumerate([["x", "y", "z"], ["z", "y", "x"]]):
        stored = {b"nearer": json.dumps({"labels": labels, "n_objects": 3}).encode()}
        pq.write_table(numbers.replace_schema_metadata(stored), tmp_path / f"{number}.parquet")
    assert "the files store different lists of objects, and their numbers count them" in refusal(tmp_path)


def test_what_is_doubtful_in_blocks_is_told(tmp_path):
    rows = [("unit a", "unit b", "unit c"), *SAID, *SAID]
    pq.write_table(pa.table(dict(zip(["anchor", "near", "far"], map(list, zip(*rows))))), tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match="if that is a further row of the header"):
        assert any("further row of the header" in alarm for alarm in open_blocks(tmp_path / "a.parquet").alarms)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("anchor,near,far\roboe,flute,drum\ngong,drum,harp\n", 2),
        ("anchor,near,far\roboe,flute,drum\rgong,drum,harp\nharp,oboe,gong\nflute,oboe,drum\n", 4),
        ("\r\r\ranchor,near,far\noboe,flute,drum\ngong,drum,harp\n", 2),
        ('"anchor","near\r",far\noboe,flute,drum\ngong,drum,harp\n', 2),
        ("oboe,flute,drum\rgong,drum,harp\nharp,oboe,gong\n", 3),
    ],
)
def test_a_carriage_return_alone_loses_no_row(tmp_path, content, rows):
    (tmp_path / "a.csv").write_bytes(content.encode())
    assert said(read_comparisons(tmp_path / "a.csv").comparisons) == SAID[:rows]


@pytest.mark.parametrize("names", ["right,left", "option2,option1", "B,A", "second,first"])
@pytest.mark.parametrize("told", ["names", "mapped"])
def test_an_answer_that_names_a_column_means_that_column(both, names, told):
    first, second = names.split(",")
    rows = [(anchor, near, far, first) for anchor, near, far in SAID] + [("oboe", "gong", "harp", second)]
    for source in both(text(f"reference,{names},response", rows)).values():
        columns = {"anchor": "reference", "a": first, "b": second, "answer": "response"}
        if told == "names":
            found = read_comparisons(source, columns=columns).comparisons
            assert said(found) == [*SAID, ("oboe", "harp", "gong")]
        else:
            with pytest.raises(ValueError, match="which is the name of option a and a word for option b"):
                read_comparisons(source, columns=columns, answers={first: first, second: second})


def test_quotes_after_a_blank_are_no_part_of_the_name(tmp_path):
    lines = ['"anchor", "near", "far"', *(", ".join(f'"{name}"' for name in row) for row in SAID)]
    (tmp_path / "a.csv").write_text("\n".join([*lines, '"oboe", "say ""hi""", "drum"']))
    assert said(read_comparisons(tmp_path / "a.csv").comparisons) == [*SAID, ("oboe", 'say "hi"', "drum")]


def test_rows_that_two_delimiters_split_are_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Doe, J\tRoe, K\tBob\nRoe, K\tDoe, J\tBob\n")
    assert "can be split by comma and by tab; say which with delimiter=" in refusal(path)
    assert said(read_comparisons(path, delimiter="tab").comparisons)[0] == ("Doe, J", "Roe, K", "Bob")


SHOWN_BESIDE = {"sides": "left right", "letters": "A B", "positions": "1 2", "bits": "0 1", "places": "first second"}


@pytest.mark.parametrize("words", SHOWN_BESIDE)
@pytest.mark.parametrize("names", ["chosen,unchosen", "winner,loser", "closer,farther"])
def test_sides_beside_the_options_shown_are_no_objects(tmp_path, words, names):
    one, other = SHOWN_BESIDE[words].split()
    rows = [(*row, one, other) if number % 2 else (*row, other, one) for number, row in enumerate(SAID)]
    sheet = Sheet(f"reference,left,right,{names}".split(","), [list(row) for row in rows])
    for name, carry in CARRIERS.items():
        assert "a rank or a position, not an object" in carry(sheet, tmp_path).refusal, name


@pytest.mark.parametrize("verdict", ["Y N", "ja nein", "同じ 違う", "same different", "✓ ✗", "5 3", "60 40"])
def test_a_column_apart_from_the_objects_is_told_in_every_carrier(tmp_path, verdict):
    one, other = verdict.split()
    rows = [(anchor, near, other if number % 2 else one) for number, (anchor, near, _) in enumerate(SAID)]
    with pytest.warns(UserWarning, match="stands in another column of objects; if these are answers, counts or rat"):
        as_comparisons(pd.DataFrame(rows, columns=["reference", "other", "similar"]))
    pq.write_table(pa.table(dict(zip(["anchor", "far", "near"], map(list, zip(*rows))))), tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match="column 'near': none of its names"):
        open_blocks(tmp_path / "a.parquet")
    told = read_comparisons(tmp_path / "a.parquet", columns={"anchor": "anchor", "near": "near", "far": "far"})
    assert not any("stands in another column" in alarm for alarm in told.alarms)


def test_counts_beside_names_are_told(both):
    rows = [("oboe", 60, 40), ("gong", 40, 60), ("harp", 50, 50), ("flute", 70, 30)]
    for source in both(text("target,similar,different", rows)).values():
        assert any("hold numbers, column 'target' names" in alarm for alarm in read_comparisons(source).alarms)


@pytest.mark.parametrize("row", ["# break,5 min,resumed", "Total,4,trials", "---,----,-----", "101,102,103"])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_row_apart_from_the_others_is_told(tmp_path, row, at):
    lines = [",".join(one) for one in SAID]
    (tmp_path / "a.csv").write_text("\n".join(["anchor,near,far", *lines[:at], row, *lines[at:]]))
    alarms = read_comparisons(tmp_path / "a.csv").alarms
    assert any(f"line {at + 2} " in alarm and "stand in no other row" in alarm for alarm in alarms)


def test_two_further_rows_of_the_header_are_told(both):
    rows = [("the sound", "the nearer", "the other"), ("Q1.1", "Q1.2", "Q1.3"), *SAID]
    for source in both(text("anchor,near,far", rows)).values():
        alarms = read_comparisons(source).alarms
        assert any("a further row of the header" in alarm for alarm in alarms)


@pytest.mark.parametrize("word", ["Null", "NONE", "na", "n.a.", "N.A.", "MISSING", "(NULL)", "(blank)", "k.A.", "nil"])
def test_other_words_for_missing_are_told(both, word):
    for source in both(text("anchor,near,far", [*SAID, ("oboe", word, "drum")])).values():
        assert any("may stand for a missing cell" in alarm for alarm in read_comparisons(source).alarms)


@pytest.mark.parametrize(
    "other", ["'oboe'", "'oboe", '="oboe"', '"oboe"', "['oboe']", '["oboe"]', "('oboe',)", "{'oboe'}", "oboe\u200b"]
)
def test_names_in_the_dress_of_a_program_are_told_and_joined_on_request(other):
    frame = pd.DataFrame([*SAID, (other, "flute", "drum")], columns=["anchor", "near", "far"])
    assert any("written in more than one way" in alarm for alarm in read_comparisons(frame).alarms)
    assert set(read_comparisons(frame, fold_names=True).comparisons.labels) >= {"flute", "drum", "gong", "harp"}
    assert read_comparisons(frame, fold_names=True).comparisons.n_objects == 5


@pytest.mark.parametrize("pair", [("007", "7"), ("0", "00"), ("1.0", "01")])
def test_leading_zeros_are_told(pair):
    rows = [*SAID, (pair[0], "flute", "drum"), (pair[1], "oboe", "gong")]
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far"])
    assert any("written in more than one way" in alarm for alarm in read_comparisons(frame).alarms)
    people = pd.DataFrame(SAID, columns=["anchor", "near", "far"]).assign(participant=[*pair, *pair])
    assert any("2 participant" not in alarm and "participant" in alarm for alarm in read_comparisons(people).alarms)


@pytest.mark.parametrize("pair", [("A", "A'"), ("f(x)", "f(x"), ("x[1]", "x[2]"), ("10", "100"), ("=a", "a")])
def test_names_that_differ_in_more_than_dress_are_apart(pair):
    rows = [*SAID, (pair[0], "flute", "drum"), (pair[1], "oboe", "gong")]
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far"])
    assert not any("more than one way" in alarm for alarm in read_comparisons(frame).alarms)
    assert read_comparisons(frame, fold_names=True).comparisons.n_objects == 7


def test_a_quotation_mark_that_swallows_a_row_is_told(tmp_path):
    (tmp_path / "a.csv").write_text(text("anchor,near,far") + 'oboe,flute,"drum\ngong,drum,harp"\n')
    assert any("is a quotation mark not closed?" in alarm for alarm in read_comparisons(tmp_path / "a.csv").alarms)


NUMBERS = [(1, 0, 2), (3, 2, 0), (0, 1, 3)]  # anchor, near, far


def turned_frames(names=("far", "near", "anchor")):
    """The same numbers under names in another order, in every carrier that has a place for names."""
    columns = {name: [row[spot] for row in NUMBERS] for name, spot in zip(names, (2, 1, 0))}
    frame = pd.DataFrame(columns)
    return [frame, pl.DataFrame(columns), pa.table(columns), columns, frame.to_dict("records"), frame.to_records(False)]


@pytest.mark.parametrize("make", [Comparisons, Comparisons.from_triplets, Comparisons.from_quadruplets])
def test_named_columns_are_refused_where_columns_go_by_position(make):
    for source in turned_frames():
        with pytest.raises(ValueError, match=r"^comparisons: got a .* with columns 'far', 'near', 'anchor', "):
            make(source)
        assert as_comparisons(source).index.tolist() == list(map(list, NUMBERS))
    weighted = pd.DataFrame(NUMBERS, columns=["anchor", "near", "far"]).assign(weight=1)
    with pytest.raises(ValueError, match=r"from_labels_table, nearer\.io\.read_comparisons"):
        make(weighted)
    assert Comparisons(pd.DataFrame(NUMBERS)) == Comparisons(NUMBERS)  # called 0, 1, 2: no names


def test_named_columns_of_sets_rankings_and_votes_are_refused():
    ranks = pd.DataFrame({"rank_2": [1], "rank_1": [2]})
    votes = pd.DataFrame({"votes_b": [1], "votes_a": [2]})
    sets = pd.DataFrame({"c": [0], "a": [1], "b": [2]})
    for make, what in (
        (lambda: Comparisons.from_rankings([0], ranks), "ranked"),
        (lambda: Comparisons.from_answers([[0, 1, 2]], votes), "answers"),
        (lambda: Comparisons.from_odd_one_out(sets, [0]), "sets"),
    ):
        with pytest.raises(ValueError, match=f"^{what}: got a DataFrame with columns"):
            make()


def test_metrics_read_tables_by_name():
    points = np.array([[0.0], [0.1], [1.0], [9.0]])
    accuracy = comparison_accuracy(points, np.array(NUMBERS))
    for source in turned_frames():
        assert comparison_accuracy(points, source) == accuracy
        assert worst_comparisons(points, source).n_violated == worst_comparisons(points, NUMBERS).n_violated
    gaps = pd.DataFrame({"anchor": [1], "near": [2], "far": [3]})  # rows of the map, not its first three objects
    assert comparison_accuracy(np.array([[5.0], [0.0], [1.0], [3.0]]), gaps) == 1
    assert len(worst_comparisons(np.array([[0.5], [0.0], [1.0], [3.0]]), gaps)) == 0
    with pytest.raises(ValueError, match="got labels, but the map has none"):
        comparison_accuracy(points, SAID)


class Answer(NamedTuple):
    far: object
    near: object
    anchor: object


def rows_with_names(rows):
    """Rows that name their cells, the columns the other way round."""
    frame = pd.DataFrame([row[::-1] for row in rows], columns=["far", "near", "anchor"])
    held = sqlite3.connect(":memory:")
    held.row_factory = sqlite3.Row
    frame.to_sql("answers", held, index=False)
    made = make_dataclass("Made", ["far", "near", "anchor"])
    return {
        "named tuples": [Answer(*row[::-1]) for row in rows],
        "itertuples": list(frame.itertuples()),
        "deque": deque(frame.itertuples()),
        "itertuples without index": tuple(frame.itertuples(index=False)),
        "sqlite3": held.execute("SELECT * FROM answers").fetchall(),
        "Series": [row for _, row in frame.iterrows()],
        "dataclasses": [made(*row[::-1]) for row in rows],
        "dicts": [UserDict(row) for row in frame.to_dict("records")],
        "columns in a named tuple": Answer(*(frame[name].tolist() for name in frame)),
        "columns in a mapping": UserDict(frame.to_dict("list")),
    }


@pytest.mark.parametrize("rows", [SAID, NUMBERS])
def test_rows_that_name_their_cells_are_read_by_name(rows):
    for name, source in rows_with_names(rows).items():
        assert said(as_comparisons(source)) == [tuple(map(str, row)) for row in rows], name
        assert said(read_comparisons(source).comparisons) == [tuple(map(str, row)) for row in rows], name


def test_rows_of_which_some_name_their_cells_are_refused():
    for rows in ([(1, 0, 2), Answer(2, 0, 1)], [Answer(2, 0, 1), (1, 0, 2)], [{"anchor": 1}, [1, 0, 2]]):
        with pytest.raises(FileFormatError, match=r"row [12] is .*, expected names of its cells, as others have"):
            as_comparisons(rows)
    held = sqlite3.connect(":memory:")
    held.row_factory = sqlite3.Row
    twice = held.execute("SELECT 1 AS anchor, 0 AS near, 2 AS far, 3 AS near").fetchall()
    with pytest.raises(FileFormatError, match="table, row 1: the name 'near' occurs 2 times"):
        as_comparisons(twice)
    with pytest.raises(FileFormatError, match="none of these names is known"):
        as_comparisons(list(pd.DataFrame(NUMBERS).itertuples()))


def test_columns_with_different_indexes_are_refused():
    columns = {name: pd.Series(cells) for name, cells in zip(("anchor", "near", "far"), zip(*SAID))}
    assert said(as_comparisons(columns)) == SAID
    assert said(as_comparisons(columns | {"far": columns["far"].to_numpy()})) == SAID
    with pytest.raises(FileFormatError, match="the index of column 'far' differs from that of 'anchor'"):
        as_comparisons(columns | {"far": columns["far"][::-1]})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"participant": np.ones((4, 2))}, r"column 'participant': got shape \(4, 2\), expected one cell for each row"),
        ({"near": np.ones((4, 2), int)}, r"column 'near': got shape \(4, 2\)"),
        ({"near": np.array("abcd")}, r"column 'near': got shape \(\)"),
        ({"near": pd.DataFrame(SAID)}, r"column 'near': got shape \(4, 3\)"),
        ({"near": pl.DataFrame({"a": list("abcd")})}, r"column 'near': got shape \(4, 1\)"),
        ({"near": 5}, r"column 'near': got 5 \(int\), expected a list or an array of cells"),
        ({"near": ["b", "\ud800", "c", 1]}, r"column 'near': row 2 is '\\ud800', which holds half a character"),
    ],
)
def test_what_is_no_column_is_refused_by_name(change, why):
    columns = {name: list(cells) for name, cells in zip(("anchor", "near", "far"), zip(*SAID))}
    with pytest.raises(FileFormatError, match=why):
        as_comparisons(columns | change)


def test_what_is_no_table_is_refused_in_words():
    known = Comparisons(NUMBERS)
    for source in (known, np.array((1, 0, 2), dtype=[("anchor", int), ("near", int), ("far", int)])):
        with pytest.raises(FileFormatError, match=r"got Comparisons, expected a table|got shape \(\)"):
            Comparisons.from_labels_table(source)
    with pytest.raises(ValueError, match=r"^comparisons: got Comparisons, expected an array of shape \(N, 3 or 4\)$"):
        Comparisons(known)
    with pytest.raises(FileFormatError, match=r"the name of column 'far\\ud800' holds half a character"):
        as_comparisons({"anchor": ["a"], "near": ["b"], "far\ud800": ["c"]})
    with pytest.raises(ValueError, match=r"^labels: label 1 is '\\ud800', which holds half a character$"):
        Comparisons([[0, 1, 2]], labels=["a", "\ud800", "c"])


def test_empty_cells_and_decimals_among_cells_of_several_kinds():
    table = {"anchor": ["a", 1, "c"], "near": [pd.NA, "b", 2], "far": ["d", Decimal("1E+1"), Decimal("3.5")]}
    assert "row 1, column 'near': empty cell" in refusal(table)
    read = read_comparisons(table, on_missing="drop")
    assert said(read.comparisons) == [("1", "b", "10"), ("c", "2", "3.5")]


def test_numbers_in_an_array_of_objects_are_numbers():
    assert as_comparisons(np.array(NUMBERS, dtype=object)) == Comparisons(NUMBERS)
    assert as_comparisons(pd.DataFrame(NUMBERS, dtype="Int64")) == Comparisons(NUMBERS)
    answered = np.array([(number, number + 1, number + 2, number % 2) for number in range(2, 14)], dtype=object)
    with pytest.raises(ValueError, match="are those answers"):
        as_comparisons(answered)


def test_answers_beside_a_table_that_holds_answers_are_refused(tmp_path):
    questions = pd.DataFrame(SAID, columns=["anchor", "a", "b"])
    answered = questions.assign(response=questions["b"])
    answered.to_csv(tmp_path / "answered.csv", index=False)
    model = OrdinalEmbedding(1, random_state=0).fit(answered)
    for source in (answered, pl.DataFrame(answered.to_dict("list")), tmp_path / "answered.csv"):
        for use in (model.fit, model.score):
            with pytest.raises(ValueError, match=r"^y: given, but the table holds answers already$"):
                use(source, [1, -1, 1, 1])
    both_ways = pd.DataFrame(SAID, columns=["anchor", "near", "far"]).assign(response="near")
    with pytest.raises(FileFormatError, match="and so may 'response'"):
        as_comparisons(both_ways, [1, -1, 1, 1])
    told = as_comparisons(questions, [1, -1, 1, 1])
    assert said(told) == [SAID[0], ("gong", "harp", "drum"), *SAID[2:]]
    assert told.details.side.tolist() == [0, 1, 0, 0]
    with pytest.raises(FileFormatError, match="columns 'anchor', 'a', 'b', 'c'"):
        as_comparisons(questions.assign(c="bell"), [1, -1, 1, 1])
    letters = questions.set_axis(["i", "j", "k"], axis=1)
    assert said(as_comparisons(letters, [1, -1, 1, 1])) == said(told)


def line(labels):
    """A map on a line, its objects in order."""
    model = OrdinalEmbedding(1, loss="ste", random_state=0)
    return model.fit(Comparisons.from_points(np.arange(len(labels))[:, None], 60, random_state=0, labels=labels))


@pytest.mark.parametrize("labels", [["1", "2", "3", "x"], ["1", "2", "3", "4"], ["a", "b", "c", "d"]])
def test_numbers_in_a_table_are_names_on_a_map_with_labels(labels, tmp_path):
    rows = [(0, 1, 2), (2, 1, 0)]
    pd.DataFrame(rows, columns=["anchor", "near", "far"]).to_csv(tmp_path / "rows.csv", index=False)
    for source in (pd.DataFrame(rows, columns=["anchor", "near", "far"]), pd.DataFrame(rows), tmp_path / "rows.csv"):
        model = line(labels)
        with pytest.warns(UserWarning, match="2 of 2 comparisons name an object without a place"):
            assert model.score(source) == 0
        model.partial_fit(source)
        assert {("0", "1", "2"), ("2", "1", "0")} <= set(said(model.comparisons_))
        assert set(model.labels_) == {*labels, "0", "1", "2"}


def test_numbers_in_an_array_are_rows_of_the_map_or_refused():
    rows = np.array([[0, 1, 2], [3, 2, 0]])
    assert line(list("abcd")).score(rows) == line(list("0123")).score(rows) == 1
    for labels in (list("123x"), list("1234"), list("3210"), ["0", "1", "2", "x"]):
        model = line(labels)
        for source in (rows, Comparisons(rows)):
            for use in (model.score, model.predict, model.partial_fit, model.place):
                with pytest.raises(ValueError, match=r"are they rows of the map or its labels, such as '[013]'\?"):
                    use(source)
        assert model.score(Comparisons(rows, labels=labels)) == 1
        named = pd.DataFrame(np.array(labels)[rows], columns=["anchor", "near", "far"])
        assert model.score(named) == 1


def test_maps_as_frames_are_matched_by_their_index():
    model = line(["d", "c", "b", "a"])
    known, frame = model.comparisons_, model.to_frame()
    for turned in (frame, frame.sort_index(), frame[::-1]):
        assert comparison_accuracy(turned, known) == comparison_accuracy(frame.to_numpy(), known) == 1
        assert procrustes_distance(turned, frame) == pytest.approx(0, abs=1e-12)
        assert comparison_accuracy(turned, pd.DataFrame(known.labels[known.index])) == 1
    plain = frame.reset_index(drop=True)
    assert comparison_accuracy(plain, known) == 1
    assert procrustes_distance(plain[::-1], plain) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match=r"has 3 rows, but the comparisons are over 4 objects \('d' has no row\)"):
        comparison_accuracy(frame.drop("d"), known)
    with pytest.raises(ValueError, match="are they rows of the map or its labels"):
        comparison_accuracy(plain[::-1], known.without_labels())
    with pytest.raises(ValueError, match=r"names other rows than there are objects, such as 'd'.* \.to_numpy\(\)"):
        procrustes_distance(frame.drop("d"), frame)


def test_features_as_frames_are_matched_by_their_index():
    labels = [f"o{number}" for number in range(9, 0, -1)]
    model = line(labels)
    features = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) ** 2}, index=labels)
    expected = FeatureMap().fit(features.to_numpy(), model).predict(features.to_numpy())
    for turned in (features.sort_index(), features[::-1]):
        for places in (model, model.to_frame()):
            found = FeatureMap().fit(turned, places).predict(features)
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="X: the index names other rows than there are objects, such as 'o9'"):
        FeatureMap().fit(features.rename(index={"o9": "p"}), model)


# ---- named arrays, JSON and spreadsheets --------------------------------------------------------------------------

LONG = 12345678901234567


@pytest.fixture
def book(tmp_path):
    """Write rows as a spreadsheet."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")

    def make(*rows):
        made = openpyxl.Workbook()
        for row in rows:
            made.active.append(list(row))
        made.save(tmp_path / "a.xlsx")
        return tmp_path / "a.xlsx"

    return make


@pytest.mark.parametrize("more", [(), ("anna",)])
def test_people_of_a_spreadsheet_whose_numbers_lost_digits_are_refused(book, more):
    rows = [(*row, who) for row, who in zip(SAID, [LONG, LONG + 1, *more])]
    message = refusal(book(("anchor", "near", "far", "participant"), *rows))
    assert "column 'participant'" in message
    assert "lose their last digits" in message
    short = [(*row, who) for row, who in zip(SAID, [2**53 - 1, 2**53 - 2])]
    read = read_comparisons(book(("anchor", "near", "far", "participant"), *short))
    assert read.comparisons.participants.tolist() == [2**53 - 1, 2**53 - 2]


@pytest.mark.parametrize("beside", [("a", "b"), (1, 2)])
@pytest.mark.parametrize("more", [(), ("oboe",)])
def test_objects_whose_numbers_lost_digits_are_refused_whatever_stands_beside(book, tmp_path, beside, more):
    anchors = [LONG, LONG + 1, *more]
    rows = [(anchor, *beside) for anchor in anchors]
    floats = [[float(anchor), *beside] if anchor != "oboe" else [anchor, *beside] for anchor in anchors]
    names = ("anchor", "near", "far")
    (tmp_path / "a.json").write_text(json.dumps([dict(zip(names, row)) for row in floats]))
    for source in (book(names, *rows), tmp_path / "a.json", pd.DataFrame(floats, columns=names)):
        message = refusal(source)
        assert "column 'anchor'" in message
        assert "numbers of this size and kind lose their last digits; give them as text" in message


def test_rows_of_a_sheet_are_counted_from_its_first_one(book):
    rows = [("anchor", "near", "far"), SAID[0], ("oboe", None, "drum")]
    assert "row 5, column 'near': empty cell" in refusal(book((), (), *rows))
    assert "row 4: 'anchor', 'near', 'far' are names of columns" in refusal(book((), (), ("Made", "in", "May"), *rows))


@pytest.fixture
def archives(tmp_path):
    """Write named arrays as JSON, .npz and .mat; gives the paths."""
    from scipy.io import savemat

    def make(arrays, *, json_only=False):
        paths = [tmp_path / name for name in ("a.json", "a.npz", "a.mat")]
        paths[0].write_text(json.dumps(arrays))
        if json_only:
            return paths[:1]
        np.savez(paths[1], **{name: np.array(cells) for name, cells in arrays.items()})
        texts = {name: np.array(cells) for name, cells in arrays.items()}
        savemat(paths[2], {n: a.astype(object) if a.dtype.kind == "U" and a.ndim else a for n, a in texts.items()})
        return paths

    return make


@pytest.mark.parametrize("fourth", [(0, 1, 1, 0), ("p1", "p1", "p2", "p2"), (11, 12, 13, 14), (0.5, 0.7, 0.6, 0.9)])
@pytest.mark.parametrize("in_front", [True, False])
def test_four_columns_of_text_under_a_name_are_refused(archives, fourth, in_front):
    rows = [[more, *row] if in_front else [*row, more] for row, more in zip(SAID, fourth)]
    told = "participant,anchor,near,far" if in_front else "anchor,near,far,-"
    for path in archives({"data": rows}):
        assert "4 columns without names: which is what cannot be told" in refusal(path)
        assert said(read_comparisons(path, columns=told).comparisons) == SAID
    for path in archives({"data": rows, "weights": [1, 2, 3, 4]}):
        message = refusal(path)
        assert "'column 4', 'weights': no column for anchor, near, far of triplets" in message
        spots = (2, 3, 4) if in_front else (1, 2, 3)
        told = {role: f"column {spot}" for role, spot in zip(("anchor", "near", "far"), spots)}
        read = read_comparisons(path, columns=told).comparisons
        assert said(read) == SAID
        assert read.weights.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("beside", [{}, {"weights": [1, 2, 3, 4]}, {"response": ["oboe"] * 4}])
def test_ratings_under_a_name_are_no_objects(archives, beside):
    for path in archives({"data": [[*row[:2], str(rate)] for row, rate in zip(SAID, [5, 4, 5, 1])], **beside}):
        message = refusal(path)
        assert "no objects' names" in message or "none of these names is known" in message or "no column for" in message


def test_integers_in_four_columns_are_quadruplets_where_an_array_says_so(archives):
    rows = [[0, 1, 2, 3], [2, 3, 0, 1]]
    written, archive, matlab = archives({"data": rows})
    assert "4 columns without names" in refusal(written)  # as the same rows in a list
    for path in (archive, matlab):
        assert read_comparisons(path).comparisons.index.tolist() == rows
    for path in archives({"quadruplets": rows, "weights": [1, 2]}):
        read = read_comparisons(path).comparisons
        assert read.index.tolist() == rows
        assert read.weights.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("kind", "rows"), [("rankings", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]), ("odd-one-out", [[0, 1, 2, 2], [4, 3, 2, 2]])]
)
def test_what_stands_beside_wide_rows_is_kept(archives, kind, rows):
    for path in archives({"data": rows, "participants": ["p1", "p2"]}):
        read = read_comparisons(path, kind=kind).comparisons
        assert set(read.participants.tolist()) == {"p1", "p2"}


@pytest.mark.parametrize("called", [{}, {"labels": ["a", "b"]}])
def test_numbers_of_matlab_count_the_labels_from_1(tmp_path, called):
    from scipy.io import savemat

    names = ["oboe", "flute", "drum", "gong", "harp"]
    path, rows = tmp_path / "a.mat", np.array([[1, 2, 3], [3, 4, 1]])
    given = {"labels": names} if called else {}
    savemat(path, {"triplets": rows} | ({} if called else {"labels": np.array(names, object)}))
    read = read_comparisons(path, **given)
    assert said(read.comparisons) == [("oboe", "flute", "drum"), ("drum", "gong", "oboe")]
    assert read.comparisons.n_objects == 5
    assert "the numbers count the objects from 1 (see index_base)" in read.understood
    assert said(read_comparisons(path, index_base=0, **given).comparisons)[0] == ("flute", "drum", "gong")
    savemat(path, {"triplets": rows - 1} | ({} if called else {"labels": np.array(names, object)}))
    read = read_comparisons(path, **given)
    assert said(read.comparisons) == [("oboe", "flute", "drum"), ("drum", "gong", "oboe")]
    assert "the numbers count the objects from 0 (see index_base)" in read.understood
    savemat(path, {"triplets": rows + 2} | ({} if called else {"labels": np.array(names, object)}))
    assert "object number 6 is outside 1..5" in refusal(path, **given)


def test_numbers_of_other_arrays_count_the_labels_from_0(archives):
    for path in archives({"triplets": [[1, 2, 3], [3, 4, 1]], "labels": ["oboe", "flute", "drum", "gong", "harp"]})[:2]:
        assert said(read_comparisons(path).comparisons) == [("flute", "drum", "gong"), ("gong", "harp", "flute")]


def test_the_number_of_objects_of_matlab_counts_from_1(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"triplets": np.array([[1, 2, 3], [3, 4, 1]]), "n_objects": 5.0})
    read = read_comparisons(tmp_path / "a.mat").comparisons
    assert read.labels.tolist() == ["1", "2", "3", "4", "5"]
    assert said(read) == [("1", "2", "3"), ("3", "4", "1")]


@pytest.mark.parametrize("width", [2, 3])
def test_the_index_of_pandas_is_no_comparison(tmp_path, width):
    path = tmp_path / "split.json"
    frame = pd.DataFrame(TURNED_ROWS, columns=TURNED)
    levels = [["p1"] * 4, [1, 2, 3, 4], [3, 4, 5, 6]][:width]
    path.write_text(frame.set_index(levels).to_json(orient="split"))
    read = read_comparisons(path)
    assert said(read.comparisons) == SAID
    assert "arrays not used: index" in read.understood
    narrow = pd.DataFrame({"v": [1, 2, 3, 4]}, index=[[1, 1, 2, 2], [1, 2, 3, 4], [3, 4, 5, 6]])
    path.write_text(narrow.to_json(orient="split"))
    assert "the columns differ in length: 'columns' (1,), 'data' (4,)" in refusal(path)


@pytest.mark.parametrize("orient", ["columns", "index", "table", "records", "split"])
@pytest.mark.parametrize("index", [None, ["r4", "r1", "r3", "r2"]])
def test_every_form_of_pandas_with_names_is_read(tmp_path, orient, index):
    frame = pd.DataFrame(TURNED_ROWS, columns=TURNED, index=index).assign(participant=["p1", "p2", "p1", "p2"])
    (tmp_path / "a.json").write_text(frame.to_json(orient=orient))
    read = read_comparisons(tmp_path / "a.json").comparisons
    assert said(read) == SAID
    assert read.participants.tolist() == ["p1", "p2", "p1", "p2"]


COLUMNS = {"anchor": [0, 2], "near": [1, 3], "far": [2, 0]}
FOUR = ["oboe", "flute", "drum", "gong"]


@pytest.mark.parametrize("rows", [COLUMNS, {"triplets": [[0, 1, 2], [2, 3, 0]]}])
def test_what_stands_beside_the_rows_is_used(archives, rows):
    for path in archives({**rows, "labels": FOUR, "participant": "p7", "weight": 3, "study": "x"}):
        read = read_comparisons(path)
        assert said(read.comparisons) == [("oboe", "flute", "drum"), ("drum", "gong", "oboe")]
        assert read.comparisons.participants.tolist() == ["p7", "p7"]
        assert read.comparisons.weights.tolist() == [3, 3]
        assert "arrays not used: study" in read.understood
    for path in archives({**rows, "n_objects": 6}):
        assert read_comparisons(path).comparisons.n_objects == 6


@pytest.mark.parametrize("rows", [COLUMNS, {"triplets": [[0, 1, 2], [2, 3, 0]]}])
@pytest.mark.parametrize(
    ("beside", "why"),
    [
        ({"rt": [400, 500, 600]}, "array 'rt' has 3 entries for 2 rows"),
        ({"response_position": ["left"] * 5}, "array 'response_position' has 5 entries for 2 rows"),
        ({"participants": ["p1", "p2", "p3"]}, "'participants' "),
        ({"labels": ["a", "a", "b", "c"]}, "labels: 'a' occurs twice, at 0 and 1"),
        ({"labels": FOUR, "n_objects": 6}, "labels: got 4 labels for 6 objects"),
    ],
)
def test_what_cannot_be_used_beside_the_rows_is_refused(archives, rows, beside, why):
    for path in archives({**rows, **beside}):
        assert why in refusal(path)


def test_missing_labels_and_two_answers_are_refused(archives):
    rows = {"triplets": [[0, 1, 2], [2, 3, 0]]}
    for path in archives({**rows, "labels": ["a", None, "b", "c"]}, json_only=True):
        assert "label 1 is None" in refusal(path)
    for path in archives({**rows, "y": [1, -1], "response": [-1, 1]}):
        assert "is not the only one that holds answers" in refusal(path)
    for path in archives({**COLUMNS, "labels": FOUR[:2]}):
        assert "'labels' holds as many names as there are rows" in refusal(path)
    for path in archives(
        {"reference": ["oboe", "gong"], "choices": [FOUR[:3], FOUR[1:]], "response": ["drum", "drum"]}
    ):
        assert "array 'reference' holds objects and would be left out beside the rows of 'choices'" in refusal(path)


def test_numbers_that_recur_are_classes_not_labels(archives):
    rows = {"triplets": [[0, 1, 2], [2, 3, 0]]}
    for path in archives({**rows, "labels": [1, 1, 0, 0]}):
        read = read_comparisons(path)
        assert read.comparisons.labels is None
        assert "arrays not used: labels" in read.understood
    for path in archives({**rows, "labels": [10, 20, 30, 40]}):
        assert said(read_comparisons(path).comparisons)[0] == ("10", "20", "30")


def test_columns_that_say_the_comparison_come_before_a_wide_array(archives):
    for path in archives({**dict(zip(("anchor", "near", "far"), map(list, zip(*SAID)))), "shown": TURNED_ROWS}):
        read = read_comparisons(path)
        assert said(read.comparisons) == SAID
        assert "arrays not used: shown" in read.understood


def test_rows_under_a_name_are_read_with_what_stands_beside(tmp_path):
    path = tmp_path / "a.json"
    rows = [dict(zip(TURNED, row), options=row) for row in TURNED_ROWS]
    for table in (rows, dict(zip(TURNED, map(list, zip(*TURNED_ROWS))))):
        path.write_text(json.dumps({"participant": "p7", "trials": table, "study": "x"}))
        read = read_comparisons(path)
        assert said(read.comparisons) == SAID
        assert read.comparisons.participants.tolist() == ["p7"] * 4
        assert "rows of 'trials'" in read.understood
        assert "arrays not used: study" in read.understood
    path.write_text(json.dumps({"practice": rows[:2], "trials": rows}))
    assert "several values hold rows: 'practice', 'trials'; say variable=" in refusal(path)
    assert said(read_comparisons(path, variable="trials").comparisons) == SAID
    path.write_text(json.dumps({"participant": "p7", "trials": [{**row, "participant": "p1"} for row in rows]}))
    assert "'participant': among the columns of 'trials' and beside them" in refusal(path)


def test_structured_and_byte_arrays_are_read(tmp_path):
    fields = np.array([tuple(row) for row in TURNED_ROWS], dtype=[(name, "U9") for name in TURNED])
    np.savez(tmp_path / "a.npz", trials=fields, participant="p7")
    assert said(read_comparisons(tmp_path / "a.npz").comparisons) == SAID
    np.save(tmp_path / "a.npy", fields.reshape(2, 2))
    assert said(read_comparisons(tmp_path / "a.npy").comparisons) == SAID
    np.savez(tmp_path / "b.npz", triplets=np.array([[0, 1, 2]]), labels=np.array(FOUR).astype("S"))
    assert said(read_comparisons(tmp_path / "b.npz").comparisons) == [("oboe", "flute", "drum")]


def test_letters_and_cells_of_matlab_keep_their_shape(tmp_path):
    from scipy.io import savemat

    path = tmp_path / "a.mat"
    savemat(path, {"triplets": np.array([[1, 2, 3], [2, 1, 3]]), "labels": np.array(FOUR)})  # filled up with blanks
    assert read_comparisons(path).comparisons.labels.tolist() == FOUR
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        references = np.empty((4, 3), h5py.ref_dtype)
        for spot, text in np.ndenumerate(np.array(SAID)):
            cell = file.create_dataset(f"#refs#/{spot}", data=np.array([list(map(ord, text))], "u2").T)
            cell.attrs["MATLAB_class"] = np.bytes_("char")
            references[spot] = cell.ref
        file.create_dataset("triplets", data=references.T).attrs["MATLAB_class"] = np.bytes_("cell")
        people = np.array([list(map(ord, name)) for name in ("p1 ", "p10", "p2 ", "p1 ")], "u2")
        file.create_dataset("participants", data=people.T).attrs["MATLAB_class"] = np.bytes_("char")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    read = read_comparisons(path).comparisons
    assert said(read) == SAID
    assert read.participants.tolist() == ["p1", "p10", "p2", "p1"]


@pytest.mark.parametrize("labels", [["2.0", "0.0", "1.0"], ["1.0", "2.0", "3.0"], ["2.", "1", "0.00"]])
def test_labels_written_with_a_decimal_point_are_names_and_no_positions(tmp_path, labels):
    known = Comparisons([[0, 1, 2], [2, 0, 1]], labels=labels)
    rows = [(labels[0], labels[1], labels[2]), (labels[2], labels[0], labels[1])]
    for name in ("a.parquet", "a.npz"):
        write_comparisons(tmp_path / name, known)
        found = read_comparisons(tmp_path / name).comparisons
        assert (found.labels.tolist(), said(found)) == (labels, rows)
    reader = open_blocks(tmp_path / "a.parquet")
    assert (reader.labels.tolist(), said(next(reader.blocks()))) == (labels, rows)
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far"])
    frame.to_csv(tmp_path / "b.csv", index=False)
    frame.to_parquet(tmp_path / "b.parquet")
    for source in (frame, tmp_path / "b.csv", tmp_path / "b.parquet"):
        assert said(read_comparisons(source, labels=labels).comparisons) == rows
    # Numbers that may count the labels or be meant by them are neither until told.
    numbers = pd.DataFrame([(0, 1, 2)], columns=["anchor", "near", "far"])
    assert "say index_base=0 if the numbers count the labels" in refusal(numbers, labels=labels)
    assert said(read_comparisons(numbers, labels=labels, index_base=0).comparisons) == [tuple(labels)]


def by_cluster(source, client):
    """What a cluster reads: rows by label, weights, and who answered."""
    from nearer.distributed.data import open_data

    data = open_data(source, client, n_shards=1)
    labels = list(map(str, range(data.n_all))) if data.labels is None else data.labels.tolist()
    whole = Comparisons.concat(list(data.blocks()))
    rows = [tuple(labels[data.seen[number]] for number in row) for row in whole.index.tolist()]
    return rows, *beside(whole)


def by_stream(source):
    """What a stream reads, in blocks of two rows."""
    whole = Comparisons.concat(list(open_blocks(source).blocks(2)))
    return said(whole), *beside(whole)


def beside(comparisons):
    """Weights, and who answered; [] for what is not known."""
    return [[] if found is None else found.tolist() for found in (comparisons.weights, comparisons.participants)]


@pytest.mark.parametrize("cells", [[1, 2, 3, 4], [8, 6, 4, 2]])
def test_an_index_that_is_a_range_is_a_column_in_every_carrier(tmp_path, client_here, cells):
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    path = tmp_path / "a.parquet"
    for name in ("weight", "participant"):
        indexed = frame.set_index(pd.RangeIndex(cells[0], 2 * cells[-1] - cells[-2], cells[1] - cells[0], name=name))
        indexed.to_parquet(path, row_group_size=3)
        for source in (indexed, pa.Table.from_pandas(indexed), pa.RecordBatch.from_pandas(indexed), path):
            read = read_comparisons(source).comparisons
            assert said(read) == SAID
            assert (read.weights if name == "weight" else read.participants).tolist() == cells
        expected = (SAID, cells, []) if name == "weight" else (SAID, [], cells)
        assert by_stream(path) == by_cluster(str(path), client_here) == expected
    numbers = pd.DataFrame([(1, 2, 3), (2, 3, 4), (3, 4, 1)], columns=["i", "j", "k"])
    pairs = numbers.set_index(pd.RangeIndex(5, 8, name="l"))
    pairs.to_parquet(path)
    rows = [("1", "2", "5", "3"), ("2", "3", "6", "4"), ("3", "4", "7", "1")]
    for source in (pairs, pa.Table.from_pandas(pairs), path):
        assert said(read_comparisons(source).comparisons) == rows
    assert by_stream(path)[0] == by_cluster(str(path), client_here)[0] == rows


def test_an_index_that_is_a_range_of_other_rows_is_refused(tmp_path, client_here):
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"], index=pd.RangeIndex(1, 5, name="weight"))
    some = pa.Table.from_pandas(frame).slice(0, 2)
    path = tmp_path / "a.parquet"
    pq.write_table(some, path)
    for read in (lambda: read_comparisons(some), lambda: read_comparisons(path), lambda: open_blocks(path),
                 lambda: by_cluster(str(path), client_here)):  # fmt: skip
        with pytest.raises(FileFormatError, match=r"index 'weight' was kept as a range of 4 numbers, and there are 2"):
            read()
    for name in (None, "row"):  # it means nothing
        assert said(read_comparisons(pa.Table.from_pandas(frame.rename_axis(name)).slice(0, 2)).comparisons) == SAID[:2]
    frame.assign(weight=frame.index).to_parquet(path)  # a column too
    assert read_comparisons(path).comparisons.weights.tolist() == [1, 2, 3, 4]


HIVE = {
    "weights": (["weight"], {"weight": [1, 1, 2, 2]}),
    "people": (["participant"], {"participant": ["anna b", "c/d", "e=f", None]}),
    "two keys": (["weight", "user"], {"weight": [1, 1, 2, 2], "user": [7, 8, 7, 8]}),
    "objects": (["anchor"], {}),
    "nothing": (["run"], {"run": [1, 1, 2, 2]}),
}


@pytest.mark.parametrize("case", HIVE)
def test_what_folders_say_is_read_in_every_way(tmp_path, client_here, case):
    keys, more = HIVE[case]
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"]).assign(**more)
    frame.to_parquet(tmp_path / "d", partition_cols=keys)
    expected = {row: number for number, row in enumerate(SAID)}
    for source in (tmp_path / "d", str(tmp_path / "d" / "**" / "*.parquet")):
        read = read_comparisons(source).comparisons
        order = [expected[row] for row in said(read)]
        assert sorted(order) == [0, 1, 2, 3]
        people = next((more[name] for name in ("participant", "user") if name in more), None)
        if people:
            assert read.participants.tolist() == [people[spot] or "unknown" for spot in order]
        weights = [more["weight"][spot] for spot in order] if "weight" in more else []
        assert (read.weights.tolist() if weights else []) == weights
        assert by_stream(source) == by_cluster(str(source), client_here) == (said(read), *beside(read))
    assert by_cluster(f"file://{tmp_path}/d", client_here) == (said(read), *beside(read))


def test_a_folder_that_names_an_object_makes_no_triplets_of_pairs(tmp_path, client_here):
    rows = [(1, 2, 4, 3), (2, 3, 1, 4), (3, 4, 2, 1)]
    pd.DataFrame(rows, columns=["i", "j", "l", "k"]).to_parquet(tmp_path / "d", partition_cols=["l"])
    expected = [tuple(map(str, rows[spot])) for spot in (1, 2, 0)]
    assert said(read_comparisons(tmp_path / "d").comparisons) == expected
    assert by_stream(tmp_path / "d")[0] == by_cluster(str(tmp_path / "d"), client_here)[0] == expected
    # A key that means something beside columns without names, or in some files alone, cannot be placed.
    frame = pd.DataFrame(SAID, columns=["0", "1", "2"]).assign(weight=[1, 1, 2, 2])
    frame.to_parquet(tmp_path / "e", partition_cols=["weight"])
    assert "columns '0', '1', '2', 'weight'" in refusal(tmp_path / "e")
    pd.DataFrame(rows, columns=["i", "j", "l", "k"]).drop(columns="l").to_parquet(tmp_path / "d" / "z.parquet")
    assert "z.parquet: columns i, j, k differ from i, j, k, l" in refusal(tmp_path / "d")


def test_files_of_a_folder_are_read_whatever_their_case_or_told(tmp_path, client_here):
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    for name in ("a.parquet", "b.PARQUET", "c.Pq", "_d.parquet"):
        frame.to_parquet(tmp_path / name)
    for name in ("e.parquet.gz", "README.md", "_SUCCESS", ".a.parquet.crc"):
        (tmp_path / name).write_text("x")
    (tmp_path / "f.parquet").mkdir()
    frame.to_parquet(tmp_path / "f.parquet" / "part.parquet")
    told = "3 files left out, not read as Parquet: README.md, _d.parquet, e.parquet.gz"
    read = read_comparisons(tmp_path)
    assert said(read.comparisons) == SAID * 4
    assert read.alarms == (told,)
    with pytest.warns(UserWarning, match=told):
        assert open_blocks(tmp_path).n_comparisons == 16
    for path in (str(tmp_path), f"file://{tmp_path}"):
        with pytest.warns(UserWarning, match=told):
            assert len(by_cluster(path, client_here)[0]) == 16


def test_two_columns_of_one_name_in_parquet_are_refused_in_every_way(tmp_path, client_here):
    path = tmp_path / "a.parquet"
    for names, match in (
        (["anchor", "near", "near", "far"], "columns 'near', 'near' could each be the near"),
        (["anchor", "near", "far", "participant", "participant"], "two columns are called 'participant'"),
    ):
        pq.write_table(pa.table([[f"c{spot}"] for spot in range(len(names))], names=names), path)
        for read in (read_comparisons, open_blocks, lambda path: by_cluster(str(path), client_here)):
            with pytest.raises(FileFormatError, match=match):
                read(path)
    pq.write_table(pa.table([["a"], ["b"], ["x"], ["c"]], names=["anchor", "near", "near", "far"]), path)
    for read in (read_comparisons, open_blocks):
        with pytest.raises(FileFormatError, match="two columns are called 'near', expected a name for each"):
            read(path, columns={"anchor": 1, "near": 2, "far": 4})


def test_texts_of_every_arrow_type_are_one_column(parts):
    types = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
    if int(pa.__version__.split(".")[0]) >= 21:  # older ones cannot write it
        types.append(pa.string_view())
    folder = parts("participant", *(pa.array([f"p{number}"]).cast(kind) for number, kind in enumerate(types)))
    assert read_comparisons(folder).comparisons.participants.tolist() == [f"p{number}" for number in range(len(types))]


@pytest.mark.parametrize("cells", [[2**63 + 1], [2**63 + 1, None]])
def test_numbers_beyond_64_bits_are_refused_with_and_without_empty_cells(parts, cells):
    folder = parts("anchor", pa.array(cells, pa.uint64()))
    assert "the integer 9223372036854775809 is beyond" in refusal(folder, on_missing="drop")
    with pytest.raises(FileFormatError, match="the integer 9223372036854775809 is beyond"):
        open_blocks(folder, on_missing="drop")


@pytest.fixture
def partitioned():
    """Make a Dask frame of two partitions; the second is what is given."""
    dask, delayed = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask").delayed
    first = pd.DataFrame(SAID[:2], columns=["anchor", "near", "far"])

    def make(second):
        return dask.from_delayed([delayed(first), delayed(second)], meta=first, verify_meta=False)

    return make


def test_partitions_are_read_by_the_names_of_their_columns(partitioned, client_here):
    rest = pd.DataFrame(SAID[2:], columns=["anchor", "near", "far"])
    assert by_cluster(partitioned(rest[["far", "near", "anchor"]]), client_here)[0] == SAID
    turned = rest.rename(columns={"near": "far", "far": "near"})
    assert by_cluster(partitioned(turned), client_here)[0][2:] == [(a, far, near) for a, near, far in SAID[2:]]


@pytest.mark.parametrize(
    ("change", "came"),
    [
        (lambda rest: rest.assign(x="q")[["x", "anchor", "near", "far"]], "columns x, anchor, near, far"),
        (lambda rest: rest.rename(columns={"near": "winner"}), "columns anchor, winner, far"),
        (lambda rest: rest[["anchor", "near"]], "columns anchor, near"),
        (lambda rest: rest.to_numpy(), "columns none"),
    ],
)
def test_partitions_with_other_columns_are_refused(partitioned, client_here, change, came):
    rest = pd.DataFrame(SAID[2:], columns=["anchor", "near", "far"])
    with pytest.raises(FileFormatError, match=f"partition 1 .*: {came} differ from anchor, near, far of the dataframe"):
        by_cluster(partitioned(change(rest)), client_here)
    with pytest.raises(ValueError, match=r"partition 1 .*: its index 'weight' would not be read"):
        by_cluster(partitioned(rest.rename_axis("weight")), client_here)


def test_masks_of_dask_arrays_are_refused_as_those_of_numpy(client_here):
    da = pytest.importorskip("dask.array")
    from nearer.distributed.data import open_data

    rows, mask = np.array([[0, 1, 2], [1, 2, 0]]), [[0, 0, 0], [0, 0, 1]]
    plain, ones = da.from_array(rows), np.ma.array([1, 1], mask=[0, 1])
    for masked in (da.from_array(np.ma.array(rows, mask=mask)), da.ma.masked_equal(plain, 2)):
        for read in (lambda X: open_data(X, client_here), as_comparisons, Comparisons):
            with pytest.raises(ValueError, match="got a masked array with masked entries"):
                read(masked)
    for name in ("y", "sample_weight"):
        for read in (lambda **told: open_data(plain, client_here, **told), lambda **told: as_comparisons(rows, **told)):
            with pytest.raises(ValueError, match="got a masked array with masked entries"):
                read(**{name: da.from_array(ones)})
    assert open_data(da.from_array(np.ma.array(rows)), client_here).n_comparisons == 2


def test_a_last_column_of_0_and_1_is_refused_in_every_array(tmp_path, client_here):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    rows = np.array([[2 + n % 7, 2 + (n + 1) % 7, 2 + (n + 2) % 7, n % 2] for n in range(40)])
    path = tmp_path / "a.npy"
    np.save(path, rows)
    np.savez(tmp_path / "a.npz", X=rows)
    dask = da.from_array(rows, chunks=(5, 4))
    for read in (
        lambda: as_comparisons(rows), lambda: read_comparisons(path), lambda: read_comparisons(tmp_path / "a.npz"),
        lambda: open_blocks(path), lambda: OrdinalEmbedding(n_components=1).fit(path),
        lambda: by_cluster(dask, client_here),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="with a last column of 0 and 1 only: are those answers"):
            read()
    # Told that they are objects, they are.
    assert open_blocks(path, kind="quadruplets").n_columns == 4
    expected = [tuple(map(str, row)) for row in rows.tolist()]
    assert said(read_comparisons(path, kind="quadruplets").comparisons) == expected
    named = dd.from_dask_array(dask, columns=["i", "j", "l", "k"])
    assert by_cluster(named, client_here)[0] == expected
    write_comparisons(tmp_path / "own.npz", Comparisons(rows))
    assert said(read_comparisons(tmp_path / "own.npz").comparisons) == expected


def test_a_degenerate_row_of_a_dask_array_is_refused_as_in_numpy(client_here):
    da = pytest.importorskip("dask.array")
    rows = np.array([[0, 1, 2], [1, 1, 2]])
    for read in (as_comparisons, lambda rows: by_cluster(da.from_array(rows), client_here)):
        with pytest.raises(ValueError, match=r"row \d is \(1, 1, 2\): an object cannot be compared with itself$"):
            read(rows)


def test_names_that_hold_a_nul_are_refused_by_every_carrier(tmp_path, client_here):
    objects = Sheet(["anchor", "near", "far"], [["a", "b", "c"], ["a\0", "b", "c"]])
    people = Sheet(["anchor", "near", "far", "participant"], [["a", "b", "c", "p"], ["b", "a", "c", "p\0"]])
    for sheet, column in ((objects, "anchor"), (people, "participant")):
        for name in ("dict", "list of dicts", "pandas", "polars", "Arrow", "JSON", "JSON lines", "Parquet"):
            told = CARRIERS[name](sheet, tmp_path).refusal
            assert f"T, row 2, column '{column}': " in told, name
            assert told.endswith("is not text (holds a NUL)"), name
        assert "holds a NUL" in CARRIERS["stream"](sheet, tmp_path).refusal
        with pytest.raises(FileFormatError, match=rf"row 2, column .{column}.: .*holds a NUL"):
            by_cluster(str(tmp_path / "table.parquet"), client_here)
    for told in ({"labels": ["a", "a\0", "b"]}, {"participants": ["p", "p\0"]}):
        with pytest.raises(ValueError, match=r"1 is '.\\x00': is not text \(holds a NUL\)"):
            Comparisons([[0, 1, 2], [1, 0, 2]], **told)
    (tmp_path / "a.json").write_text(json.dumps({"index": [[0, 1, 2]], "labels": ["a", "a\0", "b"]}))
    assert "label 1 is 'a\\x00': is not text" in refusal(tmp_path / "a.json")


def test_labels_that_a_file_lists_twice_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", index=np.array([[0, 1, 2]]), labels=np.array(["a", "a", "b"]))
    assert "a.npz: labels: 'a' occurs twice" in refusal(tmp_path / "a.npz")
    table = pa.table({"anchor": [0], "near": [1], "far": [2]})
    stored = {b"nearer": json.dumps({"labels": ["a", "a", "b"]}).encode()}
    pq.write_table(table.replace_schema_metadata(stored), tmp_path / "a.parquet")
    assert "labels: 'a' occurs twice" in refusal(tmp_path / "a.parquet")


def test_dask_collections_are_refused_where_they_cannot_be_read(client_here):
    dd, dask = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask")
    from nearer.distributed.data import open_data

    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    lazy = dd.from_pandas(frame, npartitions=1)
    for read in (read_comparisons, as_comparisons, Comparisons.from_labels_table):
        with pytest.raises(FileFormatError, match=r"got a Dask DataFrame, .*say .compute\(\) first"):
            read(lazy)
    for X in (dask.delayed(frame), lazy["near"]):
        with pytest.raises(ValueError, match=r"comparisons: got a Dask .*, expected a Dask dataframe"):
            open_data(X, client_here)
    for name, more in (("sample_weight", lazy), ("y", dask.delayed(frame))):
        with pytest.raises(ValueError, match=f"{name}: got a Dask .*, expected one column"):
            open_data(lazy, client_here, **{name: more})


def test_people_called_like_missing_values_come_back_from_own_files(tmp_path, caplog):
    people = ["NA", "None", "nan"]
    known = Comparisons([[0, 1, 2], [1, 2, 0], [2, 0, 1]], participants=people)
    for ending, told in ((".npz", {}), (".parquet", {}), (".csv", {"keep_na": True}), (".jsonl", {"keep_na": True})):
        caplog.clear()
        write_comparisons(tmp_path / f"a{ending}", known)
        assert ("the participant 'NA' looks like a missing value" in caplog.text) == bool(told)
        read = read_comparisons(tmp_path / f"a{ending}", **told)
        assert read.comparisons.participants.tolist() == people
        assert "without a participant" not in read.understood
    assert read_comparisons(tmp_path / "a.csv").comparisons.participants.tolist() == ["unknown"] * 3


TWO_ANSWERS = {
    "image1,image2,image3,odd,response": ("oboe,flute,drum,drum,oboe", "odd-one-out"),
    "a,b,c,central,answer": ("oboe,flute,drum,flute,oboe", "most-central"),
    "a,b,c,odd,central": ("oboe,flute,drum,drum,oboe", "odd-one-out"),
    "anchor,a,b,votes_a,votes_b,answer": ("oboe,flute,drum,3,1,drum", "votes"),
    "reference,left,right,response,chosen": ("oboe,flute,drum,flute,drum", "answers"),
    "reference,left,right,response,closer": ("oboe,flute,drum,flute,drum", "answers"),
    "left,central,right,sel": ("flute,oboe,drum,left\ndrum,oboe,flute,right", "most-central"),
    "left,central,right,taken": ("flute,oboe,drum,flute\ndrum,oboe,gong,gong", "most-central"),
    "left,central,right,key": ("flute,oboe,drum,1\ndrum,oboe,flute,2", "most-central"),
}


@pytest.mark.parametrize("header", TWO_ANSWERS)
def test_a_second_column_of_answers_is_refused_by_every_carrier(both, tmp_path, client_here, header):
    dd = pytest.importorskip("dask.dataframe")
    row, kind = TWO_ANSWERS[header]
    sources = both(f"{header}\n{row}\n")
    frame = sources["frame"]
    frame.to_parquet(tmp_path / "a.parquet")
    match = f"what is nearer, and so may '{header.rsplit(',', 1)[1]}'; say kind='{kind}' to leave"
    for read in (
        lambda: read_comparisons(sources["file"]), lambda: OrdinalEmbedding(n_components=1).fit(frame),
        lambda: open_blocks(tmp_path / "a.parquet"),
        lambda: by_cluster(dd.from_pandas(frame, npartitions=1), client_here),
    ):  # fmt: skip
        with pytest.raises(FileFormatError, match=match):
            read()
    assert read_comparisons(frame, kind=kind).kind == kind


def test_the_second_column_of_answers_is_read_as_told():
    frame = pd.DataFrame([("oboe", "flute", "drum", "drum", "oboe")], columns=["a", "b", "c", "odd", "response"])
    told = read_comparisons(frame, columns={"a": "a", "b": "b", "c": "c", "odd": "response"})
    assert said(told.comparisons) == [("flute", "drum", "oboe"), ("drum", "flute", "oboe")]


@pytest.mark.parametrize(
    ("header", "row", "left"),
    [
        ("anchor,positive,negative,negative_2", "oboe,flute,drum,gong", "negative_2"),
        ("reference,left,right,response,rejected", "oboe,flute,drum,flute,drum", "rejected"),
        ("stim1,stim2,stim3,stim4,odd", "oboe,flute,drum,gong,drum", "stim4"),
        ("anchor,a,b,answer,answer_2", "oboe,flute,drum,drum,flute", "answer_2"),
        ("anchor,near,far,rank_1", "oboe,flute,drum,drum", "rank_1"),
    ],
)
def test_a_column_that_means_an_object_or_an_answer_is_not_left_out_in_silence(both, tmp_path, header, row, left):
    sources = both(f"{header}\n{row}\n")
    told = f"column '{left}' is not used, if a row is taken as"
    for source in sources.values():
        assert told in str(read_comparisons(source).alarms)
        assert not read_comparisons(source, kind=read_comparisons(source).kind).alarms
    with pytest.warns(UserWarning, match=told):
        as_comparisons(sources["frame"], sample_weight=[2.0])
    sources["frame"].to_parquet(tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match=told):
        open_blocks(tmp_path / "a.parquet")


@pytest.mark.parametrize("column", ["central", "odd", "median", "outlier"])
def test_a_measurement_between_numbered_objects_is_no_object(both, tmp_path, column):
    rows = [(1, 2, 350), (2, 3, 410), (3, 4, 350), (4, 1, 395)]
    sources = both(text(f"a,b,{column}", rows))
    for source in sources.values():
        assert f"column '{column}': every cell is a number that stands in no other column" in refusal(source)
        assert len(read_comparisons(source, columns=remedy_pairs(refusal(source))).comparisons) == 8
    sources["frame"].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="stands in no other column of objects"):
        open_blocks(tmp_path / "a.parquet")
    assert (
        len(
            read_comparisons(
                both(text(f"a,b,{column}", [(1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2)]))["file"]
            ).comparisons
        )
        == 8
    )


def remedy_pairs(message):
    return ast.literal_eval(message.rsplit("say so: columns=", 1)[1])


# anchor, near, far; 60 answers of two people, each with a list of its own
LISTS = [(n % 7, (n + 1 + n // 7) % 7 + 7, (n + 3) % 5 + 14) for n in range(60)]


@pytest.mark.parametrize("people", [True, False])
@pytest.mark.parametrize("carrier", ["file", "frame"])
def test_a_list_for_each_person_is_no_order_of_trials(both, people, carrier):
    from nearer.data.answers import kept_together

    header, rows = "anchor,near,far,order", [(*row, 1 + n // 30) for n, row in enumerate(LISTS)]
    if people:
        header, rows = f"{header},participant", [(*row, f"p{n // 30}") for n, row in enumerate(rows)]
    source = both(text(header, rows))[carrier]
    read = read_comparisons(source)
    assert read.comparisons.details is None
    assert len(np.unique(kept_together(read.comparisons))) == 60
    assert "column 'order': the same number at different questions" in read.understood
    assert "no order of trials; not kept" in read.understood
    assert "no order of trials" in refusal(source, columns={"order": "order"})


def test_rows_of_one_answer_keep_their_order(tmp_path):
    odd = pd.DataFrame({"a": list("abc"), "b": list("bcd"), "c": list("cda"), "odd": list("cda"), "order": [1, 2, 1],
                        "participant": list("ppq")})  # fmt: skip
    ranked = pd.DataFrame([("a", "b", "c", "d", 1), ("b", "a", "d", "c", 2)],
                          columns=["anchor", "rank_1", "rank_2", "rank_3", "order"])  # fmt: skip
    for frame in (odd, ranked):
        first = read_comparisons(frame).comparisons
        write_comparisons(tmp_path / "a.csv", first, force=True)
        again = read_comparisons(tmp_path / "a.csv").comparisons
        assert again.details.order.tolist() == first.details.order.tolist()
        assert len(set(first.details.order.tolist())) == 2


def test_a_place_beyond_the_options_is_no_side(both):
    rows = [(*row, place) for row, place in zip(SAID * 2, range(1, 9))]
    for source in both(text("anchor,near,far,position", rows)).values():
        read = read_comparisons(source)
        assert read.comparisons.details is None
        assert "column 'position': '3' is not a position such as left" in read.understood
        assert "is not a position" in refusal(source, columns={"side": "position"})
    sets = [("oboe", "flute", "drum", "drum", 3), ("gong", "drum", "harp", "gong", 1)]
    assert read_comparisons(both(text("a,b,c,odd,position", sets))["file"]).comparisons.details.side.max() == 2


def test_no_position_is_made_of_a_digit_that_is_no_number(both):
    rows = [(*row, "option²") for row in SAID]
    assert "is not a position" in read_comparisons(both(text("anchor,near,far,side", rows))["file"]).understood
    assert "asks for column '²'" in refusal(both(text("anchor,near,far"))["file"], columns={"participant": "²"})


@pytest.mark.parametrize("word", ["\\N", "[NULL]", "<null>", "(null)"])
def test_words_of_databases_for_missing_are_no_objects_and_no_people(both, word):
    for source in both(text("anchor,near,far", [*SAID, ("oboe", word, "drum")])).values():
        assert "means missing" in refusal(source)
        assert said(read_comparisons(source, on_missing="drop").comparisons) == SAID
    people = [(*row, person) for row, person in zip(SAID, ("p1", "p2", "p1", word))]
    for source in both(text("anchor,near,far,participant", people)).values():
        assert read_comparisons(source).comparisons.participants.tolist() == ["p1", "p2", "p1", "unknown"]


@pytest.mark.parametrize("word", [".", "-", "(NULL)", "n.a.", "-99"])
def test_people_who_may_be_none_are_told(both, word):
    people = [(*row, person) for row, person in zip(SAID, ("p1", "p2", "p1", word))]
    for source in both(text("anchor,near,far,participant", people)).values():
        assert f"the participant {word!r} may stand for a missing cell" in str(read_comparisons(source).alarms)


def test_no_needless_alarm_of_missing_names(both):
    kept = both(text("anchor,near,far", [*SAID, ("oboe", "NA", "drum"), ("oboe", "None", "drum")]))["file"]
    assert not read_comparisons(kept, keep_na=True).alarms
    numbers = [(-2, -1, 2), (-1, 0, 2), (0, 1, -2), (1, 2, -1)]
    for source in both(text("anchor,near,far", numbers)).values():
        assert not read_comparisons(source).alarms
    for source in both(text("anchor,near,far", [(0, 1, 2), (1, 2, 0), (2, -1, 0), (0, 2, 1)])).values():
        assert "'-1' may stand for a missing cell" in str(read_comparisons(source).alarms)


@pytest.mark.parametrize("pad", [0, -1])
def test_candidates_that_were_not_shown_are_told(both, tmp_path, pad):
    header = "query,reference_1,reference_2,reference_3,n_select,is_ranked"
    rows = [(1, 2, 3, 4, 1, 1), (1, 2, 3, pad, 1, 1), (2, 4, 1, 3, 1, 1)]
    sources = both(text(header, rows))
    told = f"{pad} stands in the last places alone"
    for source in sources.values():
        assert told in str(read_comparisons(source).alarms)
    sources["frame"].to_parquet(tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match=told):
        open_blocks(tmp_path / "a.parquet")
    emptied = both(text(header, [["" if cell == pad else cell for cell in row] for row in rows]), "emptied.csv")["file"]
    assert len(read_comparisons(emptied).comparisons) == 5  # two candidates are a choice too
    more = [*rows, (pad, 1, 2, 3, 1, 1)]  # an object after all
    assert told not in str(read_comparisons(both(text(header, more), "more.csv")["file"]).alarms)


ALIKE = [
    ("1e+05", "100000"),
    ("1.50", "1.5"),
    (".5", "0.5"),
    ("1E3", "1000.0"),
    ("Straße", "STRASSE"),
    ("ΣΟΦΟΣ", "σοφος"),
]


@pytest.mark.parametrize("pair", ALIKE)
def test_names_equal_as_numbers_or_but_for_case_are_told_and_joined(both, pair):
    rows = [(pair[0], "oboe", "drum"), ("drum", pair[1], "gong"), ("gong", "drum", "oboe")]
    path = both(text("anchor,near,far", rows))["file"]
    assert "1 name written in more than one way" in str(read_comparisons(path).alarms)
    assert read_comparisons(path, fold_names=True).comparisons.n_objects == 4


def test_numbers_that_differ_in_their_last_digits_are_not_alike(both):
    names = [
        "12345678901234567890123456789012345678901",
        "12345678901234567890123456789012345678902",
        "9" * 400,
        "-1.5",
    ]
    rows = [(names[0], names[1], names[2]), (names[1], names[2], names[3]), (names[2], "1.5", "oboe")]
    assert not read_comparisons(both(text("anchor,near,far", rows))["file"]).alarms


def test_a_point_that_may_mark_thousands_is_told(both):
    def told(weights):
        rows = [";".join([*row, weight]) for row, weight in zip(SAID, weights)]
        return str(read_comparisons(both("\n".join(["anchor;near;far;count", *rows]))["file"]).alarms)

    assert "column 'count': '1.200' is taken as 1.2, beside whole numbers" in told(["950", "1.200", "2.000", "3"])
    for weights in (["950", "1.2", "2.000", "3"], ["1", "0.125", "2.125", "3"], ["1.250", "2.000", "1.000", "0.500"]):
        assert told(weights) == "()"


def test_replays_are_no_weights(both):
    for source in both(text("anchor,near,far,repetitions", [(*row, 3) for row in SAID])).values():
        assert read_comparisons(source).comparisons.weights is None


@pytest.mark.parametrize("words", [("image1", "image2"), ("Input.image1", "Input.image2"), ("←", "→"), ("⬅️", "➡️")])
def test_answers_may_name_a_column_without_its_prefix_or_be_arrows(both, words):
    header = "Input.reference,Input.image1,Input.image2,Answer.choice"
    rows = [("oboe", "flute", "drum", words[0]), ("gong", "harp", "drum", words[1])]
    for source in both(text(header, rows)).values():
        assert said(read_comparisons(source).comparisons) == SAID[:2]


@pytest.mark.parametrize("mark", ["_delta_log/00000.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
def test_tables_with_versions_are_not_read_as_all_their_files(tmp_path, mark, client_here):
    folder = tmp_path / "table"
    log = folder / mark
    log.parent.mkdir(parents=True)
    log.write_text("{}")
    (folder / "data").mkdir()
    for name in ("a", "b"):
        pq.write_table(pa.table(dict(zip(("anchor", "near", "far"), zip(*SAID)))), folder / "data" / f"{name}.parquet")
    url = f"file://{folder}"
    for source in (folder, folder / "data", str(folder / "data" / "*.parquet")):
        assert "export the current version" in refusal(source)
        with pytest.raises(FileFormatError, match="says which of its files still count"):
            open_blocks(source)
    for source in (str(folder), url, f"{url}/data/*.parquet"):
        with pytest.raises(FileFormatError, match="says which of its files still count"):
            by_cluster(source, client_here)
    assert len(read_comparisons(folder / "data" / "a.parquet").comparisons) == 4


def test_an_array_called_triplets_of_four_columns_is_no_quadruplets(tmp_path):
    rows = np.array([[1, 2, 3, 5], [2, 3, 1, 7], [3, 1, 2, 6]])
    np.savez(tmp_path / "a.npz", triplets=rows)
    savemat(tmp_path / "a.mat", {"triplets": rows})
    (tmp_path / "a.json").write_text(json.dumps({"triplets": rows.tolist()}))
    for name in ("a.npz", "a.mat", "a.json"):
        assert "which is what cannot be told" in refusal(tmp_path / name), name
        read = read_comparisons(tmp_path / name, columns="anchor,near,far,weight")
        assert read.comparisons.weights.tolist() == [5, 7, 6]
        assert read_comparisons(tmp_path / name, kind="quadruplets").kind == "quadruplets"


def test_columns_as_a_tuple_of_arrays_are_not_read_as_rows():
    for length in (3, 4, 5):
        columns = tuple(np.arange(length) + shift for shift in range(3))
        for given in (columns, tuple(map(pd.Series, columns)), tuple(column.astype(str) for column in columns)):
            for read in (as_comparisons, read_comparisons):
                with pytest.raises(ValueError, match=r"a tuple of 3 arrays: .*np.column_stack"):
                    read(given)
        assert as_comparisons(np.column_stack(columns)).index.tolist() == np.column_stack(columns).tolist()
    rows = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    for given in (rows, list(map(np.array, rows))):
        assert as_comparisons(given).index.tolist() == list(map(list, rows))


@pytest.mark.parametrize(("kind", "first"), [("float32", 2**24), ("float16", 2**11)])
def test_narrow_floats_that_merge_neighbours_are_refused(tmp_path, kind, first):
    names = ["anchor", "near", "far"]
    rows = np.array([[first, 1, 2], [1, 2, first - 1]], kind)
    frame = pd.DataFrame(rows, columns=names)
    np.save(tmp_path / "a.npy", rows)
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table(dict(zip(names, rows.T))), tmp_path / "parts" / "a.parquet")
    people = {**dict(zip(names, zip(*SAID[:2]))), "participant": rows[:, 0]}
    for source in (frame, pl.DataFrame(dict(zip(names, rows.T.astype("f4")))) if kind == "float32" else frame,
                   tmp_path / "a.npy", tmp_path / "parts", people):  # fmt: skip
        assert "lose their last digits" in refusal(source)
    with pytest.raises(FileFormatError, match="lose their last digits"):
        open_blocks(tmp_path / "parts")
    pq.write_table(pa.table(dict(zip(names, rows.T.astype(int)))), tmp_path / "parts" / "b.parquet")
    assert "a.parquet: column 'anchor': numbers of this size" in refusal(tmp_path / "parts")
    with pytest.raises(ValueError, match="lose their last digits"):
        Comparisons(rows, n_objects=2**25)
    assert len(read_comparisons(frame - 1, on_missing="drop").comparisons) == 2


def test_weights_as_text_in_one_part_and_numbers_in_another_are_refused_alike(tmp_path, client_here):
    for name, weight in (("a", ["1", "2"]), ("b", [1, 2])):
        table = pa.table({**dict(zip(("anchor", "near", "far"), zip(*SAID[:2]))), "weight": weight})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    assert "column 'weight': the files hold it as different types" in refusal(tmp_path)
    for read in (open_blocks, lambda path: by_cluster(path, client_here)):
        with pytest.raises(FileFormatError, match=r"column 'weight': some parts hold it as text"):
            read(str(tmp_path))


@pytest.mark.parametrize("width", [3, 4])
def test_integers_in_memory_mean_what_they_mean_in_a_file(tmp_path, width):
    rows = np.array([[0, 1, 2, 3], [1, 2, 3, 4], [3, 1, 0, 2]])[:, :width]
    np.save(tmp_path / "a.npy", rows)
    file = read_comparisons(tmp_path / "a.npy")
    for source in (rows, rows.tolist()):
        read = read_comparisons(source)
        assert read.kind == file.kind == as_comparisons(source).kind
        assert said(read.comparisons) == said(file.comparisons)


def test_truth_values_are_answers_in_matlab_as_in_numpy(tmp_path):
    arrays = {"triplets": np.array([[1, 2, 3], [2, 3, 4], [3, 1, 4]]), "response": np.array([True, False, True])}
    np.savez(tmp_path / "a.npz", **arrays)
    savemat(tmp_path / "a.mat", arrays)
    expected = [("1", "2", "3"), ("2", "4", "3"), ("3", "1", "4")]
    for name in ("a.npz", "a.mat"):
        assert said(read_comparisons(tmp_path / name).comparisons) == expected, name


def test_the_package_can_be_run():
    done = subprocess.run([sys.executable, "-m", "nearer", "--version"], capture_output=True, text=True, check=True)
    assert "nearer" in done.stdout


@pytest.mark.parametrize("orient", ["index", "columns"])
def test_names_of_rows_in_json_are_told_to_be_left_out(tmp_path, orient):
    frame = pd.DataFrame(SAID, columns=["anchor", "near", "far"])
    frame.to_json(tmp_path / "a.json", orient=orient)
    assert "names of its rows" not in read_comparisons(tmp_path / "a.json").understood
    frame.index = ["anna", "ben", "carl", "dora"]
    frame.to_json(tmp_path / "a.json", orient=orient)
    read = read_comparisons(tmp_path / "a.json")
    assert said(read.comparisons) == SAID
    assert "the names of its rows left out: 'anna', 'ben', 'carl', ..." in read.understood


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "utf16.tsv"])
@pytest.mark.parametrize("cell", ['"Bob" said', '"" said', '"Bob said ""hi""" now'])
def test_text_after_a_closing_quotation_mark_is_refused(tmp_path, name, cell):
    content = f"anchor\tnear\tfar\nBob said\tflute\tdrum\n{cell}\tdrum\tflute\nharp\tflute\tdrum\n"
    data = content.encode("utf-16" if name == "utf16.tsv" else "utf-8")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert f"{name}, line 3: text follows the quotation mark that closes a cell" in refusal(tmp_path / name)
    table = pd.read_csv(io.StringIO(content), sep="\t", quoting=3)  # as the message says
    assert set(read_comparisons(table).comparisons.labels) >= {cell, "Bob said"}


@pytest.mark.parametrize("cell", ['say "hi"', '"say ""hi"" twice"', '"a,b" ', '5" disk'])
def test_quotation_marks_that_are_in_order_are_read(tmp_path, cell):
    (tmp_path / "a.csv").write_text(f"anchor,near,far\n{cell},flute,drum\n{cell},drum,flute\n")
    read = read_comparisons(tmp_path / "a.csv")
    assert next(csv.reader([cell]))[0] in read.comparisons.labels.tolist()


def test_a_mark_at_the_edge_of_what_is_read_at_once_is_seen():
    from nearer.io.text import _Watched

    for text, doubtful in (('a,"b" c,d\n', True), ('a,"b","c"\n', False), ('"a ""b"" c",d\n', True), ("a,b\n", False)):
        for size in range(1, 6):
            watched = _Watched(io.BytesIO(text.encode()), ",")
            while watched.read(size):
                pass
            assert watched.doubtful == doubtful


def test_blanks_within_quotes_stay_where_blanks_separate(tmp_path):
    rows = ['"big  oboe"   flute   drum', '"big oboe"   drum   flute', "  harp   drum   flute  "]
    (tmp_path / "a.txt").write_text("\n".join(["anchor   near   far", *rows]) + "\n")
    read = read_comparisons(tmp_path / "a.txt")
    assert said(read.comparisons) == [
        ("big  oboe", "flute", "drum"), ("big oboe", "drum", "flute"), ("harp", "drum", "flute"),
    ]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_blanks_before_cells_in_quotes_are_no_part_of_them(tmp_path, delimiter):
    rows = [
        ["oboe", f"flute{delimiter} big", "drum"],
        ["drum", "oboe", f'say{delimiter} "hi"'],
        ["gong", "oboe", "drum"],
    ]
    cells = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(f"{delimiter} ".join(row) for row in [["anchor", "near", "far"], *cells]))
    read = read_comparisons(tmp_path / "a.csv")
    assert said(read.comparisons) == list(map(tuple, rows))
    assert "blanks before cells in quotes left out" in read.understood


def test_names_that_a_spreadsheet_turned_into_dates_or_truths_are_told(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    day = datetime.datetime(2024, 3, 1)
    for name, near in (("near", [day, "SEPT2", "DEC1"]), ("near", [True, "SEPT2", "DEC1"]), ("near", [day, day, day])):
        book = openpyxl.Workbook()
        for row in [["anchor", name, "far", "when", "ok"], *([a, b, "x", day, True] for a, b in zip("abc", near))]:
            book.active.append(row)
        book.save(tmp_path / "a.xlsx")
        alarms = read_comparisons(tmp_path / "a.xlsx").alarms
        told = [alarm for alarm in alarms if "the spreadsheet keeps" in alarm]
        assert len(told) == 1, alarms
        assert told[0].startswith("column near: ")


HEADS = {
    "anchor,near,far\na,b,c,\nb,c,a,\nc,a,b,\n": "each row ends with a delimiter",
    "anchor,near,far,\na,b,c\nb,c,a\nc,a,b\n": "the header ends with a delimiter",
    "   \n\t\nanchor,near,far\na,b,c\nb,c,a\nc,a,b\n": "3 triplets",
    "anchor,near,far\na,b,c\nb,c,a\nc,a,b\nEND OF FILE\n": "1 line END OF FILE left out",
    'anchor,near,far\n"a",b,c\nb,c,a\nc,a,b\n"END OF FILE"\n': "1 line END OF FILE left out",
}


@pytest.mark.parametrize("content", HEADS)
def test_ends_of_lines_and_files_that_say_nothing_are_told(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    read = read_comparisons(tmp_path / "a.csv")
    assert said(read.comparisons) == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    assert HEADS[content] in read.understood


def test_a_cell_behind_the_last_name_far_down_is_refused(tmp_path):
    rows = ["a,b,c,", "b,c,a,"] * 300
    (tmp_path / "a.csv").write_text("\n".join(["anchor,near,far", *rows, "c,a,b,x"]) + "\n")
    assert "a.csv, line 602: a cell more than the header has names" in refusal(tmp_path / "a.csv")


def test_escape_characters_of_an_encoding_are_no_names(tmp_path):
    content = "anchor,near,far\n琴,b,c\nb,琴,c\n"
    (tmp_path / "a.csv").write_bytes(content.encode("iso2022_jp"))
    assert "a.csv, line 2, column 'anchor': " in (told := refusal(tmp_path / "a.csv"))
    assert "encoding='iso2022_jp'" in told
    read = read_comparisons(tmp_path / "a.csv", encoding="iso2022_jp")
    assert set(read.comparisons.labels) == {"琴", "b", "c"}


@pytest.mark.parametrize("several", ["flute;drum", "flute|drum", "flute, drum", "flute+drum", "flute / gong & harp"])
def test_several_names_in_one_cell_are_told(several):
    frame = pd.DataFrame([*SAID, ("oboe", several, "gong")], columns=["anchor", "near", "far"])
    assert any("is made of other names" in alarm for alarm in read_comparisons(frame).alarms)
    other = pd.DataFrame([*SAID, ("oboe", "salt & pepper", "gong")], columns=["anchor", "near", "far"])
    assert not read_comparisons(other).alarms


@pytest.mark.parametrize("cell", ["array(['flute'])", "{flute}", "{flute,}", "(missing)", "No data", "*", "skipped"])
def test_more_of_what_is_hardly_a_name_is_told(both, cell):
    for source in both(text("anchor,near,far", [*SAID, ("oboe", f'"{cell}"', "drum")])).values():
        alarms = " ".join(read_comparisons(source).alarms)
        assert "looks like a list" in alarms or "may stand for a missing cell" in alarms
