"""`nearer check`: look for faults in a file of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nearer.cli import inputs
from nearer.cli.output import Say, command


@command("nearer check answers.csv -d 2", "nearer check export.csv --columns anchor=head,near=winner,far=loser --json")
@click.argument("file", type=click.Path())
@click.option("-d", "--n-components", type=click.IntRange(1), help="Also look for objects with too few answers.")
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if there is a problem or a suspicion.")
@inputs.READING
def check_command(say: Say, file: str, n_components: int | None, exit_code: bool, **reading: Any) -> None:
    """Look for faults in FILE: unconnected objects, objects in too few answers, participants who inverted the task.

    Where questions were asked more than once, the noise ceiling says how many answers any map can satisfy.
    """
    from nearer.check import Suspicion, check, suspicions, unused_values
    from nearer.people import participants
    from nearer.reports.sentences import inverted_sentence
    from nearer.selection.thresholds import can_compare_people

    result = inputs.read_answers(say, file, reading)
    found = check(result.comparisons, n_components)
    unused = None
    if Path(file).is_file() and not file.lower().endswith(".zip"):  # can be read again
        table, layouts, _ = inputs.open_answers(file, reading)
        unused = unused_values(table, layouts[0]) if len(layouts) == 1 else None
    doubts = suspicions(result.comparisons, unused)
    if can_compare_people(result.comparisons):
        with say.compiling():
            people = participants(result.comparisons)
        if text := inverted_sentence(people.table()):
            names = people.participant[people.inverted].astype(str).tolist()
            doubts.append(Suspicion("inverted", tuple(names), text))
    values = {"input": result.facts(), "check": found.to_dict(), "suspicions": [one._asdict() for one in doubts]}
    say.result(values, "\n".join([str(found), *(f"suspicion: {one.text}" for one in doubts)]))
    if exit_code and (doubts or not found.ok):
        raise click.exceptions.Exit(1)
