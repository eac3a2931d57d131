"""`nearer people`, and what `nearer fit` and `nearer dims` do with participants."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from nearer import Comparisons, load
from nearer.io import read_comparisons, write_comparisons

PEOPLE = Path(__file__).parents[1] / "golden/answers/answers.csv"  # of six, of whom p0 guesses


def test_people_are_listed_and_left_out_by_rules(nearer, tmp_path):
    shown = nearer("people", PEOPLE, "--table", "people.csv")
    assert shown.code == 0
    sentences, rows, legend = shown.out.split("\n\n")
    assert "1 person cannot be distinguished from somebody who only guesses: p0 (agrees in " in sentences
    assert len(rows.splitlines()) == 7
    assert all(f"{name}: " in legend for name in rows.split()[2:8])
    table = (tmp_path / "people.csv").read_text().splitlines()
    assert len(table) == 7
    assert table[1].startswith("p0,50,")
    (tmp_path / "rules.toml").write_text("better_than_chance = true\n")
    options = ("--rules", "rules.toml", "-o", "kept.csv", "--table", "people.csv", "--force")
    kept = nearer("people", PEOPLE, *options, "--json")
    assert kept.json["exclusions"]["participants"] == ["p0"]
    with (tmp_path / "people.csv").open(newline="") as file:
        why = {row["participant"]: row["excluded"] for row in csv.DictReader(file)}
    assert {name: bool(text) for name, text in why.items()} == {f"p{number}": number == 0 for number in range(6)}
    assert [why["p0"]] == [words for words, who in kept.json["exclusions"]["reasons"].items() if who]
    left = read_comparisons(tmp_path / "kept.csv").comparisons
    assert sorted(set(left.participants)) == [f"p{number}" for number in range(1, 6)]


def test_what_needs_people_is_refused_without_them(nearer, tmp_path):
    (tmp_path / "plain.csv").write_text("anchor,near,far\na,b,c\nb,c,a\n")
    for args, message in (
        (("people", "plain.csv"), "--columns participant=NAME"),
        (("people", PEOPLE, "--rules", "none.toml"), "none.toml: No such file"),
        (("fit", "plain.csv", "-o", "o", "--reliability"), "who gave the answers is not known"),
        (("fit", "plain.csv", "-o", "o", "--cv-by", "participant"), "who gave the answers is not known"),
        (("fit", PEOPLE, "-o", "o", "--reliability", "--loss", "soe"), "not a probability model"),
    ):
        found = nearer(*args)
        assert found.refused
        assert message in found.err
    assert not (tmp_path / "o").exists()


@pytest.fixture
def noisy(tmp_path):
    """Twelve people who answer 40 questions twice and err in one answer of seven."""
    rng = np.random.default_rng(0)
    asked = Comparisons.from_points(rng.normal(size=(9, 2)), 40, random_state=0).index
    who, rows = np.repeat(np.arange(12), 80), np.tile(asked, (24, 1))
    names = np.array([f"w{number:02d}" for number in range(12)])
    seconds = (rng.lognormal(1.0, 0.3, len(who)) / np.where(who == 5, 8, 1)).round(4)
    data = Comparisons(rows, participants=names[who], details={"seconds": seconds})
    return data.flipped(rng.random(len(rows)) < 1 / 7)


def test_noise_is_no_problem_and_who_inverts_the_task_is_named_everywhere(nearer, noisy, tmp_path):
    write_comparisons(tmp_path / "noisy.csv", noisy)
    clean = nearer("check", "noisy.csv", "-d", 2, "--exit-code", "--json")
    assert (clean.code, clean.json["check"]["problems"], clean.json["suspicions"]) == (0, [], [])
    assert len(clean.json["check"]["contradictions"]) > 30
    write_comparisons(tmp_path / "one.csv", noisy.flipped(noisy.participants == "w07"))
    assert nearer("fit", "one.csv", "-o", "out").code == 0
    checked = nearer("check", "one.csv", "--exit-code")
    assert checked.code == 1
    shown = nearer("people", "one.csv").out
    said = "1 person seems to have answered the other way round, by the map of the others: w07 (agrees in "
    for text in (checked.out, shown.partition("\n\n")[0], (tmp_path / "out/report.html").read_text()):
        assert said in text
        assert "Ask them, exclude them or reverse their answers; nothing was changed." in text
    assert "1 person was much faster than the others" in shown
    assert "w05 (median 0.3" in shown


def test_fit_weighs_people_and_tests_on_new_ones(nearer, tmp_path):
    found = nearer("fit", PEOPLE, "-o", "out", "--reliability", "--loss", "ste", "--cv-by", "participant", "--json")
    assert found.code == 0, found.err
    model = load(tmp_path / "out/model.nearer")
    guesses = dict(zip(model.reliability_.participants, model.reliability_.guesses))
    assert max(guesses, key=guesses.get) == "p0"
    assert found.json["reliability"]["participant"] == sorted(guesses)
    # A person has the same figures whatever the map is.
    assert found.json["people"] == nearer("people", PEOPLE, "--json").json["people"]
    dims = nearer("dims", PEOPLE, "--dims", "1-2", "--cv-by", "participant", "--plot", "dims.svg", "--json")
    assert dims.json["chosen"] in (1, 2)
    assert (tmp_path / "dims.svg").exists()
    assert nearer("report", "out", "-o", "again.html").code == 0
    for page in ("out/report.html", "again.html"):
        assert "Each was compared with a map made without them" in (tmp_path / page).read_text()
