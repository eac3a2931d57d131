"""`nearer convert`: a file of answers in another format."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli._options import FORCE, read_answers, reading_options
from nearer.cli._output import ANSWERS, OutputFile
from nearer.cli._say import Say, speaking


@speaking(
    "nearer convert votes.csv answers.parquet",
    "nearer convert triplets.mat answers.csv --index-base 1",
)
@click.argument("file", type=click.Path())
@click.argument("target", type=OutputFile(*ANSWERS))
@click.option("--aggregate", is_flag=True, help="Equal answers become one row, with their number as weight.")
@FORCE
@reading_options
def command(say: Say, file: str, target: str, aggregate: bool, force: bool, reading: dict[str, Any]) -> None:
    """Write the answers of FILE to TARGET as plain comparisons: anchor, near, far or i, j, l, k.

    The ending of TARGET gives its format: .csv, .tsv, .jsonl, .parquet or .npz.
    """
    from nearer.io import write_comparisons

    result = read_answers(say, file, reading)
    comparisons = result.comparisons.aggregate() if aggregate else result.comparisons
    write_comparisons(target, comparisons, force=force)
    values = {"input": result.facts(), "output": target, "n_comparisons": len(comparisons)}
    say.done(values, f"wrote {target}: {comparisons!r}")
