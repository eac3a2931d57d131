"""Starts that avoid poor local minima in one, two and three dimensions, found with a surrogate loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.losses import SoftplusLoss
from nearer.objective import GuidingObjective
from nearer.solvers.base import Kept, RunParts, SolverState, States, Steps, arrived
from nearer.solvers.batch import descend
from nearer.solvers.stochastic import adaptive_start

__all__ = ["guided_start", "main_axes", "sample_for_guide"]

# Sample size per object (larger in 1-D, where local minima are worst), or per coordinate if that exceeds memory.
_PER_OBJECT, _FOR_A_LINE, _PER_COORDINATE = 100, 400, 20
_PASSES = 2.0
# A stage ends when this number of iterations gains less than this fraction of the objective at zero.
_TOL, _LOOSE = 1e-3, 1e-2
_PATIENCE, _IN_HASTE, _BRIEFLY = 5, 3, 2
# 2-D: extra dimensions of each softplus warm start, further ones up to a number of comparisons. 3-D maps seldom get
# stuck, so their guide is cheap: the better of two, from a number of comparisons per object.
_FLAT, _FLAT_TOO, _FOR_FLAT_TOO = (1, 2, 1), (2, 1), 3000
_DEEP, _FOR_DEEP = (1, 1), 40
# 1-D: initial orders are projections and angular unrollings of a 2-D map. The best are descended, then reordered over a
# number of candidate positions, fewer lines in each round: first on a sample (constant + per object), then on all.
_SIDES, _CUTS = 8, 8
_SEEN, _LEFT, _LEFT_ON_ALL, _PLACES = 8, (5, 3), (3, 2, 1), 23
_FOR_ORDER, _FOR_ORDER_PER_OBJECT = 4000, 20
_SHUFFLES, _FOR_SHUFFLES = 16, 40_000  # moves of blocks of neighbours: at most, and comparisons in total
_SMOOTHING = 1.0
_MOST_SCALINGS = 30
_MOST_ITERATIONS = 100  # of a descent in one call, which cannot be interrupted

_Found = tuple[float, np.ndarray]  # the value of a map, and the map


def sample_for_guide(objective: Any, rng: np.random.Generator) -> GuidingObjective | None:
    """A random sample of the comparisons in memory, all of them if they are few; None if none fits."""
    d = objective.n_components
    for per_object in (_PER_OBJECT if d > 1 else _FOR_A_LINE, _PER_COORDINATE * d):
        size = min(per_object * objective.n_objects, objective.n_comparisons)
        whole = size == objective.n_comparisons and isinstance(objective, GuidingObjective)
        part = objective if whole else objective.subset(size, rng)
        if isinstance(part, GuidingObjective):
            return part
    return None


def guided_start(
    part: GuidingObjective, X: np.ndarray, rng: np.random.Generator, parts: RunParts | None = None
) -> States:
    """A map for the loss of `part` from X (n, d), the best of several found with the softplus loss in extra dimensions.

    Softplus pulls with a constant force however far an object has strayed, and in an extra dimension objects can pass
    each other. The wide map is then projected on its main axes; each state shows such a view, with the value of the
    loss in use.
    """
    d = part.n_components
    parts = parts or RunParts()
    smooth = part.smoothed(_SMOOTHING)
    if d == 1:
        _, Y = yield from _wide_map(parts, part, np.column_stack([X, rng.normal(size=len(X))]), rng, _TOL, _PATIENCE)
        value, X = yield from _best_line(parts, smooth, main_axes(Y, 2), rng)
        yield from parts.follow(arrived, SolverState(X, value, 0, provisional=True))
        return
    few = part
    if d > 2 and _FOR_DEEP * part.n_objects < part.n_comparisons:
        few = part.subset(_FOR_DEEP * part.n_objects, rng)
    narrow = part.with_loss(SoftplusLoss(), d)
    begun: list[_Found] = []
    found: list[_Found] = []
    spares: tuple[int, ...] = _DEEP
    if d == 2:
        spares = _FLAT + _FLAT_TOO if part.n_comparisons <= _FOR_FLAT_TOO else _FLAT
    for spare in spares:
        Y = np.column_stack([X if not begun else rng.normal(size=X.shape), rng.normal(size=(len(X), spare))])
        _, Y = yield from _wide_map(parts, few, Y, rng, _LOOSE, _IN_HASTE)
        tol = _TOL if d == 2 else _LOOSE
        begun.append((yield from _stage(parts, d, _descent, narrow, main_axes(Y, d), tol, _IN_HASTE)))
    for _, Y in begun if d == 2 else _best(begun, 1):
        Y, _, tries = _best_scale(smooth, Y)
        parts.work += tries * part.n_comparisons
        found.append((yield from _stage(parts, d, _descent, smooth, Y, _TOL, _IN_HASTE)))
    if d == 2:
        seed = int(rng.integers(2**63))
        _, Y = yield from _stage(parts, d, adaptive_start, smooth, rng.normal(size=X.shape), _PASSES, 1.0, seed)
        found.append((yield from _stage(parts, d, _descent, smooth, Y, _TOL, _IN_HASTE)))
    value, X = _best(found, 1)[0]
    yield from parts.follow(arrived, SolverState(X, value, 0, provisional=True))


def _stage(parts: RunParts, d: int, part: Callable[..., States], *args: Any) -> Steps[_Found]:
    """Show the states of one stage along their d main axes; returns the last."""
    for state in parts.follow(part, *args, grad_norm=None, finished=None, provisional=True, note=""):
        yield state if state.X.shape[1] == d else replace(state, X=main_axes(state.X, d))
    return float(state.value), state.X  # type: ignore[arg-type]


def _descent(part: GuidingObjective, X: np.ndarray, tol: float, patience: int, kept: Kept = None) -> States:
    """As `descend`, in one compiled call for small problems, where the loop would cost more than its work."""
    if not part.pays_in_one_call:
        yield from descend(part, X, tol, part.value_at_zero(), patience, kept=kept)
    elif kept is None:
        X, value, evaluations = part.descend(X, tol * part.value_at_zero(), patience, _MOST_ITERATIONS)
        yield SolverState(X, value, evaluations * part.n_comparisons, kept={})


def _wide_map(
    parts: RunParts, part: GuidingObjective, Y: np.ndarray, rng: np.random.Generator, tol: float, patience: int
) -> Steps[_Found]:
    """A softplus map from Y (n, k), in its dimensions."""
    wide = part.with_loss(SoftplusLoss(), Y.shape[1])
    _, Y = yield from _stage(parts, part.n_components, adaptive_start, wide, Y, _PASSES, 1.0, int(rng.integers(2**63)))
    return (yield from _stage(parts, part.n_components, _descent, wide, Y, tol, patience))


def _best_line(parts: RunParts, part: GuidingObjective, Y: np.ndarray, rng: np.random.Generator) -> Steps[_Found]:
    """The best of several lines made of the flat map Y (n, 2), with their objects reordered.

    Gradients cannot move an object past its neighbours: between descents each object moves to its best position, and at
    last blocks of neighbours are moved.
    """
    count = min(_FOR_ORDER + _FOR_ORDER_PER_OBJECT * part.n_objects, part.n_comparisons)
    few = part if count == part.n_comparisons else part.subset(count, rng)
    lines = _lines(Y)
    X, _, tries = _best_scale(few, lines[0])
    size = np.linalg.norm(X)
    lines = [X * (size / (np.linalg.norm(X) or 1.0)) for X in lines]
    parts.work += (tries + len(lines)) * few.n_comparisons

    def in_better_order(on: GuidingObjective, X: np.ndarray, tol: float, patience: int) -> Steps[_Found]:
        """Move each object to the best gap between others or beyond the ends, then descend."""
        line = np.sort(X, axis=0)
        gaps = 0.5 * (line[1:] + line[:-1])
        if len(gaps) > _PLACES - 2:
            gaps = gaps[np.linspace(0, len(gaps) - 1, _PLACES - 2).round().astype(int)]
        beyond = 2.0 * (line[-1:] - line[:1]) / len(X)
        places = np.concatenate([line[:1] - beyond, gaps, line[-1:] + beyond])
        X = on.best_places(X, places, rng.permutation(len(X)), _TOL * on.value_at_zero() / len(X))[0]
        parts.work += on.n_columns * _PLACES * on.n_comparisons
        return (yield from _stage(parts, 1, _descent, on, X, tol, patience))

    found = []
    for _, X in _best([(few.value(X), X) for X in lines], _SEEN):
        found.append((yield from _stage(parts, 1, _descent, few, X, _LOOSE, _BRIEFLY)))
    for on, rounds, tol, patience in ((few, _LEFT, _LOOSE, _BRIEFLY), (part, _LEFT_ON_ALL, _TOL, _IN_HASTE)):
        for left in rounds:
            best, found = _best(found, left), []
            for _, X in best:
                found.append((yield from in_better_order(on, X, tol, patience)))
    best = _best(found, 1)
    for _ in range(min(_SHUFFLES, _FOR_SHUFFLES // part.n_comparisons)):
        best.append((yield from in_better_order(part, _shuffled(best[0][1], rng), _TOL, _BRIEFLY)))
        best = _best(best, 1)
    return best[0]


def _best(found: list[_Found], count: int) -> list[_Found]:
    """The lowest of some maps; equal values stand for equal maps and count once."""
    return sorted(dict(found).items(), key=lambda each: math.inf if math.isnan(each[0]) else each[0])[:count]


def _lines(Y: np.ndarray) -> list[np.ndarray]:
    """Lines (n, 1) from a flat map (n, 2): projections, the first axis first, and angular unrollings."""
    sides = np.pi * np.arange(_SIDES) / _SIDES
    angle = np.arctan2(Y[:, 1], Y[:, 0])
    cuts = 2.0 * np.pi * np.arange(_CUTS) / _CUTS
    lines = [Y @ [math.cos(side), math.sin(side)] for side in sides] + [(angle - cut) % (2.0 * np.pi) for cut in cuts]
    return [(line - line.mean())[:, None] for line in lines]


def _shuffled(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A line (n, 1) with a block of neighbours moved elsewhere or reversed; the positions remain."""
    n = len(X)
    order = np.argsort(X[:, 0])
    count = int(rng.integers(1, n // 3 + 2))
    first, to = (int(at) for at in rng.integers(n - count + 1, size=2))
    way = rng.integers(4)
    if way == 0:
        to = first  # turned round where it is
    elif way == 1:
        first, to = 0, n - count  # from one end to the other
    block, rest = order[first : first + count], np.delete(order, np.s_[first : first + count])
    moved = np.empty_like(X)
    moved[np.concatenate([rest[:to], block if way % 2 else block[::-1], rest[to:]])] = X[order]
    return moved


def main_axes(X: np.ndarray, d: int) -> np.ndarray:
    """The first d principal coordinates (n, d) of a map (n, at least d)."""
    centred = X - X.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    return np.ascontiguousarray(centred @ axes[:, :d])


def _best_scale(objective: GuidingObjective, X: np.ndarray) -> tuple[np.ndarray, float, int]:
    """X halved or doubled while that lowers the objective enough, its value, and evaluations; scales differ by loss."""
    value, tries, least = objective.value(X), 1, _TOL * objective.value_at_zero()
    for factor in (0.5, 2.0):
        before = value
        while tries < _MOST_SCALINGS:
            tries += 1
            scaled = objective.value(factor * X)
            if not scaled < value - least:
                break
            X, value = factor * X, scaled
        if value < before:
            break
    return X, value, tries
