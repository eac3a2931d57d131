"""Options that several commands share, called as the parameters they set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.core import ParameterSource

from nearer import registry
from nearer.cli import output
from nearer.cli.output import OutputFile


def dimensions(value: str) -> tuple[int, ...]:
    """Type of an option: dimensions to try, ascending, from "1-6" or "2,3,5"."""
    found: set[int] = set()
    for part in value.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or not 1 <= int(first) <= int(last or first):
            raise click.BadParameter(f"got {value!r}, expected dimensions such as 1-6 or 2,3,5")
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


ASK = click.option(
    "--ask", type=click.Choice(registry.SUGGESTED), default="triplets", show_default=True, help="Kind of question."
)
POSITIONS = click.option(
    "-o", "--out", type=OutputFile(*output.POSITIONS), help="CSV file for the positions; printed if not given."
)
MAP = click.argument("map_path", metavar="MAP", type=click.Path())
FORCE = click.option("--force", is_flag=True, is_eager=True, help="Replace files that exist.")
GROUPS = click.option("--groups", type=click.Path(), help="Table with the columns label, group; colours the map.")
IMAGES = click.option(
    "--images", type=click.Path(exists=True, file_okay=False), help="Folder of pictures named as the labels."
)
LOSS_OF_COORDINATES = click.option(
    "--loss", type=click.Choice(registry.names(registry.LOSSES)), help="For coordinates alone: the loss they come from."
)
CV_BY = click.option(
    "--cv-by", type=click.Choice(("question", "participant")), default="question", show_default=True,
    help="What stays together in cross-validation: all answers to a question, or all of a person.",
)  # fmt: skip
N_JOBS = click.option("--n-jobs", type=int, help="Threads; all cores if not given.")
RANDOM_STATE = click.option(
    "--random-state", type=click.IntRange(0), default=0, show_default=True, help="Seed: same number, same result."
)

_READING = (
    click.option("--layout", type=click.Path(), metavar="FILE", help="TOML file that says what a row means; by default "
                 "answers.layout.toml next to answers.csv, see nearer describe."),
    click.option("--columns", metavar="ROLE=NAME,...", help="Which column is what: anchor=head,near=winner,far=loser; "
                 "or roles in the order of columns without names: anchor,near,far."),
    click.option("--answers", metavar="CELL=OPTION,...", help="What an answer stands for: f=a,j=b,none=skip."),
    click.option("--where", metavar="COLUMN=VALUE", multiple=True, help="Rows that count; may be repeated."),
    click.option("--strict", is_flag=True, help="Refuse a file with columns that are not used."),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook, or variable of a .npz, .mat or .json file."),
    click.option("--encoding", help="Of a text file; UTF-8 if not given."),
    click.option("--delimiter", help="One character, 'tab' or 'whitespace'."),
)  # fmt: skip

_FITTING = (
    click.option(
        "--loss", type=click.Choice(registry.names(registry.LOSSES)), default="tste", show_default=True,
        help="What is minimised.",
    ),
    click.option("--alpha", type=float, help="Degrees of freedom of tste.  [default: n_components - 1, at least 1]"),
    click.option("--delta", type=float, help="Regularisation of ckl.  [default: 0.05]"),
    click.option("--solver", type=click.Choice(list(registry.SOLVERS)), default="auto", show_default=True, help="How."),
    click.option(
        "--n-init", type=click.IntRange(1), default=1, show_default=True, help="Random starts; the best is kept."
    ),
    RANDOM_STATE,
    click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Time limit of the fit."),
    click.option("--max-epochs", type=click.IntRange(1), help="Most epochs of each start."),
    click.option("--tol", type=click.FloatRange(0), help="Precision at which the solver stops; 0: never."),
    N_JOBS,
    click.option("--reliability", is_flag=True, help="Weigh answers by how often each participant seems to guess."),
)  # fmt: skip


def _gathered(options: tuple, into: str) -> Callable[[Callable], Callable]:
    """A decorator that adds options to a command, which gets them as one dict called `into`."""
    holder = click.Command(into)
    for option in options:
        option(holder)
    names = [str(parameter.name) for parameter in holder.params]

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def gathering(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{into: {name: kwargs.pop(name) for name in names}}, **kwargs)

        for option in reversed(options):
            gathering = option(gathering)
        return gathering

    return decorate


reading_options = _gathered(_READING, "reading")  # for `read_answers`
fitting_options = _gathered(_FITTING, "fitting")  # for `make_estimator`


def were_given(names: Iterable[str]) -> list[str]:
    """The options given, of those that set some parameters."""
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
