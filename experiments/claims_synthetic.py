"""The claims that the synthetic data and the theory decide: C1 to C5, C8, C10 and their part of C9."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.decision import Case


def step_sizes(folder: Callable[[str], Path]) -> tuple[list[Case], str]:
    """C1."""
    raise FileNotFoundError("not judged yet")


first_epochs = fastest = four_times = convex_scaling = theory = non_convex = same_end = step_sizes
