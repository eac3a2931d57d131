"""SVRG after a warm-up, and SVRG whose snapshots cover a growing part of the comparisons; neither is in the paper.

A full gradient costs as much as N stochastic steps, so a well-tuned SGD may be done before the first epoch of SVRG has
ended. Here a run begins much as SGD and ends as SVRG. Comparisons that a snapshot covers make the step
``X <- X - eta (grad f_p(X) - grad f_p(S) + g)``, where g is the mean gradient of the covered ones; others make a plain
step. The corrections cancel on average, so the mean step follows the full gradient throughout.

Growing snapshots: Babanezhad et al., "Stop wasting my gradients: practical SVRG", NIPS 2015. The SBB step on them,
which uses the change of gradient of the comparisons covered by both snapshots, is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer import kernels
from nearer.objective import LocalObjective, Snapshot, block_bounds
from nearer.solvers import SVRG, State
from nearer.solvers.step_sizes import as_rule, curvature_along_gradient, curvature_between


class Parts:
    """An objective of unweighted comparisons that also takes snapshots of a part of them."""

    def __init__(self, objective: LocalObjective):
        self.objective = objective

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def part_snapshot(self, X: np.ndarray, known: np.ndarray, new: np.ndarray) -> tuple[Snapshot, np.ndarray]:
        """Snapshot of the rows `known` and `new`, and the gradient of `known` alone (zeros if there are none)."""
        slopes = np.full((2, self.objective.n_comparisons), np.nan)
        parts = [self._sums(X, rows, slopes) for rows in (known, new)]
        count = len(known) + len(new)
        value, gradient = sum(value for value, _ in parts) / count, (parts[0][1] + parts[1][1]) / count
        return Snapshot(X.copy(), value, gradient, tuple(slopes)), parts[0][1] / max(len(known), 1)

    def mixed_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, int]:
        """As `svrg_pass`, with plain steps for comparisons that the snapshot lacks; also counts the reduced steps."""
        drawn = kernels.draw_many(seed, first, n_steps, self.objective.n_comparisons)
        reduced = int(np.count_nonzero(~np.isnan(snapshot.slopes[0][drawn])))
        return self.objective.svrg_pass(X, snapshot, step, n_steps, seed, first=first), reduced

    def _sums(self, X: np.ndarray, rows: np.ndarray, slopes: np.ndarray) -> tuple[float, np.ndarray]:
        """Sums of the losses and gradients of some rows, whose slopes are stored."""
        index, loss = self.objective.comparisons.index[rows], self.objective.loss
        index.flags.writeable = False
        weights = np.empty(0)
        weights.flags.writeable = False
        found, total, gradient = np.empty((2, len(rows))), 0.0, np.zeros_like(X)
        for start, stop in block_bounds(len(index), len(X)):
            G = np.zeros_like(X)
            total += kernels.gradient_block(index, weights, *loss.code, X, start, stop, G, *found)
            gradient += G
        slopes[:, rows] = found
        return total, gradient


@dataclass
class WarmSVRG(SVRG):
    """SVRG after passes of AdaGrad steps, whose mean loss is the first objective of the history.

    The sums of squared gradients begin at 20 times a typical squared gradient, which is measured on the first
    comparisons: the first steps are then shorter, and later ones shrink less.
    """

    warm_up: float = 2.0
    needs = ("snapshot", "svrg_pass", "adagrad_pass")

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Any) -> State:
        seed, n_steps = int(rng.integers(2**63)), math.ceil(self.warm_up * objective.n_comparisons)
        pulls, step = np.zeros(objective.n_objects), 2.0
        measured = min(100, n_steps // 4)
        if measured > 0:
            felt = objective.adagrad_pass(X0, pulls, 1e-300, measured, seed, 0)[1]  # steps too short to move
            pulls += 20.0 * felt.sum() / (4 * measured)  # a comparison pulls at four ends
        X, _, value = objective.adagrad_pass(X0, pulls, step, n_steps - measured, seed, measured)
        progress(State(X, value, n_steps, step, provisional=True))
        state = super().init(objective, X, rng, progress)
        return replace(state, n_gradients=n_steps + state.n_gradients)


@dataclass
class GrowingSVRG(SVRG):
    """SVRG whose first snapshot covers a fraction of the comparisons; give the rule of `step` all of its parameters.

    What a rule leaves open is measured on all comparisons, at the cost of two full gradients. The history has objective
    and gradient norm of the covered comparisons.
    """

    first_snapshot: float = 0.005
    name = "growing svrg"
    needs = ("snapshot", "svrg_pass", "part_snapshot", "mixed_pass")

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Any) -> State:
        marks = rng.random(objective.n_comparisons, dtype=np.float32)  # covered once the share reaches its mark
        shares = (-1.0, max(self.first_snapshot, float(marks.min())))
        memory = {"eta": None, "curvature": None, "marks": marks}
        self._take_snapshot(objective, X0, memory, shares)
        return self._state(objective, memory, memory["covered"])

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        old, memory, work = self._snapshot, dict(state.memory), state.n_gradients
        rule, m, eta = as_rule(self.step), self.inner_steps or objective.n_comparisons, memory["eta"]
        partial = memory["covered"] < objective.n_comparisons
        if eta is None and rule.needs_curvature:
            memory["curvature"] = curvature_along_gradient(objective, objective.snapshot(old.X) if partial else old)
            work += (1 + partial) * objective.n_comparisons
        if memory["curvature"] is not None:
            rule = rule.measured(memory["curvature"], m, objective.n_objects)
        if eta is None:
            eta = rule.first_step
        seed = int(rng.integers(2**63))
        if partial:
            X, reduced = objective.mixed_pass(old.X, old, eta, m, seed)
        else:
            X, reduced = objective.svrg_pass(old.X, old, eta, m, seed), m
        known, share = memory["shares"]
        gradient = self._take_snapshot(objective, X, memory, (share, 2 * share) if partial else (known, None))
        curvature = curvature_between(X, old.X, gradient, old.gradient)
        memory["eta"] = eta
        if not partial or curvature != 0:  # a part may be flat where the whole is not
            memory["eta"] = rule.after(curvature, m, eta)
        return self._state(objective, memory, work + m + reduced + memory["covered"], eta)

    def prepare(self, objective: Any, state: State) -> None:
        self._take_snapshot(objective, state.X, dict(state.memory), state.memory["shares"])

    def _take_snapshot(
        self, objective: Any, X: np.ndarray, memory: dict[str, Any], shares: Sequence[float | None]
    ) -> np.ndarray:
        """Take a snapshot of the comparisons up to the second share (None: all), and record it in `memory`.

        Returns the gradient of the comparisons up to the first share.
        """
        known, share = memory["shares"] = list(shares)
        if share is None:
            memory["covered"], self._snapshot = objective.n_comparisons, objective.snapshot(X)
            return self._snapshot.gradient
        marks = memory["marks"]
        old, new = np.flatnonzero(marks <= known), np.flatnonzero((marks > known) & (marks <= share))
        memory["covered"] = len(old) + len(new)
        self._snapshot, gradient = objective.part_snapshot(X, old, new)
        return gradient

    def _state(self, objective: Any, memory: dict[str, Any], work: int, step: float | None = None) -> State:
        taken, partial = self._snapshot, memory["covered"] < objective.n_comparisons
        norm = float(np.linalg.norm(taken.gradient))
        return State(taken.X, taken.value, work, step, norm, provisional=partial, memory=memory)
