"""SGD, AdaGrad steps as a warm-up, and SVRG; their step sizes: constant, decaying, BB and SBB."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from nearer.data import check_integer, check_number, is_number
from nearer.objective import GrowingObjective, Snapshot, StochasticObjective
from nearer.solvers.base import Kept, Parameters, RunParts, Solver, SolverState, States
from nearer.solvers.curvature import curvature_along_gradient

__all__ = ["BB", "SBB", "SGD", "SVRG", "Constant", "Decaying", "StepSize", "adaptive_start"]

_PIECE = 5_000_000  # AdaGrad steps between two looks at the time limit
_MEASURED, _STILL = 100, 1e-300  # comparisons that measure a typical pull, with steps too short to move
_WARM_STEP, _WARM_DAMPING = 2.0, 20.0  # of SVRG: chosen on data like that of the paper's Table 1, for three losses


@dataclass(frozen=True)
class Change:
    """Change of snapshot dX and of full gradient dg over one epoch, reduced to what step sizes need."""

    squared_length: float  # |dX|^2
    curvature: float  # <dX, dg> / |dX|^2

    @classmethod
    def between(cls, X: np.ndarray, X_old: np.ndarray, g: np.ndarray, g_old: np.ndarray) -> Change:
        dX = X - X_old
        squared_length = float(np.vdot(dX, dX))
        return cls(squared_length, float(np.vdot(dX, g - g_old)) / squared_length if squared_length > 0 else math.nan)


@runtime_checkable
class StepSize(Protocol):
    """How long an inner step is."""

    @property
    def first_step(self) -> float | None:
        """Step of the first epoch; None: one over the curvature at the start, split over the inner steps."""

    @property
    def needs_curvature(self) -> bool:
        """Whether `measured` has something to set, which costs one full gradient."""

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> StepSize:
        """The same rule with nothing left open, given the curvature of the objective at the start."""

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        """Step of a later epoch, after the last change of snapshot and the previous step."""


@dataclass
class _FirstStep(Parameters):
    """Rules that leave at most the first step open."""

    first_step: float | None = None

    def __post_init__(self) -> None:
        check_number(self.first_step, f"{type(self).__name__}: first_step", allow_none=True)

    @property
    def needs_curvature(self) -> bool:
        return self.first_step is None

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> Any:
        return replace(self, first_step=self.first_step or 1.0 / (n_inner * curvature))


@dataclass
class Constant(_FirstStep):
    """The same step throughout.

    Parameters
    ----------
    first_step : float, optional
        Positive; by default one over the curvature measured at the start, split over the inner steps.
    """

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        return previous


@dataclass
class Decaying(Parameters):
    """For `SGD`: step ``step / (1 + decay * e) ** power`` after e epochs' worth of comparisons.

    Parameters
    ----------
    step : float, default 0.1
        The first step, positive.
    decay : float, default 0.5
        At least 0, per epoch.
    power : float, default 1
        In (0, 1].
    """

    step: float = 0.1
    decay: float = 0.5
    power: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.step, "Decaying: step")
        check_number(self.decay, "Decaying: decay", zero=True)
        check_number(self.power, "Decaying: power")


@dataclass
class BB(_FirstStep):
    """The original Barzilai-Borwein step ``|dX|^2 / (m <dX, dg>)``.

    Without convexity the denominator may be negative or nearly zero: the step then points uphill or explodes. That is
    kept visible on purpose; see `SBB` for the remedy.

    Parameters
    ----------
    first_step : float, optional
        The step of the first epoch, positive; measured by default.
    """

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        if change.squared_length == 0:
            return previous
        return 1.0 / (n_inner * change.curvature) if change.curvature != 0 else math.inf


@dataclass
class SBB(Parameters):
    """The stabilised Barzilai-Borwein step ``|dX|^2 / (m (|<dX, dg>| + epsilon |dX|^2))``.

    With a gradient Lipschitz of constant L it lies between ``1 / (m (L + epsilon))`` and ``1 / (m epsilon)``.

    Parameters
    ----------
    epsilon : float, optional
        At least 0; 0 is SBB_0, the absolute value of the BB step. By default ``(relative + 2 n_objects / m)`` times the
        curvature c of the objective at the start, which falls as 1/n and differs between losses. The first part keeps
        an epoch within ``1 / relative`` times a gradient step at the start, the second an inner step below
        ``1 / (2 n c)``, the reach of a single comparison.
    first_step : float, optional
        The step of the first epoch, positive; by default by the same formula, with c for the curvature.
    relative : float, default 0.1
        At least 0, used when epsilon is None.
    """

    epsilon: float | None = None
    first_step: float | None = None
    relative: float = 0.1

    def __post_init__(self) -> None:
        check_number(self.epsilon, "SBB: epsilon", allow_none=True, zero=True)
        check_number(self.first_step, "SBB: first_step", allow_none=True)
        check_number(self.relative, "SBB: relative", zero=True)

    @property
    def needs_curvature(self) -> bool:
        return self.epsilon is None or self.first_step is None

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> SBB:
        epsilon, step = self.epsilon, self.first_step
        if epsilon is None:
            epsilon = (self.relative + 2.0 * n_objects / n_inner) * curvature
        if step is None:
            step = 1.0 / (n_inner * (curvature + epsilon))
        return replace(self, epsilon=epsilon, first_step=step)

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        if self.epsilon is None:
            raise ValueError("SBB: epsilon: got None, expected a number; `measured` fills it in")
        if change.squared_length == 0:
            return previous
        denominator = n_inner * (abs(change.curvature) + self.epsilon)
        return 1.0 / denominator if denominator > 0 else math.inf


def _as_rule(step: Any) -> Any:
    """A number stands for a constant step."""
    return Constant(float(step)) if isinstance(step, numbers.Real) else step


@dataclass
class SGD(Solver):
    """Stochastic gradient descent; one epoch is as many steps as there are comparisons.

    The objective in the history is measured with the clock stopped: the method itself never needs it.

    Parameters
    ----------
    step : Decaying, Constant or float, default Decaying()
        `Constant` with a step; a float is positive and means the same.
    """

    step: Decaying | Constant | float = field(default_factory=Decaying)
    name = "sgd"
    needs = StochasticObjective

    def check_objective(self, objective: object) -> None:
        step = _as_rule(self.step)
        if not isinstance(step, (Decaying, Constant)):
            raise ValueError(f"{self.name}: step: got {self.step!r}, expected Decaying, Constant or a positive number")
        if isinstance(step, Constant) and step.first_step is None:
            raise ValueError(f"{self.name}: step: got Constant(), expected one with a step, for example Constant(0.1)")

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        rule = _as_rule(self.step)
        if isinstance(rule, Constant):
            rule = Decaying(float(rule.first_step), decay=0.0)  # type: ignore[arg-type]  # see check_objective
        n = objective.n_comparisons
        seed = int(rng.integers(2**63))
        if kept is None:
            X, done = X0, 0
            yield SolverState(X, None, 0, kept={"X": X, "done": done})
        else:
            X, done = kept["X"], kept["done"]
        while True:
            size = rule.step / (1.0 + rule.decay * done / n) ** rule.power
            X = objective.sgd_pass(X, rule.step, n, seed, first=done, decay=rule.decay / n, power=rule.power)
            done += n
            yield SolverState(X, None, done, size, kept={"X": X, "done": done})


def adaptive_start(
    objective: StochasticObjective,
    X: np.ndarray,
    passes: float,
    step: float,
    seed: int,
    damping: float = 0.0,
    kept: Kept = None,
) -> States:
    """AdaGrad steps from X (n, d) over comparisons drawn by the seed: `passes` over the data, resumed after `kept`.

    `damping` is a number of typical pulls that count as felt before: first steps are then shorter, later ones shrink
    less, and `step` may be larger; it is measured on the first comparisons, at their cost. The value of a state is the
    mean loss since the last one.
    """
    memory = np.zeros(objective.n_objects)
    if not math.isfinite(passes * objective.n_comparisons):
        raise ValueError(f"warm_up: got {passes:g} passes, expected a number of steps that can be counted")
    n_steps = int(np.ceil(passes * objective.n_comparisons))
    first = min(_MEASURED, n_steps // 4) if damping > 0 else 0
    if kept is not None:
        X, memory, first = kept["X"], kept["memory"], kept["first"]
    elif first > 0:
        _, pulls, _ = objective.adagrad_pass(X, memory, _STILL, first, seed, 0)
        memory += damping * pulls.sum() / (4 * first)  # a comparison pulls at four ends
    while first < n_steps:
        piece = min(_PIECE, n_steps - first)
        X, memory, value = objective.adagrad_pass(X, memory, step, piece, seed, first)
        first += piece
        kept = {"X": X, "memory": memory, "first": first}
        yield SolverState(X, value, first, step, provisional=True, kept=kept)


@dataclass
class SVRG(Solver):
    """SVRG with a step size rule; with `SBB` this is SVRG-SBB.

    Each epoch takes a full gradient g at a snapshot S, then `inner_steps` steps
    ``X <- X - eta (grad f_p(X) - grad f_p(S) + g)`` with p uniform; the last one is the next snapshot.
    An inner step costs O(d) however many objects there are. An epoch counts N + 2 m gradients, as in the paper, though
    the slopes kept from the full pass save one of the two in an inner step.

    Parameters
    ----------
    step : StepSize or float, default Constant()
        A step size rule (`SBB`, `BB`, `Constant`) or a positive number.
    inner_steps : int, optional
        m; by default the number of comparisons.
    warm_up : float, default 0
        Passes of AdaGrad steps before the first snapshot; 0 is the algorithm of the paper. From random points two
        passes save most of the first epochs. Meanwhile the objective in the history is the mean loss during the pass.
    first_snapshot : float, default 1
        Fraction of the comparisons, drawn at random, that the first snapshot covers, doubled with every epoch; 1 is the
        algorithm of the paper. Comparisons not covered yet make plain stochastic steps, so that a run begins much as
        SGD and ends as SVRG; the mean step is along the full gradient throughout. The curvature for `SBB` and `BB` is
        that of the comparisons covered before, but what they leave open is measured on all, at the cost of two full
        gradients. Objective and gradient norm in the history are those of the part.

    References
    ----------
    Ma et al., "Stochastic non-convex ordinal embedding with stabilized Barzilai-Borwein step size", AAAI 2018.
    Babanezhad et al., "Stop wasting my gradients: practical SVRG", NIPS 2015, for snapshots that grow.
    """

    step: StepSize | float = field(default_factory=Constant)
    inner_steps: int | None = None
    warm_up: float = 0.0
    first_snapshot: float = 1.0
    name = "svrg"
    needs = StochasticObjective

    def check_objective(self, objective: object) -> None:
        if not isinstance(_as_rule(self.step), StepSize):
            raise ValueError(f"{self.name}: step: got {self.step!r}, expected SBB, BB, Constant or a positive number")
        if self.inner_steps is not None:
            check_integer(self.inner_steps, f"{self.name}: inner_steps", 1)
        share = self.first_snapshot
        if not is_number(share) or not 0 < share <= 1:
            raise ValueError(f"{self.name}: first_snapshot: got {share!r}, expected a number in (0, 1]")
        check_number(self.warm_up, f"{self.name}: warm_up", zero=True)
        if self.first_snapshot < 1:
            self.require(objective, GrowingObjective, "use first_snapshot=1")

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        parts = RunParts(kept)
        X = X0
        if self.warm_up > 0:
            warm_up = self.warm_up, _WARM_STEP, int(rng.integers(2**63)), _WARM_DAMPING
            X = (yield from parts.follow(adaptive_start, objective, X0, *warm_up)).X
        yield from parts.follow(self._reduced, objective, X, rng)

    def _reduced(self, objective: Any, X: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        """Epochs of variance-reduced steps from X."""
        rule = _as_rule(self.step)
        m = self.inner_steps or objective.n_comparisons
        snapshots = _Snapshots(objective, self.first_snapshot, rng)
        curvature: float | None = None
        eta: Any = None

        def state(snapshot: Snapshot, step: float | None, sample: np.ndarray | None = None) -> SolverState:
            kept = {
                "X": X, "work": snapshots.work, "eta": eta, "curvature": curvature, "share": snapshots.before,
                "rng": rng.bit_generator.state,
            }  # fmt: skip
            about = snapshot.value, snapshots.work, step, float(np.linalg.norm(snapshot.gradient)), sample
            return SolverState(X, *about, provisional=snapshots.partial, kept=kept)

        if kept is None:
            old, _ = snapshots.take(X)
            yield state(old, None)
        else:
            X, eta, curvature = (kept[name] for name in ("X", "eta", "curvature"))
            snapshots.share, snapshots.next_share, snapshots.covered = kept["share"]
            old, _ = snapshots.take(X)
            snapshots.work, rng.bit_generator.state = kept["work"], kept["rng"]
        if eta is None and rule.needs_curvature:
            curvature = curvature_along_gradient(objective, objective.snapshot(X) if snapshots.partial else old)
            snapshots.work += (1 + snapshots.partial) * objective.n_comparisons
        if curvature is not None:
            rule = rule.measured(curvature, m, objective.n_objects)
        if eta is None:
            eta = rule.first_step
        while True:
            seed, X, sample, done = int(rng.integers(2**63)), old.X, None, 0
            if self.output == "uniform":
                done = 1 + seed % m
                X = sample = snapshots.steps(X, old, eta, done, seed, 0)
            X = snapshots.steps(X, old, eta, m - done, seed, done)
            of_a_part = snapshots.partial
            new, gradient = snapshots.take(X)
            change = Change.between(new.X, old.X, gradient, old.gradient)
            used = eta
            if not of_a_part or change.curvature != 0:  # a part may be flat where the whole is not
                eta = rule.after(change, m, eta)
            yield state(new, used, sample)
            old = new


class _Snapshots:
    """Snapshots of a run over all comparisons or a part that doubles, the steps between them, and the work."""

    def __init__(self, objective: Any, first: float, rng: np.random.Generator):
        self.objective = objective
        self.covered = self.work = 0
        # A comparison is covered once the share reaches its mark.
        self.marks = rng.random(objective.n_comparisons, dtype=np.float32) if first < 1 else np.zeros(0, np.float32)
        self.share, self.next_share = -1.0, max(first, float(self.marks.min(initial=1.0)))
        self.before = [self.share, self.next_share, self.covered]

    @property
    def partial(self) -> bool:
        """Whether the last snapshot left comparisons out."""
        return self.covered < self.objective.n_comparisons

    def take(self, X: np.ndarray) -> tuple[Snapshot, np.ndarray]:
        """The next snapshot, and the gradient at X of what the last one covered."""
        self.before = [self.share, self.next_share, self.covered]
        if self.partial and self.marks.size:
            known = np.flatnonzero(self.marks <= self.share)
            new = np.flatnonzero((self.marks > self.share) & (self.marks <= self.next_share))
            self.share, self.next_share = self.next_share, 2 * self.next_share
            self.covered = len(known) + len(new)
            self.work += self.covered
            return self.objective.part_snapshot(X, known, new)
        self.covered = self.objective.n_comparisons
        self.work += self.covered
        snapshot = self.objective.snapshot(X)
        return snapshot, snapshot.gradient

    def steps(self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int) -> np.ndarray:
        """Steps from X; each takes two gradients for a comparison that the snapshot covers, else one."""
        reduced = n_steps
        if self.partial:
            X, reduced = self.objective.mixed_pass(X, snapshot, step, n_steps, seed, first=first)
        else:
            X = self.objective.svrg_pass(X, snapshot, step, n_steps, seed, first=first)
        self.work += n_steps + reduced
        return X
