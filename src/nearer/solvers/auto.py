"""The default solver: no step size to choose, any loss, any size."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nearer.data import check_bool, check_integer, check_number, is_number
from nearer.objective import GuidingObjective, SampledObjective, SmoothableObjective, SplittableObjective
from nearer.solvers.base import Kept, RunParts, Solver, SolverState, States, Steps, arrived
from nearer.solvers.batch import descend
from nearer.solvers.guide import guided_start, sample_for_guide
from nearer.solvers.stochastic import adaptive_start

__all__ = ["Auto"]

_MOST_HALVINGS = 64
# Ridge penalty chosen on held-out comparisons.
_LEAST_TO_SPLIT, _VERY_FEW = 50, 1000  # least comparisons; for a heavy-tailed loss, which seldom needs one, the second
_HELD_OUT, _OF_VERY_FEW = 0.1, 0.2  # fraction held out
_ENOUGH_HELD_OUT, _MOST_SPLITS = 500, 5  # splits are repeated until this number is held out in total
_PENALTIES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_FIRST = 3  # where the search begins
_BY_CHANCE = 1.0  # standard errors
_KEPT = 0.1  # fraction of the penalty of a single batch that a loss with a kink keeps


@dataclass
class Auto(Solver):
    """A guided or an adaptive stochastic start, then L-BFGS on batches that grow to all comparisons.

    1. In up to `guide` dimensions: the best of several maps, most of them found with the softplus loss in extra
       dimensions from a sample of the comparisons (see `guided_start`), to avoid poor local minima. In more dimensions:
       AdaGrad steps on a first random batch bring random points into rough order at the cost of a few gradients.
    2. L-BFGS on that batch, then on batches `growth` times larger, each to the precision that its size allows. The kink
       of the hinge loss is smoothed. With too few comparisons for smaller batches and no guide, the batch is all of
       them with a small ridge penalty: such answers can often be satisfied in many ways, and the penalty leads to a map
       that satisfies them with a margin, hence held-out ones as well. A loss with a kink keeps a tenth of it in step 3.
    3. L-BFGS on all comparisons until `patience` iterations gain less than `tol` of the objective at zero (all points
       equal), beyond which held-out error no longer improves.
    4. The map is halved while that costs nothing: some losses hardly depend on the scale of a large map.

    Few comparisons for many dimensions can be overfitted. There a tenth of them (of fewer than 1,000, a fifth; of fewer
    than 5,000, several times) is held out in steps 1 and 2 to choose the ridge penalty of step 3 (see `penalty`).

    In steps 1 and 2 the objective in the history is that of the batch, for a guide that of its loss. An objective that
    offers no random parts gets steps 3 and 4 alone.

    Parameters
    ----------
    warm_up : float, default 2
        Passes over the first batch in step 1.
    step : float, default 1
        Length of a first AdaGrad step; the losses set the scale of a map, so 1 suits them all.
    first_batch : float, default 20
        Least comparisons per coordinate (n_objects x n_components) in the first of several batches; inf: one batch of
        all comparisons.
    growth : float, default 5
        Ratio of consecutive batches, above 1.
    shrinkage : float, default 0.01
        Penalty of step 2, times the mean squared distance from the origin.
    smoothing : float, default 1
        Width of the smoothed kink in step 2, see `Loss.smoothed`.
    batch_tol : float, default 0.001
        As `tol`, for all batches but the last.
    memory : int, default 10
        Of L-BFGS.
    guide : int, default 3
        The most dimensions for which there is a guide; 0: none.
    keep_start : bool, default False
        Keep the starting point: without steps 1 and 2, and the result is never worse.
    penalty : float, optional
        Times the mean squared distance from the origin, added to the objective in step 3; the objective reported is
        without it. None, the default: chosen on held-out comparisons where there are few (at least 50, for a
        heavy-tailed loss 1,000, but fewer than `few` per coordinate, in more than `guide` dimensions) and no
        `validation_fraction`; otherwise 0.
    few : float, default 8
    """

    max_epochs: int = 1000
    tol: float = 1e-4
    warm_up: float = 2.0
    step: float = 1.0
    first_batch: float = 20.0
    growth: float = 5.0
    shrinkage: float = 0.01
    smoothing: float = 1.0
    batch_tol: float = 1e-3
    memory: int = 10
    guide: int = 3
    keep_start: bool = False
    penalty: float | None = None
    few: float = 8.0
    name = "auto"

    def check_objective(self, objective: object) -> None:
        check_integer(self.memory, f"{self.name}: memory", 1)
        for name in ("warm_up", "batch_tol", "shrinkage", "smoothing", "guide", "few"):
            value = getattr(self, name)
            if not (is_number(value) and value >= 0):
                raise ValueError(f"{self.name}: {name}: got {value!r}, expected a number of at least 0")
        check_bool(self.keep_start, f"{self.name}: keep_start")
        check_number(self.penalty, f"{self.name}: penalty", zero=True, allow_none=True)
        for name, least in (("step", 0), ("first_batch", 0), ("growth", 1)):
            value = getattr(self, name)
            if not (is_number(value) and value > least):
                raise ValueError(f"{self.name}: {name}: got {value!r}, expected a number above {least}")

    def settled(self, values: list[float], objective: Any) -> str:
        return ""  # `epochs` sees to it, since the scale is settled last

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        parts = RunParts(kept)
        X, done = X0, ""
        sampled = isinstance(objective, SampledObjective)
        unit = objective.value_at_zero() if sampled else None
        guide = None
        if sampled and not self.keep_start and objective.n_components <= self.guide:
            guide = sample_for_guide(objective, rng)
        if guide is not None:
            done = f"guide over {guide.n_comparisons:,} comparisons; "
            for state in guided_start(guide, X, rng, parts):
                X = state.X
                yield replace(state, note=done, other_loss=True)
        warm_up = guide is None and not self.keep_start and self.warm_up > 0
        if self._penalty_to_choose(objective):
            penalty, X, done = yield from self._chosen_penalty(objective, X, rng, parts)
            warm_up = False
            stages = [_Stage(objective.n_comparisons, False, penalty, self.tol)]
        else:
            stages = self._stages(objective, guide)
        for number, (size, eased, penalty, tol) in enumerate(stages, start=1):
            last = number == len(stages)
            batch: Any = objective if size == objective.n_comparisons else objective.subset(size, rng)
            size = batch.n_comparisons  # an objective on disk may hold fewer in memory
            if number == 1 and warm_up and isinstance(batch, SampledObjective):
                done = f"AdaGrad, {self.warm_up:g} passes over {size:,} comparisons; "
                X = yield from self._warmed_up(batch, X, int(rng.integers(2**63)), parts, done)
            if eased:
                batch = self._eased(batch)
            if penalty > 0:
                batch = _Held(batch, penalty)
            done += "L-BFGS, "
            for state in parts.follow(descend, batch, X, tol, unit, self.patience, self.memory):
                X, work = state.X, state.n_gradients
                note = f"{done}{state.note} on {size:,}{'' if last else ', eased'}"
                if last and state.finished and penalty > 0:
                    yield replace(state, value=objective.value(X), n_gradients=work + size, grad_norm=None, note=note)
                    return
                if last and state.finished:
                    most = parts.kept["values"][0] if self.keep_start else np.inf
                    X, value, tries = self._smallest(objective, state, unit, most)
                    yield replace(state, X=X, value=value, n_gradients=work + tries * size, grad_norm=None, note=note)
                    return
                yield replace(state, provisional=not last or penalty > 0, finished=None, note=note)
            done = note + "; "

    def _penalty_to_choose(self, objective: Any) -> bool:
        """Whether there are few comparisons for the dimension, some of which are to choose a penalty."""
        if self.penalty is not None or self.keep_start or self.validation_fraction > 0:
            return False
        if objective.n_components <= self.guide or not isinstance(objective, SplittableObjective):
            return False
        least = _VERY_FEW if objective.loss.heavy_tailed else _LEAST_TO_SPLIT
        return least <= objective.n_comparisons < self.few * objective.n_objects * objective.n_components

    def _chosen_penalty(
        self, objective: Any, X: np.ndarray, rng: np.random.Generator, parts: RunParts
    ) -> Steps[tuple[float, np.ndarray, str]]:
        """Steps 1 and 2 with comparisons held out that choose the penalty: it, the point, what was done.

        Penalties grow from a middle one until the held-out error exceeds the lowest by a standard error. If none is
        better, or the loss is heavy-tailed, they then fall while the error does not rise (heavy-tailed: by more than a
        standard error).
        """
        n = objective.n_comparisons
        share = _HELD_OUT if n >= _VERY_FEW else _OF_VERY_FEW
        splits = min(math.ceil(_ENOUGH_HELD_OUT / (share * n)), _MOST_SPLITS)
        parted = [objective.split(share, rng) for _ in range(splits)]
        unit, size = objective.value_at_zero(), parted[0][0].n_comparisons
        times = f"{splits} x " if splits > 1 else ""
        done = f"AdaGrad, {self.warm_up:g} passes over {times}{size:,} comparisons; "
        seed = int(rng.integers(2**63))
        maps = []
        for kept, _ in parted:
            maps.append((yield from self._warmed_up(kept, X, seed, parts, done)))

        def tried(place: int, maps: list[np.ndarray]) -> Steps[tuple[float, list[np.ndarray]]]:
            found, errors = [], []
            for (kept, held_out), X in zip(parted, maps):
                held = _Held(self._eased(kept), _PENALTIES[place])
                state = yield from parts.follow(
                    descend, held, X, self.batch_tol, unit, self.patience, self.memory,
                    provisional=True, finished=None, note=done,
                )  # fmt: skip
                found.append(state.X)
                errors.append(held_out.error(state.X))
            error = math.fsum(errors) / splits
            judged = SolverState(state.X, state.value, 0, provisional=True, note=done, held_out_error=error)
            yield from parts.follow(arrived, judged)
            return error, found

        lowest, first = yield from tried(_FIRST, maps)
        chosen, best = _FIRST, first
        n_held_out = sum(held_out.n_comparisons for _, held_out in parted)

        def by_chance() -> float:
            return _BY_CHANCE * math.sqrt(lowest * (1.0 - lowest) / min(n_held_out, n))

        maps = first
        for stronger in range(_FIRST + 1, len(_PENALTIES)):
            error, maps = yield from tried(stronger, maps)
            if error < lowest:
                chosen, best, lowest = stronger, maps, error
            elif not error <= lowest + by_chance():
                break
        heavy = objective.loss.heavy_tailed
        if chosen == _FIRST or heavy:
            maps = first
            worse = by_chance() if heavy else 0.0
            for weaker in range(_FIRST - 1, -1, -1):
                error, maps = yield from tried(weaker, maps)
                if not error <= lowest + worse:
                    break
                chosen, lowest = weaker, min(error, lowest)
        # Continue from the more strongly regularised map; the others overfit the training part.
        kept, held_out = parted[0]
        done += f"penalty {_PENALTIES[chosen]:g} chosen by {times}{held_out.n_comparisons:,} held out; "
        value = self._eased(kept).value(best[0])
        settled = SolverState(best[0], value, 0, provisional=True, note=done, held_out_error=lowest)
        yield from parts.follow(arrived, settled)
        return _PENALTIES[chosen], best[0], done

    def _warmed_up(self, batch: Any, X: np.ndarray, seed: int, parts: RunParts, note: str) -> Steps[np.ndarray]:
        """X after the AdaGrad steps of step 1."""
        if self.warm_up == 0:
            return X
        return (yield from parts.follow(adaptive_start, batch, X, self.warm_up, self.step, seed, note=note)).X

    def _eased(self, batch: Any) -> Any:
        """A batch with the kinks of its loss smoothed."""
        return batch.smoothed(self.smoothing) if self._eases(batch) else batch

    def _eases(self, batch: Any) -> bool:
        return self.smoothing > 0 and isinstance(batch, SmoothableObjective)

    def _smallest(
        self, objective: Any, state: SolverState, unit: float | None, most: float
    ) -> tuple[np.ndarray, float, int]:
        """The smallest of X, X/2, X/4, ... as good up to `tol` and not above `most`; its value; evaluations."""
        X, value = state.X, float(state.value)  # type: ignore[arg-type]
        limit = min(value + self.tol * (value if unit is None else unit), most)
        tries = 0
        while tries < _MOST_HALVINGS:
            tries += 1
            smaller = objective.value(0.5 * X)
            if not smaller <= limit:
                break
            X, value = 0.5 * X, smaller
        return X, value, tries

    def _stages(self, objective: Any, guide: GuidingObjective | None) -> list[_Stage]:
        """The stages of L-BFGS, the last being all comparisons as they are.

        A small batch can be satisfied in ways that all comparisons cannot, and is then left at great cost: the first of
        several batches has at least `first_batch` comparisons per coordinate, a single one about a third of that. A
        loss with a kink is zero for every map that satisfies the comparisons with a margin: with few comparisons it
        keeps a part of the penalty, with many the last stage but one is all of them, smoothed.
        """
        n, penalty = objective.n_comparisons, self.penalty or 0.0
        kinked = self._eases(objective) and objective.loss.smoothed(self.smoothing) != objective.loss
        if self.keep_start or not isinstance(objective, SampledObjective):
            return [_Stage(n, False, penalty, self.tol)]
        unknowns = objective.n_objects * objective.n_components
        sizes: list[int] = []
        size, least = n / self.growth, 0.35 * self.first_batch * unknowns
        while size >= least:
            sizes.insert(0, int(np.ceil(size)))
            size, least = size / self.growth, self.first_batch * unknowns
        if not sizes and guide is None:
            if kinked and self.penalty is None:
                penalty = _KEPT * self.shrinkage
            return [_Stage(n, True, self.shrinkage, self.batch_tol), _Stage(n, False, penalty, self.tol)]
        done = 0 if guide is None else guide.n_comparisons
        stages = [_Stage(size, True, 0.0, self.batch_tol) for size in sizes if size > done]
        if kinked:
            stages.append(_Stage(n, True, 0.0, max(self.tol, 0.1 * self.batch_tol)))
        tol = self.tol
        if guide is None and isinstance(objective, SmoothableObjective):
            tol *= objective.loss.tolerance
        return [*stages, _Stage(n, False, penalty, tol)]


class _Stage(NamedTuple):
    """How many comparisons, whether kinks are smoothed, the ridge penalty, and the tolerance."""

    size: int
    eased: bool
    penalty: float
    tol: float


class _Held:
    """An objective plus ``shrinkage * mean |x_i|^2``."""

    def __init__(self, objective: Any, shrinkage: float):
        self.objective = objective
        self.n_comparisons = objective.n_comparisons
        self.strength = shrinkage / objective.n_objects

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.objective.value_and_gradient(X)
        return value + self.strength * float(np.vdot(X, X)), gradient + 2.0 * self.strength * X
