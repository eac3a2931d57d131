"""A start from which few maps of one, two or three dimensions end in a poor place: another loss shows the way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.losses import SoftplusLoss
from nearer.objective import LocalObjective
from nearer.solvers.adaptive_start import adaptive_start
from nearer.solvers.base import SolverState
from nearer.solvers.lbfgs import descend
from nearer.solvers.parts import Parts, arrived

__all__ = ["guided_start", "main_axes", "sample_for_guide"]

# Comparisons per object in the guide's sample, more for a line, whose best order is hardest to tell; and per coordinate
# if so many do not come into memory.
_PER_OBJECT, _FOR_A_LINE, _PER_COORDINATE = 100, 150, 20
_PASSES = 2.0
# By the dimension of a map: the dimensions to spare of the softplus maps that it is begun from, and how many of these,
# the lowest, are tried with the loss itself. Few maps of three dimensions get stuck, so their guide has to be cheap: the
# wide maps are of so many comparisons per object.
_TO_SPARE = {1: (1,), 2: (1, 2), 3: (1, 1)}
_TRIED = {2: 2, 3: 1}
_PLAIN_TOO = {2}
_FOR_WIDE = {1: math.inf, 2: math.inf, 3: 40}
# A stage ends when so many iterations gain less than this fraction of the objective with all points in one place.
_TOL, _LOOSE = 1e-3, 1e-2
_PATIENCE, _IN_HASTE = 5, 3
# A line is tried from so many sides of a flat map, and as that map unrolled from so many cuts. So many of the best lines go
# on after each round of putting the objects in better order, each having so many places to choose from. All on so many
# comparisons, and so many per object.
_SIDES, _CUTS, _PLACES = 8, 8, 23
_LEFT = (8, 4, 2, 1, 1)
_FOR_ORDER, _FOR_ORDER_PER_OBJECT = 4000, 20
_BRIEFLY = 2
_NARROW3 = 1e-2
_SMOOTHING = 1.0
_MOST_SCALINGS = 30
_MOST_ITERATIONS = 100  # of a descent in one call, which cannot be interrupted


def sample_for_guide(objective: Any, rng: np.random.Generator) -> LocalObjective | None:
    """A random part of the comparisons in memory, all of them if they are few; None if none comes into memory."""
    d = objective.n_components
    for per_object in (_PER_OBJECT if d > 1 else _FOR_A_LINE, _PER_COORDINATE * d):
        size = min(per_object * objective.n_objects, objective.n_comparisons)
        whole = size == objective.n_comparisons and isinstance(objective, LocalObjective)
        part = objective if whole else objective.subset(size, rng)
        if isinstance(part, LocalObjective):
            return part
    return None


def guided_start(
    part: LocalObjective, X: np.ndarray, rng: np.random.Generator, parts: Parts | None = None
) -> Iterator[SolverState]:
    """A map for the loss of `part`, found by way of the softplus loss in one dimension more.

    Softplus pulls with a steady force however far an object has strayed, and with a dimension to spare objects pass
    each other instead of getting stuck. The wide map is then seen along its main axes; where one dimension is asked
    for, from several sides, each of which is tried with the loss itself, because which order of objects suits a loss
    best cannot be told from the wide map.

    Parameters
    ----------
    part : LocalObjective
        The loss, and comparisons in memory.
    X : ndarray of float64, shape (n, d)
        Starting point.
    rng : numpy.random.Generator
        Draws the coordinate to spare and the comparisons of stochastic steps.
    parts : Parts, optional
        Those of the run that this is the beginning of.

    Yields
    ------
    SolverState
        X (n, d) is always a view of the present map; its value is that of the loss at work.
    """
    d = part.n_components
    parts = parts or Parts()
    smooth = part.smoothed(_SMOOTHING)
    few = part.subset(_FOR_WIDE[d] * len(X), rng) if _FOR_WIDE[d] * len(X) < part.n_comparisons else part
    narrow = LocalObjective(part.comparisons, SoftplusLoss(), d, part.n_jobs)
    work, begun, found = 0, [], []
    for number, spare in enumerate(_TO_SPARE[d]):
        wide = LocalObjective(few.comparisons, SoftplusLoss(), d + spare, part.n_jobs)
        Y = rng.normal(size=(len(X), d + spare))
        if number == 0:
            Y[:, :d] = X
        for state in parts.follow(adaptive_start, wide, Y, _PASSES, 1.0, int(rng.integers(2**63))):
            Y = state.X
            yield _provisional(state, main_axes(Y, d), work)
        work += state.n_gradients
        tol, patience = (_TOL, _PATIENCE) if d == 1 else (_LOOSE, _IN_HASTE)
        for state in parts.follow(_descent, wide, Y, tol, patience):
            Y = state.X
            yield _provisional(state, main_axes(Y, d), work)
        work += state.n_gradients
        if d == 1:
            yield from _best_line(smooth, main_axes(Y, 2), rng, work, parts)
            return
        for state in parts.follow(_descent, narrow, main_axes(Y, d), _TOL if d == 2 else _NARROW3, _IN_HASTE):
            yield _provisional(state, state.X, work)
        work += state.n_gradients
        begun.append((float(state.value), state.X))  # type: ignore[arg-type]
    for _, X in _best(begun, _TRIED[d]):
        X, _, tries = _best_scale(smooth, X)
        work += tries * part.n_comparisons
        for state in parts.follow(_descent, smooth, X, _TOL, _IN_HASTE):
            yield _provisional(state, state.X, work)
        work += state.n_gradients
        found.append((float(state.value), state.X))  # type: ignore[arg-type]
    if d in _PLAIN_TOO:
        for state in parts.follow(adaptive_start, smooth, rng.normal(size=X.shape), _PASSES, 1.0, int(rng.integers(2**63))):
            yield _provisional(state, state.X, work)
        work += state.n_gradients
        for state in parts.follow(_descent, smooth, state.X, _TOL, _IN_HASTE):
            yield _provisional(state, state.X, work)
        work += state.n_gradients
        found.append((float(state.value), state.X))  # type: ignore[arg-type]
    [(value, X)] = _best(found, 1)
    yield from parts.follow(arrived, SolverState(X, value, work, provisional=True))


def _descent(
    objective: LocalObjective, X: np.ndarray, tol: float, patience: int, kept: dict[str, Any] | None = None
) -> Iterator[SolverState]:
    """As `descend`; in one call where there is so little to do that calls would cost more than what is done."""
    if not objective.in_one_piece:
        yield from descend(objective, X, tol, objective.value_at_zero(), patience, kept=kept)
    elif kept is None:
        X, value, evaluations = objective.descend(X, tol, patience, _MOST_ITERATIONS)
        yield SolverState(X, value, evaluations * objective.n_comparisons, kept={})


def _best_line(
    part: LocalObjective, Y: np.ndarray, rng: np.random.Generator, work: int, parts: Parts
) -> Iterator[SolverState]:
    """Lines made of the flat map Y (n, 2), their objects put in better order; the best comes last.

    Gradients cannot take an object past its neighbours, so between descents each object is put where its comparisons
    like it best.
    """
    size = min(_FOR_ORDER + _FOR_ORDER_PER_OBJECT * part.n_objects, part.n_comparisons)
    part = part if size == part.n_comparisons else part.subset(size, rng)
    least = _TOL * part.value_at_zero() / part.n_objects
    lines = _lines(Y)
    first, _, tries = _best_scale(part, lines[0])
    work += tries * part.n_comparisons
    scale = np.linalg.norm(first)
    ranked = []
    for X in lines:
        for state in parts.follow(_descent, part, X * (scale / np.linalg.norm(X)), _LOOSE, _BRIEFLY):
            yield _provisional(state, state.X, work)
        work += state.n_gradients
        ranked.append((float(state.value), state.X))  # type: ignore[arg-type]
    for left in _LEFT:
        ranked = _best(ranked, left)
        for place, (value, X) in enumerate(ranked):
            X, _ = _in_better_order(part, X, rng, least)
            work += 3 * _PLACES * part.n_comparisons
            for state in parts.follow(_descent, part, X, _LOOSE, _BRIEFLY):
                yield _provisional(state, state.X, work)
            work += state.n_gradients
            ranked[place] = min((value, X), (float(state.value), state.X), key=lambda line: line[0])  # type: ignore[arg-type]
    value, X = _best(ranked, 1)[0]
    yield from parts.follow(arrived, SolverState(X, value, work, provisional=True))


def _best(lines: list[tuple[float, np.ndarray]], count: int) -> list[tuple[float, np.ndarray]]:
    """Of lines (value, X) the lowest; of equal values, which stand for equal lines, one."""
    return sorted(dict(lines).items(), key=lambda line: line[0])[:count]


def _lines(Y: np.ndarray) -> list[np.ndarray]:
    """Lines (n, 1) made of a flat map (n, 2): seen from all sides, its main axis first, and unrolled around its centre."""
    sides = np.pi * np.arange(_SIDES) / _SIDES
    angle = np.arctan2(Y[:, 1], Y[:, 0])
    cuts = 2.0 * np.pi * np.arange(_CUTS) / _CUTS
    lines = [Y @ [math.cos(side), math.sin(side)] for side in sides] + [(angle - cut) % (2.0 * np.pi) for cut in cuts]
    return [(line - line.mean())[:, None] for line in lines]


def _in_better_order(
    part: LocalObjective, X: np.ndarray, rng: np.random.Generator, least: float
) -> tuple[np.ndarray, int]:
    """A line X (n, 1), each object where it fits best: in a gap between others or beyond the ends; how many moved."""
    line = np.sort(X, axis=0)
    gaps = 0.5 * (line[1:] + line[:-1])
    gaps = gaps[np.unique(np.linspace(0, len(gaps) - 1, _PLACES - 2).round().astype(int))]
    beyond = 2.0 * (line[-1:] - line[:1]) / len(X)
    places = np.concatenate([line[:1] - beyond, gaps, line[-1:] + beyond])
    return part.best_places(X, places, rng.permutation(len(X)), least)


def _provisional(state: SolverState, X: np.ndarray, work: int) -> SolverState:
    work += state.n_gradients
    return replace(state, X=X, n_gradients=work, grad_norm=None, finished=None, provisional=True, note="")


def main_axes(X: np.ndarray, d: int) -> np.ndarray:
    """Turn a map to its main axes and keep the first d.

    Parameters
    ----------
    X : ndarray of float64, shape (n, at least d)
    d : int

    Returns
    -------
    ndarray of float64, shape (n, d)
    """
    centred = X - X.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    return np.ascontiguousarray(centred @ axes[:, :d])


def _best_scale(objective: LocalObjective, X: np.ndarray) -> tuple[np.ndarray, float, int]:
    """X halved, or doubled, while that lowers the objective by a share of that of no map; its value; values asked for.

    Each loss has a scale of its own, which may be far from that of the guide; some hardly feel that of a large map.
    """
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
