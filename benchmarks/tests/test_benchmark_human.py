"""The leaderboard on human answers: against literal computations, resumed, and as the page shows it."""

from __future__ import annotations

import csv
import json
import os
import re

import numpy as np
import pytest
from benchmarks import common
from benchmarks.figures import fill
from benchmarks.human import entries, report, sets
from benchmarks.human import run as human

from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_points
from nearer.metrics import calibration, log_loss

pytestmark = pytest.mark.tools

CENTRAL = ("participant", "a", "b", "c", "central", "part")
VOTES = ("anchor", "a", "b", "votes_a", "votes_b")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file of sets with generated answers: the most central of three, to each question twice, and votes."""
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    X = make_points(12, 2, random_state=0)

    def distance(a, b):
        return np.linalg.norm(X[a] - X[b]) * rng.lognormal(0.0, 0.3)

    central, votes = [], []
    for number in range(150):
        a, b, c = rng.choice(12, 3, replace=False).tolist()
        for _ in range(2):
            d = {o: sum(distance(o, other) for other in (a, b, c) if other != o) for o in (a, b, c)}
            part = "test" if number % 4 == 0 else "train"
            central.append((f"p{rng.integers(8)}", *(f"o{o}" for o in (a, b, c, min(d, key=d.get))), part))
        first = sum(distance(a, b) < distance(a, c) for _ in range(5))
        votes.append((*(f"o{o}" for o in (a, b, c)), first, 5 - first))
    for name, names, rows in (("central", CENTRAL, central), ("votes", VOTES, votes)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([names, *rows])
    (folder / "sets.toml").write_text(
        '[central]\nfile = "central.csv"\npublished = { part = "test" }\n\n[votes]\nfile = "votes.csv"\n'
    )
    return folder / "sets.toml"


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "RESULTS", tmp_path / "results")
    return common.RESULTS


@pytest.fixture
def quick(made, results, monkeypatch):
    """Run on the generated sets, without cblearn; returns the rows of the CSV file."""
    monkeypatch.setattr(human, "has_cblearn", lambda quick: False)

    def run(*more):
        human.main(["--quick", "--set", str(made), "--sets", "central,votes", *more])
        with (results / "human-quick.csv").open() as file:
            return list(csv.DictReader(file))

    return run


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def literal_accuracy(rows, tested, is_right):
    """Share of the answers to some questions (sets of objects, with the anchor if there is one) that are right."""
    total = right = 0
    for row in rows:
        if "central" in row:
            said = [(row["central"], {row["a"], row["b"], row["c"]} - {row["central"]}, 1)]
            question = frozenset((row["a"], row["b"], row["c"]))
        else:
            question = (row["anchor"], frozenset((row["a"], row["b"])))
            said = [(row["a"], row["b"], int(row["votes_a"])), (row["b"], row["a"], int(row["votes_b"]))]
        if question in tested:
            for winner, other, count in said:
                total += count
                right += count * is_right(row, winner, other)
    return right / total


def questions_in(test):
    names = test.labels[test.index]
    if test.answers.kind == "most-central":
        return {frozenset(row) for row in names.tolist()}
    return {(anchor, frozenset(options)) for anchor, *options in names.tolist()}


def outcome(made, name, entry, grouping="question", number=1):
    one = sets.load(name, made)
    split = sets.split_of(one, grouping, number)
    found = entries.outcome_of(entries.entries_of(one)[entry], one, split, 2, 0)
    return split, found, entries.measures(split, found)[1]


@pytest.mark.parametrize("name", ["central", "votes"])
def test_accuracy_of_a_map_is_the_one_of_a_literal_script(made, name):
    split, _, figures = outcome(made, name, "soe")
    model = OrdinalEmbedding(2, loss="soe", n_jobs=1, random_state=0).fit(split.train)
    X = dict(zip(split.train.labels.tolist(), model.embedding_.tolist()))

    def apart(a, b):
        return sum((x - y) ** 2 for x, y in zip(X[a], X[b]))

    def is_right(row, winner, other):
        if name == "votes":
            return apart(row["anchor"], winner) < apart(row["anchor"], other)
        first, second = other
        return max(apart(winner, first), apart(winner, second)) < apart(first, second)

    rows = rows_of(made.with_name(f"{name}.csv"))
    expected = literal_accuracy(rows, questions_in(split.test), is_right)
    assert 0.5 < expected < 1
    assert figures["accuracy"] == pytest.approx(expected, abs=1e-12)


def test_accuracy_of_the_most_frequent_winner_is_the_one_of_a_literal_script(made):
    split, _, figures = outcome(made, "votes", "most frequent winner")
    tested = questions_in(split.test)
    won, shown = {}, {}
    rows = rows_of(made.with_name("votes.csv"))
    for row in rows:
        if (row["anchor"], frozenset((row["a"], row["b"]))) not in tested:
            for option, votes in (("a", "votes_a"), ("b", "votes_b")):
                won[row[option]] = won.get(row[option], 0) + int(row[votes])
                shown[row[option]] = shown.get(row[option], 0) + 5
    rate = {option: (won[option] + 0.5) / (shown[option] + 1) for option in shown}
    expected = literal_accuracy(rows, tested, lambda row, winner, other: rate[winner] > rate[other])
    assert figures["accuracy"] == pytest.approx(expected, abs=1e-12)


def test_the_winner_of_a_pair_is_the_one_that_beat_the_other():
    train = Comparisons([[0, 1, 2], [3, 1, 2], [0, 2, 1], [0, 2, 3], [1, 2, 3], [0, 2, 3]])
    test = Comparisons([[3, 1, 2], [3, 2, 1]], n_objects=4)
    split = sets.Split(train, test, np.arange(2), 0.0)
    one = sets.HumanSet("x", train, ("question",))
    known = entries.entries_of(one)
    assert known["most frequent winner of the pair"].run(one, split, None, 0).holds.tolist() == [True, False]
    assert known["most frequent winner"].run(one, split, None, 0).holds.tolist() == [False, True]


def test_log_loss_and_calibration_are_those_of_the_library(made):
    split, found, figures = outcome(made, "votes", "ste")
    model = OrdinalEmbedding(2, loss="ste", n_jobs=1, random_state=0).fit(split.train)
    assert figures["log_loss"] == pytest.approx(log_loss(model.embedding_, split.test, model.loss_))
    expected = calibration(model.embedding_, split.test, model.loss_).ece
    assert figures["calibration_error"] == pytest.approx(expected)
    assert figures["accuracy_by_comparison"] == pytest.approx(model.score(split.test))
    assert found.n_components == 2


@pytest.mark.parametrize("grouping", ["question", "participant"])
def test_every_answer_is_tested_once_and_no_unit_is_on_both_sides(made, grouping):
    one = sets.load("central", made)
    n_tested, units = 0, []
    for number in range(sets.FOLDS):
        split = sets.split_of(one, grouping, number)
        n_tested += split.test.n_answers + split.n_left_out
        units.append(set(split.unit.tolist()))
        if grouping == "question":
            assert not questions_in(split.test) & questions_in(split.train)
        else:
            assert not set(split.test.participants) & set(split.train.participants)
    assert n_tested == one.answers.n_answers
    assert sum(map(len, units)) == len(set.union(*units))
    again, other = (sets.split_of(one, grouping, number).digest() for number in (0, sets.FOLDS))
    assert again == sets.split_of(one, grouping, 0).digest() != other


def test_the_published_split_is_the_one_of_the_file(made):
    split = sets.split_of(sets.load("central", made), "published", 0)
    rows = rows_of(made.with_name("central.csv"))
    n_test = sum(row["part"] == "test" for row in rows)
    assert (split.train.n_answers, split.test.n_answers) == (len(rows) - n_test, n_test)


def test_a_comparison_is_repeated_by_its_votes_for_software_without_weights(made, tmp_path, monkeypatch):
    X, given = make_points(12, 2, random_state=1), []

    class Worker:
        processor_seconds = 1.5

        def fit(self, data, loss, d, seed):
            with np.load(data) as held:
                given.append(held["train"])
            return 9.0, X[:11]  # the last object is in no answer that the worker saw

    class Folder:
        name = str(tmp_path)

    monkeypatch.setattr(entries, "_worker", lambda: (Worker(), Folder()))
    split, found, figures = outcome(made, "votes", "cblearn SOE")
    rows, counts = np.unique(given[-1], axis=0, return_counts=True)
    expected = split.train.aggregate()
    np.testing.assert_array_equal(rows, expected.index)
    np.testing.assert_array_equal(counts, expected.weights)
    assert found.seconds == 1.5
    near, far = (((X[split.test.index[:, 0]] - X[split.test.index[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    with_last = (split.test.index == 11).any(axis=1)
    assert with_last.any()
    np.testing.assert_array_equal(found.holds, (near < far) & ~with_last)
    assert 0 < figures["accuracy"] < 1


def test_a_second_run_computes_only_what_has_changed(quick, results, monkeypatch, capsys):
    first = quick()
    assert {row["set"] for row in first} == {"central", "votes"}
    assert {row["grouping"] for row in first} == set(sets.GROUPINGS)
    assert all(0 <= float(row["accuracy"]) <= 1 for row in first)
    assert not any(row["note"] for row in first)
    done = []
    work = human.work
    monkeypatch.setattr(human, "work", lambda task: done.append(task.entry) or work(task))
    assert quick() == first
    assert done == []
    store = results / "human-quick.jsonl"
    lines = store.read_text().splitlines(keepends=True)
    store.write_text("".join(lines[:-1]) + lines[-1][:30])  # as if it had been killed while writing
    assert len(quick()) == len(first)
    assert len(done) == 1
    done.clear()
    software = human._software
    monkeypatch.setattr(human, "_software", lambda name: "new" if name == "nearer" else software(name))
    quick()
    assert report.REFERENCE in done
    assert "most frequent winner" not in done


def test_an_entry_that_fails_is_named_and_tried_again(quick, results, monkeypatch, capsys):
    def broken(*given):
        raise RuntimeError("out of order")

    known = entries.entries_of
    spoilt = entries.Entry("spoilt", broken, "nearer")
    monkeypatch.setattr(human, "entries_of", lambda one: {**known(one), "spoilt": spoilt})
    rows = quick("--entries", "spoilt")
    assert {row["note"] for row in rows if row["entry"] == "spoilt"} == {"RuntimeError: out of order"}
    assert all(row["accuracy"] for row in rows if row["entry"] == report.REFERENCE)
    assert "out of order" in (results / "human-quick.md").read_text()
    monkeypatch.undo()


def test_differences_and_their_errors_are_those_of_a_literal_computation(made):
    """Two folds, of which the entry and the reference differ in some answers."""
    one = sets.load("central", made)
    rng, rows, values = np.random.default_rng(0), [], {}
    for number in (0, 1):
        split = sets.split_of(one, "question", number)
        right = {entry: rng.random(len(split.unit)) < share for entry, share in ((report.REFERENCE, 0.7), ("ste", 0.5))}
        for entry, bits in right.items():
            rows.append({
                "set": "central", "grouping": "question", "d": 2, "entry": entry, "split": number, "note": "",
                "right": report.packed(bits), "accuracy": bits.mean(), "accuracy_by_comparison": 0.5,
                "log_loss": None, "calibration_error": None, "seconds": 1.0, "n_components": 2,
            })  # fmt: skip
        for unit, difference in zip(split.unit, right["ste"].astype(int) - right[report.REFERENCE]):
            values.setdefault(int(unit), []).append(difference)
    (found,) = (row for row in report.summarise(rows, {"central": one})["rows"] if row["entry"] == "ste")
    n = sum(map(len, values.values()))
    mean = sum(map(sum, values.values())) / n
    sums = [sum(v - mean for v in unit) / n for unit in values.values()]
    error = (sum(s * s for s in sums) * len(sums) / (len(sums) - 1)) ** 0.5
    assert found["difference"] == pytest.approx(mean)
    assert found["difference_error"] == pytest.approx(error)
    assert found["difference_half"] == pytest.approx(2.0 * error, rel=0.03)


def test_verdicts_take_the_best_rival_of_each_cell():
    def row(d, entry, difference):
        return {"set": "x", "grouping": "question", "d": d, "entry": entry, "difference": difference,
                "difference_half": 0.004, "difference_error": 0.002, "spread": 0.004}  # fmt: skip

    rows = [row(2, "cblearn A", -0.02), row(2, "cblearn B", 0.0005), row(3, "cblearn A", 0.01), row(3, "tste", -0.03)]
    found = report.against_cblearn(rows)
    assert [(cell["best"], cell["holds"]) for cell in found] == [("cblearn B", True), ("cblearn A", False)]
    assert found[0]["low"] == pytest.approx(-0.0045)
    text = "\n".join(report.verdicts({"rows": rows}))
    assert f"{100 * (-0.0005 - 0.01) / 2:+.2f}" in text
    assert "over 2 cells" in text
    assert "+3.00" in text  # against the old default
    (line,) = report.against_cblearn_table(found).splitlines()[2:]
    assert re.findall(r"\*\*(\S+) .*?\*\* (\w)", line) == [("-1.00", "A")]
    assert "2.00" in text  # the spread between splits is twice the standard error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[x]\nfile = 'nowhere.csv'", "no such file"),
        ("[x]\nlayout = 'a'", "without a file"),
        ("[x]\nfile = 'votes.csv'\ngroup = 1", "got 'group'"),
        ("[x]\nfile = 'votes.csv'\ngrouping = ['participant']", "got 'participant'"),
        ("[x", "TOML"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_refused(made, results, tmp_path, capsys, text, told):
    path = made.with_name("wrong.toml")
    path.write_text(text)
    with pytest.raises(SystemExit) as stopped:
        human.main(["--quick", "--set", str(path), "--sets", "x"])
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.skipif(not os.environ.get("NEARER_DATA"), reason="reads answers that are not part of the repository")
def test_a_quick_run_of_all_sets(results, capsys):
    human.main(["--quick", "--jobs", "2"])
    rows = rows_of(results / "human-quick.csv")
    assert {row["set"] for row in rows} == set(sets.declared())
    assert {"features: pixels", "features: class"} < {row["entry"] for row in rows}
    assert not any(row["note"] for row in rows)


def test_the_page_holds_what_is_saved():
    text = report.DOCS.read_text()
    assert fill(text, report.blocks(report.saved())) == text
    prose = re.sub(r"<!-- begin.*?<!-- end [\w-]+ -->", "", text, flags=re.DOTALL)
    assert len(prose.split()) <= 500
    record = json.loads((common.RESULTS / "human.json").read_text())
    assert record["failed"] == []
