"""`nearer score`: how many answers a map satisfies."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli._inputs import open_map, read_for_map
from nearer.cli._options import LOSS_OF_COORDINATES, MAP, reading_options
from nearer.cli._say import Say, speaking


@speaking(
    "nearer score out new_answers.csv",
    "nearer score out/embedding.csv new_answers.csv --loss ste --json",
)
@MAP
@click.argument("file", type=click.Path())
@LOSS_OF_COORDINATES
@reading_options
def command(say: Say, map_path: str, file: str, loss: str | None, reading: dict[str, Any]) -> None:
    """Tell how many answers of FILE the MAP satisfies.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv). For a loss with a model of
    the answers, also how well it foretells them: log-loss, and the expected error of its probabilities.
    """
    from nearer.reporting import judge
    from nearer.reporting.words import judgement_lines

    model = open_map(map_path, loss)
    found = judge(model, read_for_map(say, file, reading, model))
    say.result(found.to_dict(), judgement_lines(found))
