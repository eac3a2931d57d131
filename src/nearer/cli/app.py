"""The group of all commands: a command is a file of this folder whose docstring starts with its name and help."""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nearer import __version__
from nearer.cli.output import visible

_TITLE = re.compile(r'"""`nearer (\w+)`: (\w)(.*)"""\n')


@functools.cache
def commands() -> dict[str, str]:
    """The help of each command by its name; imports none of them."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    titles = filter(None, (_TITLE.match(file.read_text(encoding="utf-8")) for file in files))
    return {title[1]: title[2].upper() + title[3] for title in titles}


def explain(error: Exception) -> str | None:
    """One line on an error that the user can correct, also in a database or on a cluster; else None."""
    home = type(error).__module__
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if home.startswith("sqlalchemy."):
        from nearer.collect.store import reason

        return f"the database failed: {reason(error)}"
    if isinstance(error, (ValueError, OSError, ImportError, MemoryError)) or home.startswith("nearer.distributed."):
        return None if isinstance(error, BrokenPipeError) else str(error) or type(error).__name__
    return None


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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["nearer.arguments"] = list(args)  # for the command that repeats a result
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        def show(text: str) -> None:
            click.echo(f"{' '.join(filter(None, ('nearer', ctx.invoked_subcommand)))}: {visible(text)}", err=True)

        try:
            with _warnings_shown(lambda text: show(f"warning: {text}")):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            show("interrupted; nothing more was written")
            ctx.exit(130)
        except Exception as error:
            text = explain(error)
            if text is None or "--debug" in ctx.meta["nearer.arguments"]:
                raise
            show(text.removeprefix(f"{ctx.invoked_subcommand}: "))
            ctx.exit(2)


@contextlib.contextmanager
def _warnings_shown(show: Any) -> Iterator[None]:
    """Pass warnings and log messages on, each once."""
    warn = functools.cache(show)
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
