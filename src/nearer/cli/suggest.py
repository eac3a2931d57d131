"""`nearer suggest`: choose which questions to ask next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nearer import registry
from nearer.cli import files, inputs, options
from nearer.cli.output import Say, command


@command(
    "nearer suggest answers.csv -n 100 -o questions.csv",
    "nearer suggest --objects 40 -n 200 -o questions.csv          (no answers yet)",
    "nearer suggest answers.csv -n 50 --pending questions.csv -o more.csv",
)
@click.argument("file", type=click.Path(), required=False)
@click.option("-n", "--size", type=click.IntRange(1), default=100, help="Number of questions.")
@click.option("-o", "--out", type=files.OutputFile(*files.TABLES), help="CSV file to write; printed if not given.")
@options.entry("--strategy", registry.STRATEGIES, "How questions are chosen.", default="auto")
@click.option(
    "--random-share", type=click.FloatRange(0, 1), default=0.2,
    help="Fraction chosen at random, on which accuracy is measured.",
)  # fmt: skip
@click.option(
    "--objects", metavar="N or FILE",
    help="Objects beside those of the answers: how many in all, or a table with the column label.",
)  # fmt: skip
@click.option("--exclude", metavar="LABEL,...", help="Objects not to ask about.")
@click.option("--pending", type=click.Path(), help="CSV file of questions being asked, as this command writes it.")
@options.ASK
@click.option("-d", "--n-components", type=click.IntRange(1), default=2, help="Dimensions of the map.")
@options.RANDOM_STATE
@options.FORCE
@inputs.reading_options
def suggest_command(
    say: Say, file: str | None, out: str | None, objects: str | None, exclude: str | None, pending: str | None,
    ask: str, reading: dict[str, Any], **choosing: Any,
) -> None:  # fmt: skip
    """Choose which questions to ask next, given the answers in FILE.

    Writes the columns head, a, b (is the head nearer to a or to b?), information (expected, in bits;
    empty for random questions) and strategy. Keep the column strategy with the answers: accuracy is measured on
    those to random questions.
    """
    if file is None and objects is None:
        raise click.UsageError("FILE: got none, expected a file of answers, or --objects where there are none yet")
    if file is None:
        options.refuse_given(reading, "says how to read FILE, but got none")
    result = None if file is None else inputs.read_answers(say, file, reading)
    known = None if result is None else result.comparisons
    from threadpoolctl import threadpool_limits

    from nearer.questions import suggest

    numbered = (objects or "").isdecimal() if known is None else known.labels is None
    excluded = [cell.strip() for cell in (exclude or "").split(",") if cell.strip()]
    # The inverse of a matrix has other last digits on another number of BLAS threads.
    with say.compiling(), threadpool_limits(1, "blas"):
        found = suggest(
            known,
            objects=_objects(say, objects),
            exclude=None if exclude is None else _names(excluded, numbered, "--exclude"),
            pending=None if pending is None else _questions(pending, ask, numbered),
            kind=ask,
            **choosing,
        )
    table = found.to_dict()
    chosen = {name: int((found.strategy == name).sum()) for name in sorted(set(found.strategy.tolist()))}
    values = {"output": out, "kind": ask, "strategies": chosen, "questions": table}
    values |= {"random_state": choosing["random_state"], "input": None if result is None else result.facts()}
    files.give_table(say, table, out, values, repr(found))


def _objects(say: Say, given: str | None) -> int | list[str] | None:
    """A number, or the labels in a file."""
    if given is None or given.isdecimal():
        return None if given is None else int(given)
    if not Path(given).is_file():
        raise ValueError(f"--objects: got {given!r}, expected a number or a table with the column label")
    from nearer.io.objects import LIST, read_objects

    table = read_objects(given, LIST)
    say.note(table.understood([]))
    return table.labels.tolist()


def _names(cells: list[str], numbered: bool, what: str) -> list[Any]:
    """Objects by name, or by number where they have no labels."""
    if not numbered:
        return cells
    wrong = [cell for cell in cells if not cell.isdecimal()]
    if wrong:
        raise ValueError(f"{what}: got {wrong[0]!r}, expected numbers of objects, which have no labels here")
    return [int(cell) for cell in cells]


def _questions(path: str, kind: str, numbered: bool) -> list[list[Any]]:
    """The questions of a file that this command wrote."""
    from nearer.io.objects import read_cells
    from nearer.io.text import unguard

    cells = read_cells(path)
    header = [cell.strip() for cell in cells.rows[0]]
    names = ("anchor" if "anchor" in header else "head", "a", "b") if kind == "triplets" else ("a", "b", "c")
    if any(header.count(name) != 1 for name in names):
        raise cells.refusal(f"got the columns {', '.join(header)}, expected {', '.join(names)}, each once")
    questions = []
    for row, line in enumerate(cells.rows[1:], 1):
        objects_asked = [unguard(line[header.index(name)]) for name in names]
        if len(set(objects_asked)) < 3 or "" in objects_asked:
            raise cells.refusal(f"got {', '.join(objects_asked)}, expected three different objects", row)
        questions.append(_names(objects_asked, numbered, f"{path}, {cells.place(row)}"))
    return questions
