"""`nearer demo`: map 60 cars from the answers of people."""

from __future__ import annotations

import click

import nearer
from nearer.cli.options import FORCE, RANDOM_STATE
from nearer.cli.output import SUMMARY, Results, Say, command, repeat_command, write_summary

_TITLE = "60 cars, from 7,097 answers"


@command("nearer demo", "nearer demo -o cars --random-state 1")
@click.option("-o", "--out", default="demo", type=click.Path(), help="Folder for the results.")
@RANDOM_STATE
@FORCE
def demo_command(say: Say, out: str, random_state: int) -> None:
    """Map 60 cars from 7,097 answers to the question which of three cars is the most central.

    The answers are those of 146 people (Kleindessner and von Luxburg, JMLR 18(58), 2017). The map knows nothing else of
    the cars; their pictures and classes are only shown on it.
    """
    from nearer.coordinates import write_embedding
    from nearer.datasets import load_cars
    from nearer.metrics import retrieval_scores
    from nearer.plots import plot_map, save_figure
    from nearer.reports import describe
    from nearer.reports.sentences import percent, scores_line
    from nearer.selection import evaluate

    results = Results(out, ("map.png", "embedding.csv", "report.html", SUMMARY), say.force)
    cars = load_cars()
    say.note(f"{_TITLE} of 146 people: {cars.comparisons!r}")
    with say.compiling():
        model = nearer.TSTE(2, random_state=random_state).fit(cars.comparisons)
    say.note("held-out answers: maps of 1 to 4 dimensions, and each participant against a map of the others")
    found = evaluate(model, cars.comparisons, dims=(1, 2, 3, 4))
    same_class = float(retrieval_scores(model.embedding_, cars.classes, k=5).precision[0])
    values = {**found.summary(), "neighbours_in_the_same_class": same_class, "command": repeat_command()}
    with results.writing() as target:
        write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
        drawn = plot_map(model.embedding_, None, cars.classes, images=cars.pictures, title=_TITLE, size=(12.0, 5.8))
        save_figure(drawn, target / "map.png", dpi=150)
        report = describe(
            model, cars.comparisons, found, title=_TITLE, groups=cars.classes, images=cars.pictures[0].parent,
            command=repeat_command(),
        )  # fmt: skip
        report.save(target / "report.html")
        write_summary(target, values)
    lines = [
        scores_line(found),
        f"dimensions: {values['dimensions']['verdict']}",
        f"clusters: {percent(same_class)} of a car's 5 nearest neighbours are of its class",
        f"wrote {', '.join(results.files())}",
    ]
    say.done(values | {"files": results.files()}, "\n".join(lines))
