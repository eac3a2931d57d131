"""Choosing settings: a grid first, then the neighbours of its best point, until that has been passed on every side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from experiments.methods import Settings
from experiments.tables import Row

Point = tuple[str, str, Settings]
"""Loss, method, settings."""

# The factor from one value of a setting to the next. A first step that is measured has no neighbours, nor has the share
# of a first snapshot, which is not searched.
FACTORS = {"step": 2.0, "first": 2.0, "inner": 2.0, "epsilon": 5.0, "relative_lam": 10.0**0.5, "decay": 2.0}
# Below this value of a setting there is only 0, a natural end.
LEAST = {"decay": 0.25}


def neighbours(settings: Settings) -> list[tuple[str, Settings]]:
    """The settings one value down and one value up on each axis, with the name of the axis."""
    return [(axis, {**settings, axis: value}) for axis in settings for value in _beside(axis, settings[axis])]


def _beside(axis: str, value: float | None) -> list[float]:
    if value is None or axis not in FACTORS:
        return []
    least = LEAST.get(axis, 0.0)
    if value == 0.0:
        return [least]
    return [value / FACTORS[axis] if value > least else 0.0, value * FACTORS[axis]]


def search(
    starts: Sequence[Point],
    attempt: Callable[[list[Point]], list[Row]],
    criteria: Sequence[Callable[[Row], Any]],
    rounds: int,
) -> list[Row]:
    """Try all starting points, then the untried neighbours of the best points, at most so many times.

    Every loss and method is searched by itself, and each criterion has a best point of its own.

    Parameters
    ----------
    starts : the grids.
    attempt : gives a row for each point, with its "loss", "method" and "settings".
    criteria : functions of a row, of which the least is best; of equals the first tried.
    rounds : of neighbours.

    Returns
    -------
    list of rows
        In the order tried.
    """
    rows = attempt(list(starts))
    for _ in range(rounds):
        tried = {_key(row) for row in rows}
        new = {}
        for best in (row for criterion in criteria for row in _best(rows, criterion)):
            for _, settings in neighbours(best["settings"]):
                point = {**best, "settings": settings}
                if _key(point) not in tried:
                    new[_key(point)] = (best["loss"], best["method"], settings)
        if not new:
            break
        rows += attempt(list(new.values()))
    return rows


def untried(rows: Sequence[Row], chosen: Row) -> list[str]:
    """The axes on which the chosen point was not passed on both sides: it lies on the edge of what was tried."""
    tried = {_key(row) for row in rows}
    beside = neighbours(chosen["settings"])
    return list(dict.fromkeys(axis for axis, s in beside if _key({**chosen, "settings": s}) not in tried))


def _best(rows: Sequence[Row], criterion: Callable[[Row], Any]) -> list[Row]:
    """The best row of each loss and method."""
    best: dict[tuple[str, str], Row] = {}
    for row in rows:
        pair = row["loss"], row["method"]
        if pair not in best or criterion(row) < criterion(best[pair]):
            best[pair] = row
    return list(best.values())


def _key(row: Row) -> tuple:
    """A point by its values; those reached by different factors differ in their last digits only."""
    values = (f"{value:.6g}" if isinstance(value, float) else str(value) for value in row["settings"].values())
    return row["loss"], row["method"], *values
