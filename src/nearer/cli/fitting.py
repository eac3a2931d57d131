"""The options of a fit, and the estimator they describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import nearer
from nearer import registry
from nearer.cli import options

fitting_options = options.grouped(
    "fitting",
    options.entry("--loss", registry.LOSSES, "What is minimised.", default="tste"),
    click.option("--alpha", type=float, help="Degrees of freedom of tste.  [default: n_components - 1, at least 1]"),
    click.option("--delta", type=float, help="Regularisation of ckl.  [default: 0.05]"),
    options.entry("--solver", registry.SOLVERS, "How it is minimised.", default="auto"),
    click.option("--n-init", type=click.IntRange(1), default=1, help="Random starts; the best is kept."),
    options.RANDOM_STATE,
    click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Time limit of the fit."),
    click.option("--max-epochs", type=click.IntRange(1), help="Largest number of epochs of each start."),
    click.option("--tol", type=click.FloatRange(0), help="Tolerance at which the solver stops; 0: never."),
    options.N_JOBS,
    click.option("--reliability", is_flag=True, help="Weigh answers by how often each participant seems to guess."),
)


def make_estimator(fitting: dict[str, Any], n_components: Any = 2) -> nearer.OrdinalEmbedding:
    """The estimator that `fitting_options` describe; refuses bad ones before any work."""
    from nearer.losses import get_loss
    from nearer.solvers import get_solver

    given: dict[str, Any] = {name: value for name, value in fitting.items() if value is not None}
    loss_params: dict[str, float] = {name: given.pop(name) for name in ("alpha", "delta") if name in given}
    get_loss(given["loss"], **loss_params)
    limits = {name: given.pop(name) for name in ("max_epochs", "tol") if name in given}
    if limits:
        given["solver"] = replace(get_solver(given["solver"]), **limits)
    return nearer.OrdinalEmbedding(n_components, loss_params=loss_params or None, **given)
