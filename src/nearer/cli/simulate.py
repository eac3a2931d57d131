"""`nearer simulate`: make answers from points, distances or classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import nearer
from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import OutputFile, Say, command

_SOURCES = click.Choice(["points", "distances", "classes"])


@command(
    "nearer simulate points.csv -n 10000 --noise 0.1 -o answers.csv",
    "nearer simulate distances.csv --from distances -o answers.csv",
    "nearer simulate species.csv --from classes -n 5000 -o answers.parquet",
)
@click.argument("file", type=click.Path())
@click.option("--from", "source", type=_SOURCES, default="points", help="What FILE holds.")
@click.option("-n", "--n-comparisons", type=click.IntRange(1), help="Number of comparisons; from distances: all.")
@click.option("--kind", type=click.Choice(["triplets", "quadruplets"]), default="triplets")
@click.option("--noise", default=0.0, help="Fraction of answers reversed.")
@click.option("--class-column", metavar="COLUMN", help="Column of classes, where there are several.")
@options.RANDOM_STATE
@click.option("-o", "--out", required=True, type=OutputFile(*registry.WRITTEN), help="File of answers to write.")
@options.FORCE
def simulate_command(
    say: Say, file: str, source: str, n_comparisons: int | None, kind: str, noise: float, class_column: str | None,
    random_state: int, out: str,
) -> None:  # fmt: skip
    """Make answers from FILE.

    \b
    points:    a table with names of columns, one row for each object, its name in
               the column label, if any; or a .npy file (objects, dimensions)
    distances: a square table with labels in the first line, and in the first
               column or not; or .npy
    classes:   a table with the columns label, class; answers say that objects
               of one class are nearer to each other than to one of another
    """
    from nearer.io import objects, write_comparisons

    if source != "classes":
        options.refuse_given(["class_column"], f"got --from {source}, expected --from classes, which has such a column")
    elif kind != "triplets":
        raise click.UsageError("--kind: got quadruplets, expected triplets, all that classes give")
    given: Any
    labels: Any
    how = {} if source == "classes" else {"kind": kind}
    if source == "classes":
        table = objects.read_objects(file, objects.WORDS, column=class_column)
        given, column = table.words(class_column)
        labels = table.labels
        say.note(table.understood([column]))
    elif source == "distances" and not file.lower().endswith(".npy"):
        given, labels = _read_distances(file)
    else:
        given, labels = inputs.read_numbers(say, file)
    make: Callable[..., nearer.Comparisons] = getattr(nearer.Comparisons, f"from_{source}")
    try:
        made = make(given, n_comparisons, random_state=random_state, noise=noise, labels=labels, **how)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    for reason, dropped in made.dropped.items():
        say.note(f"{dropped:,} left out: {reason}")
    write_comparisons(out, made, force=say.force)
    turned = round(noise * len(made))
    values = {"output": out, "kind": made.kind, "n_comparisons": len(made), "n_objects": made.n_objects}
    values |= {"n_turned_around": turned, "dropped": made.dropped, "random_state": random_state}
    say.done(values, f"wrote {out}: {made!r}, {turned:,} reversed by noise")


def _read_distances(path: str) -> tuple[Any, Any]:
    """Distances (n, n) and labels, from a table with labels in the first row and optionally the first column."""
    from nearer.io.objects import read_cells

    cells = read_cells(path)
    titles, below = [cell.strip() for cell in cells.rows[0]], cells.rows[1:]
    first = int(len(titles) == len(below) + 1)  # whether there is a column of names
    if first and titles[1:] != [row[0].strip() for row in below]:
        raise ValueError(f"{path}: the names in the first line are not those in the first column, in the same order")
    labels = cells.labels_of(titles[first:], [0] * len(titles))
    return cells.numbers_at(range(first, len(titles))), labels
