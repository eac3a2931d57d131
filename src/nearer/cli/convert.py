"""`nearer convert`: write a file of answers in another format."""

from __future__ import annotations

from typing import Any

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import OutputFile, Say, command


@command(
    "nearer convert votes.csv -o answers.parquet",
    "nearer convert triplets.mat -o answers.csv --columns anchor,near,far",
)
@click.argument("file", type=click.Path())
@click.option("-o", "--out", required=True, type=OutputFile(*registry.WRITTEN), help="File of answers to write.")
@click.option("--aggregate", is_flag=True, help="Equal answers become one row, with their number as weight.")
@options.FORCE
@inputs.READING
def convert_command(say: Say, file: str, out: str, aggregate: bool, **reading: Any) -> None:
    """Write the answers of FILE as plain comparisons: anchor, near, far or i, j, l, k.

    The ending of the file to write gives its format: .csv, .tsv, .jsonl, .parquet or .npz.
    """
    from nearer.io import write_comparisons

    result = inputs.read_answers(say, file, reading)
    comparisons = result.comparisons.aggregate() if aggregate else result.comparisons
    write_comparisons(out, comparisons, force=say.force)
    values = {"input": result.facts(), "output": out, "n_comparisons": len(comparisons)}
    say.done(values, f"wrote {out}: {comparisons!r}")
