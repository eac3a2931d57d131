"""`nearer` in a process that is forked from the tests: a new one would take two seconds to import what it needs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from pathlib import Path

from nearer.cli import main


class Forked:
    """A command in a folder, with pipes from its output; does not outlive its block."""

    def __init__(self, *command: object, folder: Path | str = "."):
        pipes = [os.pipe(), os.pipe()]
        arguments = (pipes, [str(word) for word in command], folder)
        self.process = multiprocessing.get_context("fork").Process(target=_run, args=arguments)
        self.process.start()
        for _, written in pipes:
            os.close(written)
        self.stdout, self.stderr = (os.fdopen(read, encoding="utf-8") for read, _ in pipes)

    def wait(self, seconds: float = 120) -> int | None:
        """Its exit code, None if it is still running."""
        self.process.join(seconds)
        return self.process.exitcode

    def interrupted(self) -> tuple[str, str]:
        """What else it says after ctrl-C: output and errors."""
        os.kill(self.process.pid, signal.SIGINT)
        return self.stdout.read(), self.stderr.read()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        for pipe in (self.stdout, self.stderr):
            pipe.close()

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()


def _run(pipes: list[tuple[int, int]], command: list[str], folder: Path | str) -> None:
    for number, (read, written) in enumerate(pipes, 1):
        os.close(read)
        os.dup2(written, number)
        os.close(written)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    os.chdir(folder)
    main(command)
