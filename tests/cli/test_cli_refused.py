"""What a user says is followed or refused: endings of outputs, files that exist, options that nothing reads."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.cli.app import cli, commands
from nearer.cli.output import OutputFile
from nearer.data import Comparisons
from nearer.estimator import OrdinalEmbedding
from nearer.io import write_comparisons
from nearer.reports import content

COMMANDS = {name: cli.get_command(None, name) for name in commands()}
WRITING = [
    (words, param)
    for name, command in COMMANDS.items()
    for words, one in [
        ((name,), command),
        *(((name, sub), one) for sub, one in getattr(command, "commands", {}).items()),
    ]
    for param in one.params
    if isinstance(param.type, OutputFile)
]
WITHOUT_EFFECT = [
    "plot map.nearer -o p.png --file nowhere.csv",
    "plot map.nearer -o p.png --loss ste",
    "plot map.nearer -o p.png --what convergence --groups people.csv",
    "plot map.nearer -o p.png --what steps --axes 7,8",
    "plot map.nearer -o p.png --what calibration --no-labels",
    "plot map.nearer -o p.png --what calibration --strict",
    "plot line.nearer -o p.png --axes 5,9",
    "plot map.nearer -o p.svg --dpi 300",
    "report map.nearer -o r.html --where a=b",
    "score map.nearer answers.csv --loss ste",
    "suggest --objects 9 --sheet x",
    "simulate points.npy -n 9 --class-column z -o a.csv",
    "fit answers.csv -o out --cv 0 --cv-by question",
    "people people.csv -o kept.csv",
]


@pytest.fixture(scope="module")
def models(points):
    """A plane and a line of named objects."""
    known = Comparisons.from_points(points, 400, random_state=1, labels=[f"obj{number:02d}" for number in range(12)])
    return [OrdinalEmbedding(d, random_state=0).fit(known) for d in (2, 1)]


@pytest.fixture
def files(tmp_path, answers, points, models):
    """Beside answers.csv: the two maps, map.nearer and line.nearer, and small tables."""
    for model, name in zip(models, ("map", "line")):
        model.save(tmp_path / f"{name}.nearer")
    asked = Comparisons.from_points(points, 120, random_state=2)
    write_comparisons(tmp_path / "people.csv", Comparisons(asked.index, participants=np.repeat(["p", "q", "r"], 40)))
    (tmp_path / "rules.toml").write_text("min_answers = 1\n")
    np.save(tmp_path / "points.npy", points)
    return tmp_path


@pytest.mark.parametrize(("words", "param"), WRITING, ids=lambda one: " ".join(one) if isinstance(one, tuple) else None)
def test_an_unknown_ending_is_refused_before_any_work(nearer, tmp_path, tree, words, param):
    before = ["map.nearer"] if param.param_type_name == "argument" else [param.opts[-1]]
    for name in ("x.json", "x.csv.gz", "x", ".csv"):
        called = nearer(*words, *before, name)
        assert called.refused
        assert f"{name}: got " in called.err
        assert f"expected one that can be written: {', '.join(param.type.endings)}" in called.err
    assert tree(tmp_path) == []


def test_the_library_looks_at_the_place_of_a_report_before_its_studies(files, monkeypatch):
    monkeypatch.setattr(content, "evaluate", None)
    (files / "r.html").write_text("")
    for path, error in (("r.pdf", ValueError), ("r.html", FileExistsError), ("no/r.html", FileNotFoundError)):
        with pytest.raises(error):
            content.write_report(None, path=files / path)


def test_force_counts_before_and_after_the_output(nearer, files):
    (files / "n.csv").write_text("old")
    assert "use --force to replace it" in nearer("neighbours", "map.nearer", "-o", "n.csv").err
    assert (files / "n.csv").read_text() == "old"
    assert nearer("neighbours", "map.nearer", "-o", "n.csv", "--force").code == 0
    assert nearer("neighbours", "--force", "map.nearer", "-o", "n.csv").code == 0


@pytest.mark.parametrize("command", WITHOUT_EFFECT)
def test_an_option_that_nothing_would_come_of_is_refused(nearer, files, tree, command):
    before = tree(files)
    assert nearer(*command.split()).refused
    assert tree(files) == before


@pytest.mark.parametrize("table", ["label,group\nz,1\n", "label,group\n0,\n1,\n", "label\n0\n"])
def test_bad_groups_of_numbered_objects_are_refused_before_the_fit(nearer, files, monkeypatch, table):
    monkeypatch.setattr("nearer.cli.fit._fit", None)
    (files / "groups.csv").write_text(table)
    assert "nearer fit: groups.csv" in nearer("fit", "people.csv", "-o", "out", "--groups", "groups.csv").err
    assert not (files / "out").exists()
