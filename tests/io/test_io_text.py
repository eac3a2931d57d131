"""Delimited text: delimiters, encodings, quotes, line ends, headers, and lines counted as an editor counts them."""

from __future__ import annotations

import bz2
import codecs
import gzip

import numpy as np
import pytest

from nearer import Layout
from nearer.io import FileFormatError, read_comparisons, text

ROWS = [("oboe", "flute", "drum"), ("gong", "harp", "oboe"), ("harp", "oboe", "flute")]
NAMES = ("anchor", "near", "far")


@pytest.fixture
def save(tmp_path):
    def write(content, name="t.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def table(delimiter=",", end="\n", rows=ROWS, names=NAMES):
    return end.join(delimiter.join(row) for row in (names, *rows)) + end


def said(path, layout=None, **options):
    made = read_comparisons(path, layout, **options).comparisons
    return list(map(tuple, made.labels[made.index].tolist()))


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
def test_delimiters_and_line_ends(save, delimiter, end, bom):
    path = save(bom + table(delimiter, end).encode())
    assert said(path) == ROWS
    path.write_bytes(path.read_bytes().rstrip())  # no end of the last line
    assert said(path) == ROWS


@pytest.mark.parametrize("given", [",", "\t", "tab", "\\t", ";", "semicolon", "|", "bar", ":", "space", "whitespace"])
def test_a_delimiter_that_is_said(save, given):
    marks = {"tab": "\t", "\\t": "\t", "semicolon": ";", "bar": "|", "space": " ", "whitespace": "  "}
    mark = marks.get(given, given)
    assert said(save(table(mark)), delimiter=given) == ROWS


def test_a_file_that_splits_in_two_ways_is_refused(save):
    path = save("anchor;x,near;y,far;z\na;1,b;2,c;3\n")
    with pytest.raises(FileFormatError, match="comma and by semicolon"):
        read_comparisons(path)
    assert said(path, Layout(anchor="anchor;x", near="near;y", far="far;z"), delimiter=",") == [("a;1", "b;2", "c;3")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_say_their_name(save, encoding):
    rows = [("größe", "日本", "🦊"), *ROWS]
    assert said(save(table(rows=rows), encoding=encoding)) == rows


@pytest.mark.parametrize(
    ("encoding", "word"), [("latin-1", "größe"), ("cp1251", "гобой"), ("shift_jis", "日本"), ("utf-16-le", "größe")]
)
def test_encodings_that_must_be_said(save, encoding, word):
    rows = [*ROWS, (word, "flute", "drum")]
    path = save(table(rows=rows), encoding=encoding)
    assert said(path, encoding=encoding) == rows
    if encoding != "utf-16-le":
        with pytest.raises(FileFormatError, match=r"line 5: byte 0x.*`encoding`"):
            read_comparisons(path)
    for wrong in ("hex", "klingon"):
        with pytest.raises(ValueError, match=f"^encoding: got '{wrong}'"):
            read_comparisons(path, encoding=wrong)


def test_bytes_that_are_no_text_far_down_are_placed(save):
    path = save(table(rows=ROWS * 30_000).encode() + b"gong,\xff,oboe\n")
    with pytest.raises(FileFormatError, match="line 90002"):
        read_comparisons(path)


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_text(save, ending, compress):
    assert said(save(compress(table("\t").encode()), f"t.tsv{ending}")) == ROWS
    for broken in (b"junk", compress(table().encode())[:-12]):
        with pytest.raises(FileFormatError, match=r"t\.csv"):
            read_comparisons(save(broken, f"t.csv{ending}"))
    with pytest.raises(FileFormatError, match="unpack"):
        read_comparisons(save(compress(b"PAR1"), f"t.parquet{ending}"))


def test_quoted_cells_with_everything_inside(save):
    path = save('"anchor","near","far"\n"a ""b""","x,y","two\nlines"\n"c","d;e",f\n')
    assert said(path) == [('a "b"', "x,y", "two\nlines"), ("c", "d;e", "f")]
    with pytest.raises(FileFormatError, match="line 2"):  # the cell would keep its marks
        read_comparisons(save('anchor,near,far\na, "b",c\n'))


def test_blanks_around_cells(save):
    result = read_comparisons(save("anchor, near, far\noboe, flute, drum\ngong, harp, oboe\n"))
    assert result.comparisons.labels.tolist() == ["drum", "flute", "gong", "harp", "oboe"]
    assert said(save("anchor,near,far\noboe, flute,drum\ngong,harp,oboe\n"))[0] == ("oboe", " flute", "drum")


def test_headers_of_other_programs(save):
    assert said(save('"anchor" "near" "far"\n"1" "oboe" "flute" "drum"\n"2" "gong" "harp" "oboe"\n')) == ROWS[:2]  # R
    with pytest.raises(FileFormatError, match="line 2"):  # which cell is one too many is not known
        read_comparisons(save("anchor,near,far\n1,oboe,flute,drum\n2,gong,harp,oboe\n"))
    assert said(save("# anchor near far\noboe flute drum\n")) == ROWS[:1]  # numpy.savetxt
    assert said(save("anchor,near,far,\noboe,flute,drum,\n")) == ROWS[:1]  # PsychoPy
    assert said(save(table() + "END OF FILE\n")) == ROWS  # Gorilla
    assert said(save("\n\nanchor,near,far\n\noboe,flute,drum\n,,\n")) == ROWS[:1]


@pytest.mark.parametrize("header_row", [1, 2, 3])
def test_the_row_of_the_header_is_declared(save, header_row):
    path = save("My lab,,\n" * (header_row - 1) + table())
    assert said(path, Layout(header_row=header_row)) == ROWS
    with pytest.raises(FileFormatError, match=r"ends before line 9|t\.csv"):
        read_comparisons(path, Layout(header_row=9))
    plain = save("\n".join(map(",".join, ROWS)) + "\n")
    assert said(plain, Layout(anchor=1, near=2, far=3)) == ROWS
    assert said(plain, Layout(anchor=1, near=2, far=3, header_row=1)) == ROWS[1:]


def test_lines_are_counted_as_an_editor_does(save):
    path = save("My lab,,\n\nref,n,f\noboe,flute,drum\n")
    assert said(path, Layout(header_row=3, anchor="ref", near="n", far="f")) == ROWS[:1]
    head = 'anchor,near,far,weight\n\n"two\nlines",b,c,1\n\n'
    with pytest.raises(FileFormatError, match="line 6, column 'weight'"):
        read_comparisons(save(head + "a,b,c,heavy\n"))
    with pytest.raises(FileFormatError, match="line 6: 3 cells"):
        read_comparisons(save(head + "a,b,c\n"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"), ("\n\n", "is empty"), (" ", "is empty"), ("\ufeff", "is empty"), ("# \n", "is empty"),
        ("anchor,near,far\n", "no rows"), ("anchor,near,far\n\n", "no rows"), ("anchor,near,far\n,,\n", "no objects"),
        ("anchor,near,far\n" + "a,b,c\n" * 9 + "d,e\nf,g,h,i\n", "line 11"),
        ("anchor,near,far\na,b,c\nd;e;f\n", "line 3"),
        ('anchor,near,far\na,b,c\n"d,e,f\n' + "g,h,i\n" * 30, "line 3"),
        (b"anchor,near,far\na,b\0,c\n", "binary"), ('anchor,near,far\n"a"x,b,c\n', "line 2"),
        (b"\x89PNG\r\n", ""), (b"%PDF-1.4", ""),
        (b"PK\x03\x04 no archive", ""), ("anchor,near,far\n" + "a" * (text.HEAD_BYTES + 9), "rows"),
    ],
    ids=lambda given: str(given)[:20],
)  # fmt: skip
def test_files_that_are_no_tables_are_refused(save, content, reason):
    with pytest.raises(FileFormatError, match=rf"t\.csv.*{reason}"):
        read_comparisons(save(content))


def test_a_file_that_is_not_there(save, tmp_path):
    save(table(), "answers.csv")
    with pytest.raises(FileFormatError, match=r"no such file; did you mean 'answers.csv'"):
        read_comparisons(tmp_path / "answer.csv")
    with pytest.raises(FileFormatError, match="no such file"):
        read_comparisons(tmp_path / "none" / "x.csv")


@pytest.mark.parametrize("quoted", [False, True])
def test_long_files_are_read_in_blocks(save, quoted, monkeypatch):
    monkeypatch.setattr(text, "_BLOCK_BYTES", 4096)
    rng = np.random.default_rng(0)
    words = np.array([f"word {number:03}" for number in range(300)])
    rows = [tuple(words[rng.permutation(300)[:3]]) for _ in range(2000)]
    cells = [tuple(f'"{cell}"' for cell in row) for row in rows] if quoted else rows
    assert said(save(table(rows=cells))) == rows
