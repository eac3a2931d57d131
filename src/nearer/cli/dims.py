"""`nearer dims`: how many dimensions a map should have."""

from __future__ import annotations

from typing import Any

import click

from nearer.cli import inputs, options
from nearer.cli.output import Say, command


@command("nearer dims answers.csv", "nearer dims answers.csv --dims 1-8 --loss ste --plot dims.png")
@click.argument("file", type=click.Path())
@click.option("--dims", type=options.dimensions, default="1-6", help="Dimensions to try: 1-6 or 2,3,5.")
@click.option("--cv", type=click.IntRange(2), default=5, help="Folds of the cross-validation.")
@options.CV_BY
@options.PICTURE
@options.FORCE
@options.FITTING
@inputs.READING
def dims_command(
    say: Say, file: str, dims: tuple[int, ...], cv: int, cv_by: str | None, picture: str | None, **given: Any
) -> None:  # fmt: skip
    """Find how many dimensions the answers in FILE support.

    Maps of every dimension are made from a part of the answers and judged by the rest. The smallest dimension that
    no larger one beats is chosen. Ctrl-C stops the computation and reports the results so far (exit code 130).
    """
    estimator = options.make_estimator(given)
    result = inputs.read_answers(say, file, given)
    from nearer.check import check
    from nearer.reports.sentences import dimension_lines
    from nearer.selection import Interrupted, cross_validate_dimensions

    say.note(f"cross-validating: dimensions {', '.join(map(str, dims))}, {cv} folds")
    groups = None if cv_by is None else f"{cv_by}s"
    how = {"random_state": estimator.random_state, "n_jobs": estimator.n_jobs}
    interrupted = False
    try:
        with say.compiling():
            found = cross_validate_dimensions(estimator, result.comparisons, dims, n_folds=cv, groups=groups, **how)
    except Interrupted as stopped:
        found, interrupted = stopped.found, True
    checked = check(result.comparisons)
    low, high = checked.noise_ceiling_low, checked.noise_ceiling
    values = {name: getattr(found, name) for name in ("chosen", "candidates", "decisive", "verdict")}
    values |= {"input": result.facts(), "partial": interrupted, "table": found.to_dict(), "noise_ceiling": high}
    say.result(values, dimension_lines(found))
    if interrupted:
        raise KeyboardInterrupt
    if picture is not None:
        from nearer.plots import plot_dimensions

        band = None if low is None or high is None or checked.ceiling_is_rough else (low, high)
        say.picture(plot_dimensions(found, chosen=found.chosen, ceiling=band), picture)
