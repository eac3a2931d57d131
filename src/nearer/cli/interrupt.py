"""Ctrl-C, in one place: exit code 130, one line, and nothing half-written."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

INTERRUPTED = 130  # exit code


@contextlib.contextmanager
def handled_by(handler: Any) -> Iterator[None]:
    """Set the handler of SIGINT during a block."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def press_again(dropped: Any) -> None:
    """For `sys.unraisablehook`: Python drops a KeyboardInterrupt that comes in a finaliser or a callback."""
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        # A moment later: what is raised in this hook is dropped as well.
        threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(dropped)


@dataclass
class Interrupt:
    """Whether ctrl-C was pressed: the first keeps what is finished, the second raises. A callback that stops a fit."""

    note: Callable[[str], None]
    pressed: bool = False

    def __call__(self, row: Any, state: Any) -> bool:
        return self.pressed

    def press(self, _number: int, _frame: Any) -> None:
        """Handler of SIGINT that notes ctrl-C for the solver rather than raise."""
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        # Past the buffer: the signal may come while a line is being written.
        os.write(2, b"stopping: the best map so far is kept; press ctrl-C again to give up\n")

    def attempt(self, name: str, details: str, run: Callable[[], Any]) -> Any:
        """Monitor of `nearer.selection.evaluate`: after ctrl-C, keep what a study finished, and leave out the rest."""
        if self.pressed:
            return None
        self.note(f"{name}: {details}")
        try:
            return run()
        except KeyboardInterrupt as stopped:
            self.pressed = True
            self.note(f"{name}: interrupted; what is finished is kept, press ctrl-C again to give up")
            return getattr(stopped, "found", None)
