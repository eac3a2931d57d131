"""What a terminal shows while a map is fitted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console

from nearer import Comparisons
from nearer.metrics import comparison_error

_SAMPLE = 50_000  # comparisons looked at for the error shown
_EVERY = 0.25  # seconds between two updates


@contextlib.contextmanager
def progress(comparisons: Comparisons | None, limit: float | None) -> Iterator[Callable[[Any, Any], None]]:
    """A callback of a fit that shows objective, error and time, at most `limit` seconds, until the end of the block."""
    began = last = time.perf_counter()

    def show(row: Any, state: Any) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < _EVERY:
            return
        last = now  # set at once: other starts may run in parallel
        text = f"epoch {row.epoch}  objective {row.objective:.5g}"
        if comparisons is not None:
            X = np.full((comparisons.n_objects, state.X.shape[1]), np.nan)
            X[comparisons.seen] = state.X  # a state has only the objects that occur
            text += f"  error {comparison_error(X, comparisons[:_SAMPLE]):.1%}"
        left = "" if limit is None else f"  left {max(limit - (now - began), 0):.0f} s"
        status.update(f"{text}  {now - began:.0f} s{left}")

    with Console(stderr=True).status("starting") as status:
        yield show
