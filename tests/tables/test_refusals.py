"""A refusal is short, says what came, and what it proposes reads the table once its blanks are filled in."""

from __future__ import annotations

import json
import pickle
import shlex
from pathlib import Path

import pandas as pd
import pytest
from carriers import spelled

from nearer import Layout
from nearer.io import read_comparisons
from nearer.tables import Refusal

EXPORTS = Path(__file__).parents[1] / "exports"
EXPECTED = json.loads((EXPORTS / "expected.json").read_text(encoding="utf-8"))


def refused(source, layout=None):
    """The refusal of a table; checks its form."""
    with pytest.raises(Refusal) as caught:
        read_comparisons(source, layout)
    refusal = caught.value
    for text in (str(refusal), refusal.render(lambda layout: layout.options(), "or: nearer describe ...")):
        assert len(text.splitlines()) <= 12
        assert max(map(len, text.splitlines())) < 300
        assert text.startswith(f"{refusal.name}: {refusal.problem}")
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)
    assert refusal.remedies
    assert len({repr(remedy) for remedy in refusal.remedies}) == len(refusal.remedies)
    return refusal


def filled(refusal, known):
    """The remedy that agrees with most of what is known of a table, its blanks filled in."""
    for remedy in sorted(refusal.remedies, key=lambda remedy: -len(remedy.columns.keys() & known.keys())):
        columns = {role: known.get(role) if name == "?" else name for role, name in remedy.columns.items()}
        codes = {cell: known.get("answers", {}).get(cell, "skip") for cell in remedy.answers}
        agrees = all(columns[role] == known[role] for role in columns.keys() & known.keys())
        if agrees and None not in columns.values():
            return Layout(remedy.kind, answers=codes, **columns)
    raise AssertionError(f"no remedy fits {known}: {refusal.remedies}")


def read_as_proposed(source, known):
    """Follow refusals, two at most, until the table is read; also as options of the command line."""
    layout = Layout()
    for _ in range(3):
        try:
            result = read_comparisons(source, layout)
        except Refusal:
            layout = layout.updated(filled(refused(source, layout), known))
            continue
        said = shlex.split(layout.options())
        said = dict(zip(said[::2], said[1::2]))
        parsed = Layout.parse(said.get("--columns"), said.get("--answers"))
        assert read_comparisons(source, parsed).comparisons == result.comparisons
        return result
    raise AssertionError(f"still refused with {layout!r}")


AB, ABC = {"f": "a", "j": "b"}, {"1": "a", "2": "b", "3": "c"}
FDG = ("oboe", "flute", "drum")
# Table -> what only its owner knows, and what its first row then says.
ODD = {
    "ref,near_one,far_one\noboe,flute,drum": ({"anchor": "ref", "near": "near_one", "far": "far_one"}, FDG),
    "x,y,z\n3,1,2": ({"anchor": "x", "near": "z", "far": "y"}, ("3", "2", "1")),
    "head,winner,lost\noboe,flute,drum": ({"far": "lost"}, FDG),
    "stimulus,winner,loser\noboe,flute,drum": ({"anchor": "stimulus"}, FDG),
    "Reiz\tlinks\trechts\tTaste\noboe\tflute\tdrum\tf": (
        {"anchor": "Reiz", "a": "links", "b": "rechts", "answer": "Taste", "answers": AB}, FDG,
    ),
    "target,left,right,key\noboe,flute,drum,f": ({"answer": "key", "answers": AB}, FDG),
    "target,left,right,response\noboe,flute,drum,0\noboe,flute,drum,1": ({"answers": {"0": "a", "1": "b"}}, FDG),
    "target,left,right,response\noboe,flute,drum,-1\noboe,flute,drum,+1": ({"answers": {"-1": "a", "+1": "b"}}, FDG),
    "target,left,right,response\noboe,flute,drum,links\nx,y,z,timeout": ({"answers": {"links": "a"}}, FDG),
    "target,left,right,response\noboe,flute,drum,more similar\nx,y,z,?": ({"answers": {"more similar": "a"}}, FDG),
    "anchor,a,b,pick\noboe,flute,drum,drum": ({"far": "pick"}, FDG),
    "anchor,near,far,answer\noboe,flute,drum,drum": ({"a": "near", "b": "far"}, ("oboe", "drum", "flute")),
    "anchor,near,far,response\noboe,flute,drum,left": ({"near": "near", "far": "far"}, FDG),
    "anchor,a,b,near,far\noboe,flute,drum,flute,drum": ({"near": "near", "far": "far"}, FDG),
    "anchor,a,b,response,choice\noboe,flute,drum,a,b": ({"answer": "response"}, FDG),
    "anchor,reference,near,far\np1,oboe,flute,drum": ({"anchor": "reference"}, FDG),
    "target,left,right,response,answer,is_correct\noboe,flute,drum,left,right,0": ({"answer": "response"}, FDG),
    "near,far\nflute,drum": None,
    "anchor,a,b,for_a,for_b\noboe,flute,drum,3,0": ({"votes_a": "for_a", "votes_b": "for_b"}, FDG),
    "s1,s2,s3,odd\nflute,oboe,drum,drum": ({"a": "s1", "b": "s2", "c": "s3"}, ("flute", "oboe", "drum")),
    "a,b,c,pick\nflute,oboe,drum,drum": ({"odd": "pick"}, ("flute", "oboe", "drum")),
    "a,b,c,which\nflute,oboe,drum,oboe": ({"central": "which"}, ("flute", "oboe", "drum")),
    "a,b,c,odd\nflute,oboe,drum,3": ({"answers": ABC}, ("flute", "oboe", "drum")),
    "i,j,k,m\n1,2,3,4": ({"i": "i", "j": "j", "l": "k", "k": "m"}, ("1", "2", "3", "4")),
    "i,j,l,k,answer\n1,2,3,4,1\n1,2,3,4,0": ({"answers": {"1": "b", "0": "a"}}, ("3", "4", "1", "2")),
    "anchor,rank_1,next\noboe,flute,drum": ({"rank_2": "next"}, FDG),
    "participant,subject_id,worker_id\n1,2,3": None,
    "oboe,flute,drum\ngong,harp,drum": ({"anchor": 1, "near": 2, "far": 3}, FDG),
    "3 1 2\n4 0 1\n": ({"anchor": 1, "near": 2, "far": 3}, ("3", "1", "2")),
    "0 1 2\n3 2 4\n4 0 3": ({"a": 1, "b": 2, "odd": 3}, ("0", "1", "2")),
    "anchor,near,far,participant_id,subject\noboe,flute,drum,7,s1": ({"participant": "subject"}, FDG),
}  # fmt: skip


@pytest.mark.parametrize("text", [pytest.param(text, id=text.split("\n")[0]) for text in ODD])
def test_what_a_refusal_proposes_reads_the_table(text, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(text + "\n", encoding="utf-8")
    refusal = refused(path)
    assert text.splitlines()[1].replace("\t", ";").split(";")[0].split(",")[0].split()[0] in str(refusal)
    if ODD[text] is not None:
        known, first = ODD[text]
        assert spelled(read_as_proposed(path, known).comparisons)[0] == first


DECLARED = [name for name, said in EXPECTED.items() if "layout" in said and "on_bad_rows" not in said["layout"]]


@pytest.mark.parametrize("name", DECLARED)
def test_what_the_refusal_of_an_export_proposes_reads_it(name):
    known = EXPECTED[name]["layout"]
    result = read_as_proposed(EXPORTS / "files" / name, known)
    assert spelled(result.comparisons) == list(map(tuple, EXPECTED[name]["comparisons"]))


@pytest.mark.parametrize(
    "source",
    [
        EXPORTS / "files" / "qualtrics_wide.csv",
        pd.DataFrame({"participant": ["p1", "p2"], "q1": ["flute", "drum"], "q2": ["oboe", "oboe"], "q3": ["a", "b"]}),
        pd.DataFrame({f"trial{n}_{what}": ["x", "y"] for n in range(3) for what in ("anchor", "near", "far")}),
        pd.DataFrame({"anchor": ["oboe"], **{f"answer{n}": ["flute"] for n in range(30)}}),
    ],
)
def test_a_table_whose_rows_hold_several_answers_needs_reshaping(source):
    assert "reshape" in str(refused(source))


def test_tables_of_many_columns_and_long_cells_are_shown_in_few_letters():
    wide = pd.DataFrame({f"column number {number}": ["word " * 500] for number in range(500)})
    assert len(str(refused(wide))) < 2000


def test_strict_refuses_columns_that_are_not_used():
    table = {"anchor": ["oboe"], "near": ["flute"], "far": ["drum"], "age": [31]}
    refusal = refused(table, Layout(strict=True))
    assert "age" in refusal.problem
    assert read_comparisons(table, refusal.remedies[0]).unused == ("age",)
