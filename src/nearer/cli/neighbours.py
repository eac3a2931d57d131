"""`nearer neighbours`: list which objects are nearest to which."""

from __future__ import annotations

import difflib

import click

from nearer.cli import files, inputs, options
from nearer.cli.output import Say, command


@command("nearer neighbours out Paris Rome -k 3", "nearer neighbours out -o neighbours.csv")
@options.MAP
@click.argument("objects", nargs=-1, metavar="[OBJECT]...")
@click.option("-k", type=click.IntRange(1), default=5, help="Number of neighbours of each object.")
@click.option("-o", "--out", type=files.OutputFile(*files.TABLES), help="CSV file to write, instead of printing.")
@options.FORCE
def neighbours_command(
    say: Say,
    map_path: str,
    objects: tuple[str, ...],
    k: int,
    out: str | None,
) -> None:
    """List which objects are nearest to each OBJECT on the MAP; for all objects if none is named.

    Gives a table: label, rank, neighbour, distance. Distances have no unit; only their ratios mean something.
    """
    import numpy as np

    from nearer.data.messages import counted
    from nearer.metrics import nearest_neighbours

    model = inputs.open_map(map_path)
    labels = inputs.as_names(model.labels_, model.n_objects_).tolist()
    number = {label: row for row, label in enumerate(labels)}
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
    asked = np.array([number[name] for name in objects] or range(len(labels)))
    at, rank = np.nonzero(found[asked] >= 0)
    names = np.array(labels)
    table = {
        "label": names[asked[at]].tolist(),
        "rank": (rank + 1).tolist(),
        "neighbour": names[found[asked[at], rank]].tolist(),
        "distance": distances[asked[at], rank].tolist(),
    }
    rows = counted(len(table["label"]), "row")
    files.give_table(say, table, out, {"neighbours": table}, rows)
