"""`nearer dims`: how many dimensions a map should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nearer.cli import files, inputs, options
from nearer.cli.fitting import fitting_options, make_estimator
from nearer.cli.interrupt import INTERRUPTED
from nearer.cli.output import Say, command

if TYPE_CHECKING:
    from nearer.io import ReadResult
    from nearer.selection import DimensionSelection


@command("nearer dims answers.csv", "nearer dims answers.csv --dims 1-8 --loss ste --plot dims.png")
@click.argument("file", type=click.Path())
@click.option("--dims", type=options.dimensions, default="1-6", help="Dimensions to try: 1-6 or 2,3,5.")
@click.option("--cv", type=click.IntRange(2), default=5, help="Folds of the cross-validation.")
@options.CV_BY
@options.PICTURE
@options.FORCE
@fitting_options
@inputs.reading_options
def dims_command(
    say: Say, file: str, dims: tuple[int, ...], cv: int, cv_by: str, picture: str | None,
    fitting: dict[str, Any], reading: dict[str, Any],
) -> None:  # fmt: skip
    """Find how many dimensions the answers in FILE support.

    Maps of every dimension are made from a part of the answers and judged by the rest. The smallest
    dimension that no larger one beats is chosen. Ctrl-C stops the computation and reports the results so far (exit code
    130).
    """
    estimator = make_estimator(fitting)
    result = inputs.read_answers(say, file, reading)
    comparisons = result.comparisons
    from nearer.check import check
    from nearer.reports.sentences import dimension_lines
    from nearer.selection import Interrupted, cross_validate_dimensions

    say.note(f"cross-validating: dimensions {', '.join(map(str, dims))}, {cv} folds")
    try:
        with say.compiling():
            found = cross_validate_dimensions(
                estimator, comparisons, dims, n_folds=cv, groups="participants" if cv_by == "participant" else None,
                random_state=estimator.random_state, n_jobs=estimator.n_jobs,
            )  # fmt: skip
    except Interrupted as stopped:
        say.result(_values(stopped.found, result), dimension_lines(stopped.found))
        click.echo(f"nearer dims: interrupted{'' if picture is None else f'; {picture} was not drawn'}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    checked = check(comparisons)
    ceiling = checked.noise_ceiling
    if picture is not None:
        from nearer.plots import plot_dimensions

        low = checked.noise_ceiling_low
        band = None if ceiling is None or low is None else (low, ceiling)
        files.write_picture(say, plot_dimensions(found, chosen=found.chosen, ceiling=band), picture)
    say.result(_values(found, result) | {"noise_ceiling": ceiling}, dimension_lines(found))


def _values(found: DimensionSelection, read: ReadResult) -> dict[str, Any]:
    return {
        "input": read.facts(),
        "partial": found.chosen is None,
        "table": found.to_dict(),
        "chosen": found.chosen,
        "candidates": list(found.candidates),
        "decisive": found.decisive,
        "verdict": found.verdict,
    }
