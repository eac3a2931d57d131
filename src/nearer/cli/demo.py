"""`nearer demo`: map 60 cars from the answers of people."""

from __future__ import annotations

from typing import Any

import click

import nearer
from nearer.cli.files import OutputFolder, Results, write_summary
from nearer.cli.options import FORCE, RANDOM_STATE
from nearer.cli.output import Say, command, repeat_command

FILES = ("map.png", "embedding.csv", "report.html", "summary.json")
_DIMENSIONS = (1, 2, 3, 4)
_NEIGHBOURS = 5
_TITLE = "60 cars, from 7,097 answers"


@command("nearer demo", "nearer demo -o cars --random-state 1")
@click.option("-o", "--out", default="demo", type=OutputFolder(*FILES), help="Folder for the results.")
@RANDOM_STATE
@FORCE
def demo_command(say: Say, out: Results, random_state: int) -> None:
    """Map 60 cars from 7,097 answers to the question which of three cars is the most central.

    The answers are those of 146 people (Kleindessner and von Luxburg, JMLR 18(58), 2017). The map knows nothing else of
    the cars; their pictures and classes are only shown on it.
    """
    from nearer.coordinates import write_embedding
    from nearer.datasets import load_cars
    from nearer.metrics import precision_at_k
    from nearer.plots import plot_map, save_figure
    from nearer.reports import describe
    from nearer.selection import evaluate

    cars = load_cars()
    answers = cars.comparisons
    assert answers.people is not None  # bundled with their participants
    say.note(f"{int(answers.n_answers):,} answers by {len(answers.people.names)} people: {answers!r}")
    with say.compiling():
        model = nearer.TSTE(2, random_state=random_state).fit(answers)
    say.note("held-out answers: maps of 1 to 4 dimensions, and each participant against a map of the others")
    found = evaluate(model, answers, dims=_DIMENSIONS)
    same_class = precision_at_k(model.embedding_, cars.classes, k=_NEIGHBOURS)
    values: dict[str, Any] = {**found.summary(), "neighbours_in_the_same_class": same_class}
    with out as target:
        write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
        drawn = plot_map(model.embedding_, None, cars.classes, images=cars.pictures, title=_TITLE, size=(12.0, 5.8))
        save_figure(drawn, target / "map.png", dpi=150)
        images = cars.pictures[0].parent
        report = describe(
            model, answers, found, title=_TITLE, groups=cars.classes, images=images, command=repeat_command()
        )
        report.save(target / "report.html")
        write_summary(target, values | {"command": repeat_command()})
    say.done(values | {"files": out.files()}, _text(values, out))


def _text(values: dict[str, Any], out: Results) -> str:
    from nearer.reports.sentences import percent

    held, people = values["cross_validation"], values["people"]
    return "\n".join([
        f"held-out answers: {percent(held['accuracy'])} right (5-fold cross-validation; guessing: 50 %)",
        f"dimensions: {values['dimensions']['verdict']}",
        f"participants: {len(people['participant'])}, each compared with a map of the others; see the report",
        f"clusters: {percent(values['neighbours_in_the_same_class'])} of a car's {_NEIGHBOURS} nearest neighbours are "
        "of its class, which the map does not know",
        f"wrote {', '.join(out.files())}",
    ])  # fmt: skip
