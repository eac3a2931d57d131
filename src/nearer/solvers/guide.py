"""Starts that avoid poor local minima in one, two and three dimensions, found with a surrogate loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nearer.losses import SoftplusLoss
from nearer.objective import Objective, offers
from nearer.solvers.lbfgs import Descent, descend
from nearer.solvers.sgd import adaptive_start
from nearer.solvers.solver import Progress, State, no_progress


@dataclass(frozen=True)
class _Constants:
    """Chosen on ten kinds of generated data, judged on two others and on human answers (`benchmarks/starts.py`)."""

    # Comparisons in the sample, per object (more in 1-D, where local minima are worst), or per coordinate if memory is
    # short.
    per_object: int = 100
    per_object_1d: int = 400
    per_coordinate: int = 20
    # A descent ends when `patience` iterations gain less than `tol` of the objective at zero.
    tol: float = 1e-3
    loose_tol: float = 1e-2
    patience: int = 5
    short_patience: int = 3
    shortest_patience: int = 2
    max_iterations: int = 100  # of a descent in one compiled call, which cannot be interrupted
    max_scalings: int = 30
    # 2-D: extra dimensions of each softplus start, and further starts for few comparisons.
    extra_2d: tuple[int, ...] = (1, 2, 1)
    extra_2d_few: tuple[int, ...] = (2, 1)
    few_2d: int = 3000
    # 3-D maps are seldom stuck: the better of two starts, from fewer comparisons.
    extra_3d: tuple[int, ...] = (1, 1)
    per_object_3d: int = 40
    # 1-D: the starts are projections of a 2-D map and angles around its centre. The best are descended, then reordered
    # over candidate positions in rounds that keep fewer and fewer: first on a sample (fixed + per object), then on all.
    projections: int = 8
    angles: int = 8
    descended: int = 8
    kept_on_sample: tuple[int, ...] = (5, 3)
    kept_on_all: tuple[int, ...] = (3, 2, 1)
    positions: int = 23
    order_sample: int = 4000
    order_sample_per_object: int = 20
    # Moves of blocks of neighbours: maximum number, and comparisons evaluated in total.
    block_moves: int = 16
    block_comparisons: int = 40_000


GUIDE = _Constants()

_NEEDS = "subset", "smoothed", "with_loss", "best_places", "descend"

_Found = tuple[float, np.ndarray]  # the value of a map, and the map


def sample_for_guide(objective: Objective, rng: np.random.Generator) -> Objective | None:
    """A random sample of the comparisons, held in memory (all of them if they are few); None if it would not fit."""
    d = objective.n_components
    for per_object in (GUIDE.per_object if d > 1 else GUIDE.per_object_1d, GUIDE.per_coordinate * d):
        size = min(per_object * objective.n_objects, objective.n_comparisons)
        whole = size == objective.n_comparisons and offers(objective, *_NEEDS)
        part = objective if whole else objective.subset(size, rng)
        if offers(part, *_NEEDS):
            return part
    return None


def guided_start(part: Objective, X: np.ndarray, rng: np.random.Generator, progress: Progress = no_progress) -> State:
    """A map for the loss of `part` from X (n, d), the best of several found with the softplus loss in extra dimensions.

    The softplus loss pulls with a constant force however far away an object is, and with an extra dimension objects can
    get past each other. The wider map is then projected on its main axes; `progress` gets such projections too, with
    the value of the loss in use.
    """
    d = X.shape[1]
    guide, smooth = _Guide(part, d, rng, progress), part.smoothed()
    if d == 1:
        wide = np.column_stack([X, rng.normal(size=len(X))])
        wide = guide.wide_map(part, wide, GUIDE.tol, GUIDE.patience)
        found = [_best_line(guide, smooth, main_axes(wide, 2))]
    else:
        found = _maps(guide, part, smooth, X)
    value, X = _best(found, 1)[0]
    return guide.show(State(X, value, 0))


def _maps(guide: _Guide, part: Objective, smooth: Objective, X: np.ndarray) -> list[_Found]:
    """Maps in two or three dimensions for the smoothed loss of `part`."""
    d, rng = guide.d, guide.rng
    few, spares, tol = part, GUIDE.extra_2d, GUIDE.tol
    if d == 2 and part.n_comparisons <= GUIDE.few_2d:
        spares += GUIDE.extra_2d_few
    if d > 2:
        spares, tol = GUIDE.extra_3d, GUIDE.loose_tol
        if GUIDE.per_object_3d * part.n_objects < part.n_comparisons:
            few = part.subset(GUIDE.per_object_3d * part.n_objects, rng)
    narrow = part.with_loss(SoftplusLoss(), d)
    begun: list[_Found] = []
    for spare in spares:
        Y = np.column_stack([rng.normal(size=X.shape) if begun else X, rng.normal(size=(len(X), spare))])
        Y = guide.wide_map(few, Y, GUIDE.loose_tol, GUIDE.short_patience)
        begun.append(guide.descent(narrow, main_axes(Y, d), tol, GUIDE.short_patience))
    found: list[_Found] = []
    for _, Y in begun if d == 2 else _best(begun, 1):
        Y, _, tries = best_scale(smooth, Y)
        guide.work += tries * part.n_comparisons
        found.append(guide.descent(smooth, Y, GUIDE.tol, GUIDE.short_patience))
    if d == 2:
        seed = int(rng.integers(2**63))
        Y = guide.warm_up(smooth, rng.normal(size=X.shape), seed)
        found.append(guide.descent(smooth, Y, GUIDE.tol, GUIDE.short_patience))
    return found


@dataclass
class _Guide:
    """Stages of a guide; shows their states along the `d` main axes and counts their work."""

    part: Objective
    d: int
    rng: np.random.Generator
    progress: Progress
    work: int = 0

    def warm_up(self, part: Objective, X: np.ndarray, seed: int) -> np.ndarray:
        state = adaptive_start(part, X, seed, self.show)
        self.work += state.n_gradients
        return state.X

    def descent(self, part: Objective, X: np.ndarray, tol: float, patience: int) -> _Found:
        """L-BFGS, in one compiled call for small problems, where the loop would cost more than its work."""
        unit = part.value_at_zero()
        if part.pays_in_one_call:
            X, value, evaluations = part.descend(X, tol * unit, patience, GUIDE.max_iterations)
            state = State(X, value, evaluations * part.n_comparisons)
            self.show(state)
        else:
            state = descend(part, X, Descent(tol=tol, patience=patience, unit=unit), self.show)
        self.work += state.n_gradients
        return float(state.value), state.X  # type: ignore[arg-type]

    def wide_map(self, part: Objective, Y: np.ndarray, tol: float, patience: int) -> np.ndarray:
        """A softplus map from Y (n, k), in its dimensions."""
        wide = part.with_loss(SoftplusLoss(), Y.shape[1])
        return self.descent(wide, self.warm_up(wide, Y, int(self.rng.integers(2**63))), tol, patience)[1]

    def show(self, state: State) -> State:
        """Report a state as one of the whole guide, and return it."""
        X = state.X if state.X.shape[1] == self.d else main_axes(state.X, self.d)
        work, note = self.work + state.n_gradients, f"guide over {self.part.n_comparisons:,} comparisons; "
        shown = State(X, state.value, work, state.step_size, provisional=True, surrogate=True, note=note)
        self.progress(shown)
        return shown


def _best_line(guide: _Guide, part: Objective, Y: np.ndarray) -> _Found:
    """The best of several 1-D maps derived from the 2-D map Y (n, 2).

    Gradients cannot move an object past its neighbours. So between descents each object is moved to its best position;
    finally, blocks of neighbours are moved.
    """
    rng = guide.rng
    count = min(GUIDE.order_sample + GUIDE.order_sample_per_object * part.n_objects, part.n_comparisons)
    few = part if count == part.n_comparisons else part.subset(count, rng)
    lines = _lines(Y)
    X, _, tries = best_scale(few, lines[0])
    size = np.linalg.norm(X)
    lines = [X * (size / (np.linalg.norm(X) or 1.0)) for X in lines]
    guide.work += (tries + len(lines)) * few.n_comparisons

    def in_better_order(on: Objective, X: np.ndarray, tol: float, patience: int) -> _Found:
        """Move each object to the best gap between others or beyond the ends, then descend."""
        line = np.sort(X, axis=0)
        gaps = 0.5 * (line[1:] + line[:-1])
        if len(gaps) > GUIDE.positions - 2:
            gaps = gaps[np.linspace(0, len(gaps) - 1, GUIDE.positions - 2).round().astype(int)]
        beyond = 2.0 * (line[-1:] - line[:1]) / len(X)
        places = np.concatenate([line[:1] - beyond, gaps, line[-1:] + beyond])
        X = on.best_places(X, places, rng.permutation(len(X)), GUIDE.tol * on.value_at_zero() / len(X))[0]
        guide.work += on.n_columns * GUIDE.positions * on.n_comparisons
        return guide.descent(on, X, tol, patience)

    best = _best([(few.value(X), X) for X in lines], GUIDE.descended)
    found = [guide.descent(few, X, GUIDE.loose_tol, GUIDE.shortest_patience) for _, X in best]
    on_sample = few, GUIDE.kept_on_sample, GUIDE.loose_tol, GUIDE.shortest_patience
    on_all = part, GUIDE.kept_on_all, GUIDE.tol, GUIDE.short_patience
    for on, rounds, tol, patience in (on_sample, on_all):
        for left in rounds:
            found = [in_better_order(on, X, tol, patience) for _, X in _best(found, left)]
    best = _best(found, 1)
    for _ in range(min(GUIDE.block_moves, GUIDE.block_comparisons // part.n_comparisons)):
        best.append(in_better_order(part, _shuffled(best[0][1], rng), GUIDE.tol, GUIDE.shortest_patience))
        best = _best(best, 1)
    return best[0]


def _best(found: list[_Found], count: int) -> list[_Found]:
    """The maps of lowest value; maps with equal values are taken to be the same and count once."""
    return sorted(dict(found).items(), key=lambda each: math.inf if math.isnan(each[0]) else each[0])[:count]


def _lines(Y: np.ndarray) -> list[np.ndarray]:
    """1-D maps (n, 1) from a 2-D map (n, 2): projections, the first axis first, and angles around the centre."""
    sides = np.pi * np.arange(GUIDE.projections) / GUIDE.projections
    angle = np.arctan2(Y[:, 1], Y[:, 0])
    cuts = 2.0 * np.pi * np.arange(GUIDE.angles) / GUIDE.angles
    lines = [Y @ [math.cos(side), math.sin(side)] for side in sides] + [(angle - cut) % (2.0 * np.pi) for cut in cuts]
    return [(line - line.mean())[:, None] for line in lines]


def _shuffled(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A 1-D map (n, 1) with a block of neighbours moved or reversed; the set of positions stays the same."""
    n = len(X)
    order = np.argsort(X[:, 0])
    count = int(rng.integers(1, n // 3 + 2))
    first, to = (int(at) for at in rng.integers(n - count + 1, size=2))
    way = rng.integers(4)
    if way == 0:
        to = first  # reversed in place
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


def best_scale(objective: Objective, X: np.ndarray) -> tuple[np.ndarray, float, int]:
    """X halved or doubled while that lowers the objective, because losses differ in scale; its value; evaluations."""
    value, tries, least = objective.value(X), 1, GUIDE.tol * objective.value_at_zero()
    for factor in (0.5, 2.0):
        before = value
        while tries < GUIDE.max_scalings:
            tries += 1
            scaled = objective.value(factor * X)
            if not scaled < value - least:
                break
            X, value = factor * X, scaled
        if value < before:
            break
    return X, value, tries
