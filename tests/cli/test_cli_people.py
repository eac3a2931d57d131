"""`nearer people`, and what `nearer fit` and `nearer dims` do with participants."""

from __future__ import annotations

from pathlib import Path

from nearer import load
from nearer.io import read_comparisons

PEOPLE = Path(__file__).parents[1] / "golden/answers/answers.csv"  # of six, of whom p0 guesses


def test_people_are_listed_and_left_out_by_rules(nearer, tmp_path):
    shown = nearer("people", PEOPLE, "--table", "people.csv")
    assert shown.code == 0
    assert len(shown.out.splitlines()) == 7
    table = (tmp_path / "people.csv").read_text().splitlines()
    assert len(table) == 7
    assert table[1].startswith("p0,50,")
    (tmp_path / "rules.toml").write_text("better_than_chance = true\n")
    kept = nearer("people", PEOPLE, "--rules", "rules.toml", "-o", "kept.csv", "--json")
    assert kept.json["exclusions"]["participants"] == ["p0"]
    left = read_comparisons(tmp_path / "kept.csv").comparisons
    assert sorted(set(left.participants)) == [f"p{number}" for number in range(1, 6)]


def test_what_needs_people_is_refused_without_them(nearer, tmp_path):
    (tmp_path / "plain.csv").write_text("anchor,near,far\na,b,c\nb,c,a\n")
    for args, message in (
        (("people", "plain.csv"), "who gave the answers is not known"),
        (("people", PEOPLE, "--rules", "none.toml"), "none.toml: No such file"),
        (("fit", "plain.csv", "-o", "o", "--reliability"), "who gave the answers is not known"),
        (("fit", "plain.csv", "-o", "o", "--cv-by", "participant"), "who gave the answers is not known"),
        (("fit", PEOPLE, "-o", "o", "--reliability", "--loss", "soe"), "not a probability model"),
    ):
        found = nearer(*args)
        assert found.refused
        assert message in found.err
    assert not (tmp_path / "o").exists()


def test_fit_weighs_people_and_tests_on_new_ones(nearer, tmp_path):
    found = nearer("fit", PEOPLE, "-o", "out", "--reliability", "--loss", "ste", "--cv-by", "participant", "--json")
    assert found.code == 0, found.err
    model = load(tmp_path / "out/model.nearer")
    guesses = dict(zip(model.reliability_.participants, model.reliability_.guesses))
    assert max(guesses, key=guesses.get) == "p0"
    assert found.json["reliability"]["participant"] == sorted(guesses)
    assert len(found.json["people"]["participant"]) == 6
    dims = nearer("dims", PEOPLE, "--dims", "1-2", "--cv-by", "participant", "--plot", "dims.svg", "--json")
    assert dims.json["chosen"] in (1, 2)
    assert (tmp_path / "dims.svg").exists()
    assert nearer("report", "out", "-o", "again.html").code == 0
    for page in ("out/report.html", "again.html"):
        assert "Each was compared with a map made without them" in (tmp_path / page).read_text()
