"""SVRG: stochastic steps whose variance a full gradient at a snapshot reduces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearer.data import check_integer, check_number, is_number
from nearer.objective import Snapshot
from nearer.solvers.sgd import AdaGrad
from nearer.solvers.solver import Solver
from nearer.solvers.state import Progress, State
from nearer.solvers.step_sizes import Change, Constant, StepSize, as_rule, curvature_along_gradient
from nearer.solvers.tuned import WARM_UP

__all__ = ["SVRG"]


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
        Fraction of the comparisons, drawn at random, that the first snapshot covers; it doubles with every epoch. 1 is
        the algorithm of the paper. Comparisons that are not yet covered make plain stochastic steps, so a run begins
        like SGD and ends as SVRG; the expected step follows the full gradient throughout. `SBB` and `BB` use the change
        of gradient of the comparisons covered by both snapshots; their defaults are measured on all comparisons, at the
        cost of two full gradients. The history has objective and gradient norm of the covered comparisons.

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
    needs = ("snapshot", "svrg_pass", "adagrad_pass")

    def check_objective(self, objective: object) -> None:
        if not isinstance(as_rule(self.step), StepSize):
            raise ValueError(f"{self.name}: step: got {self.step!r}, expected SBB, BB, Constant or a positive number")
        if self.inner_steps is not None:
            check_integer(self.inner_steps, f"{self.name}: inner_steps", 1)
        share = self.first_snapshot
        if not is_number(share) or not 0 < share <= 1:
            raise ValueError(f"{self.name}: first_snapshot: got {share!r}, expected a number in (0, 1]")
        check_number(self.warm_up, f"{self.name}: warm_up", zero=True)
        if self.first_snapshot < 1:
            self.require(objective, ("part_snapshot", "mixed_pass"), "use first_snapshot=1")

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        if self.warm_up > 0:
            state = self._adagrad.init(objective, X0, int(rng.integers(2**63)))
            return replace(state, memory={"warm_up": state.memory})
        return self._begin(objective, X0, 0, rng)

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        if "warm_up" in state.memory:
            before = replace(state, memory=state.memory["warm_up"])
            if self._adagrad.is_over(objective, before):
                return self._begin(objective, state.X, state.n_gradients, rng)
            after = self._adagrad.piece(objective, before)
            return replace(after, memory={"warm_up": after.memory})
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
        inner_steps = self._mixed_steps if partial else self._reduced_steps
        seed, X, sample, done = int(rng.integers(2**63)), old.X, None, 0
        if self.output == "uniform":
            done = 1 + seed % m
            X, used = inner_steps(objective, X, eta, done, seed, 0)
            sample, work = X, work + used
        X, used = inner_steps(objective, X, eta, m - done, seed, done)
        known, share = memory["shares"]
        gradient = self._take_snapshot(objective, X, memory, (share, 2 * share) if partial else (known, None))
        change = Change.between(X, old.X, gradient, old.gradient)
        memory["eta"] = eta
        if not partial or change.curvature != 0:  # a part may be flat where the whole is not
            memory["eta"] = rule.after(change, m, eta)
        return self._state(objective, memory, work + used + memory["covered"], eta, sample)

    def prepare(self, objective: Any, state: State) -> None:
        if "warm_up" not in state.memory:
            self._take_snapshot(objective, state.X, dict(state.memory), state.memory["shares"])

    @property
    def _adagrad(self) -> AdaGrad:
        return AdaGrad(self.warm_up, WARM_UP.step, WARM_UP.damping)

    def _begin(self, objective: Any, X: np.ndarray, work: int, rng: np.random.Generator) -> State:
        """State at the first snapshot."""
        memory: dict[str, Any] = {"eta": None, "curvature": None, "marks": None}
        shares: tuple[float, float | None] = (-1.0, None)
        if self.first_snapshot < 1:
            # A comparison is covered once the share reaches its mark.
            memory["marks"] = rng.random(objective.n_comparisons, dtype=np.float32)
            shares = (-1.0, max(self.first_snapshot, float(memory["marks"].min())))
        self._take_snapshot(objective, X, memory, shares)
        return self._state(objective, memory, work + memory["covered"])

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

    def _state(
        self, objective: Any, memory: dict[str, Any], work: int, step: float | None = None, sample: Any = None
    ) -> State:
        taken: Snapshot = self._snapshot
        partial, norm = memory["covered"] < objective.n_comparisons, float(np.linalg.norm(taken.gradient))
        return State(taken.X, taken.value, work, step, norm, sample, provisional=partial, memory=memory)

    def _reduced_steps(
        self, objective: Any, X: np.ndarray, eta: float, n_steps: int, seed: int, first: int
    ) -> tuple[np.ndarray, int]:
        """The point after inner steps from X, and the number of gradients."""
        return objective.svrg_pass(X, self._snapshot, eta, n_steps, seed, first=first), 2 * n_steps

    def _mixed_steps(
        self, objective: Any, X: np.ndarray, eta: float, n_steps: int, seed: int, first: int
    ) -> tuple[np.ndarray, int]:
        """As `_reduced_steps`, with plain steps for comparisons that the snapshot does not cover."""
        X, reduced = objective.mixed_pass(X, self._snapshot, eta, n_steps, seed, first=first)
        return X, n_steps + reduced
