"""The command line: `nearer <command>`, one file per subject, each loaded only when a command of it is called."""

from __future__ import annotations

import contextlib
import difflib
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
from nearer.cli._output import INTERRUPTED, as_options, can_put_right, explain, visible

__all__ = ["main"]

# The list of commands is shown from this table, so that it needs none of them: the file that has a command, its help.
COMMANDS = {
    "fit": ("fit", "Make a map from a file of answers."),
    "score": ("maps", "How many answers a map satisfies."),
    "check": ("answers", "Look for faults in a file of answers."),
    "people": ("answers", "Tell who answered how, and leave out by rules."),
    "dims": ("fit", "How many dimensions a map should have."),
    "place": ("maps", "Put new objects on a map by a few answers."),
    "map": ("maps", "Put new objects on a map by their features."),
    "neighbours": ("maps", "Tell which objects are nearest to which."),
    "plot": ("maps", "Draw a map, or how its fit went."),
    "report": ("maps", "Write the report of a map again."),
    "methods": ("maps", "Write how a map was made, for a paper."),
    "export": ("maps", "Write a map for R, MATLAB or NumPy."),
    "convert": ("answers", "Write a file of answers in another format."),
    "suggest": ("answers", "Tell which questions to ask next."),
    "plan": ("answers", "How many answers a study needs, before it."),
    "collect": ("collect", "Run a study: ask people and keep their answers."),
    "simulate": ("answers", "Make answers from points, distances or classes."),
    "demo": ("demo", "Map 21 European cities from comparisons alone."),
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
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])

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
        with _told_on_stderr(ctx), _ctrl_c_not_lost():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo(f"{_name(ctx)}: interrupted; nothing more was written", err=True)
                ctx.exit(INTERRUPTED)
            except Exception as error:
                if ctx.meta.get("nearer.debug") or not can_put_right(error):
                    raise
                told = explain(error).removeprefix(f"{ctx.invoked_subcommand}: ")
                click.echo(f"{_name(ctx)}: {told}", err=True)
                ctx.exit(2)


def _name(ctx: click.Context) -> str:
    return f"nearer {ctx.invoked_subcommand}" if ctx.invoked_subcommand else "nearer"


@contextlib.contextmanager
def _ctrl_c_not_lost() -> Iterator[None]:
    """Press ctrl-C again where Python drops the exception because it came in a finaliser or a callback."""
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
def _told_on_stderr(ctx: click.Context) -> Iterator[None]:
    """Show warnings and log messages as lines of this command, each once."""
    told: set[str] = set()

    def tell(text: str) -> None:
        if text not in told:
            told.add(text)
            click.echo(f"{_name(ctx)}: warning: {visible(as_options(text))}", err=True)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage())

    handler = Handler(logging.WARNING)
    logger = logging.getLogger("nearer")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = lambda message, *rest, **more: tell(str(message))
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
        # A label that the terminal cannot show is spelt out, never an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    kwargs.setdefault("prog_name", "nearer")
    return cli(*args, **kwargs)
