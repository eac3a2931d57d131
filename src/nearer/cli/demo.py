"""`nearer demo`: map 60 cars from the answers of people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import nearer
from nearer.cli.fit import fit_command
from nearer.cli.inputs import MODEL
from nearer.cli.options import FORCE, RANDOM_STATE
from nearer.cli.output import Say, command


@command("nearer demo", "nearer demo -o cars --random-state 1")
@click.option("-o", "--out", default="demo", type=click.Path(), help="Folder for the results.")
@RANDOM_STATE
@FORCE
def demo_command(say: Say, out: str, random_state: int) -> None:
    """Map 60 cars from 7,097 answers to the question which of three cars is the most central.

    The answers are those of 146 people (Kleindessner and von Luxburg, JMLR 18(58), 2017). The map knows nothing else of
    the cars; their pictures and classes are only shown on it. It is fitted and evaluated as by `nearer fit`.
    """
    from nearer.datasets import load_cars
    from nearer.metrics import nearest_neighbours
    from nearer.plots import plot_map
    from nearer.reports.sentences import percent

    cars = load_cars()
    title = "60 cars, from 7,097 answers"
    given: dict[str, Any] = {"images": cars.pictures[0].parent, "groups": cars.answers.with_name("classes.csv")}
    given |= {"dims": (1, 2, 3, 4), "file": str(cars.answers), "out": out, "title": title, "random_state": random_state}
    say.note(f"{title} of 146 people: maps of 1 to 4 dimensions, and each participant against a map of the others")
    with say.compiling():
        click.get_current_context().invoke(fit_command, say=replace(say, quiet=True), **given)
    model = nearer.load(Path(out, MODEL))
    drawn = plot_map(model.embedding_, None, cars.classes, images=cars.pictures, title=title, size=(12.0, 5.8))
    say.picture(drawn, str(Path(out, "map.png")), dpi=150)
    neighbours, _ = nearest_neighbours(model.embedding_, 5)
    same_class = float((cars.classes[neighbours] == cars.classes[:, None]).mean())
    say.note(f"clusters: {percent(same_class)} of a car's 5 nearest neighbours are of its class")
    say.note(f"wrote {Path(out, 'report.html')}")
