"""The default solver: no step size to choose, any loss, any size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nearer.data import check_bool, check_number
from nearer.objective import Objective, offers
from nearer.solvers.guide import best_scale, guided_start, sample_for_guide
from nearer.solvers.lbfgs import Descent
from nearer.solvers.penalty import PENALTY, Ridge, choose_penalty
from nearer.solvers.sgd import adaptive_start
from nearer.solvers.solver import Progress, Solver, State

_MOST_HALVINGS = 64


@dataclass(frozen=True)
class _Constants:
    """Chosen on problems of ten to a million objects (`benchmarks/ablation.py`)."""

    # Minimum comparisons per coordinate (n_objects x n_components) in the first of several batches; inf: one batch.
    first_batch: float = 20.0
    growth: float = 5.0  # ratio of consecutive batches
    batch_tol: float = 1e-3  # as `Auto.tol`, for all batches but the last
    shrinkage: float = 0.01  # penalty of a single batch, times the mean squared distance from the origin
    kept: float = 0.1  # fraction of it that a loss with a kink keeps to the end


AUTO = _Constants()


@dataclass
class Auto(Solver):
    """A guided or an adaptive stochastic start, then L-BFGS on batches that grow to all comparisons.

    1. In up to `guide` dimensions: the best of several maps, found mostly with the softplus loss in extra dimensions.
       In more dimensions: AdaGrad steps on a first random batch.
    2. L-BFGS on that batch, then on larger ones, smoothed; of few comparisons, on all of them with a ridge penalty.
    3. L-BFGS on all comparisons until `patience` iterations gain less than `tol` of the objective at zero (all points
       equal).
    4. The map is halved while the objective does not rise: some losses hardly depend on the scale of a large map.

    Where few comparisons in many dimensions could be overfitted, a search for the ridge penalty of step 3 on held-out
    comparisons replaces steps 1 and 2. Until step 3, the history has the objective of the batch, or that of the
    guide's loss.

    Parameters
    ----------
    guide : int, default 3
        The guide is used for up to this many dimensions; 0: never.
    keep_start : bool, default False
        Skip steps 1 and 2, so that the result is never worse than the starting point.
    penalty : float, optional
        Ridge penalty of step 3: this times the mean squared distance from the origin is added to the objective, but not
        to the value reported. By default 0, unless there are more than `guide` dimensions, at least 50 comparisons
        (1,000 for a heavy-tailed loss), fewer than `few` per coordinate, and no `validation_fraction`: then it is
        chosen on held-out comparisons.
    few : float, default 8
        See `penalty`.
    scale : float, default 1
        With a given `penalty`, which makes maps smaller, the final map is multiplied by this.
    """

    max_epochs: int = 1000
    tol: float = 1e-4
    guide: int = 3
    keep_start: bool = False
    penalty: float | None = None
    few: float = 8.0
    scale: float = 1.0
    name = "auto"
    needs = ("value_and_gradient", "subset", "adagrad_pass")

    def check_objective(self, objective: object) -> None:
        for name in ("guide", "few"):
            check_number(getattr(self, name), f"{self.name}: {name}", zero=True)
        check_bool(self.keep_start, f"{self.name}: keep_start")
        check_number(self.scale, f"{self.name}: scale")
        check_number(self.penalty, f"{self.name}: penalty", zero=True, allow_none=True)

    def settled(self, values: list[float]) -> str:
        return ""  # decided in `epoch`, since the scale is chosen last

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        begun, guide = State(X0, None, 0), None
        if not self.keep_start and objective.n_components <= self.guide:
            guide = sample_for_guide(objective, rng)
        if guide is not None:
            begun = guided_start(guide, X0, rng, progress)
        if self._penalty_to_choose(objective):
            descent = self._descent(objective, AUTO.batch_tol)
            penalty, begun = choose_penalty(objective, X0, rng, descent, progress)
            return self._begun(objective, begun, [Stage(objective.n_comparisons, penalty=penalty, tol=self.tol)], rng)
        warm_up = progress if guide is None and not self.keep_start else None
        return self._begun(objective, begun, self._stages(objective, guide), rng, warm_up)

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        memory = state.memory
        if memory["stage_is_over"]:
            return self._begun(objective, replace(state, note=f"{state.note}; "), memory["stages"][1:], rng)
        descent = self._descent(objective, Stage(*memory["stages"][0]).tol)
        return self._shown(objective, descent.epoch(self._eased_batch, state), memory)

    def prepare(self, objective: Any, state: State) -> None:
        rng = np.random.default_rng()
        rng.bit_generator.state = state.memory["rng"]
        self._take_batch(objective, Stage(*state.memory["stages"][0]), rng)

    def _begun(
        self, objective: Any, before: State, stages: list[Any], rng: np.random.Generator, warm_up: Any = None
    ) -> State:
        """State at the beginning of a stage; AdaGrad steps come first if `warm_up`, a callback, is given."""
        stage, at_start = Stage(*stages[0]), rng.bit_generator.state
        self._take_batch(objective, stage, rng)
        if warm_up is not None:
            before = adaptive_start(self._batch, before.X, int(rng.integers(2**63)), warm_up)
        if stage.rescaled:
            X, _, tries = best_scale(self._eased_batch, before.X)
            before = replace(before, X=X, n_gradients=before.n_gradients + tries * self._batch.n_comparisons)
        inner = self._descent(objective, stage.tol).init(self._eased_batch, before.X)
        inner = replace(inner, n_gradients=before.n_gradients + inner.n_gradients)
        memory = {"stages": [tuple(stage) for stage in stages], "rng": at_start, "note": before.note}
        return self._shown(objective, inner, memory)

    def _take_batch(self, objective: Any, stage: Stage, rng: np.random.Generator) -> None:
        """Set `_batch`, the comparisons of a stage, and `_eased_batch`, the same smoothed or penalised."""
        whole = stage.size == objective.n_comparisons
        self._batch = objective if whole else objective.subset(stage.size, rng)
        self._eased_batch = self._batch
        if stage.eased and offers(self._batch, "smoothed"):
            self._eased_batch = self._batch.smoothed()
        if stage.penalty > 0:
            self._eased_batch = Ridge(self._eased_batch, stage.penalty)

    def _shown(self, objective: Any, inner: State, memory: dict[str, Any]) -> State:
        """The state of the whole run that corresponds to the state of a stage; `memory` has what the stage needs."""
        stage, last = Stage(*memory["stages"][0]), len(memory["stages"]) == 1
        size = self._batch.n_comparisons  # an objective on disk may hold fewer in memory
        own = {name: memory[name] for name in ("stages", "rng", "note")}
        memory = {**inner.memory, **own, "stage_is_over": bool(inner.finished)}
        note = f"{memory['note']}L-BFGS, {inner.note} on {size:,}{'' if last else ', eased'}"
        shown = replace(inner, note=note, memory=memory)
        if not (last and inner.finished):
            return replace(shown, provisional=not last or stage.penalty > 0, finished=None)
        X, work = inner.X, inner.n_gradients
        if stage.penalty > 0:
            X = self.scale * X
            value, work = objective.value(X), work + size
        else:
            most = inner.memory["values"][0] if self.keep_start else np.inf
            X, value, tries = self._smallest(objective, inner, most)
            work += tries * size
        return replace(shown, X=X, value=value, n_gradients=work, grad_norm=None, provisional=False)

    def _descent(self, objective: Any, tol: float) -> Descent:
        return Descent(tol=tol, patience=self.patience, unit=objective.value_at_zero())

    def _penalty_to_choose(self, objective: Any) -> bool:
        """Whether to choose a penalty on held-out comparisons, because there are few for the dimension."""
        if self.penalty is not None or self.keep_start or self.validation_fraction > 0:
            return False
        if objective.n_components <= self.guide or not offers(objective, "split"):
            return False
        least = PENALTY.few if objective.loss.heavy_tailed else PENALTY.min_comparisons
        return least <= objective.n_comparisons < self.few * objective.n_objects * objective.n_components

    def _smallest(self, objective: Any, state: State, most: float) -> tuple[np.ndarray, float, int]:
        """Halve X while the value rises by at most `tol` and does not exceed `most`; X, value, evaluations."""
        X, value = state.X, float(state.value)  # type: ignore[arg-type]
        limit = min(value + self.tol * objective.value_at_zero(), most)
        tries = 0
        while tries < _MOST_HALVINGS:
            tries += 1
            smaller = objective.value(0.5 * X)
            if not smaller <= limit:
                break
            X, value = 0.5 * X, smaller
        return X, value, tries

    def _stages(self, objective: Any, guide: Objective | None) -> list[Stage]:
        """The stages of L-BFGS; the last has all comparisons, unsmoothed.

        A small batch can be fitted by maps that are far from any good map of all comparisons. So the first of several
        batches has at least `first_batch` comparisons per coordinate, and a single one about a third of that. A loss
        with a kink is zero for every map that satisfies the comparisons with a margin: if comparisons are few, it
        keeps part of the penalty; if they are many, the last stage but one has all of them, smoothed.
        """
        n, penalty = objective.n_comparisons, self.penalty or 0.0
        if self.keep_start:
            return [Stage(n, False, penalty, self.tol)]
        smoothable = offers(objective, "smoothed")
        kinked = smoothable and objective.loss.smoothed() != objective.loss
        unknowns = objective.n_objects * objective.n_components
        sizes: list[int] = []
        size, least = n / AUTO.growth, 0.35 * AUTO.first_batch * unknowns
        while size >= least:
            sizes.insert(0, int(np.ceil(size)))
            size, least = size / AUTO.growth, AUTO.first_batch * unknowns
        if not sizes and guide is None:
            if kinked and self.penalty is None:
                penalty = AUTO.kept * AUTO.shrinkage
            return [Stage(n, True, AUTO.shrinkage, AUTO.batch_tol), Stage(n, False, penalty, self.tol)]
        done = 0 if guide is None else guide.n_comparisons
        stages = [Stage(size, True, 0.0, AUTO.batch_tol) for size in sizes if size > done]
        if kinked:
            stages.append(Stage(n, True, 0.0, max(self.tol, 0.1 * AUTO.batch_tol)))
        tol = self.tol
        if guide is None and smoothable:
            tol *= objective.loss.tolerance
        # A step from a map that is far too large for the penalty may end at zero.
        return [*stages, Stage(n, False, penalty, tol, rescaled=penalty > 0)]


class Stage(NamedTuple):
    """Number of comparisons, whether kinks are smoothed, penalty, tolerance, whether the best scale is found first."""

    size: int
    eased: bool = False
    penalty: float = 0.0
    tol: float = 0.0
    rescaled: bool = False
