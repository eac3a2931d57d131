"""Side tables of objects: whatever carries them, they mean the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nearer.io import FileFormatError
from nearer.io.objects import LIST, WORDS, read_cells, read_objects

FRUIT = pd.DataFrame(
    {"fruit": ["fig", "kiwi", "lime"], "group": ["A", "B", "A"], "nr": [7, 8, 9], "x": [0.5, 1, -2e-3]}
)


def write(frame, path, **more):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, **more)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("t.csv", {}),
        ("t.csv", {"encoding": "utf-16"}),
        ("t.csv", {"quoting": 1, "lineterminator": "\r\n"}),
        ("t.csv.gz", {}),
        ("t.tsv", {"sep": "\t"}),
        ("t.txt", {"sep": ";"}),
        ("t.dat", {"sep": "|"}),
        ("t.xlsx", {}),
        ("t.parquet", {}),
    ],
)
def test_every_carrier_means_the_same(tmp_path, name, more):
    path = tmp_path / name
    write(FRUIT, path, **more)
    words, column = read_objects(path, WORDS, known=["kiwi"]).words()
    assert (words, column) == (["A", "B", "A"], "group")
    write(FRUIT[["x", "fruit"]], path, **more)
    table = read_objects(path)
    assert table.labels.tolist() == ["fig", "kiwi", "lime"]
    np.testing.assert_array_equal(table.numbers(), [[0.5], [1], [-0.002]])
    write(FRUIT[["fruit"]].rename(columns={"fruit": "Item"}), path, **more)
    assert read_objects(path, LIST).labels.tolist() == ["fig", "kiwi", "lime"]


def test_names_of_columns_that_a_file_keeps_apart_are_no_objects(tmp_path):
    FRUIT[["fruit"]].to_parquet(tmp_path / "t.parquet")
    assert read_objects(tmp_path / "t.parquet", LIST).labels.tolist() == ["fig", "kiwi", "lime"]
    FRUIT[["fruit"]].to_csv(tmp_path / "t.csv", index=False)
    table = read_objects(tmp_path / "t.csv", LIST)
    assert table.labels.tolist() == ["fruit", "fig", "kiwi", "lime"]
    assert table.understood([]) == "t.csv: 4 objects, named by 'column 1'; no names of columns"


def test_empty_rows_and_columns_are_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufefflabel,x,\n'=a,1,\n\n,,\n7,2,\n", encoding="utf-8")
    table = read_objects(path)
    assert table.labels.tolist() == ["=a", "7"]
    assert table.numbers().tolist() == [[1], [2]]
    assert read_cells(path).places == ["line 1", "line 2", "line 5"]


def test_coordinates_without_names_of_objects(tmp_path):
    path = tmp_path / "t.csv"
    for text in ("x,y\n1,2\n3,4.5\n", "dim_1,dim_2\n1,2\n3,4.5\n", "age,height\n1,2\n1,4.5\n", "price\n1\n2\n"):
        path.write_text(text)
        table = read_objects(path)
        assert table.names_at is None
        assert table.labels.tolist() == ["0", "1"]
        assert table.numbers()[0, 0] == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t.csv: is empty"),
        ("\n\n", "t.csv: is empty"),
        ("label,x\n", "t.csv: has a header but no rows"),
        ("x,y\n", "t.csv: has a header but no rows"),
        ("label,x\na,1\nb\n", "t.csv, line 3: got 1 cell, expected 2 as in line 1"),
        ("label,x\na,1\nb,two\n", "t.csv, line 3, column 'x': got 'two', expected a number"),
        ("x,y\n1,2\n3,four\n", "t.csv, line 3, column 'y': got 'four', expected a number"),
        ("label;x\na;1,5\n", "t.csv, line 2, column 'x': got '1,5', expected a number"),
        ("label,x\na,1\n\na,2\n", "t.csv, line 4: got label 'a' twice, first in line 2"),
        ("1,2\n3,4\n", "t.csv, line 1: got '1', '2', expected names of columns"),
        ("label\na\n", "t.csv, line 1: got 'label' alone, expected a column of numbers too"),
        ("fruit,kind,x\na,b,1\n", "t.csv, line 1: got 'fruit', 'kind', and cannot tell which holds the names"),
        ("x,y,row\n.5,1,1\n1.5,3,2\n", "t.csv, line 1, column 'row': each row has a whole number of its own"),
        ("V1,V2\n31,1.5\n45,1.8\n", "t.csv, line 1, column 'V1': each row has a whole number of its own"),
        ("age,height\n31,1.5\n45,1.8\n", "t.csv, line 1, column 'age': each row has a whole number of its own"),
    ],
)
def test_bad_tables_are_refused_with_the_place(tmp_path, monkeypatch, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_objects("t.csv").numbers()
    assert str(caught.value).startswith(told)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "t.npz", x=1)
    with pytest.raises(FileFormatError, match="is numpy, expected a table"):
        read_objects(tmp_path / "t.npz")
    FRUIT.assign(when=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FileFormatError, match="neither text nor numbers"):
        read_objects(tmp_path / "t.parquet")
