"""What is written is read back the same; files appear whole or not at all."""

from __future__ import annotations

import csv
import os
import stat
import unicodedata

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearer.coordinates import read_embedding, write_embedding
from nearer.data import Comparisons, FileFormatError
from nearer.io import atomic_write, read_comparisons, write, write_comparisons
from nearer.io.text import guard, unguard
from nearer.registry import FORMATS

HOSTILE = [
    "<script>alert(1)</script>", '"quoted"', "two\nlines", "two\r\nlines\r", "🦊", "שלום", "=HYPERLINK(1)", "+1",
    "-1", "@cmd", "\tx", "\rx", "'=1", "''=1", "'plain", "a,b;c|d\te", " padded ", "NA", "null", "1e5", "a\u2028b",
]  # fmt: skip
T = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3], [2, 3, 0], [0, 3, 1]])
Q = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [1, 2, 0, 3], [0, 3, 1, 2]])
ROLLED = np.stack([np.roll(np.arange(len(HOSTILE)), shift) for shift in range(3)], axis=1)
HOSTILE_ROWS = Comparisons.from_triplets(ROLLED, labels=sorted(HOSTILE), participants=np.array(HOSTILE))
ENDINGS = [".tsv", *(entry.written[0] for entry in FORMATS.values() if entry.written)]

# Text that a CSV file can carry: no NUL, no lone surrogate; not blank, as labels must not be.
label = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12).filter(
    str.strip
)
# Names are compared in one Unicode form.
composed = label.map(lambda name: unicodedata.normalize("NFC", name)).filter(str.strip)
labels_of_objects = st.lists(composed, min_size=3, max_size=9, unique_by=str.strip)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(write, "_BLOCK", 2)


SETS = np.array([[0, 1, 2], [3, 1, 0], [2, 2, 1], [0, 3, 2]])
DETAILS = {
    "seconds": [0.1, np.nan, 1e-9, 30.0], "order": [3, -1, 0, 12], "side": [0, 1, -1, 2],
    "catch": [False, False, True, False], "correct": [1, 0, -1, -1], "chosen_by": ["random", "=x", "catch", "a b"],
}  # fmt: skip
ABOUT = {"participants": ["p1", "=p2", "p1", "ü"], "labels": ["ant", "bee", "cat", "dog"], "details": DETAILS}
DROP = ABOUT | {"on_degenerate": "drop"}
KINDS = {
    "triplets": Comparisons(T, weights=[0.1, 1 / 3, 2.0, 1e-300, 7.0], participants=["p1", "=p2", "p1", "ü", "x y"]),
    "quadruplets": Comparisons.from_quadruplets(Q), "hostile labels": HOSTILE_ROWS,
    "odd-one-out": Comparisons.from_odd_one_out(SETS, [2, 3, 1, 0], **DROP),
    "most-central": Comparisons.from_most_central(SETS, [1, 3, 2, 2], weights=[1, 2, 3, 4], **DROP),
    "rankings": Comparisons.from_rankings(range(4), [[1, 2, 3], [0, 2, 3], [0, 1, 3], [1, 0, 2]], k=2, **ABOUT),
    "answers": Comparisons.from_answers(SETS, [1, -1, 1, 1], **DROP),
    "votes": Comparisons.from_answers(SETS[[0, 1, 3]], [[3, 1], [0, 2], [1, 0]], weights=[1, 0.5, 2]),
    "checks": Comparisons.from_triplets(SETS, on_degenerate="drop"),
    "checks of pairs": Comparisons.from_quadruplets(Q, labels=list("abcd"), details={"catch": [0, 1, 0, 0]}),
    "several kinds": Comparisons.concat(
        [Comparisons.from_odd_one_out(SETS[:2], [2, 3], labels=ABOUT["labels"]), Comparisons(T, labels=ABOUT["labels"])]
    ),
}  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_every_kind_round_trip(tmp_path, ending, kind):
    comparisons = KINDS[kind]
    path = tmp_path / f"c{ending}"
    write_comparisons(path, comparisons)
    again = read_comparisons(path)
    assert again.comparisons == comparisons
    assert again.dropped == {}
    assert again.unused == ()
    write_comparisons(path, again.comparisons, force=True)
    assert read_comparisons(path).comparisons == comparisons


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=labels_of_objects, ending=st.sampled_from(ENDINGS), data=st.data())
def test_any_labels_round_trip(tmp_path, names, ending, data):
    order = st.permutations(range(len(names))).map(lambda order: order[:3])
    rows = np.array(data.draw(st.lists(order, min_size=1, max_size=6)))
    comparisons = Comparisons.from_triplets(rows, labels=names)
    path = tmp_path / f"c{ending}"
    write_comparisons(path, comparisons, force=True)
    again = read_comparisons(path).comparisons
    spelled = again.index.astype(str) if again.labels is None else again.labels[again.index]
    expected = comparisons.labels[rows]
    for at in range(3):  # blanks that begin every cell of a column are taken for padding
        if ending in (".csv", ".tsv", ".txt") and all(name.startswith(" ") for name in expected[:, at]):
            spelled[:, at], expected[:, at] = (np.char.lstrip(x[:, at].astype(str), " ") for x in (spelled, expected))
    assert spelled.tolist() == expected.tolist()


@pytest.mark.parametrize("names", ["dog ant cat bee emu", "1 2 3 4", "1 10 2 30", "0 1 2 3", None])
def test_parquet_and_npz_keep_labels_their_order_and_unseen_objects(tmp_path, caplog, names):
    comparisons = Comparisons(T, labels=names.split()) if names else Comparisons(T, n_objects=9)
    for ending in (".parquet", ".npz"):
        write_comparisons(tmp_path / f"c{ending}", comparisons)
        assert read_comparisons(tmp_path / f"c{ending}").comparisons == comparisons
    assert not caplog.records
    if comparisons.n_objects > 4:
        write_comparisons(tmp_path / "c.csv", comparisons)
        assert "in no comparison cannot be kept in this format" in caplog.text
    if names == "0 1 2 3":  # elsewhere texts 0 to n - 1 are the numbers of the objects
        write_comparisons(tmp_path / "c.csv", comparisons)
        assert read_comparisons(tmp_path / "c.csv").comparisons == Comparisons(T)


def test_csv_cells_are_safe_in_a_spreadsheet(tmp_path):
    write_comparisons(tmp_path / "c.csv", HOSTILE_ROWS)
    write_embedding(tmp_path / "e.csv", np.zeros((len(HOSTILE), 2)), sorted(HOSTILE))
    for name, texts in (("c.csv", slice(0, None)), ("e.csv", slice(0, 1))):
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            for row in list(csv.reader(file))[1:]:
                assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in row[texts])


@given(st.text(alphabet="'=+-@\t\r\nab＝", max_size=5))
def test_guard_is_undone(text):
    assert unguard(guard(text)) == text
    assert not guard(text).startswith(tuple("=+-@\t\r\n＝＋－＠"))


@pytest.mark.parametrize(("cells", "read"), [
    ("'=1,plain,b", ["=1", "b", "plain"]), ("'=1,a,b\n=1,a,b", ["'=1", "=1", "a", "b"]),
    ("'quoted',plain,b", ["'quoted'", "b", "plain"]), ("'=1,'a,b", ["'a", "=1", "b"]),
])  # fmt: skip
def test_guarded_files_are_recognised(tmp_path, cells, read):
    path = tmp_path / "c.csv"
    path.write_text(f"anchor,near,far\n{cells}\n")
    assert read_comparisons(path).comparisons.labels.tolist() == read


def test_refuses_to_write(tmp_path):
    for name, message in (("c.xlsx", r"got '.xlsx', expected one that can be written: .csv"), ("c", "without an end")):
        with pytest.raises(ValueError, match=message):
            write_comparisons(tmp_path / name, Comparisons(T))
    with pytest.raises(ValueError, match=r"label 1 is.*NUL"):
        write_embedding(tmp_path / "e.csv", np.zeros((2, 2)), ["x", "a\0b"])
    assert list(tmp_path.iterdir()) == []


# ---- embeddings


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    # blanks that begin every cell of a column are taken for padding
    names=st.lists(composed.filter(lambda name: name[0] != " "), min_size=1, max_size=6, unique=True),
    numbers=st.lists(st.floats(allow_infinity=False), min_size=18, max_size=18),
)
def test_embedding_round_trip(tmp_path, names, numbers):
    X = np.array(numbers).reshape(6, 3)[: len(names)]
    X[np.isnan(X).any(axis=1)] = np.nan
    write_embedding(tmp_path / "e.csv", X, names, force=True)
    again, labels = read_embedding(tmp_path / "e.csv")
    assert np.array_equal(again, X, equal_nan=True)
    is_count = names == [str(number) for number in range(len(names))]
    assert labels is None if is_count else labels.tolist() == names


def test_embedding_file_as_a_person_sees_it(tmp_path):
    path = tmp_path / "e.csv"
    write_embedding(path, np.array([[0.5, -1.0], [np.nan, np.nan], [1e-9, 3.0]]), ["ant", "=bee", 'c"at'])
    assert path.read_text() == 'label,x1,x2\nant,0.5,-1.0\n\'=bee,,\n"c""at",1e-09,3.0\n'


def test_coordinates_are_found_by_name(tmp_path):
    path = tmp_path / "e.csv"
    for text in ("x2;Name;X1\n5;a;1\n6;b;2\n", "y\tx\tid\n5\t1\ta\n6\t2\tb\n", "object,X1,x2\na,1,5\nb,2,6\n"):
        path.write_text(text)
        X, labels = read_embedding(path)
        assert X.tolist() == [[1, 5], [2, 6]]
        assert labels.tolist() == ["a", "b"]


def test_embedding_refusals(tmp_path):
    path = tmp_path / "e.csv"
    for X, labels, message in (
        (np.zeros(3), None, r"got shape \(3,\)"),
        (np.zeros((2, 2)), ["a"], "labels: got 1 labels for 2 objects"),
        ([[0.0, 0.0], [np.inf, 0.0]], None, "in row 1, expected finite numbers, or only NaN"),
        ([[0.0, 0.0], [np.nan, 0.0]], None, "in row 1, expected finite numbers, or only NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            write_embedding(path, X, labels)
    assert not path.exists()
    for content, message in (
        ("x1,x2\n1,1.5\n", "line 1: got the columns 'x1', 'x2', expected label, x1, x2, ... and no others"),
        ("label,x1,x2,group\na,1,2,3\n", "line 1: got the columns 'label', 'x1', 'x2', 'group', expected label, x1"),
        ("label,x1,x3\na,2,3\n", "line 1: got the columns 'label', 'x1', 'x3', expected label, x1"),
        ("label\na\n", "line 1: got the columns 'label', expected label, x1"),
        ("label,x1\na,1e400\n", "line 2, column 'x1': got '1e400', expected a number"),
        ("label,x1,x2\na,1,\n", r"line 2: got \[1.0, nan\], expected numbers, or only empty cells"),
    ):
        path.write_text(content)
        with pytest.raises(FileFormatError, match=message):
            read_embedding(path)


# ---- atomic_write


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_atomic_write_leaves_what_was_there_when_the_block_fails(tmp_path, error):
    path = tmp_path / "f.txt"
    for before in ([], [path]):
        with pytest.raises(error), atomic_write(path, force=True, mode="w") as file:
            file.write("half")
            raise error
        assert list(tmp_path.iterdir()) == before
        path.write_text("old")
    assert path.read_text() == "old"


def test_atomic_write_permissions(tmp_path):
    path, plain = tmp_path / "f.txt", tmp_path / "plain.txt"
    plain.touch()
    with atomic_write(path) as file:
        file.write(b"x")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    os.chmod(path, 0o640)
    with atomic_write(path, force=True) as file:
        file.write(b"y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_atomic_write_refusals(tmp_path):
    for path, error in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "f.txt", FileNotFoundError)):
        with pytest.raises(error), atomic_write(path):
            pass
    # A file that appears while we write is not replaced either.
    with pytest.raises(FileExistsError), atomic_write(tmp_path / "f") as file:
        file.write(b"mine")
        (tmp_path / "f").write_text("theirs")
    with pytest.raises(FileExistsError), atomic_write(tmp_path / "f"):
        pass
    assert (tmp_path / "f").read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_files_are_on_the_disk_before_they_get_their_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, name=name, real=real: (calls.append(name), real(*args))[1])
    with atomic_write(tmp_path / "x") as file:
        file.write(b"1")
    assert calls == ["fsync", "replace"]
