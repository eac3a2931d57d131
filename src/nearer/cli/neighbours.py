"""`nearer neighbours`: list which objects are nearest to which."""

from __future__ import annotations

import click

from nearer.cli import inputs, options
from nearer.cli.output import TABLES, OutputFile, Say, command


@command("nearer neighbours out Paris Rome -k 3", "nearer neighbours out -o neighbours.csv")
@options.MAP
@click.argument("objects", nargs=-1, metavar="[OBJECT]...")
@click.option("-k", type=click.IntRange(1), default=5, help="Number of neighbours of each object.")
@click.option("-o", "--out", type=OutputFile(*TABLES), help="CSV file to write, instead of printing.")
@options.FORCE
def neighbours_command(say: Say, map_path: str, objects: tuple[str, ...], k: int, out: str | None) -> None:
    """List which objects are nearest to each OBJECT on the MAP; for all objects if none is named.

    Gives a table: label, rank, neighbour, distance. Distances have no unit; only their ratios mean something.
    """
    import numpy as np

    from nearer.metrics import nearest_neighbours

    model = inputs.open_map(map_path)
    names = inputs.as_names(model.labels_, model.n_objects_)
    placed = np.isfinite(model.embedding_).all(axis=1)
    number = {label: row for row, label in enumerate(names.tolist()) if placed[row]}
    unknown = [name for name in objects if name not in number]
    if unknown:
        raise ValueError(f"{unknown[0]!r}: got no object of this name that has a place on the map")
    found, distances = nearest_neighbours(model.embedding_, k)
    asked = np.array([number[name] for name in objects] or range(len(names)))
    at, rank = np.nonzero(found[asked] >= 0)
    table = {
        "label": names[asked[at]].tolist(),
        "rank": (rank + 1).tolist(),
        "neighbour": names[found[asked[at], rank]].tolist(),
        "distance": distances[asked[at], rank].tolist(),
    }
    say.table(table, {"neighbours": table}, out)
