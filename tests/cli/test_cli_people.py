"""`nearer people`, and what `nearer fit` and `nearer dims` do with participants."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nearer import Comparisons, load
from nearer.io import read_comparisons, write_comparisons


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Ten people and twenty objects; the first person guesses."""
    rng = np.random.default_rng(0)
    X = 2 * rng.normal(size=(20, 2))
    who = np.repeat(np.arange(10), 50)
    rows = np.argsort(rng.random((500, 20)), axis=1)[:, :3]
    near, far = (np.linalg.norm(X[rows[:, 0]] - X[rows[:, k]], axis=1) for k in (1, 2))
    first = np.where(who == 0, rng.random(500) < 0.5, near < far)
    data = Comparisons.from_answers(
        rows, first, labels=[f"o{number:02d}" for number in range(20)], participants=np.char.add("p", who.astype(str)),
        details={"seconds": np.where(who == 9, 0.2, 1.5), "order": np.tile(np.arange(50), 10)},
    )  # fmt: skip
    path = tmp_path_factory.mktemp("people") / "answers.csv"
    write_comparisons(path, data)
    return path


def test_people_are_listed_and_left_out_by_rules(people, nearer, tmp_path):
    shown = nearer("people", people, "--table", str(tmp_path / "people.csv"))
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0].split()[:3] == ["participant", "answers", "seconds"]
    assert lines[1].startswith("p0 ")
    assert len(lines) == 11
    assert len((tmp_path / "people.csv").read_text().splitlines()) == 11
    rules = tmp_path / "rules.toml"
    rules.write_text("min_seconds = 0.5\nbetter_than_chance = true\n")
    kept = nearer("people", people, "--rules", str(rules), "-o", str(tmp_path / "kept.csv"), "--json")
    values = kept.json
    assert values["exclusions"]["participants"] == ["p0", "p9"]
    assert "Of 10 participants, 2 (20.0 %) were excluded by rules set beforehand" in values["exclusions"]["paragraph"]
    left = read_comparisons(tmp_path / "kept.csv").comparisons
    assert sorted(set(left.participants)) == [f"p{number}" for number in range(1, 9)]
    assert left.answers.seconds is not None


def test_what_is_wrong_is_told_in_one_line(people, nearer, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("anchor,near,far\na,b,c\nb,c,a\n")
    for args, message in (
        (["people", str(plain)], "who gave the answers is not known"),
        (["people", people, "-o", str(tmp_path / "k.csv")], "without --rules nobody is excluded"),
        (["people", people, "--rules", str(tmp_path / "none.toml")], "No such file"),
        (["fit", str(plain), "-o", str(tmp_path / "o"), "--reliability"], "who gave the answers is not known"),
        (["fit", str(plain), "-o", str(tmp_path / "o"), "--cv-by", "participant"], "who gave the answers is not known"),
        (["fit", people, "-o", str(tmp_path / "o"), "--reliability", "--loss", "soe"], "not a probability model"),
    ):
        found = nearer(*args)
        assert found.code == 2
        assert message in found.err
        assert "Traceback" not in found.err
    assert not (tmp_path / "o").exists()


def test_fit_weighs_people_and_tests_on_new_ones(people, nearer, tmp_path):
    out = tmp_path / "out"
    found = nearer("fit", people, "-o", str(out), "--reliability", "--loss", "ste", "--cv-by", "participant")
    assert found.code == 0, found.err
    model = load(out / "model.nearer")
    guesses = dict(zip(model.reliability_.participants, model.reliability_.guesses))
    assert max(guesses, key=guesses.get) == "p0"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["reliability"]["participant"] == sorted(guesses)
    assert len(summary["people"]["participant"]) == 10
    page = (out / "report.html").read_text()
    assert "The people" in page
    assert "Each was compared with a map made without them" in page
    again = nearer("report", out, "-o", tmp_path / "again.html")
    assert again.code == 0, again.err
    assert "Each was compared with a map made without them" in (tmp_path / "again.html").read_text()


def test_dimensions_for_people_who_are_new(people, nearer):
    found = nearer("dims", people, "--dims", "1-2", "--cv-by", "participant", "--json")
    assert found.json["chosen"] in (1, 2)
