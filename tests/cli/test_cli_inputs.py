"""What the columns of a file mean: by name, by options, by a layout file; refusals; `nearer describe`."""

from __future__ import annotations

import os
import shlex

import numpy as np
import pytest

from nearer import Layout
from nearer.io import read_comparisons

KEYS = "ref,l,r,key,who,task\nx,y,z,f,p1,test\ny,z,x,j,p2,test\nz,x,y,f,p1,practice\n"
COLUMNS = ("--columns", "anchor=ref,a=l,b=r,answer=key,participant=who")
ANSWERS = ("--answers", "f=a,j=b")


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text(KEYS)
    return path


def commands(called):
    """The commands that a refusal proposes, without `nearer`."""
    assert called.refused
    assert called.err.count("\n") <= 12
    return [line.strip().removeprefix("nearer ") for line in called.err.splitlines() if " --columns " in line]


def test_options_declare_columns_answers_and_rows(nearer, keys):
    found = nearer("check", "keys.csv", *COLUMNS, *ANSWERS, "--where", "task=test", "--json").json["input"]
    assert (found["kind"], found["n_comparisons"], [*found["dropped"].values()]) == ("answers", 2, [1])
    assert found["columns"]["participant"] == "who"
    assert nearer("check", "keys.csv", *COLUMNS, *ANSWERS, "--strict").code == 2
    assert nearer("check", "keys.csv", *COLUMNS, *ANSWERS, "--where", "task=test", "--strict").code == 0


def test_a_layout_next_to_the_file_is_used_mentioned_and_updated(nearer, keys, tmp_path):
    layout = Layout(anchor="ref", a="l", b="r", answer="key", answers={"f": "a", "j": "b"})
    layout.save(tmp_path / "keys.layout.toml")
    called = nearer("convert", "keys.csv", "-o", "o.csv", "--json")
    assert "keys.layout.toml" in called.err
    assert called.json["input"]["notes"] == ["layout: keys.layout.toml"]
    assert called.json["n_comparisons"] == 3
    more = ("--where", "task=test", "--columns", "participant=who")
    updated = nearer("convert", "keys.csv", "-o", "o.csv", "--force", *more, "--json")
    assert updated.json["input"]["columns"]["participant"] == "who"
    assert updated.json["n_comparisons"] == 2
    os.rename("keys.layout.toml", "elsewhere.toml")
    assert nearer("convert", "keys.csv", "-o", "o.csv", "--force").code == 2
    assert nearer("convert", "keys.csv", "-o", "o.csv", "--force", "--layout", "elsewhere.toml").code == 0


def test_a_refusal_is_a_command_to_complete(nearer, keys, tmp_path, tree):
    """Each remedy, completed, is a command that works."""
    (remedy,) = [line for line in commands(nearer("convert", "keys.csv", "-o", "o.csv")) if "answer=?" in line]
    for role, name in (("anchor", "ref"), ("a", "l"), ("b", "r"), ("answer", "key")):
        remedy = remedy.replace(f"{role}=?", f"{role}={name}")
    (remedy,) = commands(nearer(*shlex.split(remedy), "--where=task=test"))
    assert tree(tmp_path) == ["keys.csv"]
    assert nearer(*shlex.split(remedy.replace("f=?", "f=a").replace("j=?", "j=b"))).code == 0
    assert len(read_comparisons("o.csv").comparisons) == 2


def test_a_strict_refusal_offers_what_is_not_refused_again(nearer, tmp_path):
    (tmp_path / "t.csv").write_text("anchor,near,far,age\na,b,c,9\n")
    (command,) = commands(nearer("convert", "t.csv", "-o", "o.csv", "--strict"))
    assert nearer(*shlex.split(command)).code == 0


@pytest.mark.parametrize(("width", "columns"), [(3, "anchor,near,far"), (4, "i,j,l,k")])
def test_an_array_needs_declared_columns(nearer, tmp_path, width, columns):
    np.save(tmp_path / "t.npy", np.array([[3, 1, 0, 2][:width], [0, 2, 1, 3][:width]]))
    assert nearer("convert", "t.npy", "-o", "o.csv").refused
    assert nearer("convert", "t.npy", "-o", "o.csv", "--columns", columns).code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == ",".join("3102"[:width])
    assert nearer("describe", "t.npy", "-o").code == 0
    assert nearer("convert", "t.npy", "-o", "o.csv", "--force").code == 2  # nothing was filled in


@pytest.mark.parametrize(
    "options",
    ["--columns anchr=x", "--columns anchor=nowhere", "--columns kind=stars", "--answers f", "--where task",
     "--layout no.toml", "--sheet x"],
)  # fmt: skip
def test_bad_declarations_are_one_line(nearer, answers, options):
    called = nearer("check", "answers.csv", *options.split())
    assert called.refused
    assert called.err.count("\n") == 1


# ---- describe


def complete(path, **columns):
    text = path.read_text(encoding="utf-8")
    for role, name in columns.items():
        assert f'\n{role} = ""\n' in text
        text = text.replace(f'\n{role} = ""\n', f"\n{role} = {name!r}\n")
    path.write_text(text, encoding="utf-8")


def test_describe_complete_fit(nearer, keys, tmp_path):
    printed = nearer("describe", "keys.csv")
    assert nearer("describe", "keys.csv", "-o").code == 0
    layout = tmp_path / "keys.layout.toml"
    assert layout.read_text() == printed.out
    assert Layout.load(layout).declared() == {}
    for cell in ("ref", "x | y | z", "test | test | practice"):
        assert cell in printed.out
    assert nearer("describe", "keys.csv", "-o").refused
    complete(layout, anchor="ref", a="l", b="r", answer="key", participant="who")
    assert nearer("describe", "keys.csv", "-o", "--force").code == 0  # now it knows the cells of the answers
    layout.write_text(layout.read_text().replace('f = "?"', 'f = "a"').replace('j = "?"', 'j = "b"'))
    assert nearer("fit", "keys.csv", "-o", "out", "--cv", 0, "--bootstrap", 0).code == 0
