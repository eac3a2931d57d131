"""Side tables of objects: whatever carries them, they mean the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nearer.io import FileFormatError
from nearer.io.objects import LIST, WORDS, read_cells, read_objects

FRUIT = pd.DataFrame(
    {"label": ["fig", "kiwi", "lime"], "group": ["A", "B", "A"], "nr": [7, 8, 9], "x": [0.5, 1, -2e-3]}
)


def write(frame, path, **more):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, **more)


@pytest.mark.parametrize(("name", "more"), [
    ("t.csv", {}), ("t.csv", {"encoding": "utf-16"}), ("t.csv", {"quoting": 1, "lineterminator": "\r\n"}),
    ("t.csv.gz", {}), ("t.tsv", {"sep": "\t"}), ("t.txt", {"sep": ";"}), ("t.xlsx", {}), ("t.parquet", {}),
])  # fmt: skip
def test_every_carrier_means_the_same(tmp_path, name, more):
    path = tmp_path / name
    write(FRUIT, path, **more)
    words, column = read_objects(path, WORDS).words()
    assert (words, column) == (["A", "B", "A"], "group")
    write(FRUIT[["x", "label"]], path, **more)
    table = read_objects(path)
    assert table.labels.tolist() == ["fig", "kiwi", "lime"]
    np.testing.assert_array_equal(table.numbers(), [[0.5], [1], [-0.002]])
    write(FRUIT[["label"]].rename(columns={"label": "Item"}), path, **more)
    assert read_objects(path, LIST).labels.tolist() == ["fig", "kiwi", "lime"]


def test_the_names_of_objects_are_found_by_the_name_of_their_column(tmp_path):
    path = tmp_path / "t.csv"
    for name in ("label", "Name", "OBJECT", "item", "id"):
        path.write_text(f"x,{name}\n1,fig\n2,kiwi\n")
        assert read_objects(path).labels.tolist() == ["fig", "kiwi"]
    path.write_text("id,label,group\n1,fig,A\n2,kiwi,B\n")  # the first of these names is preferred
    assert read_objects(path, WORDS).labels.tolist() == ["fig", "kiwi"]
    for text in ("fruit,group\nfig,A\n", "id,name,group\n1,fig,A\n", "fig\nkiwi\n"):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=r"line 1.*'label'"):
            read_objects(path, LIST)


def test_words_of_a_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,colour,class,note\nfig,purple,A,\nkiwi,green,B,x\n")
    table = read_objects(path, WORDS)
    assert table.words() == (["A", "B"], "class")
    assert table.words("colour") == (["purple", "green"], "colour")
    assert table.words("note")[0] == ["", "x"]
    assert "'note'" in table.understood(["class"])
    with pytest.raises(FileFormatError, match="Colour"):
        table.words("Colour")


def test_empty_rows_and_columns_are_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufefflabel,x,\n'=a,1,\n\n,,\n7,2,\n", encoding="utf-8")
    table = read_objects(path)
    assert table.labels.tolist() == ["=a", "7"]
    assert table.numbers().tolist() == [[1], [2]]
    cells = read_cells(path)
    assert [cells.place(row) for row in range(3)] == ["line 1", "line 2", "line 5"]


@pytest.mark.parametrize("text", ["x,y\n1,2\n3,4.5\n", "age,height\n1,2\n1,4.5\n", "price\n1\n2\n"])
def test_coordinates_without_names_of_objects(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    table = read_objects(tmp_path / "t.csv")
    assert (table.names_at, table.labels.tolist(), table.numbers()[0, 0]) == (None, ["0", "1"], 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t.csv: is empty"),
        ("label,x\n", "t.csv: has a header but no rows"),
        ("label,x\na,1\nb\n", "t.csv, line 3: 1 cell"),
        ("label,x\na,1\nb,two\n", "t.csv, line 3, column 'x': got 'two', expected a number"),
        ("label;x\na;1,5\n", "t.csv, line 2, column 'x': got '1,5', expected a number"),
        ("label,x\na,1\n\na,2\n", "t.csv, line 4: got label 'a' twice, first in line 2"),
        ("label,x\na,1\n ,2\n", "t.csv, line 3: got no name"),
        ("label,x,x\na,1,2\n", "t.csv, line 1: got two columns called 'x'"),
        ("label\na\n", "t.csv, line 1: got 'label'"),
        ("label,,x\na,1,2\n", "t.csv, line 1: "),
        ("fruit,x\nfig,1\n", "t.csv, line 2, column 'fruit': got 'fig', expected a number"),
        ("label,x\na,inf\n", "t.csv, line 2, column 'x': got 'inf'"),
    ],
)
def test_bad_tables_are_refused_with_the_place(tmp_path, monkeypatch, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_objects("t.csv").numbers()
    assert str(caught.value).startswith(told)
