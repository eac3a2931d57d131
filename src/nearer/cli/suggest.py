"""`nearer suggest`: choose which questions to ask next."""

from __future__ import annotations

from typing import Any

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import TABLES, OutputFile, Say, command


@command(
    "nearer suggest answers.csv -n 100 -o questions.csv",
    "nearer suggest --objects 40 -n 200 -o questions.csv          (no answers yet)",
    "nearer suggest answers.csv -n 50 --pending questions.csv -o more.csv",
)
@click.argument("file", type=click.Path(), required=False)
@click.option("-n", "--size", type=click.IntRange(1), default=100, help="Number of questions.")
@click.option("-o", "--out", type=OutputFile(*TABLES), help="CSV file to write; printed if not given.")
@options.entry("--strategy", registry.STRATEGIES, "How questions are chosen.", default="auto")
@click.option("--random-share", default=0.2, help="Fraction chosen at random, on which accuracy is measured.")
@click.option("--objects", metavar="N or FILE", help="All objects: how many, or a table with the column label.")
@click.option("--exclude", metavar="LABEL,...", help="Objects not to ask about.")
@click.option("--pending", type=click.Path(), help="CSV file of questions being asked, as this command writes it.")
@options.ASK
@options.N_COMPONENTS
@options.RANDOM_STATE
@options.FORCE
@inputs.READING
def suggest_command(
    say: Say, file: str | None, out: str | None, objects: str | None, exclude: str | None, pending: str | None,
    ask: str, random_state: int, **given: Any,
) -> None:  # fmt: skip
    """Choose which questions to ask next, given the answers in FILE.

    Writes the columns head, a, b (is the head nearer to a or to b?), information (expected, in bits;
    empty for random questions) and strategy. Keep the column strategy with the answers: accuracy is measured on
    those to random questions.
    """
    if file is None:
        options.refuse_given(inputs.READING.names, "says how to read FILE, but got none")
    result = None if file is None else inputs.read_answers(say, file, given)
    known = None if result is None else result.comparisons
    from threadpoolctl import threadpool_limits

    from nearer.io.objects import LIST, read_objects
    from nearer.questions import suggest

    every: Any = objects
    if objects is not None:
        every = int(objects) if objects.isdecimal() else read_objects(objects, LIST).labels.tolist()
    # The last digits of an inverse depend on the number of BLAS threads.
    with say.compiling(), threadpool_limits(1, "blas"):
        found = suggest(
            known,
            objects=every,
            exclude=None if exclude is None else [name.strip() for name in exclude.split(",")],
            pending=None if pending is None else _questions(pending, ask),
            kind=ask,
            random_state=random_state,
            **{name: given[name] for name in ("size", "strategy", "random_share", "n_components")},
        )
    table = found.to_dict()
    chosen = {name: int((found.strategy == name).sum()) for name in sorted(set(found.strategy.tolist()))}
    values: dict[str, Any] = {"output": out, "kind": ask, "strategies": chosen, "questions": table}
    values |= {"random_state": random_state, "input": None if result is None else result.facts()}
    say.table(table, values, out)


def _questions(path: str, kind: str) -> list[list[str]]:
    from nearer.io.objects import read_cells

    cells = read_cells(path)
    header = [cell.strip() for cell in cells.rows[0]]
    names = ("head", "a", "b") if kind == "triplets" else ("a", "b", "c")
    if not set(names) <= set(header):
        raise cells.refusal(f"got the columns {', '.join(header)}, expected {', '.join(names)}")
    at = [header.index(name) for name in names]
    return [[row[column].strip() for column in at] for row in cells.rows[1:]]
