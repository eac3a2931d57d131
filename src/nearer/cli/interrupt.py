"""Ctrl-C, in one place: exit code 130, one line, and nothing half-written."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def handled_by(handler: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def press_again(dropped: Any) -> None:
    """For `sys.unraisablehook`: Python drops a KeyboardInterrupt that comes in a finaliser or a callback."""
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        # Later, since an exception raised in this hook is dropped too; sent to the main thread, to wake it.
        again: Callable[..., None] = signal.raise_signal
        if hasattr(signal, "pthread_kill"):  # not on Windows
            again = functools.partial(signal.pthread_kill, threading.main_thread().ident or 0)
        threading.Timer(0.05, again, [signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(dropped)


class Interrupt:
    """A callback of a fit: the first ctrl-C stops the fit, which keeps its best map, and the second raises."""

    pressed = False

    def __call__(self, row: Any, state: Any) -> bool:
        return self.pressed

    def press(self, _number: int, _frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        # Past the buffer: the signal may come while a line is being written.
        os.write(2, b"stopping: the best map so far is kept; press ctrl-C again to give up\n")
