"""What is said about a file is followed or refused, never passed over."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from nearer.io import read_comparisons

ROWS = [("a", "b", "c", 1.0), ("b", "c", "a", 2.0), ("c", "a", "b", 1.0)]
FRAME = pd.DataFrame(ROWS, columns=["anchor", "near", "far", "seconds"])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("a.csv", index=False)
    FRAME.to_parquet("a.parquet", index=False)
    FRAME.to_json("a.jsonl", orient="records", lines=True)
    numbers = np.array([[0, 1, 2], [1, 2, 0]])
    np.savez("a.npz", triplets=numbers)
    np.save("a.npy", numbers)
    (tmp_path / "rows.json").write_text(json.dumps(numbers.tolist()))
    (tmp_path / "columns.json").write_text(json.dumps({name: list(FRAME[name]) for name in ("anchor", "near", "far")}))
    return tmp_path


@pytest.mark.parametrize("source", ["a.parquet", "a.jsonl", "a.npz", "a.npy", "rows.json", "columns.json", FRAME])
@pytest.mark.parametrize(
    "said", [{"delimiter": ","}, {"encoding": "latin-1"}, {"header": False}, {"header": True}, {"variable": "x"}]
)
def test_what_a_format_does_not_have_is_refused(files, source, said):
    ((option, value),) = said.items()
    text = isinstance(source, str) and "json" in source
    if (text and option == "encoding") or (text and source == "rows.json" and option == "header"):
        read_comparisons(source, **said)  # which these have
        return
    with pytest.raises(ValueError, match=rf"got {option}={value!r}|no array 'x'"):
        read_comparisons(source, **said)


def test_a_text_file_has_no_variable_and_a_frame_no_format(files):
    with pytest.raises(ValueError, match=r"a\.csv: got variable='x' for the format 'table', expected it for json"):
        read_comparisons("a.csv", variable="x")
    with pytest.raises(ValueError, match="format: got 'csv', expected none for what is no file"):
        read_comparisons(FRAME, format="csv")


@pytest.mark.parametrize("source", ["a.csv", "a.parquet", FRAME])
@pytest.mark.parametrize("answers", ["maybe", "sign", {"f": "a"}])
def test_answers_are_refused_where_no_column_holds_them(files, source, answers):
    with pytest.raises(
        ValueError, match=r"got answers=.*, but triplets \(anchor, near, far\) have no column of answers"
    ):
        read_comparisons(source, answers=answers)


def test_an_empty_delimiter_is_refused(files):
    with pytest.raises(ValueError, match="delimiter: got '', expected one character"):
        read_comparisons("a.csv", delimiter="")


@pytest.mark.parametrize("weight", ["", "far"])
@pytest.mark.parametrize("columns", ["weight=seconds", "anchor=anchor,near=near,far=far,weight=seconds"])
def test_a_column_said_twice_in_two_ways_is_refused(files, weight, columns):
    with pytest.raises(ValueError, match=f"weight: got {weight!r}, but columns says it is 'seconds'"):
        read_comparisons("a.csv", columns=columns, weight=weight)
    for same in ("seconds", 4):
        assert read_comparisons("a.csv", columns=columns, weight=same).comparisons.weights.tolist() == [1, 2, 1]


@pytest.mark.parametrize("option", ["keep_na", "fold_names", "header"])
@pytest.mark.parametrize("value", ["no", 1, []])
def test_no_truth_value_counts_as_true(files, option, value):
    with pytest.raises(ValueError, match=rf"^{option}: got .*, expected True"):
        read_comparisons("a.csv", **{option: value})
    assert len(read_comparisons("a.csv", **{option: np.True_}).comparisons) == 3


def test_an_index_base_of_numpy_is_taken(files):
    assert read_comparisons("a.npy", index_base=np.int64(0)).comparisons.n_objects == 3
    with pytest.raises(ValueError, match="index_base: got True, expected 0 or 1"):
        read_comparisons("a.npy", index_base=True)


def test_known_names_are_not_called_unknown(files):
    with pytest.raises(ValueError, match="no column for i, j, l, k of quadruplets") as refused:
        read_comparisons("a.csv", kind="quadruplets")
    assert "none of these names is known" not in str(refused.value)


def test_one_is_not_several():
    comparisons = read_comparisons(pd.DataFrame(ROWS[:1]), columns="anchor,near,far,-").comparisons
    assert repr(comparisons) == "1 triplet over 3 objects"
    assert str(comparisons.check()).startswith("1 triplet over 3 objects\n")
