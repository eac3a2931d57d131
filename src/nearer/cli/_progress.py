"""Progress on a terminal, and ctrl-C that keeps the best map so far."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nearer.cli._say import Say

if TYPE_CHECKING:
    from nearer.data import Comparisons

_SAMPLE = 50_000  # comparisons looked at for the error shown
_EVERY = 0.25  # seconds between two updates


class Interrupt:
    """Whether ctrl-C was pressed, and what follows from it.

    Inside `deferred`, the first one is only noted, and the second raises. Of a study that it breaks off, the finished
    part is kept if it says something; those after it are left out.
    """

    def __init__(self, say: Say):
        self.say = say
        self.pressed = False

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Note ctrl-C for the solver to see, rather than break off."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may catch signals
            return
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def attempt(self, name: str, details: str, run: Callable[[], Any]) -> Any:
        """Monitor of `nearer.reporting.study`: say what is done, and what becomes of it after ctrl-C."""
        if self.pressed:
            return None
        self.say.note(f"{name}: {details}")
        try:
            return run()
        except KeyboardInterrupt as stopped:
            self.pressed = True
            found = getattr(stopped, "found", None)
            kept = "left out" if found is None else "kept as far as it is"
            self.say.note(f"{name} {kept}; press ctrl-C again to give up")
            return found

    def _note(self, _number: int, _frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        self.say.note("stopping: the best map so far is kept; press ctrl-C again to give up")


class Watch:
    """Callback of a fit: stops it after ctrl-C, and shows objective, error and time on a terminal.

    The error is measured on the comparisons, on a part if they are many; `rounds` is how many starts run one after the
    other, each within the time limit.
    """

    def __init__(
        self,
        say: Say,
        interrupt: Interrupt,
        comparisons: Comparisons | None = None,
        max_seconds: float | None = None,
        rounds: int = 1,
    ):
        self.interrupt = interrupt
        self.comparisons = comparisons
        self.limit = None if max_seconds is None else max_seconds * rounds
        self.shows = sys.stderr.isatty() and not say.quiet
        self._lock = threading.Lock()
        self._bar: Any = None
        self._last = 0.0
        self._sample: Any = None

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        """Show the bar during a block."""
        if not self.shows:
            yield
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as self._bar:
            self._bar.add_task("starting", total=self.limit)
            yield

    def __call__(self, row: Any, state: Any) -> bool:
        if self._bar is not None and self._lock.acquire(blocking=False):
            try:
                self._show(row, state)
            finally:
                self._lock.release()
        return self.interrupt.pressed

    def _show(self, row: Any, state: Any) -> None:
        now = time.perf_counter()
        if now - self._last < _EVERY:
            return
        self._last = now
        text = f"epoch {row.epoch}  objective {row.objective:.5g}"
        error = self._error(state.X)
        if error is not None:
            text += f"  error {100 * error:.1f} %"
        task = self._bar.tasks[0]
        if self.limit is not None:
            text += f"  at most {max(self.limit - task.elapsed, 0.0):.0f} s left"
        self._bar.update(task.id, description=text, completed=None if self.limit is None else task.elapsed)

    def _error(self, X: Any) -> float | None:
        """Part of the comparisons not satisfied; X (n_seen, d) has the objects that occur only."""
        if self.comparisons is None:
            return None
        import numpy as np

        from nearer.metrics import comparison_error

        if self._sample is None:
            count = len(self.comparisons)
            rows = np.arange(count) if count <= _SAMPLE else np.random.default_rng(0).integers(count, size=_SAMPLE)
            self._sample = self.comparisons[rows], np.flatnonzero(self.comparisons.seen)
        sample, seen = self._sample
        full = np.full((sample.n_objects, X.shape[1]), np.nan)
        full[seen] = X
        return comparison_error(full, sample)
