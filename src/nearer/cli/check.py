"""`nearer check`: look for faults in a file of answers."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli._options import read_answers, reading_options
from nearer.cli._say import Say, speaking


@speaking(
    "nearer check answers.csv -d 2",
    "nearer check export.csv --columns anchor=head,near=winner,far=loser --json",
)
@click.argument("file", type=click.Path())
@click.option("-d", "--n-components", type=click.IntRange(1), help="Also look for objects with too few answers for it.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if there is a problem.")
@reading_options
def command(say: Say, file: str, n_components: int | None, strict: bool, reading: dict[str, Any]) -> None:
    """Look for faults in FILE: contradictions, islands, objects in too few answers, doubtful participants.

    Where questions were asked more than once, the noise ceiling says how many answers any map can satisfy.
    """
    result = read_answers(say, file, reading)
    found = result.comparisons.check(n_components)
    say.result({"input": result.facts(), "check": found.to_dict()}, str(found))
    if strict and not found.ok:
        raise click.exceptions.Exit(1)
