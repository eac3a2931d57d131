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


def test_options_declare_columns_answers_and_rows(nearer, keys):
    told = nearer("check", "keys.csv", *COLUMNS, *ANSWERS, "--where", "task=test", "--json").json["input"]
    assert (told["kind"], told["n_comparisons"], told["dropped"]) == ("answers", 2, {"not selected (where)": 1})
    assert told["columns"]["participant"] == "who"
    assert nearer("check", "keys.csv", *COLUMNS, *ANSWERS, "--strict").code == 2
    assert nearer("check", "keys.csv", *COLUMNS, *ANSWERS, "--where", "task=test", "--strict").code == 0


def test_every_summary_shows_what_was_understood(nearer, keys):
    layout = Layout(anchor="ref", a="l", b="r", answer="key", participant="who", answers={"f": "a", "j": "b"})
    understood = read_comparisons("keys.csv", layout).understood
    assert "not used: task" in understood
    assert understood.endswith("first row: x is nearer to y than to z")
    called = nearer("fit", "keys.csv", "-o", "out", "--cv", 0, *COLUMNS, *ANSWERS, "--json")
    assert called.err.splitlines()[0] == understood
    assert called.json["input"]["understood"] == understood


def test_a_layout_next_to_the_file_is_used_mentioned_and_updated(nearer, keys, tmp_path):
    layout = Layout(anchor="ref", a="l", b="r", answer="key", answers={"f": "a", "j": "b"})
    layout.save(tmp_path / "keys.layout.toml")
    called = nearer("convert", "keys.csv", "o.csv", "--json")
    assert called.code == 0
    assert "keys.layout.toml" in called.err
    assert called.json["input"]["notes"] == ["layout: keys.layout.toml"]
    assert called.json["n_comparisons"] == 3
    more = ("--where", "task=test", "--columns", "participant=who")
    updated = nearer("convert", "keys.csv", "o.csv", "--force", *more, "--json")
    assert updated.json["input"]["columns"]["participant"] == "who"
    assert updated.json["n_comparisons"] == 2
    os.rename("keys.layout.toml", "elsewhere.toml")
    assert nearer("convert", "keys.csv", "o.csv", "--force").code == 2
    assert nearer("convert", "keys.csv", "o.csv", "--force", "--layout", "elsewhere.toml").code == 0


def test_several_layouts_in_one_file(nearer, keys, tmp_path):
    both = "[columns]\nanchor = 'ref'\na = 'l'\nb = 'r'\nanswer = 'key'\n[answers]\n"
    blocks = [("test", "f='a'\nj='b'"), ("practice", "f='b'\nj='a'")]
    both = both.replace("[", "[layout.")
    text = [f"[[layout]]\nwhere = {{ task = '{task}' }}\n{both}{codes}\n" for task, codes in blocks]
    (tmp_path / "keys.layout.toml").write_text("".join(text))
    assert nearer("convert", "keys.csv", "o.csv").code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[3].startswith("z,y,x")
    assert nearer("describe", "keys.csv").code == 2
    assert nearer("check", "keys.csv").code == 0


def test_a_refusal_is_a_command_to_complete(nearer, keys, tmp_path, tree):
    """Each remedy, completed, is a command that works."""
    called = nearer("convert", "keys.csv", "o.csv")
    assert (called.code, called.out) == (2, "")
    assert "Traceback" not in called.err
    assert called.err.count("\n") <= 12
    assert tree(tmp_path) == ["keys.csv"]
    (remedy,) = [line.strip() for line in called.err.splitlines() if "answer=?" in line]
    for role, name in (("anchor", "ref"), ("a", "l"), ("b", "r"), ("answer", "key")):
        remedy = remedy.replace(f"{role}=?", f"{role}={name}")
    again = nearer(*shlex.split(remedy)[1:], "--where=task=test")
    assert again.code == 2
    (remedy,) = [line.strip() for line in again.err.splitlines() if "--answers" in line]
    done = nearer(*shlex.split(remedy.replace("f=?", "f=a").replace("j=?", "j=b"))[1:])
    assert done.code == 0
    assert len(read_comparisons("o.csv").comparisons) == 2


def test_both_readings_of_an_ambiguous_table_are_offered(nearer, tmp_path):
    (tmp_path / "t.csv").write_text("anchor,near,far,answer\nx,y,z,y\ny,x,z,z\n")
    called = nearer("convert", "t.csv", "o.csv")
    commands = [line.strip() for line in called.err.splitlines() if line.strip().startswith("nearer convert t.csv")]
    assert len(commands) >= 2
    found = set()
    for number, command in enumerate(commands):
        assert nearer(*shlex.split(command.replace("o.csv", f"{number}.csv"))[1:]).code == 0, command
        found.add((tmp_path / f"{number}.csv").read_text().splitlines()[2][:5])
    assert found == {"y,x,z", "y,z,x"}


def test_a_strict_refusal_offers_what_is_not_refused_again(nearer, tmp_path):
    (tmp_path / "t.csv").write_text("anchor,near,far,age\na,b,c,9\n")
    called = nearer("convert", "t.csv", "o.csv", "--strict")
    (command,) = [line.strip() for line in called.err.splitlines() if line.strip().startswith("nearer convert t.csv")]
    assert nearer(*shlex.split(command)[1:]).code == 0


@pytest.mark.parametrize(("width", "columns"), [(3, "anchor,near,far"), (4, "i,j,l,k")])
def test_an_array_needs_declared_columns(nearer, tmp_path, width, columns):
    np.save(tmp_path / "t.npy", np.array([[3, 1, 0, 2][:width], [0, 2, 1, 3][:width]]))
    called = nearer("convert", "t.npy", "o.csv")
    assert called.code == 2
    assert nearer("convert", "t.npy", "o.csv", "--columns", columns).code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == ",".join("3102"[:width])
    for command in (line.strip() for line in called.err.splitlines() if "--columns" in line):
        nearer(*shlex.split(command)[1:], "--force")
    assert nearer("describe", "t.npy", "-o").code == 0
    assert nearer("convert", "t.npy", "o.csv", "--force").code == 2  # nothing was filled in


def test_text_without_a_header_needs_declared_columns(nearer, tmp_path):
    (tmp_path / "t.txt").write_text("1 5 7\n2 3 1\n")
    assert nearer("convert", "t.txt", "o.csv").code == 2
    assert nearer("convert", "t.txt", "o.csv", "--columns", "far,-,anchor").code == 2
    assert nearer("convert", "t.txt", "o.csv", "--columns", "far,near,anchor").code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == ["7,5,1", "1,3,2"]


@pytest.mark.parametrize(
    "options",
    [("--columns", "anchr=x"), ("--columns", "anchor=nowhere"), ("--columns", "kind=stars"), ("--answers", "f"),
     ("--where", "task"), ("--layout", "no.toml"), ("--sheet", "x")],
)  # fmt: skip
def test_bad_declarations_are_one_line(nearer, answers, options):
    called = nearer("check", "answers.csv", *options)
    assert (called.code, called.err.count("\n")) == (2, 1)


# ---- describe


def complete(path, **columns):
    text = path.read_text(encoding="utf-8")
    for role, name in columns.items():
        assert f'\n{role} = ""\n' in text
        text = text.replace(f'\n{role} = ""\n', f"\n{role} = {name!r}\n")
    path.write_text(text, encoding="utf-8")


def test_describe_complete_fit(nearer, keys, tmp_path):
    printed = nearer("describe", "keys.csv")
    assert printed.code == 0
    assert nearer("describe", "keys.csv", "-o").code == 0
    layout = tmp_path / "keys.layout.toml"
    assert layout.read_text() == printed.out
    assert Layout.load(layout).declared() == {}
    for cell in ("ref", "x | y | z", "test | test | practice"):
        assert cell in printed.out
    assert nearer("describe", "keys.csv", "-o").code == 2
    complete(layout, anchor="ref", a="l", b="r", answer="key", participant="who")
    assert nearer("describe", "keys.csv", "-o", "--force").code == 0  # now it knows the cells of the answers
    layout.write_text(layout.read_text().replace('f = "?"', 'f = "a"').replace('j = "?"', 'j = "b"'))
    assert nearer("fit", "keys.csv", "-o", "out", "--cv", 0).code == 0


def test_describe_fills_in_what_is_understood(nearer, answers, tmp_path):
    assert nearer("describe", "answers.csv", "-o", "-q").out == ""
    found = Layout.load(tmp_path / "answers.layout.toml")
    assert found == Layout("triplets", anchor="anchor", near="near", far="far")
    assert nearer("check", "answers.csv").code == 0


@pytest.mark.data
def test_describe_a_real_survey(nearer, tmp_path):
    folder = os.environ.get("NEARER_DATA")
    if not folder:
        pytest.skip("NEARER_DATA is not set")
    os.symlink(f"{folder}/cars/survey_data.csv", tmp_path / "survey_data.csv")
    assert nearer("describe", "survey_data.csv", "-o").code == 0
    shown = {letter: f"triplet_object_{number}" for number, letter in enumerate("abc", 1)}
    complete(tmp_path / "survey_data.layout.toml", **shown, central="chosen_center", seconds="response_time")
    called = nearer("fit", "survey_data.csv", "-o", "out", "--cv", 0, "--json")
    assert called.json["input"]["kind"] == "most-central"
    assert called.json["input"]["n_answers"] == 7097
