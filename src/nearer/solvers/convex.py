"""The convex formulation: a positive semi-definite Gram matrix by accelerated projected gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg

from nearer.data import check_number
from nearer.solvers.solver import Progress, Solver, State

_MAX_OBJECTS = 10_000
_PROOF_EVERY = 10


@dataclass
class Convex(Solver):
    """Minimise ``L(K) + lam tr(K)`` over positive semi-definite K; the points are its top eigenvectors.

    Accelerated projected gradient with backtracking and restarts; each iteration takes one eigendecomposition of an
    n x n matrix, so this is for hundreds of objects. The kink of the hinge loss is smoothed by a
    decreasing width. Stops when the duality gap proves the objective to be within `gap_tol` (relative) of the optimum.
    The objective of the history and the result is ``L(K) + lam tr(K)``.

    Parameters
    ----------
    lam : float, optional
        At least 0; by default `relative_lam` times the smallest value for which K = 0 is optimal. With 0 and answers
        free of contradictions the logistic loss has no minimiser.
    relative_lam : float, default 0.01
        In (0, 1).
    gap_tol : float, default 1e-3
        Stop at this relative duality gap.
    """

    max_epochs: int = 2000
    tol: float = 0.0
    lam: float | None = None
    relative_lam: float = 0.01
    gap_tol: float = 1e-3
    name = "convex"
    needs = ("smoothed", "gram_value_and_gradient", "gram_dual")

    def check_objective(self, objective: Any) -> None:
        loss = objective.loss
        if not loss.convex_in_gram and loss.name != "ckl":
            raise ValueError(
                f"{self.name}: loss {loss.name!r} is not a convex function of the Gram matrix; "
                "use hinge or ste (or ckl, without a guarantee), or another solver"
            )
        if lapse := getattr(loss, "lapse", 0.0):
            raise ValueError(
                f"{self.name}: loss {loss.name!r} with lapse = {lapse:g} is not convex; use lapse = 0 or another solver"
            )
        if objective.n_objects > _MAX_OBJECTS:
            raise ValueError(
                f"{self.name}: got {objective.n_objects:,} objects, expected at most {_MAX_OBJECTS:,}: the "
                "matrices would not fit in memory; use solver='auto'"
            )
        check_number(self.lam, f"{self.name}: lam", zero=True, allow_none=True)

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        K, lam = X0 @ X0.T, self.resolve_lam(objective)
        value = objective.gram_value_and_gradient(K)[0] + lam * float(np.trace(K))
        work = (1 if self.lam is not None else 2) * objective.n_comparisons  # finding lam took a pass
        memory = {
            "lam": lam, "K": K, "Y": K, "width": 1.0, "momentum": 1.0, "bound": -math.inf, "iteration": 0,
            "step": float(objective.n_objects), "growth": 2.0,  # until a step proves too long
        }  # fmt: skip
        state = State(points_from_gram(K, objective.n_components), value, work, memory=memory)
        self.prepare(objective, state)
        return state

    def prepare(self, objective: Any, state: State) -> None:
        self._smooth = objective.smoothed(state.memory["width"])

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        state = self.advance(objective, state)
        return replace(state, X=points_from_gram(state.memory["K"], objective.n_components))

    def advance(self, objective: Any, state: State) -> State:
        """The state after another iteration; its points are not updated."""
        at, work, finished = SimpleNamespace(**state.memory), state.n_gradients, None
        smooth, convex = self._smooth, objective.loss.convex_in_gram
        is_smooth = smooth.loss == objective.loss
        shift = at.lam * np.eye(objective.n_objects)
        at.iteration += 1
        f, G, _ = smooth.gram_value_and_gradient(at.Y)
        work += objective.n_comparisons
        while True:
            new = project_psd(at.Y - at.step * (G + shift))
            D = new - at.Y
            f_new, G_new, slopes = smooth.gram_value_and_gradient(new)
            work += objective.n_comparisons
            squared = float(np.vdot(D, D))
            bound = f + float(np.vdot(G, D)) + squared / (2 * at.step) + 1e-12 * abs(f)
            if f_new <= bound or at.step < 1e-300:
                break
            at.step *= 0.5
            at.growth = 1.1
        used = at.step
        if np.vdot(at.Y - new, new - at.K) > 0:  # the momentum points uphill: restart
            at.momentum = 1.0
        grown = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * at.momentum**2))
        at.Y = new + ((at.momentum - 1.0) / grown) * (new - at.K)
        if not convex:  # ckl is defined for distances only
            at.Y = project_psd(at.Y)
        at.momentum, at.K, at.step = grown, new, used * at.growth
        if convex and at.iteration % _PROOF_EVERY == 0:  # it costs an eigendecomposition
            value, dual = certificate(objective, new, at.lam, G_new, slopes)
            work += objective.n_comparisons
            at.bound = max(at.bound, dual)  # every dual point bounds the minimum from below
            gap = value - at.bound
            if (relative := gap / max(abs(value), 1e-12)) <= self.gap_tol:
                finished = f"converged: relative duality gap {relative:.3g} <= {self.gap_tol:.3g}"
            if not is_smooth and gap < at.width:
                at.width *= 0.5
                self._smooth = objective.smoothed(at.width)
                at.momentum, at.Y = 1.0, new
        elif is_smooth:
            value = f_new + at.lam * float(np.trace(new))
        else:
            value = objective.gram_value_and_gradient(new)[0] + at.lam * float(np.trace(new))
            work += objective.n_comparisons
        return State(state.X, value, work, used, finished=finished, memory=vars(at))

    def resolve_lam(self, objective: Any) -> float:
        if self.lam is not None:
            return float(self.lam)
        gradient = objective.gram_value_and_gradient(np.zeros((objective.n_objects,) * 2))[1]
        return self.relative_lam * max(-smallest_eigenvalue(gradient), 1e-12)


def certificate(
    objective: Any, K: np.ndarray, lam: float, gradient: np.ndarray, slopes: np.ndarray
) -> tuple[float, float]:
    """The objective at a Gram matrix K (n, n), and a lower bound of it from a feasible dual point.

    The dual point consists of some slopes (N,), shrunk until ``sum of a_p A_p / N + lam I`` is semi-definite, where
    ``<A_p, K> = near - far``. Gradient (n, n) and slopes may belong to a smoothed loss.
    """
    value = objective.gram_value_and_gradient(K)[0] + lam * float(np.trace(K))
    below = -smallest_eigenvalue(gradient)
    shrink = min(1.0, lam / below) if below > 0 else 1.0
    return value, objective.gram_dual(shrink * slopes)


def smallest_eigenvalue(A: np.ndarray) -> float:
    return float(scipy.linalg.eigh(A, eigvals_only=True, subset_by_index=[0, 0])[0])


def project_psd(A: np.ndarray) -> np.ndarray:
    """The positive semi-definite matrix nearest to a symmetric one."""
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    kept = values > 0
    return (vectors[:, kept] * values[kept]) @ vectors[:, kept].T


def points_from_gram(K: np.ndarray, n_components: int) -> np.ndarray:
    """Points (n, n_components) from the top eigenpairs of a Gram matrix (n, n), centred."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(centred)
    top = slice(-1, -n_components - 1, -1)
    points = vectors[:, top] * np.sqrt(np.maximum(values[top], 0.0))
    return np.ascontiguousarray(np.pad(points, ((0, 0), (0, n_components - points.shape[1]))))
