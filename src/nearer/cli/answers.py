"""Commands for files of answers: `nearer check`, `people`, `convert` and `simulate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from nearer.cli._inputs import (
    FORCE,
    RANDOM_STATE,
    fitting_options,
    make_estimator,
    read_answers,
    read_classes,
    read_distances,
    read_numbers,
    reading_options,
    refuse_given,
)
from nearer.cli._output import ANSWERS, TABLES, OutputFile, Say, csv_text, speaking, write_text


@speaking(
    "nearer check answers.csv -d 2",
    "nearer check export.csv --columns anchor=head,near=winner,far=loser --json",
)
@click.argument("file", type=click.Path())
@click.option("-d", "--n-components", type=click.IntRange(1), help="Also look for objects with too few answers for it.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if there is a problem, or a warning about the file.")
@reading_options
def check_command(say: Say, file: str, n_components: int | None, strict: bool, reading: dict[str, Any]) -> None:
    """Look for faults in FILE: contradictions, islands, objects in too few answers, doubtful participants.

    Where questions were asked more than once, the noise ceiling says how many answers any map can satisfy.
    """
    from nearer.data.errors import counted

    result = read_answers(say, file, reading)
    found = result.comparisons.check(n_components)
    doubts = [f"{counted(len(result.alarms), 'warning')} above about what the file means"] if result.alarms else []
    say.result({"input": result.facts(), "check": found.to_dict()}, "\n".join([str(found), *doubts]))
    if strict and not (found.ok and not result.alarms):
        raise click.exceptions.Exit(1)


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
@click.option("-o", "--out", type=OutputFile(*ANSWERS), help="Write the answers of those who are kept.")
@click.option("--table", type=OutputFile(*TABLES), help="Write the table of all people as CSV.")
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Maps, each without some people.")
@click.option("--differ", "differ_too", is_flag=True, help="Also test whether people see the objects differently.")
@FORCE
@fitting_options
@reading_options
def people_command(
    say: Say, file: str, n_components: int, rules: str | None, out: str | None, table: str | None, folds: int,
    differ_too: bool, force: bool, fitting: dict[str, Any], reading: dict[str, Any],
) -> None:  # fmt: skip
    """Tell how each person answered in FILE: speed, side, repeats, catch questions, agreement with the others.

    Nobody is held to a map that their own answers helped to make. The share of guesses comes with its 95 % interval.
    """
    if out is not None and rules is None:
        raise ValueError("--out: without --rules nobody is left out, so there is nothing to write")
    estimator = make_estimator(fitting, n_components)
    from nearer.people.rules import ExclusionRules

    asked = None if rules is None else ExclusionRules.read(rules)
    result = read_answers(say, file, reading)
    from nearer.people import differ, exclude, participants

    with say.compiling():
        found = participants(result.comparisons, estimator, n_folds=folds, random_state=fitting["random_state"])
    values: dict[str, Any] = {"input": result.facts(), "people": found.table(), "in_order": found.in_order}
    told = [str(found)]
    if asked is not None:
        kept, exclusions = exclude(result.comparisons, asked, found)
        values["exclusions"] = vars(exclusions) | {"paragraph": exclusions.paragraph()}
        told.append(exclusions.paragraph())
        if out is not None:
            from nearer.io import write_comparisons

            write_comparisons(out, kept, force=force)
            say.note(f"wrote {out}: {kept!r}")
    if differ_too:
        estimator.set_params(reliability=True)
        tested = differ(estimator, result.comparisons, random_state=fitting["random_state"])
        values["difference"] = vars(tested)
        told.append(str(tested))
    if table is not None:
        columns = found.table() | {"participant": found.participant.astype(str).tolist()}
        write_text(table, csv_text(columns), force)
        say.note(f"wrote {table}")
    say.result(values, "\n\n".join(told))


@speaking(
    "nearer convert votes.csv answers.parquet",
    "nearer convert triplets.mat answers.csv --index-base 1",
)
@click.argument("file", type=click.Path())
@click.argument("target", type=OutputFile(*ANSWERS))
@click.option("--aggregate", is_flag=True, help="Equal answers become one row, with their number as weight.")
@FORCE
@reading_options
def convert_command(say: Say, file: str, target: str, aggregate: bool, force: bool, reading: dict[str, Any]) -> None:
    """Write the answers of FILE to TARGET as plain comparisons: anchor, near, far or i, j, l, k.

    The ending of TARGET gives its format: .csv, .tsv, .jsonl, .parquet or .npz.
    """
    from nearer.io import write_comparisons

    result = read_answers(say, file, reading)
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
@RANDOM_STATE
@click.option(
    "-o", "--out", required=True, type=OutputFile(*ANSWERS), help="File to write: .csv, .tsv, .jsonl, .parquet, .npz."
)
@FORCE
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
    from nearer.data import Comparisons
    from nearer.io import write_comparisons

    if source != "classes":
        refuse_given(["class_column"], f"got --from {source}, expected --from classes, which has such a column")
    if n_comparisons is None and source != "distances":
        raise click.UsageError(f"-n: got none, expected how many comparisons to draw from {source}")
    if source == "classes" and kind != "triplets":
        raise click.UsageError("--kind: got quadruplets, expected triplets, all that classes give")
    make: Callable[..., Comparisons]
    if source == "points":
        points, labels = read_numbers(say, file)
        make = partial(Comparisons.from_points, points, n_comparisons or 0, kind)
    elif source == "distances":
        distances, labels = read_distances(file)
        make = partial(Comparisons.from_distances, distances, n_comparisons, kind)
    else:
        classes, labels = read_classes(say, file, class_column)
        make = partial(Comparisons.from_classes, classes, n_comparisons or 0)
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
