"""`nearer score`: how many answers a map satisfies."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli._maps import open_map, read_for_map
from nearer.cli._options import LOSSES, reading_options
from nearer.cli._say import Say, percent, speaking

__all__ = ["command"]


@click.command(
    epilog="""\b
Example:
  nearer score out new_answers.csv
  nearer score out/embedding.csv new_answers.csv --loss ste --json"""
)
@click.argument("map_path", metavar="MAP", type=click.Path())
@click.argument("file", type=click.Path())
@click.option("--loss", type=click.Choice(LOSSES), help="For coordinates alone: the loss that gives probabilities.")
@reading_options
@speaking
def command(say: Say, map_path: str, file: str, loss: str | None, reading: dict[str, Any]) -> None:
    """Tell how many answers of FILE the MAP satisfies.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv). For a loss with a model of
    the answers, also how well it foretells them: log-loss, and the expected error of its probabilities.
    """
    from nearer.metrics import calibration, log_loss

    model = open_map(map_path, loss)
    comparisons = read_for_map(say, file, reading, model)
    embedding, placed = model._on_map(comparisons)
    values: dict[str, Any] = {
        "accuracy": model.score(comparisons),
        "n_comparisons": len(comparisons),
        "n_satisfied": int(model.predict(comparisons).sum()),
    }
    weighted = ", by weight" if comparisons.weights is not None else ""
    text = f"{percent(values['accuracy'])} satisfied{weighted}: "
    text += f"{values['n_satisfied']:,} of {len(comparisons):,} comparisons"
    known = getattr(model, "loss_", None)
    if known is not None and known.has_model:
        values |= {"loss": known.name, "log_loss": log_loss(embedding, placed, known)}
        values["calibration_error"] = calibration(embedding, placed, known).ece
        text += f"\nlog-loss {values['log_loss']:.4f} (guessing: 0.6931)"
        text += f"; probabilities are off by {percent(values['calibration_error'])} on average"
    say.result(values, text)
