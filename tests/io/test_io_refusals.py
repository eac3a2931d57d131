"""A file that cannot be read is refused with its name, the place and the reason."""

from __future__ import annotations

import ast
import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from nearer import _apart
from nearer.data.errors import counted, listed, shown
from nearer.io import FileFormatError, read_comparisons
from nearer.io.text import HEAD_BYTES

GOOD = "anchor,near,far\nant,bee,cat\ndog,cat,bee\n"


@pytest.fixture
def refused(tmp_path):
    def run(name, content, **options):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(FileFormatError) as caught:
            read_comparisons(path, **options)
        message = str(caught.value)
        assert str(path) in message
        # Only what asks which column is which takes more than a line.
        assert ("\n" in message) == ("\n  a row may be: triplets (anchor, near, far); answers" in message)
        return message.replace(str(tmp_path) + "/", "")

    return run


@pytest.mark.parametrize("name", ["e.csv", "e.json", "e.jsonl", "e.parquet", "e.npy", "e.mat", "e"])
def test_empty_file(refused, name):
    assert refused(name, b"") == f"{name}: is empty"


@pytest.mark.parametrize("content", ["\n\n", " ", "\ufeff"])
def test_blank_file(refused, content):
    assert refused("e.csv", content) == "e.csv: is empty"


def test_header_only(refused):
    assert refused("h.csv", "anchor,near,far\n") == "h.csv: has a header but no rows"


def test_a_row_longer_than_the_first_look(refused):
    message = refused("l.csv", f"anchor,near,far,log\nant,bee,cat,{'x' * HEAD_BYTES}\n")
    assert message == "l.csv, line 2: is longer than 1,048,576 bytes, expected a row of cells"


def test_a_zip_archive_of_text(refused):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", GOOD)
    expected = "a.csv.zip: is a zip archive of 'a.csv': unpack it first"
    assert refused("a.csv.zip", packed.getvalue()) == expected


def test_compressed_files_that_are_not_text(refused):
    expected = "compressed files are read as text or JSON alone: unpack it first"
    assert refused("a.npy.gz", gzip.compress(b"\x93NUMPY")) == f"a.npy.gz: {expected}"
    assert refused("a.gz", gzip.compress(b"PAR1")) == f"a.gz: {expected}"
    for name in ("a.json.gz", "a.jsonl.gz", "a.csv.gz", "a.gz"):
        assert "cannot be unpacked" in refused(name, gzip.compress(GOOD.encode() * 99)[:-20])
        assert "cannot be unpacked" in refused(name, GOOD)


def test_binary_data_below_the_first_look(refused):
    rows = b"ant,bee,cat\n" * (HEAD_BYTES // 12 + 10)
    line = rows.count(b"\n") + 2
    message = refused("n.csv", b"anchor,near,far\n" + rows + b"dog,c\0t,bee\n")
    assert message.startswith(f"n.csv, line {line}, column 'near': ")
    assert message.endswith("is not text (holds a NUL)")


def test_missing_file_with_a_suggestion(refused, tmp_path):
    (tmp_path / "answers.csv").write_text(GOOD)
    assert refused("anwsers.csv", None) == "anwsers.csv: no such file; did you mean 'answers.csv'?"
    assert refused("x/y.csv", None) == "x/y.csv: no such file"
    assert refused("part-*.parquet", None) == "part-*.parquet: no such file"


def test_directory(tmp_path):
    with pytest.raises(FileFormatError, match=r"is a directory without Parquet files"):
        read_comparisons(tmp_path)
    with pytest.raises(FileFormatError, match=r"only Parquet files may be"):
        read_comparisons(tmp_path, format="csv")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04\x14\x00", "a zip archive or a spreadsheet: give it the ending .xlsx or .npz"),
        (b"\x89PNG\r\n\x1a\n", "an image"),
        (b"PAR1\x15\x04", "a Parquet file: give it the ending .parquet or say format='parquet'"),
    ],
)
def test_binary_file_by_its_first_bytes(refused, content, reason):
    assert refused("b.csv", content) == f"b.csv: is not text but {reason}"


def test_binary_file_unknown(refused):
    assert refused("b.csv", b"ab,c\0\1\2") == "b.csv: is not text (binary data at byte 5)"
    assert "cannot be read as Parquet" in refused("b.parquet", b"\0\1\2\3" * 100)
    assert "is not a readable NumPy file" in refused("b.npy", b"\0\1\2\3" * 100)
    assert "is not a readable NumPy file" in refused("b.npz", b"PK\x03\x04\x14\x00")
    assert "is not a readable MATLAB file" in refused("b.mat", b"\0\1\2\3" * 100)


def test_spreadsheet(refused, monkeypatch):
    assert refused("b.xlsx", b"PK\x03\x04").startswith("b.xlsx: is not a readable spreadsheet: ")
    child = f"import sys; sys.modules['python_calamine'] = None; {_apart._CHILD}"
    monkeypatch.setattr(_apart, "_CHILD", child)
    assert refused("b.xlsx", b"PK\x03\x04") == (
        "b.xlsx: is a spreadsheet, which needs python-calamine: pip install 'nearer[excel]', or save it as CSV"
    )


def test_wrong_encoding_early_and_late(refused):
    early = refused("l.csv", "anchor,near,far\nant,bée,cat\n".encode("latin-1"))
    assert early == (
        "l.csv, line 2: byte 0xe9 is not UTF-8 text; if an older program saved the file, say the "
        "encoding it was saved in, such as encoding='cp1252' (Western Europe), 'cp1251' (Cyrillic) or 'shift_jis'"
    )
    late = GOOD.encode() + b"ant,bee,cat\n" * 200_000 + "ant,bée,cat\n".encode("latin-1") + b"ant,bee,cat\n"
    assert refused("l.csv", late).startswith("l.csv, line 200004: byte 0xe9 is not UTF-8 text")
    assert "line 2:" in refused("u.csv", "anchor,near,far\n,\ud800,x".encode("utf-8", "surrogatepass"))
    assert refused("l.csv", GOOD, encoding="utf-16").startswith("l.csv, line 1: byte 0x61 is not utf-16 text")


def test_header_typo(refused):
    message = refused("t.csv", GOOD.replace("anchor", "ancor"))
    lines = message.split("\n")
    assert lines[:6] == [
        "t.csv, line 1: columns 'ancor', 'near', 'far': no column for anchor of triplets",
        "  names:      ancor | near | far",
        "  first rows: ant | bee | cat",
        "              dog | cat | bee",
        "  understood: near = 'near', far = 'far'",
        "  did you mean 'anchor' for 'ancor'?",
    ]
    assert lines[6].startswith("  a row may be: triplets (anchor, near, far); answers (anchor, a, b, answer); votes")
    assert lines[7:] == [
        "  as proposed below, a row says: ant is nearer to bee than to cat",
        "  say which is which, for example: columns={'anchor': 'ancor', 'near': 'near', 'far': 'far'}",
    ]
    two = refused("t.csv", GOOD.replace("anchor,near", "ancor,neaer"))
    assert "\n  did you mean 'anchor' for 'ancor'? did you mean 'nearer' for 'neaer'?\n" in two


def test_unknown_columns(refused):
    message = refused("u.csv", "foo,bar,baz\n1,2,3\n3,2,1\n")
    assert message.startswith("u.csv, line 1: columns 'foo', 'bar', 'baz': none of these names is known\n")
    assert "\n  understood: nothing\n" in message
    hint = "the first row is taken as names, since its words occur nowhere else; if it is data, say header=False"
    assert f"\n  {hint}\n" in message
    assert message.endswith("for example: columns={'anchor': 'foo', 'near': 'bar', 'far': 'baz'}")
    assert refused("u.csv", "head,x,y\na,b,c\n", columns={"anchor": "haed", "near": "x", "far": "y"}) == (
        "u.csv: columns asks for column 'haed', there are 'head', 'x', 'y'; did you mean 'head'?"
    )
    assert refused("u.csv", GOOD, columns={"anchor": 9, "near": 1, "far": 2}) == (
        "u.csv: columns asks for column 9, there are columns 1 to 3"
    )
    assert refused("u.csv", GOOD, columns="anchor,near") == "u.csv: columns names 2 columns, there are 3"
    assert refused("u.csv", GOOD, columns={"anchor": 1, "near": 1, "far": 2}) == (
        "u.csv: column 'anchor' cannot be both anchor and near"
    )


@pytest.mark.parametrize(
    "header", ["stim,foil,pick", "wzorzec,bliżej,dalej", "cue,c1,c2", "A,B,C", "a,b,c,choice", "head,loser,loser2"]
)
def test_what_a_refusal_proposes_can_be_pasted(tmp_path, header):
    path = tmp_path / "p.csv"
    width = header.count(",") + 1
    path.write_text(f"{header}\n" + ",".join("xyzx"[:width]) + "\n" + ",".join("yzxz"[:width]) + "\n")
    with pytest.raises(FileFormatError) as caught:
        read_comparisons(path)
    proposal = str(caught.value).partition("for example: columns=")[2].partition(" or ")[0]
    assert read_comparisons(path, columns=ast.literal_eval(proposal)).n_rows == 2


def test_wide_tables_are_refused_briefly(refused):
    names = [f"c{number}" for number in range(100_000)]
    row = ",".join(["x"] * len(names))
    assert refused("w.csv", ",".join(names) + f"\n{row}\n") == (
        "w.csv, line 1: 100,000 columns, expected at most 10,000"
    )
    for name, content in (
        ("w.csv", ",".join(names[:10_000]) + "\n" + row[: 2 * 10_000 - 1]),
        ("w.jsonl", json.dumps(dict.fromkeys(names[:10_000], "x"))),
        ("w.json", json.dumps([dict.fromkeys(names, "x")])),
    ):
        message = refused(name, content)
        assert "'c7' and 9" in message
        assert "none of these names is known" in message
        assert len(message) < 2000


@pytest.mark.parametrize("content", ["#", "#\n", "# \n\n"])
def test_a_mark_of_comments_alone_is_empty(refused, content):
    assert refused("c.csv", content) == "c.csv: is empty"


def test_too_many_or_too_few_columns_without_names(refused):
    wide = refused("w.csv", "a,b,c,d,e\nb,c,d,e,a\n")
    assert wide.startswith(
        "w.csv: 5 columns without names: which is what cannot be told\n  first rows: a | b | c | d | e\n"
    )
    assert wide.endswith("columns='anchor,a,b,votes_a,votes_b' or columns='participant,anchor,a,b,answer'")
    assert "line 1: cannot split 'a,b' into the 3 or more columns" in refused("n.csv", "a,b\nc,d\n")
    assert "cannot split 'Some prose,'" in refused("n.csv", "Some prose,\n\nin lines, without order; really\n")
    assert "o.csv: 5 columns without names" in refused("o.csv", "a,b,c,d,e\nb,c,a,e,d\n", kind="odd-one-out")
    one = refused("o.json", '{"foo": [1, 2]}')
    assert one.endswith("\n  a comparison needs at least 3 columns, here is 1")


def test_two_meanings(refused):
    text = "anchor,near,far,response\nant,bee,cat,1\ndog,cat,bee,-1\n"
    message = refused("m.csv", text)
    assert message.startswith(
        "m.csv, line 1: columns 'anchor', 'near', 'far' say what is nearer, and so may 'response'; "
        "say kind='triplets' to leave 'response' out\n"
    )
    twice = refused("m.csv", "anchor,near,near,far\na,b,c,d\n")
    assert twice.startswith("m.csv, line 1: columns 'near', 'near' could each be the near\n")
    assert twice.endswith("columns={'anchor': 'anchor', 'near': 2, 'far': 'far'}")
    either = refused("m.csv", "query,head,near,far\na,b,c,d\n")
    assert either.startswith("m.csv, line 1: columns 'query', 'head' could each be the anchor\n")
    assert either.endswith("columns={'anchor': 'query', 'near': 'near', 'far': 'far'}")
    assert "m.csv, line 1: two columns are called 'worker'\n" in refused(
        "m.csv", "anchor,near,far,worker,worker\na,b,c,d,e\n"
    )


def test_mixed_delimiters(refused):
    message = refused("m.csv", GOOD + "ant;bee;dog\nbee,cat,dog\n")
    assert message == (
        "m.csv, line 4: 1 cell where the header has 3: 'ant;bee;dog'; "
        "this line looks separated by semicolon, the file by comma"
    )


def test_ragged_rows_are_counted_and_the_first_shown(refused):
    message = refused("r.csv", GOOD + "ant,bee\n" * 5 + "ant,bee,cat,dog\n")
    assert message == (
        "r.csv, line 4: 2 cells where the header has 3: 'ant,bee' (6 such rows: line 4, line 5, line 6, ...)"
    )


def test_a_million_bad_rows(refused):
    message = refused("r.csv", GOOD + "x,y\n" * 1_000_000)
    assert "r.csv, line 4: 2 cells where the header has 3: 'x,y' (1,000,000 such rows" in message
    assert len(message) < 200
    message = refused("e.csv", GOOD + "x,,y\n" * 1_000_000)
    assert message.startswith(
        "e.csv, line 4, column 'near': empty cell; 1,000,000 rows in all: line 4, line 5, line 6, ..."
    )
    message = refused("d.csv", "anchor,near,far\n" + "x,x,y\n" * 1_000_000)
    assert message == "d.csv: no row is left (1,000,000 rows dropped: an object cannot be compared with itself)"


def test_open_quotation_mark(refused):
    message = refused("q.csv", GOOD + 'ant,"bee,cat\n' + "dog,cat,bee\n" * 100)
    assert "line 4" in message
    assert "quotation mark not closed" in message


def test_empty_cell(refused):
    message = refused("e.csv", GOOD + "ant,,cat\n")
    assert message == "e.csv, line 4, column 'near': empty cell; say on_missing='drop' to leave such rows out"
    assert refused("e.csv", "anchor,near,far\na,,c\n", on_missing="drop") == (
        "e.csv: no row is left (1 row dropped: missing cell)"
    )
    assert refused("e.csv", GOOD + "ant,NA,cat\n") == (
        "e.csv, line 4, column 'near': 'NA' means missing; say on_missing='drop' to leave such rows out, "
        "or keep_na=True to take such words as names"
    )
    weightless = "anchor,near,far,weight\na,b,c,1\na,b,c,\n"
    assert "e.csv, line 3, column 'weight': empty cell" in refused("e.csv", weightless)


def test_degenerate_refused_on_request(refused):
    message = refused("d.csv", GOOD + "ant,ant,cat\nbee,cat,bee\n", on_degenerate="raise")
    assert message == (
        "d.csv, line 4 is (ant, ant, cat): an object cannot be compared with itself (2 such rows); "
        "say on_degenerate='drop' to leave such rows out"
    )
    quads = "i,j,l,k\na,b,c,d\na,a,c,d\na,b,b,a\n"
    assert "line 3 is (a, a, c, d): an object cannot be" in refused("q.csv", quads, on_degenerate="raise")
    same = refused("q.csv", quads.replace("a,a,c,d\n", ""), on_degenerate="raise")
    assert "line 3 is (a, b, b, a): both pairs are the same" in same
    sets = "a,b,c,odd\nx,y,z,z\nx,x,y,y\n"
    assert "line 3 is (x, x, y): the three objects of a set must" in refused("s.csv", sets, on_degenerate="raise")
    ranked = "anchor,rank_1,rank_2\nx,y,z\nx,y,y\n"
    assert "line 3 is (x, y, y): a candidate occurs twice" in refused("r.csv", ranked, on_degenerate="raise")


VOTES = "anchor,option_a,option_b,votes_a,votes_b\nant,bee,cat,1,2\n"


@pytest.mark.parametrize("cell", ["many", "-1", "inf", '"1,5"'])
def test_votes_that_are_no_numbers(refused, cell):
    message = refused("v.csv", VOTES + f"ant,bee,cat,1,{cell}\n")
    assert "v.csv, line 3, column 'votes_b'" in message
    assert "is not a number of votes, 0 or more" in message
    assert ("decimals with a point" in message) == ("," in cell)


def test_weights_that_are_no_numbers(refused):
    text = "anchor,near,far,weight\na,b,c,1\na,b,c,heavy\nb,c,a,x\n"
    message = refused("w.csv", text)
    assert message == "w.csv, line 3, column 'weight': 'heavy' is not a weight, 0 or more; 2 such cells in this column"
    assert refused("w.csv", "anchor,near,far,weight\na,b,c,0\n") == (
        "w.csv: no row counts: all weights, votes or answers are 0"
    )


ASKED = "anchor,a,b,answer\n"


def test_answers_that_cannot_be_read(refused):
    zero_one = refused("a.csv", ASKED + "x,y,z,0\nz,x,y,1\n")
    assert (
        "a.csv, column 'answer': holds '0', '1': cannot tell which option that is; say which with answers=" in zero_one
    )
    stray = refused("a.csv", ASKED + "x,y,z,y\nz,x,y,w\n")
    assert "a.csv, line 3, column 'answer': 'w' is none of the objects shown in that row (1 such row of 2)" in stray
    both = refused("a.csv", ASKED + "x,b,a,a\nz,b,a,b\n")
    assert "can be read in two ways" in both
    told = refused("a.csv", ASKED + "x,y,z,1\nz,x,y,7\n", answers="bool")
    assert told == "a.csv, line 3, column 'answer': holds '7', which is no answer when read as 'bool'"
    # also where some answers happen to name an object shown
    told = refused("a.csv", ASKED + "3,1,2,1\n1,2,3,2\n2,1,3,0\n", answers="bool")
    assert told == "a.csv, line 3, column 'answer': holds '2', which is no answer when read as 'bool'"
    mostly_signs = refused("a.csv", ASKED + "0,1,2,1\n2,3,0,-1\n1,3,2,-1\n")
    assert "column 'answer': holds '-1', '1': cannot tell which option that is" in mostly_signs


def test_answers_told(tmp_path):
    path = tmp_path / "a.csv"
    for cells, coding in (
        (("1", "0"), "bool"),
        (("0", "1"), "index0"),
        (("1", "2"), "index1"),
        (("1", "-1"), "sign"),
        (("y", "y"), "object"),
        (("P", "Q"), {"P": "a", "Q": "b"}),
    ):
        path.write_text(ASKED + f"x,y,z,{cells[0]}\nz,x,y,{cells[1]}\n")
        comparisons = read_comparisons(path, answers=coding).comparisons
        assert comparisons.labels[comparisons.index].tolist() == [["x", "y", "z"], ["z", "y", "x"]]
    for bad in ("sideways", {"P": "left-ish"}):
        with pytest.raises(ValueError, match="answers:"):
            read_comparisons(path, answers=bad)


def test_object_numbers_out_of_range(refused):
    message = refused("n.csv", "0,1,2\n1,2,3\n", n_objects=3)
    assert message == (
        "n.csv, line 2, column 3: object number 3 is outside 0..2; are they counted from 1? then say index_base=1"
    )
    assert "n.csv, line 1, column 1: object number 0 is outside 1.." in refused("n.csv", "0,1,2\n", index_base=1)
    assert refused("n.csv", "1,2,b\n", index_base=1) == (
        "n.csv: index_base is for objects that are numbers, here they have names such as 'b'"
    )
    assert refused("n.csv", "1,2,-3\n", n_objects=4) == (
        "n.csv: n_objects=4 is for objects that are numbers, here they have names such as '-3'; pass labels="
    )
    assert refused("n.csv", "0,1,1000000\n", index_base=0) == (
        "n.csv: object numbers go up to 1,000,000, but only 3 of them occur; "
        "leave index_base out to take them as names, or say n_objects= to ask for all of them"
    )
    unknown = refused("n.csv", GOOD + "ant,emu,emu\nant,emu,bee\n", labels=["ant", "bee", "cat", "dog"])
    assert unknown == "n.csv, line 4, column 'near': 'emu' is not one of the 4 known labels"
    two = refused("n.csv", GOOD + "fox,emu,bee\n", labels=["ant", "bee", "cat", "dog"])
    assert two == "n.csv, line 4, column 'anchor': 'fox' is not one of the 4 known labels (and 1 more name)"


def test_json_refusals(refused):
    assert "line 1, column 9: not JSON" in refused("j.json", "[[1, 2, ]]")
    assert "say format='jsonl'" in refused("j.json", '{"a": 1}\n{"a": 2}')
    assert refused("j.json", "[]") == "j.json: is an empty array"
    assert refused("j.json", "3") == "j.json: holds '3', expected an array of rows or an object of columns"
    assert "row 2: 2 cells where row 1 has 3" in refused("j.json", "[[1,2,3],[1,2]]")
    assert "row 2: '7': expected an object or an array" in refused("j.json", "[[1,2,3],7]")
    assert "no array of shape (n, 3)" in refused("j.json", '{"foo": 1}')
    assert refused("j.json", '[{"ancor": 1, "near": 2, "far": 3}]').startswith(
        "j.json: columns 'ancor', 'near', 'far': "
    )
    for deep in ("[" * 100_000, "[" * 20_000 + "]" * 20_000, '{"anchor": ' * 20_000 + "1" + "}" * 20_000):
        assert refused("j.json", deep) == "j.json: is not a table: brackets nested too deeply"
    strange = refused("j.json", '[{"anchor": "a", "near": "b", "far": "c"}, {"anchor": [1], "near": "b", "far": "c"}]')
    assert strange == "j.json: column 'anchor': row 2 is [1] (list), expected text or a number"


def test_json_lines_refusals(refused):
    row = '{"anchor": "a", "near": "b", "far": "c"}\n'
    assert "line 2, column 2: not JSON" in refused("j.jsonl", row + "{oops}\n")
    assert "line 2: '[1, 2, 3]': expected the same as on line 1" in refused("j.jsonl", row + "[1, 2, 3]\n")
    assert "line 2, column 6: not JSON" in refused("j.jsonl", "[1, 2, 3]\n[1, 2\n")
    assert "line 2: 2 cells where line 1 has 3" in refused("j.jsonl", "[1, 2, 3]\n[1, 2]\n")
    late = row * 4000 + row.replace("b", "é")
    assert refused("j.jsonl", late.encode("latin-1")) == (
        "j.jsonl, line 4001: byte 0xe9 is not UTF-8 text; if an older program saved the file, say the "
        "encoding it was saved in, such as encoding='cp1252' (Western Europe), 'cp1251' (Cyrillic) or 'shift_jis'"
    )
    deep = "[" * 20_000 + "]" * 20_000
    for line in (deep, f'{{"anchor": {deep}}}'):
        depth = line.count("[") + line.count("{")
        assert refused("j.jsonl", row + line) == f"j.jsonl, line 2: brackets nested {depth:,} deep, expected a flat row"


def test_array_refusals(tmp_path, refused):
    np.save(tmp_path / "a.npy", np.zeros((4, 2)))
    assert "the array has shape (4, 2), expected (n, 3) or (n, 4)" in refused("a.npy", None)
    np.save(tmp_path / "a.npy", np.zeros((0, 3), int))
    assert "has no rows" in refused("a.npy", None)
    np.save(tmp_path / "a.npy", np.array([[0, 1, 2], [0, 1.5, 2]]))
    assert refused("a.npy", None) == "a.npy, row 2, column 'near': 1.5 is not a whole number"
    np.save(tmp_path / "a.npy", np.array([[0, 1, -2]]))
    for told in ({"index_base": 0}, {"n_objects": 3}):
        assert refused("a.npy", None, **told) == "a.npy, row 1, column 'far': object number -2 is negative"
    np.savez(tmp_path / "a.npz", triplets=[[0, 1, 2]], response=[1, 1])
    assert "array 'response' has 2 entries for 1 rows of 'triplets'" in refused("a.npz", None)


def test_wrong_options_are_plain_value_errors(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text(GOOD)
    for options, message in (
        ({"kind": "pairs"}, "kind: got 'pairs'"),
        ({"format": "word"}, "format: got 'word'"),
        ({"index_base": 2}, "index_base: got 2"),
        ({"on_degenerate": "ignore"}, "on_degenerate: got 'ignore'"),
        ({"on_missing": "ignore"}, "on_missing: got 'ignore'"),
        ({"delimiter": "::"}, "delimiter: got '::'"),
        ({"columns": {"ancor": "anchor"}}, "columns: got the role 'ancor', expected one of anchor, near, far, i, j"),
        ({"columns": {"ancor": "anchor"}}, "; did you mean 'anchor'?"),
        ({"columns": "anchor=,near=x"}, "columns: got 'anchor=', expected pairs such as anchor=head"),
        ({"columns": 5}, "columns: got 5, expected roles with their columns, or roles in order"),
        ({"n_objects": 0}, "n_objects: got 0, expected at least 1"),
        ({"n_objects": "x"}, "n_objects: got 'x', expected an integer"),
        ({"n_objects": 3, "labels": ["a", "b"]}, "labels: got 2 labels for 3 objects"),
        *(
            ({"encoding": name}, f"encoding: got {name!r}, expected a name such as 'utf-8' or 'latin-1'")
            for name in ("bogus", "", "hex", "rot13", "undefined", "utf-8\0")
        ),
    ):
        with pytest.raises(ValueError) as caught:
            read_comparisons(path, **options)
        assert message in str(caught.value)
        assert not isinstance(caught.value, FileFormatError)


def test_words_of_messages():
    assert listed(range(10), 3) == "0, 1, 2 and 7 more"
    assert counted(1, "row") == "1 row"
    assert counted(9090, "row") == "9,090 rows"
    assert shown("a" * 100) == "'" + "a" * 55 + "...'"
    assert shown("new\nline") == "'new\\nline'"
