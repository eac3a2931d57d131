"""Commands for answers: `nearer check`, `people`, `convert`, `simulate`; and for questions: `suggest`, `plan`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli import inputs, output
from nearer.cli.output import OutputFile, Say, speaking
from nearer.registry import STRATEGIES, SUGGESTED

if TYPE_CHECKING:
    import numpy as np

_BAR = 30  # signs of a full bar
_ASK = click.option(
    "--ask", type=click.Choice(SUGGESTED), default="triplets", show_default=True, help="Kind of question."
)


@speaking("nearer check answers.csv -d 2", "nearer check export.csv --columns anchor=head,near=winner,far=loser --json")
@click.argument("file", type=click.Path())
@click.option("-d", "--n-components", type=click.IntRange(1), help="Also look for objects with too few answers for it.")
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if there is a problem or a suspicion.")
@inputs.reading_options
def check_command(say: Say, file: str, n_components: int | None, exit_code: bool, reading: dict[str, Any]) -> None:
    """Look for faults in FILE: contradictions, islands, objects in too few answers, doubtful participants.

    Where questions were asked more than once, the noise ceiling says how many answers any map can satisfy.
    """
    from nearer.check import check, suspicions

    result = inputs.read_answers(say, file, reading)
    found = check(result.comparisons, n_components)
    doubts = suspicions(result.comparisons, _unused(file, reading))
    values = {"input": result.facts(), "check": found.to_dict(), "suspicions": [one._asdict() for one in doubts]}
    say.result(values, "\n".join([str(found), *(f"suspicion: {one.text}" for one in doubts)]))
    if exit_code and (doubts or not found.ok):
        raise click.exceptions.Exit(1)


def _unused(path: str, reading: dict[str, Any]) -> dict[str, np.ndarray] | None:
    """Columns that are not used, as text for each answer; None where the file cannot be read again."""
    from nearer.check import unused_values
    from nearer.io.read import open_table

    layouts, _ = inputs.find_layouts(path, reading)
    if not Path(path).is_file() or path.lower().endswith(".zip") or len(layouts) > 1:
        return None
    return unused_values(open_table(path, layouts, **inputs.carrier_options(reading)), layouts[0])


@speaking(
    "nearer people answers.csv",
    "nearer people answers.csv --rules rules.toml -o kept.csv",
    more="""\b
rules.toml holds what was written down beforehand, any of:
  min_answers = 30
  min_seconds = 0.5
  max_same_side = 0.9
  catch_passed = 0.8
  better_than_chance = true""",
)
@click.argument("file", type=click.Path())
@click.option("-d", "--n-components", type=click.IntRange(1), default=2, show_default=True, help="Of the others' maps.")
@click.option("--rules", type=click.Path(), help="TOML file of exclusion rules; nobody is left out without it.")
@click.option("-o", "--out", type=OutputFile(*output.ANSWERS), help="Write the answers of those who are kept.")
@click.option("--table", type=OutputFile(*output.TABLES), help="Write the table of all people as CSV.")
@click.option("--cv", type=click.IntRange(2), default=10, show_default=True, help="Folds: maps without some people.")
@click.option("--differ", "differ_too", is_flag=True, help="Also test whether people see the objects differently.")
@inputs.FORCE
@inputs.fitting_options
@inputs.reading_options
def people_command(
    say: Say, file: str, n_components: int, rules: str | None, out: str | None, table: str | None, cv: int,
    differ_too: bool, force: bool, fitting: dict[str, Any], reading: dict[str, Any],
) -> None:  # fmt: skip
    """Show how each person answered in FILE: speed, side, repeats, attention checks, agreement with the others.

    Nobody is held to a map that their own answers helped to make. The share of guesses comes with its 95 % interval.
    """
    if out is not None and rules is None:
        raise ValueError("--out: without --rules nobody is left out, so there is nothing to write")
    estimator = inputs.make_estimator(fitting, n_components)
    from nearer.people import ExclusionRules, differ, exclude, participants

    asked = None if rules is None else ExclusionRules.read(rules)
    result = inputs.read_answers(say, file, reading)
    with say.compiling():
        options = {name: fitting[name] for name in ("random_state", "n_jobs")}
        found = participants(result.comparisons, estimator, n_folds=cv, **options)
    values: dict[str, Any] = {"input": result.facts(), "people": found.table(), "in_order": found.in_order}
    texts = [str(found)]
    if asked is not None:
        kept, exclusions = exclude(result.comparisons, asked, found)
        values["exclusions"] = vars(exclusions) | {"paragraph": exclusions.paragraph()}
        texts.append(exclusions.paragraph())
        if out is not None:
            from nearer.io import write_comparisons

            write_comparisons(out, kept, force=force)
            say.note(f"wrote {out}: {kept!r}")
    if differ_too:
        estimator.set_params(reliability=True)
        tested = differ(estimator, result.comparisons, random_state=fitting["random_state"])
        values["difference"] = vars(tested)
        texts.append(str(tested))
    if table is not None:
        columns = found.table() | {"participant": found.participant.astype(str).tolist()}
        output.write_text(table, output.csv_text(columns), force)
        say.note(f"wrote {table}")
    say.result(values, "\n\n".join(texts))


@speaking(
    "nearer convert votes.csv answers.parquet",
    "nearer convert triplets.mat answers.csv --columns anchor,near,far",
)
@click.argument("file", type=click.Path())
@click.argument("target", type=OutputFile(*output.ANSWERS))
@click.option("--aggregate", is_flag=True, help="Equal answers become one row, with their number as weight.")
@inputs.FORCE
@inputs.reading_options
def convert_command(say: Say, file: str, target: str, aggregate: bool, force: bool, reading: dict[str, Any]) -> None:
    """Write the answers of FILE to TARGET as plain comparisons: anchor, near, far or i, j, l, k.

    The ending of TARGET gives its format: .csv, .tsv, .jsonl, .parquet or .npz.
    """
    from nearer.io import write_comparisons

    result = inputs.read_answers(say, file, reading)
    comparisons = result.comparisons.aggregate() if aggregate else result.comparisons
    write_comparisons(target, comparisons, force=force)
    values = {"input": result.facts(), "output": target, "n_comparisons": len(comparisons)}
    say.done(values, f"wrote {target}: {comparisons!r}")


@speaking(
    "nearer simulate points.csv -n 10000 --noise 0.1 -o answers.csv",
    "nearer simulate distances.csv --from distances -o answers.csv",
    "nearer simulate species.csv --from classes -n 5000 -o answers.parquet",
)
@click.argument("file", type=click.Path())
@click.option(
    "--from", "source", type=click.Choice(["points", "distances", "classes"]), default="points", show_default=True,
    help="What FILE holds.",
)  # fmt: skip
@click.option("-n", "--n-comparisons", type=click.IntRange(1), help="How many; all if not given, from distances only.")
@click.option("--kind", type=click.Choice(["triplets", "quadruplets"]), default="triplets", show_default=True)
@click.option(
    "--noise", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Fraction of answers turned around."
)
@click.option("--class-column", metavar="COLUMN", help="Column of classes, where there are several.")
@inputs.RANDOM_STATE
@click.option(
    "-o", "--out", required=True, type=OutputFile(*output.ANSWERS),
    help="File to write: .csv, .tsv, .jsonl, .parquet, .npz.",
)  # fmt: skip
@inputs.FORCE
def simulate_command(
    say: Say, file: str, source: str, n_comparisons: int | None, kind: str, noise: float, class_column: str | None,
    random_state: int, out: str, force: bool,
) -> None:  # fmt: skip
    """Make answers from FILE.

    \b
    points:    a table with names of columns, one row for each object, its name in
               the column label, if any; or a .npy file (objects, dimensions)
    distances: a square table with labels in the first line, and in the first
               column or not; or .npy
    classes:   a table with the columns label, class; answers say that objects
               of one class are nearer to each other than to one of another
    """
    from nearer.io import objects, write_comparisons

    if source != "classes":
        inputs.refuse_given(["class_column"], f"got --from {source}, expected --from classes, which has such a column")
    if n_comparisons is None and source != "distances":
        raise click.UsageError(f"-n: got none, expected how many comparisons to draw from {source}")
    if source == "classes" and kind != "triplets":
        raise click.UsageError("--kind: got quadruplets, expected triplets, all that classes give")
    make: Callable[..., nearer.Comparisons]
    if source == "points":
        points, labels = inputs.read_numbers(say, file)
        make = partial(nearer.Comparisons.from_points, points, n_comparisons or 0, kind)
    elif source == "distances":
        distances, labels = inputs.read_distances(file)
        make = partial(nearer.Comparisons.from_distances, distances, n_comparisons, kind)
    else:
        table = objects.read_objects(file, objects.WORDS, column=class_column)
        classes, column = table.words(class_column, ", or --class-column")
        say.note(table.understood([column]))
        labels = table.labels
        make = partial(nearer.Comparisons.from_classes, classes, n_comparisons or 0)
    try:
        made = make(random_state=random_state, noise=noise, labels=labels)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    for reason, dropped in made.dropped.items():
        say.note(f"{dropped:,} left out: {reason}")
    write_comparisons(out, made, force=force)
    turned = round(noise * len(made))
    values = {"output": out, "kind": made.kind, "n_comparisons": len(made), "n_objects": made.n_objects}
    values |= {"n_turned_around": turned, "dropped": made.dropped, "random_state": random_state}
    say.done(values, f"wrote {out}: {made!r}, {turned:,} turned around by noise")


@speaking(
    "nearer suggest answers.csv -n 100 -o questions.csv",
    "nearer suggest --objects 40 -n 200 -o questions.csv          (no answers yet)",
    "nearer suggest answers.csv -n 50 --pending questions.csv -o more.csv",
)
@click.argument("file", type=click.Path(), required=False)
@click.option("-n", "--size", type=click.IntRange(1), default=100, show_default=True, help="How many questions.")
@click.option("-o", "--out", type=OutputFile(*output.TABLES), help="CSV file to write; printed if not given.")
@click.option(
    "--strategy", type=click.Choice(list(STRATEGIES)), default="auto", show_default=True, help="How to choose."
)
@click.option(
    "--random-share", type=click.FloatRange(0, 1), default=0.2, show_default=True,
    help="Fraction chosen at random, on which accuracy is measured.",
)  # fmt: skip
@click.option(
    "--objects", metavar="N or FILE",
    help="Objects beside those of the answers: how many in all, or a table with the column label.",
)  # fmt: skip
@click.option("--exclude", metavar="LABEL,...", help="Objects not to ask about.")
@click.option("--pending", type=click.Path(), help="CSV file of questions in flight, as this command writes them.")
@_ASK
@click.option("-d", "--n-components", type=click.IntRange(1), default=2, show_default=True, help="Of the map.")
@inputs.RANDOM_STATE
@inputs.FORCE
@inputs.reading_options
def suggest_command(
    say: Say, file: str | None, out: str | None, objects: str | None, exclude: str | None, pending: str | None,
    ask: str, force: bool, reading: dict[str, Any], **choosing: Any,
) -> None:  # fmt: skip
    """Choose which questions to ask next, given the answers in FILE.

    Writes the columns head, a, b (is the head nearer to a or to b?), information (expected, in bits;
    empty for random questions) and strategy. Keep the column strategy with the answers: accuracy is measured on
    those to random questions.
    """
    if file is None and objects is None:
        raise click.UsageError("FILE: got none, expected a file of answers, or --objects where there are none yet")
    if file is None:
        inputs.refuse_given(reading, "says how to read FILE, but got none")
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
    output.give_table(say, output.csv_text(table, ".6g"), out, force, values, repr(found))


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


@speaking("nearer plan 40", "nearer plan 60 -d 3 --wrong 0.2 --target 0.85 --plot plan.png")
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
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), default="random", show_default=True, help="Of asking.")
@_ASK
@click.option("--n-runs", type=click.IntRange(2), default=5, show_default=True, help="Simulated studies.")
@inputs.N_JOBS
@click.option("--plot", "picture", type=OutputFile(*output.PICTURES), help="Also draw the curve: .png, .svg or .pdf.")
@inputs.RANDOM_STATE
@inputs.FORCE
def plan_command(say: Say, n_objects: int, ask: str, picture: str | None, force: bool, **simulated: Any) -> None:
    """Estimate how many answers a map of N_OBJECTS objects needs, before anything is asked.

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
