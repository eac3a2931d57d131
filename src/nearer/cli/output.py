"""What commands print: results to standard output, the rest to standard error."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

_DECLARING = ("--columns", "--answers", "--where")
# Controls that could move the cursor, colour the terminal or reverse the text; line ends and tabs may stay.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Spell out control characters, so that a label cannot command the terminal."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def is_correctable(error: Exception) -> bool:
    """Whether the user can correct the cause of an error, including those of a database or a cluster."""
    if isinstance(error, (ValueError, OSError, ImportError, MemoryError)):
        return not isinstance(error, BrokenPipeError)
    return type(error).__module__.startswith(("sqlalchemy.", "nearer.distributed."))


def explain(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return visible(f"{error.filename}: {error.strerror}")
    if type(error).__module__.startswith("sqlalchemy."):
        reason = str(getattr(error, "orig", error)).strip().split("\n")[0]
        return visible(f"the database failed: {reason}")
    return visible(str(error) or type(error).__name__)


def plain(value: Any) -> Any:
    """Values as JSON has them; what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def json_text(values: Mapping[str, Any]) -> str:
    return json.dumps(plain(values), indent=2, allow_nan=False)


def repeat_command() -> str:
    """The command line as it was given, with --force, ready for a shell."""
    given = click.get_current_context().meta.get("nearer.arguments", [])
    return shlex.join(["nearer", *given, *([] if "--force" in given else ["--force"])])


def command_with(options: str) -> str:
    """The command line as it was given, with other options for the columns of a file."""
    kept: list[str] = []
    given = iter(click.get_current_context().meta.get("nearer.arguments", []))
    for word in given:
        if word in _DECLARING:
            next(given, None)  # its value
        elif word != "--strict" and not word.startswith(tuple(f"{option}=" for option in _DECLARING)):
            kept.append(word)
    return f"{shlex.join(['nearer', *kept])} {options}"


@dataclass(frozen=True)
class Say:
    """What a command prints: results as JSON if asked for; if quiet, only results, warnings and errors."""

    as_json: bool
    quiet: bool
    force: bool = False  # whether files are replaced

    def note(self, text: str) -> None:
        if not self.quiet:
            click.echo(visible(text), err=True)

    def compiling(self) -> contextlib.AbstractContextManager[None]:
        """Report, during a block, why the first computation on a machine takes longer."""
        from nearer.kernels import while_compiling

        return while_compiling(lambda: self.note("compiling for this machine, once: some seconds"))

    def result(self, values: Mapping[str, Any], text: str | None = None, is_data: bool = False) -> None:
        """Print `values` as JSON, or `text` if any; controls are spelt out, except in data for another program."""
        if self.as_json:
            click.echo(json_text(values))
        elif text is not None:
            click.echo(text if is_data and not sys.stdout.isatty() else visible(text))

    def done(self, values: Mapping[str, Any], text: str) -> None:
        """Print a result whose text is left out if quiet."""
        self.result(values, None if self.quiet else text)


_OUTPUT = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    click.Option(["-q", "--quiet"], is_flag=True, help="Print only results, warnings and errors."),
    click.Option(
        ["--debug"], is_flag=True, expose_value=False, is_eager=True, help="Show where errors arise.",
        callback=lambda ctx, _, value: ctx.meta.update({"nearer.debug": value}),
    ),
)  # fmt: skip


class Command(click.Command):
    """A command that gets a `Say` first, with examples, and --json, --quiet and --debug."""

    def __init__(self, *, examples: Sequence[str], params: list[click.Parameter], **attributes: Any):
        lines = "\n".join(["\b", "Example:", *(f"  {example}" for example in examples)])
        super().__init__(params=[*params, *_OUTPUT], epilog=lines, **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        given = ctx.params
        given["say"] = Say(given.pop("as_json"), given.pop("quiet"), given.pop("force", False))
        return super().invoke(ctx)


def command(*examples: str, group: Any = click) -> Callable[[Callable[..., Any]], click.Command]:
    """Decorator that makes a function a `Command`, of `group` if given."""
    return group.command(cls=Command, examples=examples)
