"""The claims that retrieval and music decide: C6, C7, C11 and their part of C9."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.decision import Case


def best_retrieval(folder: Callable[[str], Path]) -> tuple[list[Case], str]:
    """C6."""
    raise FileNotFoundError("not judged yet")


def best_recall(folder: Callable[[str], Path]) -> tuple[list[Case], str]:
    """C7."""
    raise FileNotFoundError("not judged yet")


def non_convex(folder: Callable[[str], Path]) -> tuple[list[Case], str]:
    """C9 in retrieval."""
    raise FileNotFoundError("not judged yet")


def non_convex_on_music(folder: Callable[[str], Path]) -> tuple[list[Case], str]:
    """C9 on music."""
    raise FileNotFoundError("not judged yet")


def reasonable(folder: Callable[[str], Path]) -> tuple[list[Case], str]:
    """C11."""
    raise FileNotFoundError("not judged yet")
