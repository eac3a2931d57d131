"""The group of all commands: a command is a file of this folder whose docstring starts with its name and help."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nearer import __version__
from nearer.cli import interrupt
from nearer.cli.output import explain, is_correctable, visible

_TITLE = re.compile(r'"""`nearer (\w+)`: (\w.*)"""')
_FOLDER = Path(__file__).parent


@functools.cache
def commands() -> dict[str, str]:
    """The help of each command by its name; imports none of them."""
    with_title = {}
    for file in sorted(_FOLDER.glob("[!_]*.py")):
        with file.open(encoding="utf-8") as lines:
            title = _TITLE.match(lines.readline())
        if title is not None:
            name, text = title.groups()
            with_title[name] = text[0].upper() + text[1:]
    return with_title


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and turns errors of the user into one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in commands():
            return None
        return getattr(importlib.import_module(f"nearer.cli.{cmd_name}"), f"{cmd_name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(commands().items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in commands() and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], commands(), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(commands())}"
            ctx.fail(f"no such command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["nearer.arguments"] = list(args)  # for the command that repeats a result
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _warnings_on_stderr(ctx), interrupt.raising():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo(f"{_name(ctx)}: interrupted; nothing more was written", err=True)
                ctx.exit(interrupt.INTERRUPTED)
            except Exception as error:
                if ctx.meta.get("nearer.debug") or not is_correctable(error):
                    raise
                click.echo(f"{_name(ctx)}: {explain(error).removeprefix(f'{ctx.invoked_subcommand}: ')}", err=True)
                ctx.exit(2)


def _name(ctx: click.Context) -> str:
    return f"nearer {ctx.invoked_subcommand}" if ctx.invoked_subcommand else "nearer"


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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    epilog="""\b
A first map:
  nearer fit answers.csv -d 2 -o out
  open out/report.html""",
)
@click.version_option(__version__, prog_name="nearer", message="%(prog)s %(version)s")
def cli() -> None:
    """Maps from comparisons: objects as points, from answers such as "i is nearer to j than to k"."""


def run(*args: Any, **kwargs: Any) -> Any:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for labels that the terminal cannot show
    kwargs.setdefault("prog_name", "nearer")
    return cli(*args, **kwargs)
