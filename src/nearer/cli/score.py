"""`nearer score`: how many answers a map satisfies."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli import inputs, options
from nearer.cli.output import Say, command


@command("nearer score out new_answers.csv", "nearer score out/embedding.csv new_answers.csv --loss ste --json")
@options.MAP
@click.argument("file", type=click.Path())
@options.LOSS_OF_COORDINATES
@inputs.READING
def score_command(say: Say, map_path: str, file: str, loss: str | None, **reading: Any) -> None:
    """Report how many answers of FILE the MAP satisfies.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv). For a loss with a model of
    the answers, also how well it predicts them: log-loss, and the expected error of its probabilities.
    """
    from nearer.reports.sentences import score_lines
    from nearer.selection.evaluate import score_map

    model = inputs.open_map(map_path, loss)
    comparisons, facts = inputs.read_for_map(say, file, reading, model)
    found = score_map(model, comparisons)
    say.result(found | {"input": facts}, score_lines(found))
