"""Odd files of laboratories: read rightly, read with a word about what may be wrong, or refused."""

from __future__ import annotations

import pytest
from oddities import FILES, NUMBERS, SAID

from nearer.io import FileFormatError, read_comparisons

# What only the owner of the file can tell is read, and told: file -> words of `understood`.
TOLD = {
    "pandas_unnamed_numbers.csv": "the first row, 0, 1, 2, is taken as data; if it numbers the columns, say",
    "ids_header_by_number.csv": "the first row, 1, 2, 3, is taken as data; if it numbers the columns, say",
    "minus_99_for_missing.csv": "the name '-99' may stand for a missing cell",
    "question_mark_for_missing.csv": "the name '?' may stand for a missing cell",
    "dot_for_missing.csv": "the name '.' may stand for a missing cell",
    "mean_row.csv": "1 row dropped: near and far are the same object (at line 6)",
}
# Refused although a person sees what is meant; with what to tell where that is enough.
REFUSED = {
    "answer_names_in_capitals.csv": None,
    "comment_on_top.csv": None,
    "comments_inside.csv": None,
    "decimal_comma_weights.csv": {"weight": ""},
    "end_of_file.csv": {"on_missing": "drop"},
    "totals_row.csv": {"on_missing": "drop"},
    "totals_row_words.csv": {"on_missing": "drop"},
    "german.csv": {"columns": {"anchor": "Anker", "near": "nah", "far": "fern"}},
    "german_unlike.csv": {"columns": "anchor=Referenz,near=ähnlicher,far=unähnlicher"},
    "french.csv": {"columns": ["anchor", "near", "far"]},
    "spanish.csv": {"columns": ["anchor", "near", "far"]},
    "chinese.csv": {"columns": {"anchor": "参考", "near": "近", "far": "远"}},
    "mixed_languages.csv": {"columns": {"anchor": "anchor", "near": "nah", "far": "far"}},
    "typos.csv": {"columns": ["anchor", "near", "far"]},
    "pandas_unnamed_index.csv": {"columns": "-,anchor,near,far"},
    "stimulus_and_options.csv": {
        "columns": {"anchor": "stimulus", "a": "option_a", "b": "option_b", "answer": "answer"},
    },
    "title_and_blank.csv": None,
    "title_on_top.csv": None,
    "title_with_commas.csv": None,
    "two_tables.csv": None,
    "utf16_no_bom.csv": {"encoding": "utf-16-le"},
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def to_file(name):
        content = FILES[name][0]
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to_file


def said(comparisons):
    labels = [str(number) for number in range(comparisons.n_objects)]
    if comparisons.labels is not None:
        labels = comparisons.labels.tolist()
    return [tuple(labels[number] for number in row) for row in comparisons.index.tolist()]


@pytest.mark.parametrize("name", FILES)
def test_never_wrong_in_silence(write, name):
    path, meant = write(name), FILES[name][1]
    if name in REFUSED or (meant is None and name not in TOLD):
        with pytest.raises(FileFormatError) as refusal:
            read_comparisons(path)
        assert str(refusal.value).startswith(str(path))
    else:
        read = read_comparisons(path)
        assert TOLD.get(name, "") in read.understood
        assert meant is None or said(read.comparisons) == meant


@pytest.mark.parametrize("name", [name for name, told in REFUSED.items() if told])
def test_refused_then_read_as_told(write, name):
    assert said(read_comparisons(write(name), **REFUSED[name]).comparisons) == SAID


def test_an_older_encoding_is_read_as_told(write):
    read = read_comparisons(write("windows.csv"), encoding="cp1252")
    assert "Flöte" in read.comparisons.labels


def test_a_header_of_numbers_is_left_out_as_told(write):
    read = read_comparisons(write("pandas_unnamed_numbers.csv"), header=True)
    assert said(read.comparisons) == NUMBERS


def test_a_second_table_is_told_with_its_place(write):
    with pytest.raises(FileFormatError, match="line 7: 'name', 'picture', 'size': after a gap, names that stand in no"):
        read_comparisons(write("two_tables_same_width.csv"))
    with pytest.raises(FileFormatError, match="line 6: 'reference', 'winner', 'loser': names of columns among"):
        read_comparisons(write("two_tables_other_words.csv"))


def test_objects_called_as_columns_are_no_second_table(write, tmp_path):
    rows = "anchor,near,far\noboe,gong,harp\ngong,oboe,harp\nharp,oboe,gong\n\ncenter,left,right\noboe,left,center\n"
    (tmp_path / "a.csv").write_text(rows + "gong,right,left\n")
    assert len(read_comparisons(tmp_path / "a.csv").comparisons) == 6
