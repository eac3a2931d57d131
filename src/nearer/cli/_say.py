"""How commands speak: results on standard output, everything else on standard error."""

from __future__ import annotations

import ast
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

INTERRUPTED = 130
"""Exit code after ctrl-C."""

# Keywords of the library that its hints name, and that options of the same name set.
_KEYWORDS = (
    "answers", "columns", "delimiter", "encoding", "force", "format", "header", "index_base", "kind", "n_objects",
    "on_degenerate", "on_missing", "keep_na", "fold_names", "variable", "resume", "weight", "participant",
)  # fmt: skip
_HINT = re.compile(rf"\b({'|'.join(_KEYWORDS)})=(\{{[^}}]*\}}|'[^']*'|\w*)")
# Controls that could move the cursor, colour the terminal or turn the text around; line ends and tabs may stay.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Spell out control characters, so that a label cannot command the terminal."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def explain(error: BaseException) -> str:
    """An error in one line, in the words of the command line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return visible(f"{error.filename}: {error.strerror}")
    return visible(as_options(str(error) or type(error).__name__))


def as_options(text: str) -> str:
    """Write hints such as ``format='jsonl'`` as ``--format jsonl``."""
    text = text.replace("see index_base, n_objects", "see --index-base, --n-objects")
    return _HINT.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    name, value = "--" + match[1].replace("_", "-"), match[2]
    if value.startswith("{"):
        try:
            pairs = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return match[0]
        value = ",".join(f"{role}={column}" for role, column in pairs.items())
    value = value.strip("'")
    if value == "False":
        return "--no-" + name[2:]
    return name if value in ("", "True") else f"{name} {shlex.quote(value)}"


def plain(value: Any) -> Any:
    """Turn arrays, numbers and mappings into what JSON has; what is not finite becomes null."""
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
    """A result as JSON, for people to read as well."""
    return json.dumps(plain(values), indent=2, allow_nan=False)


def repeat_command() -> str:
    """The command line as it was given, fit to be pasted into a shell where its result is already there."""
    given = click.get_current_context().meta.get("nearer.arguments", [])
    return shlex.join(["nearer", *given, *([] if "--force" in given else ["--force"])])


@dataclass(frozen=True)
class Say:
    """What a command says: results as JSON if asked for; if quiet, nothing but results, warnings and errors."""

    as_json: bool
    quiet: bool

    def note(self, text: str) -> None:
        """Tell what goes on, on standard error."""
        if not self.quiet:
            click.echo(visible(as_options(text)), err=True)

    def compiling(self) -> contextlib.AbstractContextManager[None]:
        """Tell, during a block, why the first computation on a machine takes longer."""
        from nearer.kernels import while_compiling

        return while_compiling(lambda: self.note("compiling for this machine, once: some seconds"))

    def result(self, values: Mapping[str, Any], text: str | None = None, is_data: bool = False) -> None:
        """Give the result on standard output: `values` as JSON, else `text` (None: nothing).

        Text that is data reaches another program to the letter; a terminal gets it with controls spelt out.
        """
        if self.as_json:
            click.echo(json_text(values))
        elif text is not None:
            click.echo(text if is_data and not sys.stdout.isatty() else visible(text))

    def done(self, values: Mapping[str, Any], told: str) -> None:
        """Give what was done as the result, whose text is left out if quiet."""
        self.result(values, None if self.quiet else told)


class Command(click.Command):
    """A command with worked examples that gets a `Say` first; --json, --quiet and --debug are the last of its options.

    `more` stands below the examples.
    """

    def __init__(self, *, examples: Sequence[str], more: str = "", params: list[click.Parameter], **attributes: Any):
        lines = "\n".join(["\b", "Example:", *(f"  {example}" for example in examples)])
        super().__init__(params=[*params, *_SPEAKING], epilog=f"{lines}\n\n{more}".rstrip(), **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        ctx.params["say"] = Say(ctx.params.pop("as_json"), ctx.params.pop("quiet"))
        return super().invoke(ctx)


def speaking(*examples: str, more: str = "") -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function that takes a `Say` first a `Command`."""
    return click.command(cls=Command, examples=examples, more=more)


def _set_debug(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    ctx.meta["nearer.debug"] = value


_SPEAKING = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but results, warnings and errors."),
    click.Option(
        ["--debug"], is_flag=True, expose_value=False, is_eager=True, callback=_set_debug,
        help="Show where errors arise.",
    ),
)  # fmt: skip
