"""JSON, Parquet, NumPy, MATLAB, and files as other tools write them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

from nearer.data import Comparisons
from nearer.io import FileFormatError, open_blocks, read_comparisons

NAMES = np.array(["ant", "bee", "cat", "dog"])
T = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3], [2, 3, 0]])
Q = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [1, 2, 0, 3]])
BY_NAME = Comparisons.from_triplets(T, labels=NAMES)
RECORDS = [dict(zip(("head", "winner", "loser"), row.tolist())) for row in NAMES[T]]


DAMAGED = [
    ("[]", ""),
    ("null", ""),
    ('{"labels": 5}', "labels)"),
    ('{"labels": [1, 2, 3, 4]}', "labels)"),
    ('{"n_objects": "many"}', "n_objects)"),
    ('{"n_objects": -4}', "n_objects)"),
    ("{oops", "Expecting property name"),
    ("[" * 20_000, ""),
]


def dump(path, data):
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def test_json_objects_arrays_and_columns(tmp_path):
    records = dump(tmp_path / "r.json", RECORDS)
    arrays = dump(tmp_path / "a.json", NAMES[T].tolist())
    columns = dump(tmp_path / "c.json", dict(zip(("anchor", "near", "far"), NAMES[T].T.tolist())))
    bundle = dump(tmp_path / "b.json", {"triplets": NAMES[T].tolist(), "about": "x"})
    for path in (records, arrays, columns, bundle):
        assert read_comparisons(path).comparisons == BY_NAME
    numbers = dump(tmp_path / "n.json", T.tolist())
    assert read_comparisons(numbers).comparisons == Comparisons.from_triplets(T)
    text_numbers = dump(tmp_path / "t.json", T.astype(str).tolist())
    assert read_comparisons(text_numbers).comparisons == Comparisons.from_triplets(T)
    mixed = dump(tmp_path / "m.json", [["a", 1, 2.0], [2, "a", 1.5]])
    assert read_comparisons(mixed).comparisons.labels.tolist() == ["1", "1.5", "2", "a"]


def test_json_with_a_bom_and_an_answer_in_the_row(tmp_path):
    rows = [[*row, answer] for row, answer in zip(NAMES[T].tolist(), [1, -1, 1, -1])]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows), encoding="utf-8-sig")
    with pytest.raises(FileFormatError, match="4 columns without names"):
        read_comparisons(path)
    told = read_comparisons(path, kind="answers", answers="sign").comparisons
    assert told == Comparisons.from_answers(T, [1, -1, 1, -1], labels=NAMES)


def test_json_votes_beside_the_questions(tmp_path):
    votes = [[3, 1], [0, 2], [1, 1], [5, 0]]
    path = dump(tmp_path / "v.json", {"answers": T.tolist(), "agreement": votes})
    assert read_comparisons(path).comparisons == Comparisons.from_answers(T, votes)


def test_json_lines(tmp_path):
    records = tmp_path / "r.jsonl"
    records.write_text("\n\n".join(map(json.dumps, RECORDS)) + "\n")
    arrays = tmp_path / "a.ndjson"
    arrays.write_text("\n".join(map(json.dumps, NAMES[T].tolist())))
    for path in (records, arrays):
        assert read_comparisons(path).comparisons == BY_NAME
    for path, (encoding, told) in zip((records, arrays), (("utf-8-sig", None), ("latin-1", "latin-1"))):
        text = path.read_text().replace("ant", "änt")
        path.with_stem("coded").write_text(text, encoding=encoding)
        assert "änt" in read_comparisons(path.with_stem("coded"), encoding=told).comparisons.labels
    degenerate = tmp_path / "d.jsonl"
    degenerate.write_text(records.read_text() + json.dumps({"head": "ant", "winner": "ant", "loser": "bee"}))
    assert "(at line 8)" in read_comparisons(degenerate).understood


def test_parquet_file_folder_and_pattern(tmp_path):
    table = pa.table(dict(zip(("anchor", "near", "far"), NAMES[T].T.tolist())))
    pq.write_table(table, tmp_path / "whole.parquet")
    assert read_comparisons(tmp_path / "whole.parquet").comparisons == BY_NAME
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(table[:1], folder / "part-0.parquet")
    pq.write_table(table[1:], folder / "part-1.parquet")
    (folder / "_SUCCESS.parquet").write_bytes(b"")
    for path in (folder, folder / "part-*.parquet"):
        result = read_comparisons(path)
        assert result.comparisons == BY_NAME
        assert "2 Parquet files" in result.understood
    large = table.cast(pa.schema([(name, pa.large_string()) for name in table.column_names]))
    pq.write_table(large, tmp_path / "large.parquet")
    assert read_comparisons(tmp_path / "large.parquet").comparisons == BY_NAME


def test_parquet_of_pandas_with_categories_and_integers(tmp_path):
    frame = pd.DataFrame(NAMES[T], columns=["anchor", "near", "far"]).astype("category")
    frame.to_parquet(tmp_path / "c.parquet")
    assert read_comparisons(tmp_path / "c.parquet").comparisons == BY_NAME
    pd.DataFrame(T.astype(np.int16), columns=["i", "j", "k"]).to_parquet(tmp_path / "i.parquet")
    assert read_comparisons(tmp_path / "i.parquet").comparisons == Comparisons.from_triplets(T)
    # A column with a gap becomes float in pandas.
    gap = pd.DataFrame(T, columns=["i", "j", "k"]).astype(float)
    gap.loc[1, "k"] = np.nan
    gap.to_parquet(tmp_path / "g.parquet")
    with pytest.raises(FileFormatError, match=r"g\.parquet, row 2, column 'k': empty cell"):
        read_comparisons(tmp_path / "g.parquet")
    rest = read_comparisons(tmp_path / "g.parquet", on_missing="drop").comparisons
    assert rest == Comparisons.from_triplets(T[[0, 2, 3]])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint32, np.float64])
def test_npy(tmp_path, dtype):
    np.save(tmp_path / "t.npy", T.astype(dtype))
    np.save(tmp_path / "q.npy", Q.astype(dtype))
    assert read_comparisons(tmp_path / "t.npy").comparisons == Comparisons.from_triplets(T)
    assert read_comparisons(tmp_path / "q.npy").comparisons == Comparisons.from_quadruplets(Q)


def test_npy_of_text_and_of_named_fields(tmp_path):
    np.save(tmp_path / "s.npy", NAMES[T])
    assert read_comparisons(tmp_path / "s.npy").comparisons == BY_NAME
    fields = np.array([tuple(row) for row in T], dtype=[("anchor", int), ("near", int), ("far", int)])
    np.save(tmp_path / "f.npy", fields)
    assert read_comparisons(tmp_path / "f.npy").comparisons == Comparisons.from_triplets(T)


def test_npz_with_everything_beside(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, triplets=T, weights=[1.0, 2, 3, 4], labels=NAMES, participant=[7, 7, 8, 9], seed=3)
    result = read_comparisons(path)
    expected = Comparisons.from_triplets(T, labels=NAMES, weights=[1.0, 2, 3, 4], participants=np.array([7, 7, 8, 9]))
    assert result.comparisons == expected
    assert "array 'triplets' of shape 4 x 3" in result.understood
    assert "arrays not used: seed" in result.understood


@pytest.mark.parametrize(("stored", "reason"), DAMAGED)
@pytest.mark.parametrize("read", [read_comparisons, open_blocks], ids=["whole", "blocks"])
def test_damaged_list_of_objects_in_parquet(tmp_path, read, stored, reason):
    table = pa.table(dict(zip(("anchor", "near", "far"), T.T))).replace_schema_metadata({"nearer": stored})
    path = tmp_path / "d.parquet"
    pq.write_table(table, path)
    with pytest.raises(FileFormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: the stored list of objects is damaged ({reason}")
    assert "\n" not in str(caught.value)


def test_spreadsheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")

    def save(name, sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(list(row))
        book.save(tmp_path / name)
        return tmp_path / name

    head = ("head", "winner", "loser", "weight", "subject")
    rows = [(*row, 0.5 + spot, f"p{spot % 2}") for spot, row in enumerate(NAMES[T].tolist())]
    result = read_comparisons(save("t.xlsx", {"answers": [head, *rows], "empty": []}))
    people = ["p0", "p1", "p0", "p1"]
    expected = Comparisons.from_triplets(T, labels=NAMES, weights=[0.5, 1.5, 2.5, 3.5], participants=people)
    assert result.comparisons == expected
    assert "spreadsheet, sheet 'answers'" in result.understood
    two = save("two.xlsx", {"first": [head, *rows], "second": (T + 1).tolist()})
    with pytest.raises(FileFormatError, match="has sheets 'first', 'second'; say variable= for one of them"):
        read_comparisons(two)
    numbers = read_comparisons(two, variable="second").comparisons
    assert numbers == Comparisons.from_triplets(T, labels=["1", "2", "3", "4"])
    with pytest.raises(FileFormatError, match="no sheet 'third' with cells; there are 'first', 'second'"):
        read_comparisons(two, variable="third")
    gap = save("g.xlsx", {"s": [head[:3], NAMES[T[0]].tolist(), ("ant", None, "bee")]})
    with pytest.raises(FileFormatError, match=r"g\.xlsx, row 3, column 'winner': empty cell"):
        read_comparisons(gap)
    unknown = save("u.xlsx", {"s": [("stim", "foil", "pick"), *NAMES[T].tolist()]})
    with pytest.raises(FileFormatError, match="columns 'stim', 'foil', 'pick': no column for anchor, a, b of answers"):
        read_comparisons(unknown)
    only = save("o.xlsx", {"s": [head[:3]]})
    with pytest.raises(FileFormatError, match=r"o\.xlsx: sheet 's' has a header but no rows"):
        read_comparisons(only)
    with pytest.raises(FileFormatError, match=r"e\.xlsx: has no cells"):
        read_comparisons(save("e.xlsx", {"s": []}))


def test_npz_by_position_and_told(tmp_path):
    np.savez(tmp_path / "p.npz", T, np.array([1, -1, 1, -1]))
    expected = Comparisons.from_answers(T, [1, -1, 1, -1])
    assert read_comparisons(tmp_path / "p.npz").comparisons == expected
    np.savez(tmp_path / "two.npz", train=T, test=T[:2])
    with pytest.raises(FileFormatError, match="several arrays could hold the comparisons: 'train'"):
        read_comparisons(tmp_path / "two.npz")
    assert len(read_comparisons(tmp_path / "two.npz", variable="test").comparisons) == 2


def test_pickled_arrays_are_not_loaded(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", triplets=np.array([[None, 1, 2]], object))
    for name in ("o.npy", "o.npz"):
        with pytest.raises(FileFormatError, match="could run code"):
            read_comparisons(tmp_path / name)


def test_matlab_5_counts_from_1(tmp_path):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"triplets": T + 1.0})
    named = read_comparisons(path)
    assert named.comparisons == Comparisons.from_triplets(T, labels=["1", "2", "3", "4"])
    assert "the numbers 1 to 4 are names of objects" in named.understood
    named = read_comparisons(path, index_base=1)
    assert named.comparisons == Comparisons.from_triplets(T, labels=["1", "2", "3", "4"])
    assert "names of objects" not in named.understood


def test_matlab_5_with_names_answers_and_a_struct(tmp_path):
    path = tmp_path / "t.mat"
    cells = np.array(NAMES.tolist(), object).reshape(-1, 1)
    content = {"X": T + 1, "y": np.array([1, -1, 1, -1]), "names": cells, "meta": {"made": "by hand"}}
    scipy.io.savemat(path, content)
    result = read_comparisons(path, index_base=1)
    assert result.comparisons == Comparisons.from_answers(T, [1, -1, 1, -1], labels=NAMES)
    assert "not used: meta" in result.understood


def test_matlab_73(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "t.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        data = file.create_dataset("triplets", data=(T + 1.0).T)
        data.attrs["MATLAB_class"] = np.bytes_("double")
        references = []
        for name in NAMES:
            cell = file.create_dataset(f"#refs#/{name}", data=np.array([list(map(ord, name))], "u2").T)
            cell.attrs["MATLAB_class"] = np.bytes_("char")
            references.append(cell.ref)
        names = file.create_dataset("names", data=np.array([references], dtype=h5py.ref_dtype))
        names.attrs["MATLAB_class"] = np.bytes_("cell")
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as file:
        file.write(header)
    result = read_comparisons(path, index_base=1)
    assert result.comparisons == Comparisons.from_triplets(T, labels=NAMES)
    assert "MATLAB 7.3" in result.understood


def salmon_responses():
    """Rows as the server of salmon formats them: indices, html and file names, participant and times."""
    targets = [f"<img src='/static/targets/{name}.png' />" for name in NAMES]
    rows = []
    for number, (head, winner, loser) in enumerate(T.tolist()):
        left, right = (winner, loser) if number % 2 else (loser, winner)
        row = {"head": head, "left": left, "right": right, "winner": winner, "sampler": "Random", "score": 0.0}
        row |= {"puid": f"puid-{number // 2}", "response_time": 1.5, "network_latency": 0.1, "loser": loser}
        row["time_received"] = 1.6e9 + number
        for key in ("left", "right", "head", "winner", "loser"):
            row[f"{key}_html"] = targets[row[key]]
            row[f"{key}_filename"] = f"{NAMES[row[key]]}.png"
        rows.append(
            row | {"datetime_received": "2020-09-13T12:26:40", "start_time": 1.5e9, "num_responses": number + 1}
        )
    return rows


def test_salmon_responses_csv_and_json(tmp_path):
    rows = salmon_responses()
    pd.DataFrame(rows).to_csv(tmp_path / "responses.csv", index=False)
    dump(tmp_path / "responses.json", rows)
    people = np.array(["puid-0", "puid-0", "puid-1", "puid-1"])
    expected = Comparisons.from_triplets(T, labels=[f"{name}.png" for name in NAMES], participants=people)
    for name in ("responses.csv", "responses.json"):
        result = read_comparisons(tmp_path / name)
        assert result.comparisons._with(details=None) == expected
        assert "head/winner/loser, taken as anchor/near/far, participant puid" in result.understood
        assert "objects named by head_filename, winner_filename, loser_filename" in result.understood


def test_salmon_names_that_do_not_tell_objects_apart_are_left_out(tmp_path):
    frame = pd.DataFrame(salmon_responses())
    for key in ("head", "winner", "loser"):
        frame[f"{key}_filename"] = "same.png"
    frame.to_csv(tmp_path / "responses.csv", index=False)
    result = read_comparisons(tmp_path / "responses.csv")
    assert result.comparisons.labels is None
    assert (result.comparisons.index == T).all()
    assert "do not name each object apart" in result.understood


def test_next_responses_csv(tmp_path):
    shown = NAMES[T]
    shown[1::2] = shown[1::2][:, [0, 2, 1]]
    frame = pd.DataFrame(shown, columns=["Center", "Left", "Right"])
    frame.insert(0, "Participant.ID", [1099, 1099, 1100, 1106])
    frame["Answer"] = NAMES[T[:, 1]]
    frame["Response.Time..s."] = 7955
    frame.to_csv(tmp_path / "responses.csv", index=False)
    expected = Comparisons.from_triplets(
        T, labels=NAMES, participants=np.array([1099, 1099, 1100, 1106]),
        details={"side": [0, 1, 0, 1], "seconds": np.full(4, 7.955)},
    )  # fmt: skip
    assert read_comparisons(tmp_path / "responses.csv").comparisons == expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (None, Comparisons.from_triplets(T)),
        (np.array([True, False, True, False]), Comparisons.from_answers(T, [1, -1, 1, -1])),
        (np.array([1, -1, 1, -1]), Comparisons.from_answers(T, [1, -1, 1, -1])),
        (np.array([2, -3, 1, -1]), Comparisons.from_answers(T, [[2, 0], [0, 3], [1, 0], [0, 1]])),
    ],
    ids=["list-order", "list-boolean", "list-count of one", "list-count"],
)
def test_cblearn_lists(tmp_path, response, expected):
    arrays = {"triplet": T.astype(np.uint32)} | ({} if response is None else {"response": response})
    np.savez(tmp_path / "t.npz", **arrays)
    assert read_comparisons(tmp_path / "t.npz").comparisons == expected
    table = T if response is None else np.column_stack([T, response.astype(int)])
    if response is None or response.dtype != bool:
        np.savetxt(tmp_path / "t.csv", table, fmt="%d", delimiter=",")
        options = {"kind": "answers", "answers": "sign"} if response is not None else {}
        assert read_comparisons(tmp_path / "t.csv", **options).comparisons == expected
    np.savetxt(tmp_path / "plain.txt", T)
    assert read_comparisons(tmp_path / "plain.txt").comparisons == Comparisons.from_triplets(T)


def test_cblearn_tensor(tmp_path):
    np.savez(tmp_path / "t.npz", data=np.array([1, -1, 2, -1]), coords=T.T, shape=np.array([4, 4, 4]), fill_value=0)
    expected = Comparisons.from_answers(T, [[1, 0], [0, 1], [2, 0], [0, 1]])
    assert read_comparisons(tmp_path / "t.npz").comparisons == expected


def test_cblearn_most_central_positions(tmp_path):
    np.savez(tmp_path / "cars.npz", triplet=T, response=np.array([0, 2, 1, 1]))
    result = read_comparisons(tmp_path / "cars.npz", kind="most-central")
    picked = T[np.arange(4), [0, 2, 1, 1]]
    assert result.comparisons == Comparisons.from_most_central(T, picked)


def test_format_by_content_and_told(tmp_path):
    np.save(tmp_path / "t.npy", T)
    (tmp_path / "t.npy").rename(tmp_path / "without_ending")
    assert read_comparisons(tmp_path / "without_ending").comparisons == Comparisons.from_triplets(T)
    (tmp_path / "answers").write_text(json.dumps(RECORDS))
    assert read_comparisons(tmp_path / "answers").comparisons == BY_NAME
    (tmp_path / "t.log").write_text("\n".join(",".join(row) for row in NAMES[T]))
    assert read_comparisons(tmp_path / "t.log").comparisons == BY_NAME
    (tmp_path / "lines.txt").write_text("\n".join(map(json.dumps, RECORDS)))
    assert read_comparisons(tmp_path / "lines.txt", format="jsonl").comparisons == BY_NAME
