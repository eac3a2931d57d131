"""The command line: `nearer <command>`, one file per subject, each loaded only when a command of it is called."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import click

from nearer import __version__
from nearer.cli.output import INTERRUPTED, can_put_right, explain, visible

__all__ = ["main"]

# Module and help of each command; --help imports none of them.
COMMANDS = {
    "fit": ("fit", "Make a map from a file of answers."),
    "score": ("maps", "How many answers a map satisfies."),
    "check": ("answers", "Look for faults in a file of answers."),
    "describe": ("describe", "Write a layout file: what the columns of a file mean."),
    "people": ("answers", "Show how each person answered; exclude by rules."),
    "dims": ("fit", "How many dimensions a map should have."),
    "place": ("maps", "Put new objects on a map by a few answers."),
    "map": ("maps", "Put new objects on a map by their features."),
    "neighbours": ("maps", "List which objects are nearest to which."),
    "plot": ("maps", "Draw a map, or how its fit went."),
    "report": ("maps", "Write the report of a map again."),
    "methods": ("maps", "Write how a map was made, for a paper."),
    "export": ("maps", "Write a map for R, MATLAB or NumPy."),
    "convert": ("answers", "Write a file of answers in another format."),
    "suggest": ("answers", "Choose which questions to ask next."),
    "plan": ("answers", "How many answers a study needs, before it."),
    "collect": ("collect", "Run a study: ask people and keep their answers."),
    "simulate": ("answers", "Make answers from points, distances or classes."),
    "demo": ("demo", "Map 60 cars from the answers of people."),
    "completion": ("completion", "Print a script that completes commands in a shell."),
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and turns errors of the user into one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        home, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(f"nearer.cli.{home}"), f"{cmd_name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(COMMANDS)}"
            ctx.fail(f"no such command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["nearer.arguments"] = list(args)  # for the command that repeats a result
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _warnings_on_stderr(ctx), _ctrl_c_not_lost():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo(f"{_name(ctx)}: interrupted; nothing more was written", err=True)
                ctx.exit(INTERRUPTED)
            except Exception as error:
                if ctx.meta.get("nearer.debug") or not can_put_right(error):
                    raise
                click.echo(f"{_name(ctx)}: {explain(error).removeprefix(f'{ctx.invoked_subcommand}: ')}", err=True)
                ctx.exit(2)


def _name(ctx: click.Context) -> str:
    return f"nearer {ctx.invoked_subcommand}" if ctx.invoked_subcommand else "nearer"


@contextlib.contextmanager
def _ctrl_c_not_lost() -> Iterator[None]:
    """Raise SIGINT again where Python drops KeyboardInterrupt because it came in a finaliser or a callback."""
    before = sys.unraisablehook

    def again(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # A moment later: what is raised in this hook is dropped as well.
            threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        else:
            before(dropped)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def _warnings_on_stderr(ctx: click.Context) -> Iterator[None]:
    """Show warnings and log messages as lines of this command, each once."""

    @functools.cache
    def warn(text: str) -> None:
        click.echo(f"{_name(ctx)}: warning: {visible(text)}", err=True)

    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warn(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("nearer")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = lambda message, *rest, **more: warn(str(message))
            yield
    finally:
        logger.removeHandler(handler)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
A first map:
  nearer fit answers.csv -d 2 -o out
  open out/report.html""",
)
@click.version_option(__version__, prog_name="nearer", message="%(prog)s %(version)s")
def cli() -> None:
    """Maps from comparisons: objects as points, from answers such as "i is nearer to j than to k"."""


def main(*args: Any, **kwargs: Any) -> Any:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for labels that the terminal cannot show
    kwargs.setdefault("prog_name", "nearer")
    return cli(*args, **kwargs)
