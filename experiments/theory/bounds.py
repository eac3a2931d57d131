"""What the theory asks of a problem: its largest curvature, and the inner steps that the theorem needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nearer.data import check_integer, check_number
from nearer.objective import Objective


def estimate_lipschitz(objective: Objective, X: np.ndarray, rng: np.random.Generator, n_iter: int = 30) -> float:
    """Largest absolute eigenvalue of the Hessian at X, from below, by power iteration.

    The largest curvature of a run is that of the sharpest point it passes: take the maximum over several X.

    Parameters
    ----------
    objective : Objective
        Twice differentiable near X; a kink gives a large but finite figure.
    X : ndarray of float64, shape (n, d)
    rng : Generator
        Draws the first direction.
    n_iter : int, default 30
        Hessian-vector products; each takes two full gradients (central differences).
    """
    check_integer(n_iter, "n_iter", 1)
    # The cube root of the rounding unit balances rounding against truncation in a central difference.
    h = np.finfo(float).eps ** (1 / 3) * max(float(np.linalg.norm(X)), 1e-3)
    direction = rng.normal(size=X.shape)
    largest = 0.0
    for _ in range(n_iter):
        direction /= np.linalg.norm(direction)
        forward = objective.value_and_gradient(X + h * direction)[1]
        backward = objective.value_and_gradient(X - h * direction)[1]
        direction = (forward - backward) / (2.0 * h)
        curvature = float(np.linalg.norm(direction))
        largest = max(largest, curvature)
        if curvature == 0.0:  # flat here, or the direction fell into the null space
            break
    return largest


def theorem_inner_steps(lipschitz: float, epsilon: float, corrected: bool = False) -> int:
    """Fewest inner steps m for which the convergence theorem of SVRG-SBB holds.

    As printed, ``m > max{(L^2 / eps) (1 + 2 L / eps), 1 + sqrt(1 + 8 L^3 / eps)} / eps``. The proof needs twice the
    first of the two.

    Parameters
    ----------
    lipschitz : float
        L > 0, the Lipschitz constant of the gradient.
    epsilon : float
        That of `SBB`, positive.
    corrected : bool, default False
        As the proof needs it.
    """
    check_number(lipschitz, "lipschitz")
    check_number(epsilon, "epsilon")
    ratio = lipschitz / epsilon
    first = (2.0 if corrected else 1.0) * lipschitz * ratio * (1.0 + 2.0 * ratio)
    bound = max(first, 1.0 + math.sqrt(1.0 + 8.0 * lipschitz**2 * ratio)) / epsilon
    return math.floor(bound) + 1


def proof_conditions(lipschitz: float, step: float, m: int) -> tuple[float, float]:
    """The two quantities that the theorem's proof needs below 1/2 (its conditions 1 and 2), for steps up to `step`."""
    first = step + 4 * (m - 1) * step**3 * lipschitz**3
    second = (m - 1) * (step * lipschitz) ** 2 * (2 * (m - 1) * step * lipschitz + 1)
    return first, second


def smallest_gamma(lipschitz: float, steps: Sequence[float], m: int) -> float:
    """gamma_S of the theorem: the least ``Gamma_t = eta (1 - c_{t+1} / beta - eta (1 + 2 c_{t+1}))``, over all steps.

    Here ``beta = 4 (m - 1) L^3 eta^2`` and ``c_t = c_{t+1} (1 + eta beta + 2 eta^2 L^2) + eta^2 L^3``, with c_m = 0.
    The least one is that of t = 0, where c is largest. The theorem says something only where gamma_S is positive.
    """
    eta, L = np.asarray(steps, dtype=float), lipschitz
    beta = 4 * (m - 1) * L**3 * eta**2
    growth = eta * beta + 2 * (eta * L) ** 2
    with np.errstate(over="ignore"):
        c = eta**2 * L**3 * np.expm1((m - 1) * np.log1p(growth)) / growth
        return float((eta * (1 - c / beta - eta * (1 + 2 * c))).min())
