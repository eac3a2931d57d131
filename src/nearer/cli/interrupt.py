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
def _handled_by(handler: Any) -> Iterator[None]:
    """Set the handler of SIGINT during a block; only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def exiting() -> contextlib.AbstractContextManager[None]:
    """Exit at once on ctrl-C, also inside an import: for a block that writes nothing."""
    return _handled_by(_give_up)


def _give_up(_number: int, _frame: Any) -> None:
    os.write(2, b"nearer: interrupted\n")
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Raise KeyboardInterrupt on ctrl-C, again if Python drops it because it came in a finaliser or a callback."""
    before = sys.unraisablehook

    def again(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # A moment later: what is raised in this hook is dropped as well.
            threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        else:
            before(dropped)

    sys.unraisablehook = again
    try:
        with _handled_by(signal.default_int_handler):
            yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hold ctrl-C back until the end of a block that takes milliseconds."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class Interrupt:
    """Whether ctrl-C was pressed: the first keeps what is finished, the second raises."""

    note: Callable[[str], None]
    pressed: bool = False

    def deferred(self) -> contextlib.AbstractContextManager[None]:
        """Note ctrl-C for the solver rather than raise."""
        return _handled_by(self._press)

    def attempt(self, name: str, details: str, run: Callable[[], Any]) -> Any:
        """Monitor of `nearer.selection.evaluate`: after ctrl-C, keep what a study finished, and leave out the rest."""
        if self.pressed:
            return None
        self.note(f"{name}: {details}")
        try:
            return run()
        except KeyboardInterrupt as stopped:
            self.pressed = True
            found = getattr(stopped, "found", None)
            kept = "left out" if found is None else "kept as far as it is"
            self.note(f"{name} {kept}; press ctrl-C again to give up")
            return found

    def _press(self, _number: int, _frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        text = "stopping: the best map so far is kept; press ctrl-C again to give up"
        try:
            self.note(text)
        except RuntimeError:  # the signal came while a line was being written
            os.write(2, f"{text}\n".encode())
