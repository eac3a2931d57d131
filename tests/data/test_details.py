"""Details of an answer travel with its row."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nearer
from nearer import Comparisons, OrdinalEmbedding
from nearer.data import Details, FileFormatError
from nearer.io import open_blocks, read_comparisons, write_comparisons

RNG = np.random.default_rng(5)
T = np.array([RNG.permutation(8)[:3] for _ in range(40)])
DETAILS = {
    "side": RNG.integers(-1, 3, 40),
    "seconds": np.where(RNG.random(40) < 0.2, np.nan, RNG.random(40) * 3),
    "order": np.append(-1, RNG.permutation(39)),
    "catch": RNG.random(40) < 0.2,
    "correct": RNG.integers(-1, 2, 40),
    "chosen_by": RNG.choice(["random", "=predictive", "unknown"], 40),
}


@pytest.fixture
def answers():
    people = RNG.choice(["ann", "bo"], 40)
    return Comparisons(T, labels=list("abcdefgh"), participants=people, details=DETAILS)


def values(comparisons, name):
    found = getattr(comparisons.details, name)
    return found.each() if name == "chosen_by" else found


def expect(comparisons, rows):
    for name, given in DETAILS.items():
        np.testing.assert_array_equal(values(comparisons, name), given[rows])


def test_they_stay_with_their_rows(answers):
    number = np.arange(40)
    expect(answers, number)
    expect(answers[5:20], number[5:20])
    expect(answers[number % 3 == 0], number[number % 3 == 0])
    expect(answers[[7, 7, 2]], [7, 7, 2])
    expect(answers.relabelled(list("hgfedcba")), number)
    expect(pickle.loads(pickle.dumps(answers)), number)
    expect(Comparisons.concat([answers[:9], answers[20:]]), np.r_[0:9, 20:40])
    train, test = answers.split(0.25, random_state=0)
    where = Comparisons(T, details={"order": number}).split(0.25, random_state=0)
    expect(train, where[0].details.order)
    expect(test, where[1].details.order)
    for part, own in zip(answers.folds(4, 1), Comparisons(T, details={"order": number}).folds(4, 1)):
        expect(part[1], own[1].details.order)
    assert answers.aggregate().details is None
    assert answers == Comparisons(T, labels=list("abcdefgh"), participants=answers.participants, details=DETAILS)
    assert answers != answers._with(details=None)


def test_degenerate_rows_take_theirs_along():
    rows = np.array([[0, 1, 2], [1, 1, 2], [2, 0, 1]])
    made = Comparisons(rows, on_degenerate="drop", details={"seconds": [1.0, 2.0, 3.0]})
    assert made.details.seconds.tolist() == [1.0, 3.0]


def test_what_some_lack_is_unknown_in_the_whole(answers):
    bare = Comparisons(T[:3], labels=list("abcdefgh"), participants=["cy"] * 3)
    both = Comparisons.concat([bare, answers])
    assert both.details.side[:3].tolist() == [-1] * 3
    assert np.isnan(both.details.seconds[:3]).all()
    assert both.details.order[:3].tolist() == [-1] * 3
    assert not both.details.catch[:3].any()
    assert values(both, "chosen_by")[:3].tolist() == ["unknown"] * 3
    expect(both[3:], np.arange(40))
    assert Comparisons.concat([bare, bare]).details is None


def test_turned_answers_have_no_known_side(answers):
    mask = np.arange(40) % 2 == 0
    turned = answers.flipped(mask)
    assert (turned.details.side[mask] == -1).all()
    assert (turned.details.correct[mask] == -1).all()
    np.testing.assert_array_equal(turned.details.side[~mask], DETAILS["side"][~mask])
    np.testing.assert_array_equal(turned.details.seconds, DETAILS["seconds"])


def test_answers_tell_the_side_for_nothing():
    made = Comparisons.from_answers(T[:4], [1, -1, -1, 1], details={"seconds": [1, 2, 3, 4]})
    assert made.details.side.tolist() == [0, 1, 1, 0]
    assert made.details.seconds.tolist() == [1, 2, 3, 4]
    again = Comparisons.from_answers(made, [False, False, True, True])
    assert again.details.side.tolist() == [1, 1, 0, 0]
    odd = Comparisons.from_odd_one_out(T[:2], T[[0, 1], [2, 0]], details={"order": [3, 4]})
    assert odd.details.side.tolist() == [2, 2, 0, 0]
    assert odd.details.order.tolist() == [3, 3, 4, 4]
    ranked = Comparisons.from_rankings([0, 1], [[1, 2, 3], [0, 2, 3]], details={"seconds": [1.0, 2.0]})
    assert ranked.details.seconds.tolist() == [1.0] * 3 + [2.0] * 3
    votes = Comparisons.from_answers(T[:2], [[2, 1], [0, 3]], details={"seconds": [1.0, 2.0]})
    assert votes.details.seconds.tolist() == [1.0, 1.0, 2.0]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".npz"])
def test_written_and_read_they_are_the_same(answers, ending, tmp_path):
    path = tmp_path / f"answers{ending}"
    write_comparisons(path, answers)
    assert read_comparisons(path).comparisons == answers
    some = answers._with(details=Details(seconds=answers.details.seconds))
    write_comparisons(path, some, force=True)
    assert read_comparisons(path).comparisons == some


def test_a_model_keeps_them_and_its_bits_do_not_change(answers, tmp_path):
    model = OrdinalEmbedding(2, loss="ste", random_state=0).fit(answers)
    plain = OrdinalEmbedding(2, loss="ste", random_state=0).fit(answers._with(details=None))
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    model.save(tmp_path / "m.nearer")
    assert nearer.load(tmp_path / "m.nearer").comparisons_ == model.comparisons_
    assert model.comparisons_.details == answers.details


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"speed": [1.0] * 40}, "got 'speed', expected one of side, seconds"),
        ({"seconds": [1.0] * 3}, r"shape \(3,\) for 'seconds', expected numbers \(40,\)"),
        ({"seconds": [-1.0] * 40}, "'seconds' of row 0 is -1.0: expected a time of 0 or more"),
        ({"side": [0.5] * 40}, "'side' of row 0 is 0.5: expected the position"),
        ({"side": [300] * 40}, "'side' of row 0 is 300"),
        ({"order": [-2] * 40}, "'order' of row 0 is -2"),
        ({"catch": [2] * 40}, "'catch' of row 0 is 2: expected true or false"),
        ({"correct": ["yes"] * 40}, "dtype <U3"),
        ({"chosen_by": [None] * 40}, "row 0 has no entry"),
        (7, "got 7, expected a mapping"),
    ],
)
def test_wrong_details_are_refused(details, message):
    with pytest.raises(ValueError, match=message):
        Comparisons(T, details=details)


def read(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return read_comparisons(path, **options)


def test_a_unit_that_cannot_be_told_is_asked_for(tmp_path):
    text = "anchor,near,far,rt\na,b,c,90\nb,c,a,110\n"
    result = read(tmp_path, text)
    assert result.comparisons.details is None
    assert "column 'rt': may be seconds or milliseconds (the median is 100); not kept" in result.understood
    assert "columns={'seconds': 'rt'} or columns={'milliseconds': 'rt'}" in result.understood
    for told, factor in (("seconds", 1), ("milliseconds", 1e-3)):
        result = read(tmp_path, text, columns={told: "rt"})
        assert result.comparisons.details.seconds == pytest.approx([90 * factor, 110 * factor])
        assert result.columns == {"anchor": "anchor", "near": "near", "far": "far", told: "rt"}


def test_a_unit_that_the_times_tell_is_told(tmp_path):
    result = read(tmp_path, "anchor,near,far,rt\na,b,c,900\nb,c,a,1100\n")
    assert "taken as milliseconds, since the median is 1,000" in result.understood
    assert "is that right?" in read(tmp_path, "anchor,near,far,seconds\na,b,c,900\nb,c,a,1100\n").understood
    assert "is that right?" not in read(tmp_path, "anchor,near,far,seconds\na,b,c,9\nb,c,a,11\n").understood


@pytest.mark.parametrize(
    ("column", "cell"),
    [("rt", "fast"), ("rt", "-1"), ("trial", "warm-up"), ("trial", "1.5"), ("side", "up"), ("side", "1.5"),
     ("catch", "maybe"), ("correct", "2")],
)  # fmt: skip
def test_a_column_that_cannot_be_read_is_left_out_and_told_or_refused_if_asked_for(column, cell, tmp_path):
    text = f"anchor,near,far,{column}\na,b,c,1\nb,c,a,{cell}\n"
    result = read(tmp_path, text)
    assert result.comparisons.details is None
    assert f"column '{column}': '{cell}' is not" in result.understood
    assert "(line 3); not kept" in result.understood
    role = {"rt": "seconds", "trial": "order"}.get(column, column)
    with pytest.raises(FileFormatError, match=f"column '{column}': '{cell}' is not"):
        read(tmp_path, text, columns={role: column})


def test_words_that_name_details_are_no_sign_of_a_header(tmp_path):
    result = read(tmp_path, "order,catch,trial\ncatch,order,strategy\n")
    assert len(result.comparisons) == 2


def test_a_stream_says_what_it_does_not_keep(answers, tmp_path, caplog):
    path = tmp_path / "answers.parquet"
    write_comparisons(path, answers)
    with caplog.at_level("INFO", "nearer"):
        reader = open_blocks(path)
    assert any("not kept when read in blocks: side, seconds" in note for note in reader.notes)
    assert "2 participants (column 'participant')" in reader.notes
    assert "not kept when read in blocks" in caplog.text
    together = Comparisons.concat(list(reader.blocks(7)))
    assert together == answers._with(details=None)


def test_the_options_shown_beside_a_triplet_tell_the_side(tmp_path):
    text = "anchor,near,far,left,right\na,b,c,c,b\nb,c,a,c,a\n"
    assert read(tmp_path, text).comparisons.details.side.tolist() == [1, 0]
    result = read(tmp_path, text.replace("b,c,a,c,a", "b,c,a,d,a"))
    assert result.comparisons.details is None
    assert "column 'left' and column 'right' do not both show what is near (line 3), so no side is known" in (
        result.understood
    )
    assert read(tmp_path, text.replace("left,right", "left,side").replace("c,b\n", "c,2\n").replace("c,a\n", "c,1\n")
                ).comparisons.details.side.tolist() == [1, 0]  # fmt: skip
