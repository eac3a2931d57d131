"""The command line: `nearer <command>`, one file for each command, imported when the command is called."""

from __future__ import annotations

from typing import Any

__all__ = ["main"]


def main(*args: Any, **kwargs: Any) -> Any:
    """Run the command line."""
    from nearer.cli import interrupt

    with interrupt.exiting():
        from nearer.cli.app import run

        return run(*args, **kwargs)
