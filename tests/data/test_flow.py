"""The flow from the answers collected to those analysed: every answer is accounted for, wherever the data go."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearer
from nearer import Comparisons, Layout, OrdinalEmbedding, read_comparisons, write_comparisons
from nearer.data import Flow, LeftOut
from nearer.people import exclude
from nearer.people.participants import ParticipantTable, participants
from nearer.warning_types import InputWarning

LAYOUT = Layout(on_bad_rows="drop", where={"phase": "test"})
KINDS = ("answer", "answer", "answer", "unanswered", "bad", "check", "failed check", "practice", "blank")
rows = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("uvw")), min_size=1, max_size=25)


def a_table(kinds):
    """A table with a row of each kind, after three answers of each of two people."""
    kinds = [("answer", person) for person in "xy" for _ in range(3)] + list(kinds)
    shown = {"bad": "", "check": "lime", "failed check": "lime", "blank": ""}
    said = {"unanswered": "", "bad": "plum", "failed check": "plum", "blank": ""}
    return {
        "phase": ["practice" if kind == "practice" else "test" for kind, _ in kinds],
        "participant": [person for _, person in kinds],
        "anchor": [shown.get(kind, "kiwi") for kind, _ in kinds],
        "a": ["" if kind == "blank" else "lime" for kind, _ in kinds],
        "b": ["" if kind == "blank" else "plum" for kind, _ in kinds],
        "answer": [said.get(kind, "lime") for kind, _ in kinds],
    }, kinds


def adds_up(flow):
    gone = sum(one.answers for one in flow.excluded) + sum(flow.dropped.values())
    return flow.collected == flow.passed + flow.failed + flow.unjudged + gone + flow.analysed


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows, st.sampled_from([".csv", ".jsonl", ".parquet", ".npz", ".tsv"]))
def test_every_answer_is_accounted_for(tmp_path_factory, kinds, ending):
    table, drawn = a_table(kinds)
    kinds, people = map(list, zip(*drawn))
    made = read_comparisons(table, LAYOUT).comparisons
    count = {kind: kinds.count(kind) for kind in KINDS}
    shown = [kind not in ("practice", "blank") for kind in kinds]
    flow = made.flow
    assert flow.collected == sum(shown)
    assert flow.participants == len({person for person, is_shown in zip(people, shown) if is_shown})
    assert (flow.passed, flow.failed, flow.analysed) == (count["check"], count["failed check"], made.n_answers)
    assert sum(flow.dropped.values()) == count["unanswered"] + count["bad"]
    assert sum(flow.rows.values()) == count["practice"] + count["blank"]
    assert adds_up(flow)

    left = made.people.names.tolist()
    counts = np.bincount(made.people.codes)
    who = dict.fromkeys(ParticipantTable.__dataclass_fields__)
    who |= {"participant": np.array(left), "answers": counts}
    kept, _ = exclude(made, {"min_answers": 3}, ParticipantTable(**who))
    few = counts < 3
    assert sum(one.participants for one in kept.flow.excluded) == few.sum()
    assert sum(one.answers for one in kept.flow.excluded) == counts[few].sum()
    assert (kept.flow.collected, kept.flow.analysed) == (flow.collected, kept.n_answers)
    assert adds_up(kept.flow)

    path = tmp_path_factory.mktemp("flow") / f"kept{ending}"
    write_comparisons(path, kept)
    assert read_comparisons(path).comparisons.flow == kept.flow


def test_a_split_has_the_flow_of_the_whole_and_a_model_file_keeps_it(tmp_path):
    made = Comparisons.from_odd_one_out(
        [[0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 0, 1]] * 3, [2, 3, 3, 1] * 3, on_degenerate="drop"
    )
    assert made.flow == Flow(12, None, passed=3)
    some = LeftOut({"gave fewer than 3 answers": 1}, 1, 4.0, preregistered=True)
    made = made.replaced(flow=Flow(16, 3, passed=3, excluded=(some,)))
    train, test = made.split(3, random_state=0, groups="answers")
    assert train.flow == test.flow == train.concat(test).flow == made.flow
    assert made.aggregate().flow == made.flow
    other = Comparisons([[0, 1, 2]], participants=["ann"])
    assert made.concat([other]).flow.collected == 17
    assert adds_up(made.concat([other]).flow)
    OrdinalEmbedding(1, max_seconds=1, random_state=0).fit(made).save(tmp_path / "map.nearer")
    assert nearer.load(tmp_path / "map.nearer").comparisons_.flow == made.flow


def test_what_does_not_fit_the_answers_is_not_believed(tmp_path):
    data = Comparisons([[0, 1, 2], [1, 0, 2]], participants=["a", "b"])
    write_comparisons(tmp_path / "kept.csv", data.replaced(flow=Flow(5, 3, dropped={"no answer": 3.0})))
    text = (tmp_path / "kept.csv").read_text()
    lines = text.splitlines()
    (tmp_path / "more.csv").write_text("\n".join([*lines, *(f"0,1,2,{k},triplets,a," for k in (2, 3))]) + "\n")
    with pytest.warns(InputWarning, match="more answers than the file says"):
        more = read_comparisons(tmp_path / "more.csv").comparisons
    assert more.flow == Flow(4, 2)
    (tmp_path / "part.csv").write_text("\n".join(lines[:2]) + "\n")
    part = read_comparisons(tmp_path / "part.csv").comparisons
    assert (part.n_answers, part.flow.analysed) == (1, 2)
    (tmp_path / "bad.csv").write_text(text.replace("collected", "gathered"))
    with pytest.raises(nearer.data.FileFormatError, match="flow"):
        read_comparisons(tmp_path / "bad.csv")


def test_votes_count_as_answers():
    table = {"anchor": "aaab", "a": "bbcc", "b": "ccdd", "votes_a": [3, 0, 2, 1], "votes_b": [1, 0, 2, 0]}
    table = {name: list(cells) for name, cells in table.items()}
    flow = read_comparisons(table).comparisons.flow
    assert (flow.collected, flow.analysed, flow.rows) == (9, 9, {"without votes": 1})
    assert Flow.from_dict(json.loads(json.dumps(flow.to_dict()))) == flow


def test_people_who_are_excluded_are_in_the_flow():
    rng = np.random.default_rng(0)
    index = np.array([rng.choice(6, 3, replace=False) for _ in range(60)])
    data = Comparisons(index, participants=np.repeat(list("abcd"), [20, 20, 18, 2]))
    table = participants(data, n_folds=2, random_state=0)
    kept, gone = exclude(data, {"min_answers": 5}, table, preregistered=True)
    assert kept.flow.excluded == (LeftOut({"gave fewer than 5 answers": 1}, 1, 2.0, True),)
    assert "set in advance" in str(gone)
    assert "set in advance" not in str(exclude(data, {"min_answers": 5}, table)[1])


def test_rules_that_exclude_nobody_are_in_the_flow_and_in_files(tmp_path):
    data = Comparisons([[0, 1, 2], [1, 0, 2]] * 5, participants=list("ab") * 5)
    table = participants(data)
    kept, gone = exclude(data, {"min_answers": 5}, table, preregistered=True)
    assert (gone.participants, kept.n_answers) == ([], data.n_answers)
    assert kept.flow.excluded == (LeftOut({"gave fewer than 5 answers": 0}, 0, 0.0, True),)
    assert adds_up(kept.flow)
    write_comparisons(tmp_path / "kept.csv", kept)
    assert read_comparisons(tmp_path / "kept.csv").comparisons.flow == kept.flow
    assert exclude(data, {}, table)[0].flow == data.flow
