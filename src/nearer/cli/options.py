"""Options that several commands share, called as the parameters they set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.core import ParameterSource

from nearer import registry
from nearer.cli.files import OutputFile


def dimensions(value: str) -> tuple[int, ...]:
    """Type of an option: dimensions to try, ascending, from "1-6" or "2,3,5"."""
    found: set[int] = set()
    for part in value.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or not 1 <= int(first) <= int(last or first):
            raise click.BadParameter(f"got {value!r}, expected dimensions such as 1-6 or 2,3,5")
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def entry(option: str, entries: registry.Entries, what: str, **more: Any) -> Callable:
    """An option whose choices are entries of the registry, with their help."""
    meaning = "; ".join(f"{one.name}: {one.question or one.help}" for one in entries.values())
    return click.option(option, type=click.Choice(registry.names(entries)), help=f"{what} {meaning}", **more)


def kinds(option: str, names: Iterable[str]) -> Callable:
    entries = {name: registry.KINDS[name] for name in names}
    return entry(option, entries, "Kind of question.", default="triplets")


ASK = kinds("--ask", registry.SUGGESTED)
POSITIONS = click.option(
    "-o", "--out", type=OutputFile(*registry.POSITIONS), help="CSV file for the positions; printed if not given."
)
MAP = click.argument("map_path", metavar="MAP", type=click.Path())
FORCE = click.option("--force", is_flag=True, is_eager=True, help="Replace files that exist.")
PICTURE = click.option(
    "--plot", "picture", type=OutputFile(*registry.PICTURES), help="Also draw the result: .png, .svg or .pdf."
)
GROUPS = click.option("--groups", type=click.Path(), help="Table with the columns label, group; colours the map.")
IMAGES = click.option(
    "--images", type=click.Path(exists=True, file_okay=False), help="Folder of pictures named as the labels."
)
LOSS_OF_COORDINATES = click.option(
    "--loss", type=click.Choice(registry.names(registry.LOSSES)), help="Loss of coordinates that come without a model."
)
CV_BY = click.option(
    "--cv-by", type=click.Choice(("question", "participant")), default="question",
    help="What stays together in cross-validation: all answers to a question, or all of a person.",
)  # fmt: skip
N_JOBS = click.option("--n-jobs", type=int, help="Threads; all cores if not given.")
RANDOM_STATE = click.option("--random-state", type=click.IntRange(0), default=0, help="Seed: same number, same result.")


def grouped(into: str, *options: Callable) -> Callable[[Callable], Callable]:
    """A decorator that adds options to a command, which gets their values as one dict called `into`."""
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
