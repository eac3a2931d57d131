"""Every opener gives the same table: names, cells, and places that a person finds again in the file."""

from __future__ import annotations

import json
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

from nearer import Layout
from nearer.data import Comparisons
from nearer.io import FileFormatError, read_comparisons

NAMES = ["anchor", "near", "far", "weight"]
ROWS = [["oboe", "flute", "drum", 1.0], ["größe", "x,y", "oboe", 2.0], ["drum", "oboe", "größe", 0.5]]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
SAYS = [row[:3] for row in ROWS]


def save_csv(path, frame, sep=",", encoding="utf-8"):
    frame.to_csv(path, index=False, sep=sep, encoding=encoding)


def save_json(path, frame):
    rows, columns = frame.to_dict("records"), frame.to_dict("list")
    path.write_text(json.dumps({"t.json": rows, "c.json": columns, "w.json": {"meta": "x", "rows": rows}}[path.name]))


def save_lines(path, frame):
    path.write_text("".join(json.dumps(row) + "\n\n" for row in frame.to_dict("records")))


def save_folder(path, frame):
    path.mkdir(exist_ok=True)
    frame[:2].to_parquet(path / "1.parquet", index=False)
    frame[2:].to_parquet(path / "2.parquet", index=False)


def arrays(frame):
    return {name: np.array(cells) for name, cells in frame.to_dict("list").items()}


def save_records(path, frame):
    kinds = [(name, column.dtype) for name, column in arrays(frame).items()]
    np.save(path, np.array(list(frame.itertuples(index=False, name=None)), dtype=kinds))


def save_mat(path, frame):
    columns = {
        name: column.astype(object if column.dtype.kind == "U" else float) for name, column in arrays(frame).items()
    }
    scipy.io.savemat(path, {name: column[:, None] for name, column in columns.items()})


def save_zip(path, frame):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/t.csv", frame.to_csv(index=False))


# File -> how it is written, and what the third row is called in messages.
FILES = {
    "t.csv": (save_csv, "line 4"), "t.tsv": (partial(save_csv, sep="\t"), "line 4"),
    "t.txt": (partial(save_csv, sep=";"), "line 4"), "t.dat": (partial(save_csv, sep="|"), "line 4"),
    "u.csv": (partial(save_csv, encoding="utf-16"), "line 4"),
    "t.xlsx": (lambda path, frame: frame.to_excel(path, index=False), "row 4"),
    "t.json": (save_json, "row 3"), "c.json": (save_json, "row 3"), "w.json": (save_json, "row 3"),
    "t.jsonl": (save_lines, "line 5"),
    "t.parquet": (lambda path, frame: frame.to_parquet(path, index=False, row_group_size=2), "row 3"),
    "parts": (save_folder, "2.parquet row 1"), "t.npz": (lambda path, frame: np.savez(path, **arrays(frame)), "row 3"),
    "r.npy": (save_records, "row 3"), "t.mat": (save_mat, "row 3"), "t.zip": (save_zip, "line 4"),
}  # fmt: skip


def save(path, rows=ROWS):
    FILES[path.name][0](path, pd.DataFrame(rows, columns=NAMES))
    return path


@pytest.fixture(params=FILES)
def file(request, tmp_path):
    return save(tmp_path / request.param)


def test_names_and_cells_are_the_same(file):
    made = read_comparisons(file).comparisons
    assert made.labels[made.index].tolist() == SAYS
    assert made.weights.tolist() == [1, 2, 0.5]


@pytest.mark.parametrize(
    ("cells", "column"), [(["oboe", "flute", "drum", -1.0], "weight"), (["a", "", "b", 1.0], "near")]
)
def test_a_bad_cell_is_named_by_file_row_and_column(file, cells, column):
    save(file, [*ROWS[:2], cells])
    with pytest.raises(FileFormatError, match=rf"{file.name}.*{FILES[file.name][1]}, column '{column}'"):
        read_comparisons(file)


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("parts", "t.zip")])
def test_a_format_is_known_by_content(name, tmp_path):
    plain = save(tmp_path / name).rename(tmp_path / "plain")
    delimiter = {"t.tsv": "\t", "t.txt": ";", "t.dat": "|"}.get(name)
    found = read_comparisons(plain, delimiter=delimiter).comparisons
    assert found.labels[found.index].tolist() == SAYS


@pytest.mark.parametrize(("name", "option"), [
    ("t.json", "delimiter"), ("t.xlsx", "delimiter"), ("t.csv", "sheet"), ("t.jsonl", "sheet"), ("t.parquet", "sheet"),
    ("t.npz", "encoding"), ("t.mat", "encoding"),
])  # fmt: skip
def test_options_that_a_format_does_not_have_are_refused(name, option, tmp_path):
    with pytest.raises(FileFormatError, match=f"`{option}`"):
        read_comparisons(save(tmp_path / name), **{option: "x"})


# ---- parts of a file -----------------------------------------------------------------------------------------------


def test_one_of_several_sheets_must_be_named(tmp_path):
    book = tmp_path / "book.xlsx"
    with pd.ExcelWriter(book) as writer:
        FRAME.to_excel(writer, sheet_name="answers", index=False, startrow=2)
        FRAME.iloc[:1].to_excel(writer, sheet_name="practice", index=False)
        pd.DataFrame().to_excel(writer, sheet_name="empty", index=False)
    with pytest.raises(FileFormatError, match="'answers', 'practice'"):
        read_comparisons(book)
    assert len(read_comparisons(book, sheet="answers").comparisons) == 3
    assert len(read_comparisons(book, sheet="practice").comparisons) == 1
    with pytest.raises(FileFormatError, match="'empty'"):
        read_comparisons(book, sheet="empty")


def test_rows_of_a_sheet_are_counted_as_it_shows_them(tmp_path):
    pd.DataFrame([*ROWS, ["a", "b", "c", -1]], columns=NAMES).to_excel(tmp_path / "t.xlsx", index=False, startrow=3)
    with pytest.raises(FileFormatError, match=r"row 8, column 'weight'"):
        read_comparisons(tmp_path / "t.xlsx")


def test_one_of_several_arrays_can_be_named(tmp_path):
    index = np.array([[0, 1, 2], [2, 1, 0]])
    np.savez(tmp_path / "t.npz", triplets=index, other=np.arange(5), n_objects=7)
    scipy.io.savemat(tmp_path / "t.mat", {"triplets": index, "other": np.arange(5), "s": {"x": 1}})
    for name in ("t.npz", "t.mat"):
        assert read_comparisons(tmp_path / name, sheet="triplets").comparisons.index.tolist() == index.tolist()
        for sheet, match in (("third", "'third'"), (None, r"lengths|shape")):
            with pytest.raises(FileFormatError, match=match):
                read_comparisons(tmp_path / name, sheet=sheet)
    np.savez(tmp_path / "t.npz", triplets=index, more=index, n_objects=7)
    result = read_comparisons(tmp_path / "t.npz", Layout(anchor="triplets_1", near="triplets_2", far="triplets_3"))
    assert result.comparisons == Comparisons(index, n_objects=7)
    assert [name.split(" ")[0] for name in result.unused] == ["more_1", "more_2", "more_3"]
    (tmp_path / "t.json").write_text(json.dumps({"x": [dict(zip(NAMES, row)) for row in ROWS], "y": [{"a": 1}]}))
    assert len(read_comparisons(tmp_path / "t.json", sheet="x").comparisons) == 3
    with pytest.raises(FileFormatError, match="'x', 'y'"):
        read_comparisons(tmp_path / "t.json")


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint32])
@pytest.mark.parametrize("width", [3, 4])
def test_a_bare_array_of_integers_holds_object_numbers(dtype, width, tmp_path):
    index = np.array([[0, 1, 2, 5], [5, 1, 0, 2]])[:, :width]
    np.save(tmp_path / "t.npy", index.astype(dtype))
    expected = ["0", "1", "2", "5"] if width == 4 or 5 in index else None
    found = read_comparisons(tmp_path / "t.npy").comparisons
    assert found.labels[found.index].astype(int).tolist() == index.tolist()
    assert found.labels.tolist() == expected
    assert read_comparisons(tmp_path / "t.npy", n_objects=9).comparisons == Comparisons(index, n_objects=9)


@pytest.mark.parametrize("array", [np.zeros(3, int), np.zeros((2, 5), int), np.zeros((0, 3), int), np.zeros((2, 3))])
def test_other_arrays_need_a_layout(array, tmp_path):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(FileFormatError, match=r"t\.npy"):
        read_comparisons(tmp_path / "t.npy")


def test_matlab_7_3(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.mat", "w", userblock_size=512) as file:
        for at, name in enumerate(("anchor", "near", "far")):
            file[name] = np.array([[at, 2 - at]], float).T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with (tmp_path / "t.mat").open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    assert read_comparisons(tmp_path / "t.mat").comparisons.index.tolist() == [[0, 1, 2], [2, 1, 0]]


# ---- folders and patterns of Parquet -------------------------------------------------------------------------------


def test_folders_and_patterns(tmp_path):
    folder = save(tmp_path / "parts")
    (folder / "notes.txt").write_text("x")
    (folder / "_SUCCESS").touch()
    whole = read_comparisons(folder)
    assert len(whole.comparisons) == 3
    assert any("notes.txt" in note for note in whole.notes)
    assert read_comparisons(folder / "*.parquet").comparisons == whole.comparisons
    FRAME[["anchor", "near"]].to_parquet(folder / "3.parquet")
    (tmp_path / "empty").mkdir()
    for wrong in (folder, tmp_path / "none" / "*.parquet", tmp_path / "none.parquet", tmp_path / "empty"):
        with pytest.raises(FileFormatError, match=r"3\.parquet: got|no such file|without Parquet"):
            read_comparisons(wrong)


@pytest.mark.parametrize("inner", ["_delta_log", ".hoodie", "weight=2"])
def test_folders_that_mean_something_are_refused(inner, tmp_path):
    folder = save(tmp_path / "parts") / inner
    folder.mkdir()
    save(folder / "t.parquet")
    with pytest.raises(FileFormatError, match=inner):
        read_comparisons(tmp_path / "parts")


def test_parquet_of_pandas_keeps_categories_and_its_index(tmp_path):
    frame = FRAME.astype({"anchor": "category"}).set_index(pd.Index(["p", "q", "p"], name="participant"))
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", frame, pa.Table.from_pandas(frame)):
        found = read_comparisons(source).comparisons
        assert found.labels[found.index].tolist() == SAYS
        assert found.participants.tolist() == ["p", "q", "p"]


@pytest.mark.parametrize("stored", [b"no json", b"[]", b"{}", b'{"n_objects": 1}', b'{"n_objects": 4, "labels": [""]}'])
def test_a_damaged_list_of_objects_is_refused_or_ignored(stored, tmp_path):
    table = pa.table({"anchor": [0], "near": [1], "far": [2]}).replace_schema_metadata({b"nearer": stored})
    pq.write_table(table, tmp_path / "t.parquet")
    try:
        found = read_comparisons(tmp_path / "t.parquet").comparisons
    except FileFormatError as error:
        assert "t.parquet" in str(error)  # noqa: PT017 - either is right
    else:
        assert found.index.tolist() == [[0, 1, 2]]


def test_objects_in_cells_of_json_are_text(tmp_path):
    """As in the CSV files of jsPsych: the answers of a survey are in the same column as those of the trials."""
    trials = [dict(zip(NAMES, row)) | {"task": "trial"} for row in ROWS]
    (tmp_path / "t.json").write_text(json.dumps([*trials, {"near": {"age": 31}, "task": "survey"}]))
    assert len(read_comparisons(tmp_path / "t.json", Layout(where={"task": "trial"})).comparisons) == 3
