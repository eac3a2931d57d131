"""Every way to write a comparison gives what the arrays would."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json

import numpy as np
import pytest

from nearer.data import Comparisons
from nearer.io import FileFormatError, read_comparisons

NAMES = np.array(["ant", "bee", "cat", "dog"])
T = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3], [2, 3, 0]])
Q = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [1, 2, 0, 3]])


def csv_of(rows, header=None, delimiter=","):
    lines = [] if header is None else [delimiter.join(header)]
    return "\n".join(lines + [delimiter.join(map(str, row)) for row in rows]) + "\n"


@pytest.fixture
def save(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("header", [None, ("anchor", "near", "far"), ("Head", "Winner", "Loser"), ("i", "j", "k")])
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
def test_delimited_triplets(save, delimiter, header, bom):
    path = save("t.csv", bom + csv_of(NAMES[T], header, delimiter).encode())
    result = read_comparisons(path)
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.kind == "triplets"
    assert result.n_rows == 4
    assert ("no header: columns taken as anchor, near, far" in result.understood) == (header is None)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_and_missing_last_one(save, newline):
    text = csv_of(NAMES[T], ("anchor", "near", "far")).rstrip("\n").replace("\n", newline)
    assert read_comparisons(save("t.csv", text)).comparisons == Comparisons.from_triplets(T, labels=NAMES)


def test_columns_in_any_order_with_others_between(save):
    rows = [(n, "x", f, a) for a, n, f in NAMES[T]]
    result = read_comparisons(save("t.csv", csv_of(rows, ("near", "time", "far", "anchor"))))
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.columns == {"near": "near", "far": "far", "anchor": "anchor"}
    assert "columns not used: time" in result.understood


def test_quoted_cells_with_everything_inside(save):
    names = np.array(['a,"b"', "line\nbreak", "plain", "tab\there"])
    cells = [['"' + name.replace('"', '""') + '"' for name in row] for row in names[T]]
    result = read_comparisons(save("t.csv", csv_of(cells, ('"anchor"', '"near"', '"far"'))))
    order = np.argsort(names)
    assert result.comparisons.labels.tolist() == names[order].tolist()
    assert (result.comparisons.labels[result.comparisons.index] == names[T]).all()


def test_quadruplets_by_name_and_told(save):
    expected = Comparisons.from_quadruplets(Q, labels=NAMES)
    assert read_comparisons(save("q.csv", csv_of(NAMES[Q], ("i", "j", "l", "k")))).comparisons == expected
    shuffled = read_comparisons(save("s.csv", csv_of(NAMES[Q][:, [3, 0, 2, 1]], ("k", "i", "l", "j"))))
    assert shuffled.comparisons == expected
    with pytest.raises(FileFormatError, match="4 columns without names: which is what cannot be told"):
        read_comparisons(save("b.csv", csv_of(NAMES[Q])))
    bare = read_comparisons(save("b.csv", csv_of(NAMES[Q])), kind="quadruplets")
    assert bare.comparisons == expected
    assert "no header: columns taken as i, j, l, k" in bare.understood


ANSWERED = [
    ("words", ["a", "b", "a", "b"]),
    ("sides", ["left", "right", "Left", "RIGHT"]),
    ("ranks", ["first", "second", "First", "second"]),
    ("keys", ["ArrowLeft", "ArrowRight", "arrowleft", "arrowright"]),
    ("position", [1, 2, 1, 2]),
    ("columns", ["option_a", "option_b", "option_a", "option_b"]),
]


@pytest.mark.parametrize(("name", "answers"), ANSWERED, ids=[case[0] for case in ANSWERED])
def test_question_and_response(save, name, answers):
    rows = [(*row, answer) for row, answer in zip(NAMES[T], answers)]
    path = save("a.csv", csv_of(rows, ("anchor", "option_a", "option_b", "response")))
    expected = Comparisons.from_answers(T, [1, -1, 1, -1], labels=NAMES)
    result = read_comparisons(path)
    assert result.comparisons == expected
    assert ("read as positions: 1 = first, 2 = second option" in result.understood) == (name == "position")


ASKED = [
    ("sign", [1, -1, 1, -1], "holds '-1', '1'"),
    ("bool", ["True", "False", "true", "false"], "holds 'False', 'True', 'false', 'true'"),
    ("bool", ["yes", "no", "yes", "no"], "holds 'no', 'yes'"),
    ("bool", [1, 0, 1, 0], "holds '0', '1'"),
    ("index0", [0, 1, 0, 1], "holds '0', '1'"),
    ("f=left,j=right", ["f", "j", "f", "j"], "holds 'f', 'j'"),
]


@pytest.mark.parametrize(("told", "answers", "holds"), ASKED)
def test_responses_that_must_be_told(save, told, answers, holds):
    rows = [(*row, answer) for row, answer in zip(NAMES[T], answers)]
    path = save("a.csv", csv_of(rows, ("anchor", "option_a", "option_b", "response")))
    with pytest.raises(FileFormatError, match=f"column 'response': {holds}: cannot tell which option that is; say"):
        read_comparisons(path)
    assert read_comparisons(path, answers=told).comparisons == Comparisons.from_answers(T, [1, -1, 1, -1], labels=NAMES)


def test_one_value_alone_must_be_told(save):
    rows = [(*row, 1) for row in NAMES[T]]
    path = save("a.csv", csv_of(rows, ("anchor", "option_a", "option_b", "response")))
    with pytest.raises(FileFormatError, match="column 'response': holds '1': cannot tell"):
        read_comparisons(path)
    expected = Comparisons.from_triplets(T, labels=NAMES, details={"side": np.zeros(4, int)})
    assert read_comparisons(path, answers="index1").comparisons == expected


def test_answers_skipped_as_told_and_answers_that_are_missing(save):
    rows = [(*row, answer) for row, answer in zip(NAMES[[*T, *T]], ["f", "j", "=", "f", "", "timeout", "NA", "j"])]
    path = save("a.csv", csv_of(rows, ("anchor", "option_a", "option_b", "response")))
    result = read_comparisons(path, answers={"f": "a", "j": "b", "=": "skip"})
    assert result.comparisons == Comparisons.from_answers(T[[0, 1, 3, 3]], [1, -1, 1, -1], labels=NAMES)
    assert result.dropped == {"no answer": 3, "answer to be skipped": 1}
    assert "3 rows dropped: no answer (first at line 6)" in result.understood


def test_response_names_the_object_chosen(save):
    chosen = [row[1] if first else row[2] for row, first in zip(NAMES[T], [True, False, True, False])]
    rows = [(*row, answer) for row, answer in zip(NAMES[T], chosen)]
    expected = Comparisons.from_answers(T, [1, -1, 1, -1], labels=NAMES)
    for header in (("Center", "Left", "Right", "Answer"), ("head", "left", "right", "winner")):
        assert read_comparisons(save("a.csv", csv_of(rows, header))).comparisons == expected


def test_a_fourth_column_without_a_name_is_never_guessed(save):
    rows = [(*row, answer) for row, answer in zip(NAMES[T], [1, -1, 1, -1])]
    path = save("a.csv", csv_of(rows))
    with pytest.raises(FileFormatError, match=r"a\.csv: 4 columns without names: which is what cannot"):
        read_comparisons(path)
    expected = Comparisons.from_answers(T, [1, -1, 1, -1], labels=NAMES)
    for told in ({"kind": "answers"}, {"columns": "anchor,a,b,answer"}):
        result = read_comparisons(path, answers="sign", **told)
        assert result.comparisons == expected
        assert ("no header: columns taken as anchor, a, b, answer" in result.understood) == ("kind" in told)


def test_signed_counts_become_weights_and_zero_gives_nothing(save):
    rows = [(*row, answer) for row, answer in zip(NAMES[T], [3, -2, 0, 1])]
    result = read_comparisons(save("a.csv", csv_of(rows, ("i", "j", "k", "response"))), answers="sign")
    expected = Comparisons.from_answers(T, [[3, 0], [0, 2], [0, 0], [1, 0]], labels=NAMES)
    assert result.comparisons == expected
    assert result.comparisons.weights.tolist() == [3, 2, 1]
    assert "1 undecided answer (0) give no comparison" in result.understood


def test_votes_per_option(save):
    votes = np.array([[3, 1], [2, 2], [0, 0], [0, 4]])
    rows = [(*row, *vote) for row, vote in zip(NAMES[T], votes)]
    result = read_comparisons(save("v.csv", csv_of(rows, ("anchor", "option_a", "option_b", "votes_a", "votes_b"))))
    assert result.comparisons == Comparisons.from_answers(T, votes, labels=NAMES)
    assert result.kind == "votes"
    assert (
        "4 voted questions: 5 triplets over 4 objects, the first: ant is nearer to bee than to cat; "
        "1 question without votes give no comparison" in result.understood
    )


def test_quadruplet_answers_and_votes(save):
    header = ("i", "j", "l", "k")
    rows = [(*row, answer) for row, answer in zip(NAMES[Q], [1, -1, 1])]
    answered = read_comparisons(save("a.csv", csv_of(rows, (*header, "answer"))), answers="sign").comparisons
    assert answered == Comparisons.from_answers(Q, [1, -1, 1], labels=NAMES)
    rows = [(*row, 2, 1) for row in NAMES[Q]]
    voted = read_comparisons(save("v.csv", csv_of(rows, (*header, "votes_a", "votes_b")))).comparisons
    assert voted == Comparisons.from_answers(Q, [[2, 1]] * 3, labels=NAMES)


SETS = np.array([[0, 1, 2], [3, 1, 0], [2, 3, 1]])


@pytest.mark.parametrize("how", ["object", "from 0", "from 1", "letter"])
@pytest.mark.parametrize("role", ["odd", "central"])
def test_sets_of_three(save, how, role):
    spots = np.array([0, 2, 1])
    picked = SETS[np.arange(3), spots]
    cells = {"object": NAMES[picked], "from 0": spots, "from 1": spots + 1, "letter": np.array(list("abc"))[spots]}[how]
    rows = [(*row, cell) for row, cell in zip(NAMES[SETS], cells)]
    make = Comparisons.from_odd_one_out if role == "odd" else Comparisons.from_most_central
    result = read_comparisons(save("s.csv", csv_of(rows, ("a", "b", "c", role))))
    assert result.comparisons == make(SETS, picked, labels=NAMES)
    assert ("read as positions" in result.understood) == how.startswith("from")


def test_odd_and_the_two_others(save):
    rows = NAMES[SETS][:, [2, 0, 1]]
    result = read_comparisons(save("s.csv", csv_of(rows, ("odd", "a", "b"))))
    expected = Comparisons.from_odd_one_out(SETS, SETS[:, 2], labels=NAMES)
    assert result.comparisons == expected
    told = read_comparisons(save("n.csv", csv_of(rows)), columns="odd,a,b")
    assert told.comparisons == expected


def test_participants_and_weights(save):
    rows = [(*row, f"p{spot % 2}", 0.5 + spot) for spot, row in enumerate(NAMES[T])]
    path = save("w.csv", csv_of(rows, ("anchor", "near", "far", "Worker ID", "weight")))
    full = {"weights": [0.5, 1.5, 2.5, 3.5], "participants": np.array(["p0", "p1", "p0", "p1"])}
    result = read_comparisons(path)
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES, **full)
    assert "participant Worker ID, weight weight" in result.understood
    bare = read_comparisons(path, participant="", weight="").comparisons
    assert bare == Comparisons.from_triplets(T, labels=NAMES)
    named = read_comparisons(path, participant="weight", weight="").comparisons
    assert named.participants.tolist() == ["0.5", "1.5", "2.5", "3.5"]


def test_participants_numbers_and_gaps(save):
    rows = [(*row, spot) for spot, row in enumerate(NAMES[T])]
    numbered = read_comparisons(save("n.csv", csv_of(rows, ("anchor", "near", "far", "puid")))).comparisons
    assert numbered.participants.dtype.kind == "i"
    rows[2] = (*rows[2][:3], "")
    result = read_comparisons(save("g.csv", csv_of(rows, ("anchor", "near", "far", "puid"))))
    assert result.comparisons.participants.tolist() == ["0", "1", "unknown", "3"]
    assert "1 answer without a participant put under 'unknown'" in result.understood


def test_columns_told_in_every_way(save):
    path = save("x.csv", csv_of(NAMES[T], ("image1", "image2", "image3")))
    expected = Comparisons.from_triplets(T, labels=NAMES)
    for columns in (
        {"anchor": "image1", "near": "image2", "far": "image3"},
        {"anchor": 1, "near": 2, "far": 3},
        "anchor=image1,near=image2,far=image3",
        "anchor,near,far",
        ["head", "winner", "loser"],
    ):
        assert read_comparisons(path, columns=columns, header=True).comparisons == expected
    wide = save("w.csv", csv_of([("7", *row) for row in NAMES[T]]))
    assert read_comparisons(wide, columns="-,anchor,near,far").comparisons == expected


def test_header_told(save):
    path = save("t.csv", csv_of(NAMES[T], ("left", "right", "head")))
    taken_as_data = read_comparisons(path, header=False).comparisons
    assert len(taken_as_data) == 5
    assert "left" in taken_as_data.labels


def test_numbers_0_to_n_are_object_numbers(save):
    result = read_comparisons(save("t.csv", csv_of(T, ("anchor", "near", "far"))))
    assert result.comparisons == Comparisons.from_triplets(T)
    assert result.comparisons.labels is None
    assert "names of objects" not in result.understood


def test_numbers_from_1_are_names_unless_told(save):
    path = save("t.csv", csv_of(T + 1))
    result = read_comparisons(path)
    assert result.comparisons == Comparisons.from_triplets(T, labels=["1", "2", "3", "4"])
    assert "the numbers 1 to 4 are names of objects" in result.understood
    told = read_comparisons(path, index_base=1)
    assert told.comparisons == Comparisons.from_triplets(T, labels=["1", "2", "3", "4"])
    assert "names of objects" not in told.understood
    rest = read_comparisons(path, index_base=1, n_objects=6).comparisons
    assert rest == Comparisons.from_triplets(T, labels=["1", "2", "3", "4", "5", "6"])
    gap = read_comparisons(save("g.csv", csv_of([[1, 2, 5], [5, 1, 2]])), index_base=1).comparisons
    assert gap == Comparisons.from_triplets([[0, 1, 4], [4, 0, 1]], labels=["1", "2", "3", "4", "5"])


def test_sparse_numbers_are_names_in_numeric_order(save):
    ids = np.array([0, 9, 10, 100])
    result = read_comparisons(save("t.csv", csv_of(ids[T])))
    assert result.comparisons == Comparisons.from_triplets(T, labels=["0", "9", "10", "100"])
    assert "0 to 100 (with gaps)" in result.understood
    huge = np.array([0, 9, 10, 10**15])
    assert read_comparisons(save("h.csv", csv_of(huge[T]))).comparisons.labels.tolist()[-1] == str(10**15)
    assert read_comparisons(save("n.csv", csv_of(ids[T])), n_objects=101).comparisons == Comparisons.from_triplets(
        ids[T], n_objects=101
    )


def test_numbers_with_a_decimal_point_and_runs_of_blanks(save):
    text = "\n".join("  ".join(f"{cell:.6e}" for cell in row) for row in T)
    result = read_comparisons(save("ascii.txt", "   " + text.replace("\n", "\n   ")))
    assert result.comparisons == Comparisons.from_triplets(T)
    assert "whitespace-separated" in result.understood
    assert "decimal point" in result.understood


def test_leading_zeros_are_text(save):
    names = np.array(["000", "001", "002", "010"])
    assert read_comparisons(save("t.csv", csv_of(names[T]))).comparisons.labels.tolist() == names.tolist()


def test_labels_told_fix_order_and_objects(save):
    order = ["dog", "cat", "emu", "bee", "ant"]
    result = read_comparisons(save("t.csv", csv_of(NAMES[T])), labels=order)
    expected = Comparisons.from_labels_table(NAMES[T], labels=order)
    assert result.comparisons == expected
    numbers = read_comparisons(save("n.csv", csv_of(T)), labels=NAMES).comparisons
    assert numbers == Comparisons.from_triplets(T, labels=NAMES)
    # labels that are numbers are names, in any carrier, unless told that numbers count them
    turned = read_comparisons(save("n.csv", csv_of(T)), labels=["3", "2", "1", "0"]).comparisons
    assert turned == Comparisons.from_triplets(3 - T, labels=["3", "2", "1", "0"])
    frame = dict(zip(("anchor", "near", "far"), T.T))
    assert read_comparisons(frame, labels=["3", "2", "1", "0"], n_objects=4).comparisons == turned
    counted = read_comparisons(save("n.csv", csv_of(T)), labels=["3", "2", "1", "0"], index_base=0).comparisons
    assert counted == Comparisons.from_triplets(T, labels=["3", "2", "1", "0"])


def test_blanks_after_each_delimiter_are_left_out_and_told(save):
    text = "anchor, near, far\n" + "\n".join(", ".join(row) for row in NAMES[T])
    result = read_comparisons(save("t.csv", text))
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert "blanks after the delimiter left out in 2 columns" in result.understood


def test_names_that_differ_by_case_blanks_or_unicode_form_are_told_and_joined_on_request(save):
    rows = [("oboe", "café", "drum"), ("Oboe", "drum ", "cafe\u0301"), ("drum", "oboe", "café")]
    path = save("t.csv", csv_of(rows, ("anchor", "near", "far")))
    apart = read_comparisons(path)
    assert apart.comparisons.n_objects == 6
    assert apart.alarms == (
        "3 names written in more than one way, by case, blanks, invisible characters, quotes, Unicode form or "
        "the form of a number: "
        "'Oboe'/'oboe', 'cafe\u0301'/'café', 'drum'/'drum '; they are taken as different objects, "
        "say fold_names=True to join them",
    )
    joined = read_comparisons(path, fold_names=True)
    assert joined.alarms == ()
    assert joined.comparisons.n_objects == 3
    # oboe café drum / oboe drum café / drum oboe café
    spelled = joined.comparisons.labels[joined.comparisons.index]
    assert (spelled[0, 0], spelled[0, 1], spelled[0, 2]) == (spelled[1, 0], spelled[1, 2], spelled[1, 1])
    assert (spelled[2, 0], spelled[2, 1], spelled[2, 2]) == (spelled[0, 2], spelled[0, 0], spelled[0, 1])


def test_a_header_repeated_among_the_rows_is_dropped(save):
    text = csv_of(NAMES[T], ("anchor", "near", "far"))
    result = read_comparisons(save("t.csv", text + text))
    assert result.comparisons == Comparisons.from_triplets([*T, *T], labels=NAMES)
    assert result.dropped == {"header repeated": 1}
    assert "1 row dropped: header repeated (at line 6)" in result.understood


def test_missing_words_are_exact(save):
    rows = [("Na", "na", "none"), ("NONE", "Null", "Na"), ("NA", "N/A", "nan")]
    result = read_comparisons(save("t.csv", csv_of(rows, ("anchor", "near", "far"))))
    assert len(result.comparisons) == 2
    assert result.dropped == {"no objects": 1}
    kept = read_comparisons(save("t.csv", csv_of(rows, ("anchor", "near", "far"))), keep_na=True)
    assert len(kept.comparisons) == 3
    assert {"NA", "N/A", "nan"} <= set(kept.comparisons.labels)
    known = ["Na", "na", "none", "NONE", "Null", "NA", "N/A", "nan"]
    assert len(read_comparisons(save("t.csv", csv_of(rows, ("anchor", "near", "far"))), labels=known).comparisons) == 3


def test_row_names_of_r_and_further_header_rows_of_qualtrics(save):
    expected = Comparisons.from_triplets(T, labels=NAMES)
    numbered = [(f'"{spot + 1}"', *row) for spot, row in enumerate(NAMES[T])]
    text = csv_of([('"anchor"', '"near"', '"far"'), *numbered])
    assert read_comparisons(save("r.csv", text)).comparisons == expected
    imports = [f'"{{""ImportId"":""QID{spot}""}}"' for spot in range(3)]
    rows = [("Which is it?", "The nearer", "The farther"), imports, *NAMES[T]]
    result = read_comparisons(save("q.csv", csv_of(rows, ("anchor", "near", "far"))))
    assert result.comparisons == expected
    assert "2 rows dropped: further header row (first at line 2)" in result.understood


def test_rankings_in_order_and_first_chosen(save):
    ranked = np.array([[0, 1, 2, 3], [3, 2, 0, 1]])
    header = ("query", "rank_1", "rank_2", "rank_3")
    full = read_comparisons(save("r.csv", csv_of(NAMES[ranked], header)))
    assert full.comparisons == Comparisons.from_rankings(ranked[:, 0], ranked[:, 1:], labels=NAMES)
    assert full.kind == "rankings"
    rows = [(*row, 2, "False") for row in NAMES[ranked]]
    header = ("query", "reference_1", "reference_2", "reference_3", "n_select", "is_ranked")
    some = read_comparisons(save("s.csv", csv_of(rows, header))).comparisons
    assert some == Comparisons.from_rankings(ranked[:, 0], ranked[:, 1:], k=2, ordered=False, labels=NAMES)


def test_the_best_name_for_participants_wins_and_is_told(save):
    rows = [(*row, f"u{spot}", f"p{spot % 2}") for spot, row in enumerate(NAMES[T])]
    result = read_comparisons(save("p.csv", csv_of(rows, ("anchor", "near", "far", "user", "PROLIFIC_PID"))))
    assert result.comparisons.participants.tolist() == ["p0", "p1", "p0", "p1"]
    assert "participant read from 'PROLIFIC_PID', not from 'user'" in result.understood


def test_standard_input(monkeypatch):
    text = csv_of(NAMES[T], ("anchor", "near", "far")) + "ant,ant,bee\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    result = read_comparisons("-")
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.path == "-"
    assert result.understood.startswith("standard input: comma-separated, header anchor/near/far: 4 triplets")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\nc,d\n")))
    with pytest.raises(FileFormatError, match=r"^standard input, line 1: cannot split 'a,b'"):
        read_comparisons("-")


@pytest.mark.parametrize("ending", [".csv", ".json", ".jsonl"])
def test_compressed_standard_input_is_known_by_its_first_bytes(monkeypatch, ending):
    records = [dict(zip(("anchor", "near", "far"), row)) for row in NAMES[T].tolist()]
    text = {
        ".csv": csv_of(NAMES[T], ("anchor", "near", "far")),
        ".json": json.dumps(records),
        ".jsonl": "\n".join(map(json.dumps, records)),
    }[ending]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(text.encode()))))
    result = read_comparisons("-")
    assert result.format == {".csv": "table", ".json": "json", ".jsonl": "jsonl"}[ending]
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.understood.startswith("standard input: ")


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"', "sep=;;;"])
def test_the_line_by_which_excel_is_told_the_delimiter(save, line):
    text = csv_of(NAMES[T], ("anchor", "near", "far")).replace(",", ";")
    result = read_comparisons(save("t.csv", f"{line}\r\n{text}ant;ant;bee\n"))
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert "semicolon-separated" in result.understood
    assert "(at line 7)" in result.understood
    bare = csv_of(NAMES[T]).replace(",", "\t")
    assert read_comparisons(save("b.csv", f"sep=\t\n{bare}")).comparisons == result.comparisons


@pytest.mark.parametrize("column", ["anchor", "remark"])
def test_a_cell_longer_than_python_takes_by_itself(save, column):
    long = "x" * 200_000
    names = ("anchor", "near", "far", "remark")
    rows = [("ant", "bee", "cat", ""), (*("cat", "bee", "ant"), "")]
    rows[1] = tuple(long if name == column else cell for name, cell in zip(names, rows[1]))
    comparisons = read_comparisons(save("t.csv", csv_of(rows, names))).comparisons
    assert comparisons.labels[comparisons.index].tolist() == [list(row[:3]) for row in rows]
    assert csv.field_size_limit() == 131_072


def test_degenerate_rows_are_dropped_counted_and_placed(save):
    rows = [*NAMES[T], ("ant", "ant", "bee"), ("ant", "bee", "ant"), ("ant", "bee", "bee")]
    result = read_comparisons(save("music.csv", csv_of(rows, ("anchor", "near", "far"))))
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.dropped == {"an object cannot be compared with itself": 2, "near and far are the same object": 1}
    assert result.understood == (
        "music.csv: comma-separated, header anchor/near/far: 4 triplets over 4 objects, "
        "the first: ant is nearer to bee than to cat; "
        "2 rows dropped: an object cannot be compared with itself (first at line 6); "
        "1 row dropped: near and far are the same object (at line 8)"
    )


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("anchor,near,far", "oboe,flute,drum", "oboe is nearer to flute than to drum"),
        ("far,anchor,near", "drum,oboe,flute", "oboe is nearer to flute than to drum"),
        ("i,j,l,k", "oboe,flute,drum,oboe", "oboe and flute are nearer to each other than drum and oboe"),
        ("cue,left,right,response", "oboe,drum,flute,right", "oboe is nearer to flute than to drum"),
        ("a,b,c,odd", "oboe,drum,flute,drum", "oboe is nearer to flute than to drum"),
        ("anchor,near,far", "17,4,23", "17 is nearer to 4 than to 23"),
        ("anchor,near,far,weight", "oboe,flute,drum,70.5\ndrum,oboe,flute,55", "oboe is nearer to flute than to drum"),
    ],
)
def test_what_the_first_row_says_is_said(save, header, row, said):
    result = read_comparisons(save("t.csv", f"{header}\n{row}\n"))
    assert f", the first: {said}" in result.understood
    assert ("weight weight (55 to 70.5)" in result.understood) == ("weight" in header)


def test_lines_are_counted_as_an_editor_does(save):
    text = 'anchor,near,far\n\n"a\nb",c,d\n\nx,x,c\n'
    assert "(at line 6)" in read_comparisons(save("t.csv", text)).understood


def test_empty_rows_are_skipped_and_told(save):
    text = csv_of(NAMES[T], ("anchor", "near", "far")) + ",,\n,,\n"
    result = read_comparisons(save("t.csv", text))
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.dropped == {"no objects": 2}


def test_empty_cells_dropped_on_request_take_their_labels_along(save):
    text = csv_of([*NAMES[T], ("zebra", "", "ant")], ("anchor", "near", "far"))
    result = read_comparisons(save("t.csv", text), on_missing="drop")
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert result.dropped == {"missing cell": 1}


def test_trailing_delimiter(save):
    text = "\n".join(",".join(row) + "," for row in NAMES[T])
    assert read_comparisons(save("t.csv", text)).comparisons == Comparisons.from_triplets(T, labels=NAMES)


def test_encodings_and_compression(save):
    names = np.array(["Ärger", "Ölüm", "ça", "été"])
    order = np.argsort(names)
    text = csv_of(names[T], ("anchor", "near", "far"))
    expected = names[T].tolist()
    records = [dict(zip(("anchor", "near", "far"), row)) for row in expected]
    for name, content, options in (
        ("latin.csv", text.encode("latin-1"), {"encoding": "latin-1"}),
        ("utf16.csv", text.encode("utf-16"), {}),
        ("utf32.csv", text.encode("utf-32"), {}),
        ("utf32be.csv", codecs.BOM_UTF32_BE + text.encode("utf-32-be"), {}),
        ("packed.csv.gz", gzip.compress(text.encode()), {}),
        ("packed.json.gz", gzip.compress(json.dumps(expected).encode()), {"header": False}),
        ("packed.jsonl.gz", gzip.compress("\n".join(map(json.dumps, expected)).encode()), {"header": False}),
        ("packed.ndjson.bz2", bz2.compress("\n".join(map(json.dumps, records)).encode()), {}),
    ):
        comparisons = read_comparisons(save(name, content), **options).comparisons
        assert comparisons.labels.tolist() == names[order].tolist()
        assert comparisons.labels[comparisons.index].tolist() == expected


def test_facts_are_plain_values(save):
    facts = read_comparisons(save("t.csv", csv_of(T))).facts()
    assert json.loads(json.dumps(facts))["n_comparisons"] == 4


def test_blocks_join_across_boundaries(save, monkeypatch):
    rng = np.random.default_rng(0)
    names = np.array([f"name{number}" for number in range(50)])
    index = np.array([rng.permutation(50)[:3] for _ in range(3000)])
    expected = Comparisons.from_labels_table(names[index])
    text = csv_of(names[index], ("anchor", "near", "far"))
    monkeypatch.setattr("nearer.io.text._SCAN_BYTES", 1000)
    monkeypatch.setattr("nearer.io.text._BLOCK_BYTES", 1024)
    assert read_comparisons(save("t.csv", text)).comparisons == expected
    assert read_comparisons(save("b.csv", text + "\n" * 9000)).comparisons == expected
    # With a quotation mark the file is read as a stream.
    lines = text.splitlines()
    lines[2000] = ",".join(f'"{cell}"' for cell in lines[2000].split(","))
    assert read_comparisons(save("q.csv", "\n".join(lines))).comparisons == expected


def test_header_of_numpy_savetxt(tmp_path):
    np.savetxt(tmp_path / "t.txt", T, fmt="%d", header="anchor near far")
    result = read_comparisons(tmp_path / "t.txt")
    assert result.comparisons == Comparisons.from_triplets(T)
    assert "header anchor/near/far" in result.understood


def test_labels_that_first_occur_late_and_columns_of_many_texts(save, monkeypatch):
    monkeypatch.setattr("nearer.io.text._BLOCK_BYTES", 512)
    names = np.array(["a", "b", "c", "d", "e"])
    index = np.array([[0, 1, 2]] * 500 + [[3, 0, 4], [4, 3, 1]] + [[2, 1, 0]] * 500)
    rows = [(*row, f"person{spot}") for spot, row in enumerate(names[index])]
    comparisons = read_comparisons(save("t.csv", csv_of(rows, ("anchor", "near", "far", "participant")))).comparisons
    people = np.array([row[3] for row in rows])
    assert comparisons == Comparisons.from_triplets(index, labels=names, participants=people)
