"""Commands for studies that have to ask yet: `nearer suggest`, which questions, and `nearer plan`, how many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nearer.cli._inputs import FORCE, N_JOBS, RANDOM_STATE, read_answers, reading_options, refuse_given
from nearer.cli._output import PICTURES, TABLES, OutputFile, Say, csv_text, give_table, speaking

# Known here so that --help need not load the library; a test compares them with it.
STRATEGIES = ("auto", "random", "balanced", "uncertainty", "crowd-kernel", "predictive")
QUESTIONS = ("triplets", "odd-one-out")
_BAR = 30  # signs of a full bar
_ASK = click.option(
    "--ask", type=click.Choice(QUESTIONS), default="triplets", show_default=True, help="Kind of question."
)


@speaking(
    "nearer suggest answers.csv -n 100 -o questions.csv",
    "nearer suggest --objects 40 -n 200 -o questions.csv          (no answers yet)",
    "nearer suggest answers.csv -n 50 --pending questions.csv -o more.csv",
)
@click.argument("file", type=click.Path(), required=False)
@click.option("-n", "--size", type=click.IntRange(1), default=100, show_default=True, help="How many questions.")
@click.option("-o", "--out", type=OutputFile(*TABLES), help="CSV file to write; printed if not given.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="How to choose.")
@click.option(
    "--random-share", type=click.FloatRange(0, 1), default=0.2, show_default=True,
    help="Fraction chosen at random, on which accuracy is measured.",
)  # fmt: skip
@click.option(
    "--objects", metavar="N or FILE",
    help="Objects beside those of the answers: how many in all, or a file of labels, one on each line.",
)  # fmt: skip
@click.option("--exclude", metavar="LABEL,...", help="Objects not to ask about.")
@click.option("--pending", type=click.Path(), help="CSV file of questions in flight, as this command writes them.")
@_ASK
@click.option("-d", "--n-components", type=click.IntRange(1), default=2, show_default=True, help="Of the map.")
@RANDOM_STATE
@FORCE
@reading_options
def suggest_command(
    say: Say, file: str | None, out: str | None, objects: str | None, exclude: str | None, pending: str | None,
    ask: str, force: bool, reading: dict[str, Any], **choosing: Any,
) -> None:  # fmt: skip
    """Tell which questions to ask next, given the answers in FILE.

    Writes the columns head, a, b (is the head nearer to a or to b?), information (bits that the answer is expected to
    tell, empty for random questions) and strategy. Keep the column strategy with the answers: accuracy is measured on
    those to random questions.
    """
    if file is None and objects is None:
        raise click.UsageError("FILE: got none, expected a file of answers, or --objects where there are none yet")
    if file is None:
        refuse_given(reading, "says how to read FILE, but got none")
    known = None if file is None else read_answers(say, file, reading).comparisons
    from nearer.questions import suggest

    numbered = (objects or "").isdecimal() if known is None else known.labels is None
    excluded = [cell.strip() for cell in (exclude or "").split(",") if cell.strip()]
    with say.compiling():
        found = suggest(
            known,
            objects=_objects(say, objects, known),
            exclude=None if exclude is None else _names(excluded, numbered, "--exclude"),
            pending=None if pending is None else _questions(pending, ask, numbered),
            kind=ask,
            **choosing,
        )
    table = found.to_dict()
    chosen = {name: int((found.strategy == name).sum()) for name in sorted(set(found.strategy.tolist()))}
    values = {"output": out, "kind": ask, "strategies": chosen, "questions": table}
    values["random_state"] = choosing["random_state"]
    give_table(say, csv_text(table, ".6g"), out, force, values, repr(found))


def _objects(say: Say, given: str | None, known: Any) -> int | list[str] | None:
    """A number, or the labels in a file."""
    if given is None or given.isdecimal():
        return None if given is None else int(given)
    if not Path(given).is_file():
        raise ValueError(f"--objects: got {given!r}, expected a number or a file with a label on each line")
    from nearer.io.objects import LIST, read_objects

    labels = None if known is None else known.labels
    table = read_objects(given, LIST, None if labels is None else labels.tolist())
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
    names = ("head", "a", "b") if kind == "triplets" else ("a", "b", "c")
    if any(header.count(name) != 1 for name in names):
        raise cells.refusal(f"got the columns {', '.join(header)}, expected {', '.join(names)}, each once")
    questions = []
    for row, line in enumerate(cells.rows[1:], 1):
        objects_asked = [unguard(line[header.index(name)]) for name in names]
        if len(set(objects_asked)) < 3 or "" in objects_asked:
            raise cells.refusal(f"got {', '.join(objects_asked)}, expected three different objects", row)
        questions.append(_names(objects_asked, numbered, f"{path}, {cells.places[row]}"))
    return questions


@speaking(
    "nearer plan 40",
    "nearer plan 60 -d 3 --wrong 0.2 --target 0.85 --plot plan.png",
)
@click.argument("n_objects", type=click.IntRange(4))
@click.option("-d", "--n-components", type=click.IntRange(1), default=2, show_default=True, help="Dimensions.")
@click.option(
    "--wrong", type=click.FloatRange(0.01, 0.45, min_open=True, max_open=True), default=0.15, show_default=True,
    help="Fraction of answers that are not what the true distances say.",
)  # fmt: skip
@click.option(
    "--target", type=click.FloatRange(0.5, 1, min_open=True, max_open=True), default=0.9, show_default=True,
    help="Fraction of all questions that the map is to be right about.",
)  # fmt: skip
@click.option("--strategy", type=click.Choice(STRATEGIES), default="random", show_default=True, help="Of asking.")
@_ASK
@click.option("--n-runs", type=click.IntRange(2), default=5, show_default=True, help="Simulated studies.")
@N_JOBS
@click.option("--plot", "picture", type=OutputFile(*PICTURES), help="Also draw the curve: .png, .svg or .pdf.")
@RANDOM_STATE
@FORCE
def plan_command(say: Say, n_objects: int, ask: str, picture: str | None, force: bool, **simulated: Any) -> None:
    """Tell how many answers a map of N_OBJECTS objects needs, before anything is asked.

    Studies are simulated: points at random, people who get close calls wrong, and maps fitted to growing numbers of
    answers until they are right about as many questions as asked for.
    """
    from nearer.questions import plan_study

    say.note(f"simulating {simulated['n_runs']} studies of {n_objects:,} objects")
    with say.compiling():
        found = plan_study(n_objects, kind=ask, **simulated)
    if picture is not None:
        from nearer.plots import plot_learning_curve, save_figure

        save_figure(plot_learning_curve(found, ceiling=simulated["target"]), picture, force=force)
        say.note(f"wrote {picture}")
    table = found.to_dict()
    lines = [f"{'answers':>8}  {'right':>6}  from    to"]
    for n, mean, low, high in zip(*table.values()):
        bar = "#" * round(_BAR * max(2 * mean - 1, 0))
        lines.append(f"{n:>8,}  {mean:>6.1%}  {low:.0%}  {high:>4.0%}  {bar}")
    values = {"table": table, "needed": found.needed, "range": list(found.range), "sentence": str(found)}
    say.result(values | {"random_state": simulated["random_state"]}, "\n".join([*lines, "", str(found)]))
