"""Options that several commands share: how to read a file of answers, what to fit, how to show it.

An option is called as the parameter of the library that it sets.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nearer.cli._say import Say

if TYPE_CHECKING:
    from nearer.estimator import OrdinalEmbedding
    from nearer.io import ReadResult

# Known here so that --help and completion need not load the library; a test compares them with it.
LOSSES = ("hinge", "ckl", "ste", "tste", "soe", "softplus", "gnmds", "logistic")
SOLVERS = ("auto", "svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs", "convex")
FORMATS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "numpy", "matlab", "excel")
KINDS = ("triplets", "quadruplets", "answers", "votes", "odd-one-out", "most-central", "rankings")
_DROP_OR_RAISE = click.Choice(["drop", "raise"])


class _Dimensions(click.ParamType):
    """Dimensions to try, ascending: "1-6" or "2,3,5"."""

    name = "dimensions"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            first, _, last = part.strip().partition("-")
            if not first.isdecimal() or not (last or first).isdecimal() or not 1 <= int(first) <= int(last or first):
                self.fail(f"got {value!r}, expected dimensions such as 1-6 or 2,3,5", param, ctx)
            found.update(range(int(first), int(last or first) + 1))
        return tuple(sorted(found))


class NumberOrAuto(click.ParamType):
    """A whole number from 1 on, or the word auto."""

    name = "number or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        return "auto" if value == "auto" else click.IntRange(1).convert(value, param, ctx)


DIMENSIONS = _Dimensions()
MAP = click.argument("map_path", metavar="MAP", type=click.Path())
FORCE = click.option("--force", is_flag=True, is_eager=True, help="Replace files that exist.")
GROUPS = click.option("--groups", type=click.Path(), help="Table with the columns label, group; colours the map.")
IMAGES = click.option(
    "--images", type=click.Path(exists=True, file_okay=False), help="Folder of pictures named as the labels."
)
LOSS_OF_COORDINATES = click.option(
    "--loss", type=click.Choice(LOSSES), help="For coordinates alone: the loss they come from."
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
    click.option("--format", type=click.Choice(FORMATS), help="Format of the file, if its name does not tell."),
    click.option("--kind", type=click.Choice(KINDS), help="What a row is, if the columns do not tell."),
    click.option(
        "--columns", metavar="ROLE=NAME,...", help="Which column is what: anchor=head,near=winner,far=loser."
    ),
    click.option("--delimiter", help="One character, 'tab' or 'whitespace'."),
    click.option("--header/--no-header", default=None, help="Whether the first line holds names of columns."),
    click.option("--weight", metavar="COLUMN", help="Column of weights; '' for none."),
    click.option("--participant", metavar="COLUMN", help="Column of who answered; '' for none."),
    click.option(
        "--answers", metavar="HOW",
        help="What an answer says: f=a,j=b,equal=skip, or one of object, sign, bool, index0, index1.",
    ),
    click.option("--n-objects", type=int, metavar="N", help="Objects are 0 to N - 1, also those left out."),
    click.option("--index-base", type=click.IntRange(0, 1), help="Objects are counted from 0 or from 1."),
    click.option("--encoding", help="Of a text file; UTF-8 if not given."),
    click.option("--variable", metavar="NAME", help="The array of a .npz, .mat or .json file, or the sheet, to read."),
    click.option(
        "--on-degenerate", type=_DROP_OR_RAISE, default="drop", show_default=True,
        help="Rows that compare an object with itself: leave out and count, or refuse the file.",
    ),
    click.option(
        "--on-missing", type=_DROP_OR_RAISE, default="raise", show_default=True, help="The same for missing cells."
    ),
    click.option("--keep-na", is_flag=True, help="Take NA, None, null and the like as names, not as missing."),
    click.option("--fold-names", is_flag=True, help="Join names that differ only by case, blanks or form."),
)  # fmt: skip

_FITTING = (
    click.option("--loss", type=click.Choice(LOSSES), default="tste", show_default=True, help="What is minimised."),
    click.option("--alpha", type=float, help="Degrees of freedom of tste.  [default: n_components - 1, at least 1]"),
    click.option("--delta", type=float, help="Regularisation of ckl.  [default: 0.05]"),
    click.option("--solver", type=click.Choice(SOLVERS), default="auto", show_default=True, help="How."),
    click.option(
        "--n-init", type=click.IntRange(1), default=1, show_default=True, help="Random starts; the best is kept."
    ),
    RANDOM_STATE,
    click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Time limit of each start."),
    click.option("--max-epochs", type=click.IntRange(1), help="Most epochs of each start."),
    click.option("--tol", type=click.FloatRange(0), help="Precision at which the solver stops; 0: never."),
    N_JOBS,
    click.option("--reliability", is_flag=True, help="Weigh answers by how often each participant seems to guess."),
)


def _gathered(options: tuple, into: str) -> Callable[[Callable], Callable]:
    """A decorator that adds options to a command, which gets them as one dict."""
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


reading_options = _gathered(_READING, "reading")
"""Adds how to read a file; the command gets a dict `reading`, keywords of `nearer.io.read_comparisons`."""

fitting_options = _gathered(_FITTING, "fitting")
"""Adds what to fit and how; the command gets a dict `fitting` for `make_estimator`."""


def were_given(names: Iterable[str]) -> list[str]:
    """Which options of a command were given, of those that set some parameters, as the user would write them."""
    ctx = click.get_current_context()
    return [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name in names and ctx.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    ]


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options that were given where nothing would come of them."""
    for option in were_given(names):
        raise click.UsageError(f"{option}: {why}")


def read_answers(say: Say, path: str, reading: dict[str, Any]) -> ReadResult:
    """Read a file of answers, and say what was understood."""
    from nearer.io import read_comparisons

    with contextlib.suppress(ImportError):
        import pandas  # noqa: F401  pyarrow loads it where it is installed, and swallows a ctrl-C that comes meanwhile
    result = read_comparisons(path, **reading)
    say.note(result.understood.removesuffix("; " + "; ".join(result.alarms)))
    for alarm in result.alarms:  # said of even if quiet
        warnings.warn(f"{result.path}: {alarm}", stacklevel=2)
    return result


def make_estimator(fitting: dict[str, Any], n_components: int | str = 2, callbacks: Any = None) -> OrdinalEmbedding:
    """Make the estimator that the options gathered by `fitting_options` describe."""
    from nearer.estimator import OrdinalEmbedding
    from nearer.losses import get_loss
    from nearer.solvers import get_solver

    loss_params = {name: fitting[name] for name in ("alpha", "delta") if fitting[name] is not None}
    get_loss(fitting["loss"], **loss_params)  # refuse a parameter that the loss does not have before any work
    limits = {name: fitting[name] for name in ("max_epochs", "tol") if fitting[name] is not None}
    return OrdinalEmbedding(
        n_components,
        loss=fitting["loss"],
        loss_params=loss_params or None,
        solver=replace(get_solver(fitting["solver"]), **limits) if limits else fitting["solver"],
        callbacks=callbacks,
        **{name: fitting[name] for name in ("n_init", "max_seconds", "n_jobs", "random_state", "reliability")},
    )
