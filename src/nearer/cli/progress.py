"""What is shown while a map is fitted."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nearer
from nearer.cli.interrupt import Interrupt
from nearer.cli.output import Say

if TYPE_CHECKING:
    import numpy as np

_SAMPLE = 50_000  # comparisons looked at for the error shown
_EVERY = 0.25  # seconds between two updates


@dataclass(eq=False)
class Watch:
    """Callback of a fit: stops it after ctrl-C, and shows objective, error and time on a terminal."""

    say: Say
    interrupt: Interrupt
    comparisons: nearer.Comparisons | None = None  # for the error
    limit: float | None = None  # seconds
    _bar: Any = None
    _last: float = 0.0
    _sample: Any = None

    @property
    def shows(self) -> bool:
        return sys.stderr.isatty() and not self.say.quiet

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
        if self._bar is not None and time.perf_counter() - self._last >= _EVERY:
            self._last = time.perf_counter()  # at once: other starts may run beside this one
            self._show(row, state)
        return self.interrupt.pressed

    def _show(self, row: Any, state: Any) -> None:
        text = f"epoch {row.epoch}  objective {row.objective:.5g}"
        if self.comparisons is not None:
            text += f"  error {100 * self._error(self.comparisons, state.X):.1f} %"
        task = self._bar.tasks[0]
        if self.limit is not None:
            text += f"  at most {max(self.limit - task.elapsed, 0.0):.0f} s left"
        self._bar.update(task.id, description=text, completed=None if self.limit is None else task.elapsed)

    def _error(self, comparisons: nearer.Comparisons, X: np.ndarray) -> float:
        """Part of the comparisons not satisfied; X (n_seen, d) has the objects that occur only."""
        import numpy as np

        from nearer.metrics import comparison_error

        if self._sample is None:
            count = len(comparisons)
            rows = np.arange(count) if count <= _SAMPLE else np.random.default_rng(0).integers(count, size=_SAMPLE)
            self._sample = comparisons[rows]
        full = np.full((comparisons.n_objects, X.shape[1]), np.nan)
        full[comparisons.seen] = X
        return comparison_error(full, self._sample)
