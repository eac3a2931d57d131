"""The command line: `nearer <command>`, one file for each command, imported when the command is called."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["main"]


def main(*args: Any, **kwargs: Any) -> Any:
    try:
        from nearer.cli.app import cli
        from nearer.cli.interrupt import press_again
    except KeyboardInterrupt:
        sys.stderr.write("nearer: interrupted\n")
        sys.exit(130)
    sys.unraisablehook = press_again
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for labels that the terminal cannot show
    return cli(*args, prog_name="nearer", **kwargs)
