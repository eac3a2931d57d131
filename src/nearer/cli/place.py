"""`nearer place`: put new objects on a map by a few answers."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli import inputs, options
from nearer.cli.output import Say, command


@command("nearer place out answers_about_new.csv", "nearer place out answers_about_new.csv -o new.csv --json")
@options.MAP
@click.argument("file", type=click.Path())
@options.POSITIONS
@click.option("--whole-map", is_flag=True, help="Give all objects, not only the new ones.")
@click.option("--n-init", type=click.IntRange(1), default=8, help="Starts; the best is kept.")
@options.RANDOM_STATE
@options.LOSS_OF_COORDINATES
@options.FORCE
@inputs.READING
def place_command(
    say: Say, map_path: str, file: str, out: str | None, whole_map: bool, n_init: int, random_state: int,
    loss: str | None, **reading: Any,
) -> None:  # fmt: skip
    """Find positions for objects that are named in FILE but not on the MAP; the MAP stays as it is.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv, with --loss).
    """
    model = inputs.open_map(map_path, loss)
    model.random_state = random_state
    comparisons, facts = inputs.read_for_map(say, file, reading, model)
    placed = model.place(comparisons, n_init=n_init)
    say.note(repr(placed))
    positions, labels = placed.embedding, placed.objects if placed.labels is None else placed.labels
    if whole_map:
        positions, labels = placed.full_embedding, inputs.as_names(placed.full_labels, len(placed.full_embedding))
    values = placed.to_dict() | {"random_state": random_state, "input": facts}
    say.positions(positions, labels, values, out)
