"""`nearer place`: new objects on a map, by a few answers."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli._inputs import open_map, read_for_map
from nearer.cli._options import FORCE, LOSS_OF_COORDINATES, MAP, reading_options
from nearer.cli._output import POSITIONS, OutputFile, give_positions
from nearer.cli._say import Say, speaking


@speaking(
    "nearer place out answers_about_new.csv",
    "nearer place out answers_about_new.csv -o new.csv --json",
)
@MAP
@click.argument("file", type=click.Path())
@click.option("-o", "--out", type=OutputFile(*POSITIONS), help="CSV file for the positions; printed if not given.")
@click.option("--whole-map", is_flag=True, help="Give all objects, not only the new ones.")
@click.option("--n-init", type=click.IntRange(1), default=8, show_default=True, help="Starts; the best is kept.")
@LOSS_OF_COORDINATES
@FORCE
@reading_options
def command(
    say: Say, map_path: str, file: str, out: str | None, whole_map: bool, n_init: int, loss: str | None, force: bool,
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Find positions for objects that are named in FILE but not on the MAP; the MAP stays as it is.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv, with --loss).
    """
    from nearer.data.errors import counted

    model = open_map(map_path, loss)
    if not hasattr(model, "loss_"):
        raise ValueError(f"{map_path}: got coordinates alone, expected a loss too; say --loss")
    placed = model.place(read_for_map(say, file, reading, model), n_init=n_init)
    say.note(repr(placed))
    if placed.n_unused:
        say.note(f"{counted(placed.n_unused, 'comparison')} not used: no new object is named")
    labels = placed.objects.astype(str) if placed.labels is None else placed.labels
    if whole_map:
        everyone = range(len(placed.full_embedding)) if placed.full_labels is None else placed.full_labels
        give_positions(say, placed.full_embedding, everyone, out, force, placed.to_dict())
    else:
        give_positions(say, placed.embedding, labels, out, force, placed.to_dict())
