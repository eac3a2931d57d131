"""Where the time of full passes goes, and whether the cluster is worth it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from nearer.objective import resolve_jobs

__all__ = ["Timings", "free_memory"]

# Passes before the judgement: the first ones load and compile.
_WARM_UP = 3
_NOTICEABLY = 1.25


@dataclass
class Timings:
    """Where the time of full passes went.

    Attributes
    ----------
    n_evaluations : int
    seconds : float
        Time spent waiting for them.
    compute_seconds : float
        Processor time of all tasks, as if they were done one after the other.
    best : tuple of float
        Seconds and compute seconds of the fastest one.
    """

    n_evaluations: int = 0
    seconds: float = 0.0
    compute_seconds: float = 0.0
    best: tuple[float, float] = (float("inf"), 0.0)

    def add(self, seconds: float, compute_seconds: float) -> None:
        """Note one pass."""
        self.n_evaluations += 1
        self.seconds += seconds
        self.compute_seconds += compute_seconds
        self.best = min(self.best, (seconds, compute_seconds))

    def compare_with_local(self, n_comparisons: int, n_bytes: int) -> None:
        """Warn once, after a few passes, if this machine alone would be faster by what the tasks themselves took.

        Nothing is said where the data would not fit here.

        Parameters
        ----------
        n_comparisons : int
        n_bytes : int
            Size of the data.
        """
        if self.n_evaluations != _WARM_UP:
            return
        seconds, compute = self.best
        alone = compute / resolve_jobs(None)
        if seconds > _NOTICEABLY * alone and n_bytes < free_memory() / 2:
            warnings.warn(
                f"a pass over {n_comparisons:,} comparisons takes {1e3 * seconds:.0f} ms on the cluster, of which "
                f"{1e3 * compute:.1f} ms are computing; this machine alone would need about {1e3 * alone:.1f} ms: "
                "fit without a cluster",
                stacklevel=2,
            )


def free_memory() -> int:
    """Memory that this machine can still give.

    Returns
    -------
    int
        Bytes.
    """
    import psutil  # type: ignore[import-untyped]

    return psutil.virtual_memory().available
