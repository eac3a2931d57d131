"""`Layout`: the same words in Python, in TOML and on the command line."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile

import pytest
from carriers import spelled
from hypothesis import given, settings
from hypothesis import strategies as st

from nearer import Layout
from nearer.io import FileFormatError, read_comparisons
from nearer.tables.layout import CORE, KINDS, OPTIONAL, load_layouts

text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
column = text.filter(lambda name: name != "?") | st.integers(1, 99)
layouts = st.builds(
    lambda columns, **more: Layout(**more, **columns),
    columns=st.dictionaries(st.sampled_from([*CORE, *OPTIONAL, "rank_1", "rank_12"]), column, max_size=6),
    kind=st.none() | st.sampled_from(KINDS),
    answers=st.dictionaries(text, st.sampled_from(["a", "b", "c", "skip"]), max_size=3),
    where=st.dictionaries(text, text | st.lists(text, min_size=1, max_size=3), max_size=2),
    header_row=st.none() | st.integers(0, 5), skip_rows=st.integers(0, 3), missing=st.lists(text, max_size=3),
    decimal_comma=st.booleans(), index_base=st.sampled_from([None, 0, 1]),
    on_bad_rows=st.sampled_from(["raise", "drop"]), strict=st.booleans(),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(layout=layouts, other=layouts)
def test_toml_and_repr_give_a_layout_back(layout, other, tmp_path_factory):
    path = tmp_path_factory.mktemp("layouts") / "saved.toml"
    layout.save(path)
    assert Layout.load(path) == layout
    assert eval(repr(layout), {"Layout": Layout}) == layout
    assert Layout().updated(layout) == layout
    assert layout.updated(Layout()) == layout
    both = layout.updated(other)
    assert both.columns == layout.columns | other.columns
    assert both.kind == (other.kind or layout.kind)
    path.write_text(f"[[layout]]\n{_nested(layout)}[[layout]]\n{_nested(other)}", encoding="utf-8")
    assert load_layouts(path) == (layout, other)


def _nested(layout):
    return re.sub(r"^\[", "[layout.", layout.dumps(), flags=re.MULTILINE)


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "pairs"}, {"anker": "x"}, {"anchor": ""}, {"anchor": 0}, {"anchor": None}, {"anchor": True},
        {"rank_x": "a"}, {"answers": {"f": "left"}}, {"answers": {"f": 1}}, {"header_row": -1}, {"header_row": "1"},
        {"skip_rows": -1}, {"skip_rows": True}, {"index_base": 2}, {"index_base": True}, {"on_bad_rows": "ignore"},
        {"decimal_comma": "yes"}, {"strict": 1}, {"anchor": -1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_layout_is_refused(given):
    with pytest.raises(ValueError, match=r"^\w+: got .*expected"):
        Layout(**given)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("columns = 3", ""), ("column.anchor = 'x'", "columns"), ("kind = 'pairs'", "pairs"),
        ("[columns]\nx = 'y'", "'x'"), ("layout = 3", "layout"), ("layout = []", "layout"), ("= 3", "TOML"),
        ("answers = 'f'", ""), ("\xff", "TOML"),
        ("[[layout]]\nkind = 'triplets'\n[[layout]]\nkind = 'pairs'", "layout 2"), ("header_row = 'one'", "header_row"),
        ("[[layout]]\n[[layout]]", "2 layouts"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_layout_is_refused_by_name(content, reason, tmp_path):
    path = tmp_path / "lab.toml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"lab\.toml") as caught:
        Layout.load(path)
    assert reason in str(caught.value)


def test_blanks_of_a_file_are_found_by_name(tmp_path):
    (tmp_path / "t.toml").write_text('[columns]\nanchor = "?"\nnear = ""\nfar = "other"\n')
    assert Layout.load(tmp_path / "t.toml") == Layout(far="other")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"columns": "anchor=head,near = winner,far=3"}, Layout(anchor="head", near="winner", far=3)),
        ({"columns": "anchor,-,near,far"}, Layout(anchor=1, near=3, far=4)),
        ({"columns": "kind=odd-one-out,odd=x"}, Layout("odd-one-out", odd="x")),
        ({"answers": "f=a,j=b,none=skip"}, Layout(answers={"f": "a", "j": "b", "none": "skip"})),
        ({"where": ["task=test", "task=main", "block=2"]}, Layout(where={"task": ["test", "main"], "block": "2"})),
        ({"strict": True}, Layout(strict=True)),
        ({}, Layout()),
    ],
)
def test_options_of_the_command_line(given, expected):
    assert Layout.parse(**given) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"columns": "anchor=head,near"}, {"columns": "anchor="}, {"columns": "anchor=a,anchor=b"}, {"columns": "x,y"},
        {"answers": "f"}, {"answers": "f=a,f=b"}, {"answers": "f=left"}, {"where": ["task"]}, {"columns": "kind=x"},
    ],
)  # fmt: skip
def test_options_that_say_nothing_are_refused(given):
    with pytest.raises(ValueError, match="got"):
        Layout.parse(**given)


# ---- next to the data ----------------------------------------------------------------------------------------------

TEXT = "who,ref,l,r,key\np1,oboe,flute,drum,j\np2,gong,harp,drum,f\n"
LAYOUT = Layout(anchor="ref", a="l", b="r", answer="key", participant="who", answers={"f": "a", "j": "b"})
SAYS = [("oboe", "drum", "flute"), ("gong", "harp", "drum")]


def pack(path, content):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner.csv", content)
            archive.writestr("__MACOSX/._inner.csv", "junk")
    else:
        path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.zip", "t.tsv.gz", "t", "t.v2.csv"])
def test_the_layout_next_to_a_file_is_used(name, tmp_path):
    path = tmp_path / name
    content = TEXT.replace(",", "\t") if ".tsv" in name else TEXT
    pack(path, content)
    with pytest.raises(FileFormatError):
        read_comparisons(path)
    LAYOUT.save(tmp_path / ("t.v2.layout.toml" if "v2" in name else "t.layout.toml"))
    result = read_comparisons(path)
    assert spelled(result.comparisons) == SAYS
    assert result.layouts == (LAYOUT,)
    assert result.comparisons.participants.tolist() == ["p1", "p2"]
    turned = LAYOUT.updated(Layout(answers={"f": "b", "j": "a"}))
    assert spelled(read_comparisons(path, turned).comparisons)[0] == ("oboe", "flute", "drum")


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_standard_input_with_a_layout(form, tmp_path, monkeypatch):
    names, *rows = (line.split(",") for line in TEXT.splitlines())
    records = [dict(zip(names, row)) for row in rows]
    content = {"csv": TEXT, "json": json.dumps(records), "jsonl": "\n".join(map(json.dumps, records)) + "\n"}[form]
    LAYOUT.save(tmp_path / "lab.toml")
    for layout in (LAYOUT, tmp_path / "lab.toml", str(tmp_path / "lab.toml")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        assert spelled(read_comparisons("-", layout).comparisons) == SAYS
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    with pytest.raises(FileFormatError, match=r"^standard input: ") as caught:
        read_comparisons("-")
    assert caught.value.name == "standard input"


@pytest.mark.parametrize("layout", ["", [], [1], 3, {"anchor": "x"}])
def test_what_is_no_layout_argument_is_refused(layout):
    with pytest.raises(ValueError, match=r"got|no such file|layout"):
        read_comparisons({"anchor": ["x"], "near": ["y"], "far": ["z"]}, layout)
