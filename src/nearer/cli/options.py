"""Options that several commands share, named as the parameters they set, and the estimator they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

import nearer
from nearer import registry
from nearer.cli.output import OutputFile


def dimensions(value: str) -> tuple[int, ...]:
    """Type of an option: dimensions to try, ascending, from "1-6" or "2,3,5"."""
    found: set[int] = set()
    for part in value.split(","):
        first, _, last = part.strip().partition("-")
        last = last or first
        if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
            raise click.BadParameter(f"got {value!r}, expected dimensions such as 1-6 or 2,3,5")
        found.update(range(int(first), int(last) + 1))
    return tuple(sorted(found))


def entry(option: str, entries: registry.Entries, what: str, also: str = "", **more: Any) -> Callable:
    """An option whose choices are entries of the registry, with their help, and possibly one more, `also`."""
    meaning = "; ".join(f"{one.name}: {one.question or one.help}" for one in entries.values())
    choices = (*([also] if also else []), *registry.names(entries))
    return click.option(option, type=click.Choice(choices), help=f"{what} {meaning}", **more)


FILE, FOLDER = click.Path(exists=True, dir_okay=False), click.Path(exists=True, file_okay=False)

ASK = entry("--ask", registry.SUGGESTED, "Kind of question.", default="triplets")
MAP = click.argument("map_path", metavar="MAP", type=click.Path())
POSITIONS = click.option(
    "-o", "--out", type=OutputFile(*registry.POSITIONS), help="File to write; printed if not given."
)
FORCE = click.option("--force", is_flag=True, is_eager=True, help="Replace files that exist.")
PICTURE = click.option(
    "--plot", "picture", type=OutputFile(*registry.PICTURES), help="Also draw it: .png, .svg or .pdf."
)
GROUPS = click.option("--groups", type=FILE, help="Table with the columns label, group; colours the map.")
IMAGES = click.option("--images", type=FOLDER, help="Folder of PNG, JPEG, GIF, WebP or SVG files named as the labels.")
LOSS_OF_COORDINATES = click.option(
    "--loss", type=click.Choice(registry.names(registry.LOSSES)), help="Loss of coordinates that come without a model."
)
CV_BY = click.option(
    "--cv-by", type=click.Choice(("question", "participant")),
    help="What stays together in cross-validation: all answers to a question (default, if most of the answers can "
    "be evaluated then), or all of a person.",
)  # fmt: skip
N_COMPONENTS = click.option("-d", "--n-components", type=click.IntRange(1), default=2, help="Dimensions of the map.")
N_JOBS = click.option("--n-jobs", type=int, help="Threads; all cores if not given.")
RANDOM_STATE = click.option("--random-state", type=click.IntRange(0), default=0, help="Seed: same number, same result.")


class OptionGroup:
    """Several options as one decorator; a command gets the value of each as a keyword argument."""

    def __init__(self, *options: Callable):
        self._options = options
        self.names = [parameter.name for parameter in click.command()(self(lambda: None)).params]

    def __call__(self, function: Any) -> Any:
        for option in reversed(self._options):
            function = option(function)
        return function

    def of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of these options among all arguments of a command."""
        return {name: given[name] for name in self.names}


def were_given(names: Iterable[str]) -> list[str]:
    """Which of the options that set these parameters were given."""
    ctx = click.get_current_context()
    return [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name in names and ctx.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    ]


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options that would have no effect."""
    for option in were_given(names):
        raise click.UsageError(f"{option}: {why}")


FITTING = OptionGroup(
    entry(
        "--loss",
        registry.LOSSES,
        "What is minimised. auto: ste or tste, with a lapse rate, by held-out answers;",
        also="auto",
        default="auto",
    ),
    click.option("--alpha", type=float, help="Degrees of freedom of tste.  [default: n_components - 1, at least 1]"),
    click.option("--delta", type=float, help="Regularisation of ckl.  [default: 0.05]"),
    click.option("--lapse", type=click.FloatRange(0, 1, max_open=True), help="Lapse rate of ckl, ste or tste."),
    entry("--solver", registry.SOLVERS, "How it is minimised.", default="auto"),
    click.option("--n-init", type=click.IntRange(1), default=1, help="Random starts; the best is kept."),
    RANDOM_STATE,
    click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Time limit of the fit."),
    click.option("--max-epochs", type=click.IntRange(1), help="Largest number of epochs of each start."),
    click.option("--tol", type=click.FloatRange(0), help="Tolerance at which the solver stops; 0: never."),
    N_JOBS,
    click.option("--reliability", is_flag=True, help="Weigh answers by how often each participant seems to guess."),
)


def make_estimator(given: Mapping[str, Any], n_components: Any = 2) -> nearer.OrdinalEmbedding:
    """The estimator that the options FITTING describe; refuses bad ones before any work."""
    from nearer.losses import get_loss
    from nearer.solvers import get_solver

    fitting = {name: value for name, value in FITTING.of(given).items() if value is not None}
    loss_params: dict[str, float] = {name: fitting.pop(name) for name in ("alpha", "delta", "lapse") if name in fitting}
    limits = {name: fitting.pop(name) for name in ("max_epochs", "tol") if name in fitting}
    if fitting["loss"] != "auto":
        get_loss(fitting["loss"], **loss_params)
    elif loss_params:
        raise click.UsageError(f"--{next(iter(loss_params))}: a parameter of a loss, which has to be named with --loss")
    if limits:
        fitting["solver"] = replace(get_solver(fitting["solver"]), **limits)
    return nearer.OrdinalEmbedding(n_components, loss_params=loss_params or None, **fitting)
