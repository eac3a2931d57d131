"""`nearer neighbours`: who is nearest to whom."""

from __future__ import annotations

import difflib

import click

from nearer.cli._inputs import labels_of, open_map
from nearer.cli._options import FORCE, MAP
from nearer.cli._output import TABLES, OutputFile, csv_text, give_table
from nearer.cli._say import Say, speaking


@speaking(
    "nearer neighbours out Paris Rome -k 3",
    "nearer neighbours out -o neighbours.csv",
)
@MAP
@click.argument("objects", nargs=-1, metavar="[OBJECT]...")
@click.option("-k", type=click.IntRange(1), default=5, show_default=True, help="How many for each object.")
@click.option("-o", "--out", type=OutputFile(*TABLES), help="CSV file to write, instead of printing.")
@FORCE
def command(say: Say, map_path: str, objects: tuple[str, ...], k: int, out: str | None, force: bool) -> None:
    """Tell which objects are nearest to each OBJECT on the MAP; for all objects if none is named.

    Gives a table: label, rank, neighbour, distance. Distances have no unit; only their ratios mean something.
    """
    import numpy as np

    from nearer.data.errors import counted
    from nearer.metrics import nearest_neighbours

    model = open_map(map_path)
    labels = labels_of(model).tolist()
    number = {label: spot for spot, label in enumerate(labels)}
    for name in objects:
        if name not in number:
            near = difflib.get_close_matches(name, labels, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name!r}: no such object on the map{hint}")
    placed = np.isfinite(model.embedding_).all(axis=1)
    for name in objects:
        if not placed[number[name]]:
            raise ValueError(f"{name!r}: has no place on the map, so no neighbours")
    if not objects and not placed.all():
        say.note(f"{map_path}: {int((~placed).sum()):,} of {len(labels):,} objects have no place, and are left out")
    found, distances = nearest_neighbours(model.embedding_, k)
    table: dict[str, list] = {"label": [], "rank": [], "neighbour": [], "distance": []}
    for spot in [number[name] for name in objects] or range(len(labels)):
        for rank, (other, far) in enumerate(zip(found[spot].tolist(), distances[spot].tolist())):
            if other >= 0:
                for column, value in zip(table.values(), (labels[spot], rank + 1, labels[other], far)):
                    column.append(value)
    told = counted(len(table["label"]), "row")
    give_table(say, csv_text(table, ".6g"), out, force, {"neighbours": table}, told)
