"""What was once read wrong in silence, each as a test: refused with a remedy that works, or read rightly."""

from __future__ import annotations

import ast
import unicodedata

import numpy as np
import pandas as pd
import pytest
from carriers import CARRIERS, Sheet

from nearer import OrdinalEmbedding
from nearer.data import Comparisons, as_comparisons
from nearer.io import FileFormatError, open_blocks, read_comparisons, write_comparisons

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


@pytest.mark.parametrize("header", ["stim,foil,pick", "Referenz,näher,ferner", "cue,c1,c2", "A,B,C"])
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
    assert len(read.comparisons) == 4
    assert set(read.comparisons.labels) == {"oboe", "flute", "drum", "gong", "harp"}


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


@pytest.mark.parametrize(
    ("one", "other"),
    [("oboe", "Oboe"), (unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")), ("a b", "a  b")],
)
def test_names_written_in_two_ways_are_told_and_joined_on_request(both, one, other):
    rows = [(one, "flute", "drum"), (other, "drum", "gong")]
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
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far", "participant", "weight"]).set_index(index)
    message = refusal(frame)
    assert f"no column for {index} of triplets" in message
    assert f"no column is left that could be the {index}" in message
    assert "columns=" not in message
    message = refusal(frame.assign(foil="bell"))
    others = {role: role for role in ("anchor", "near", "far") if role != index}
    assert remedy(message) == {**others, index: "foil"}


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
