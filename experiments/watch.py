"""Following a solver inside its epochs, and timing it, without touching the solver."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.growing import Parts
from experiments.methods import Settings, make_solver
from experiments.table2.authors import WeakCorrections
from nearer.objective import LocalObjective, Snapshot
from nearer.solvers.convex import Convex, points_from_gram
from nearer.solvers.solver import no_progress

Look = Callable[[np.ndarray, int], Any]
"""Called with a point (n, d) and the gradients spent so far, clock stopped; a true value ends the run."""


_LONG = 0.25  # seconds of timing after which a run is not repeated


class Enough(Exception):
    """Ends a run from inside a pass."""


class Watched:
    """An objective that counts gradients and cuts stochastic passes where somebody wants to look.

    An epoch of SVRG costs N + 2 m gradients, one of SGD or of batch descent N. Were the error checked at the ends of
    epochs only, SVRG would be charged for up to 3 N gradients that it did not need. So a stochastic pass is cut
    whenever the count reaches a multiple of `every`, and `look` sees the point there. A batch method has nothing to
    show between two full gradients; points at the ends of epochs come by `show`, a solver callback.
    """

    def __init__(self, objective: LocalObjective | Parts, look: Look, every: int):
        self.objective = objective
        self.n_objects, self.n_components = objective.n_objects, objective.n_components
        self.n_comparisons = objective.n_comparisons
        self.look = look
        self.every = every
        self.work = 0
        self.paused = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def value(self, X: np.ndarray) -> float:
        """F(X), which the history alone asks for: the clock stands still."""
        return self.aside(self.objective.value, X)

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        self.work += self.objective.n_comparisons
        return self.objective.value_and_gradient(X)

    def error(self, X: np.ndarray) -> float:
        return self.objective.error(X)

    def snapshot(self, X: np.ndarray) -> Snapshot:
        self.work += self.objective.n_comparisons
        return self.objective.snapshot(X)

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        def piece(X: np.ndarray, done: int, n: int) -> tuple[np.ndarray, int]:
            return self.objective.svrg_pass(X, snapshot, step, n, seed, first=first + done), 2 * n

        return self._in_pieces(piece, X, n_steps, most=2)

    def part_snapshot(self, X: np.ndarray, known: np.ndarray, new: np.ndarray) -> tuple[Snapshot, np.ndarray]:
        self.work += len(known) + len(new)
        return self.objective.part_snapshot(X, known, new)

    def mixed_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, int]:
        total = 0

        def piece(X: np.ndarray, done: int, n: int) -> tuple[np.ndarray, int]:
            nonlocal total
            X, reduced = self.objective.mixed_pass(X, snapshot, step, n, seed, first=first + done)
            total += reduced
            return X, n + reduced

        return self._in_pieces(piece, X, n_steps, most=2), total

    def sgd_pass(
        self, X: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0, decay: float = 0
    ) -> np.ndarray:
        def piece(X: np.ndarray, done: int, n: int) -> tuple[np.ndarray, int]:
            return self.objective.sgd_pass(X, step, n, seed, first=first + done, decay=decay), n

        return self._in_pieces(piece, X, n_steps, most=1)

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        total = 0.0

        def piece(X: np.ndarray, done: int, n: int) -> tuple[np.ndarray, int]:
            nonlocal memory, total
            X, memory, mean = self.objective.adagrad_pass(X, memory, step, n, seed, first=first + done)
            total += n * mean
            return X, n

        X = self._in_pieces(piece, X, n_steps, most=1)
        return X, memory, total / n_steps

    def show(self, row: Any, state: Any) -> bool:
        """Solver callback: look at the point at the end of an epoch, with the solver's own count of work."""
        self.work = state.n_gradients
        return bool(self.aside(self.look, state.X, self.work))

    def aside(self, function: Callable, *args: Any) -> Any:
        """Call a function with the clock stopped."""
        moment = time.perf_counter()
        try:
            return function(*args)
        finally:
            self.paused += time.perf_counter() - moment

    def _in_pieces(self, piece: Callable, X: np.ndarray, n_steps: int, most: int) -> np.ndarray:
        # `piece` gives the point after n steps and the gradients they took, at most `most` each
        done = 0
        while done < n_steps:
            before = self.work
            n = min(max((self.every - before % self.every) // most, 1), n_steps - done)
            X, gradients = piece(X, done, n)
            done += n
            self.work += gradients
            # a look is due at a multiple, and also where one more step may go beyond it
            due = before // self.every != (self.work + most - 1) // self.every
            # a point that has blown up is not shown: the solver will see it at the end of the epoch and stop
            if due and np.isfinite(X).all() and self.aside(self.look, X, self.work):
                raise Enough
        return X


def follow(
    method: str, settings: Settings, objective: LocalObjective, X0: np.ndarray, seed: Any, look: Look, every: int
) -> float:
    """Run a method until `look` ends it; returns the seconds of solving.

    Parameters
    ----------
    method, settings : see `experiments.methods`
    objective : LocalObjective
    X0 : (n, d) start
    seed : for everything random in the run
    look : see `Look`. It sees the start, every `every` gradients inside stochastic passes, and the end of every epoch.
        A run that diverges ends as well, after its last finite point.
    every : gradients between two looks inside a pass
    """
    solver = make_solver(method, settings, objective.n_objects, objective.n_comparisons)
    weak = settings.get("programmed") and method != "svrg"  # their program of a fixed step has it right
    parts = WeakCorrections(objective) if weak else Parts(objective)
    watched = Watched(parts, look, every)
    start = time.perf_counter()
    if isinstance(solver, Convex):
        # The points are for looking at alone; the method itself goes from one Gram matrix to the next.
        state = solver.init(objective, X0, np.random.default_rng(seed), no_progress)
        while not watched.aside(look, points_from_gram(state.memory["K"], objective.n_components), state.n_gradients):
            state = solver.advance(objective, state)
    else:
        with contextlib.suppress(Enough):
            solver.solve(watched, X0, np.random.default_rng(seed), callbacks=[watched.show])
    return time.perf_counter() - start - watched.paused


def reach(
    method: str,
    settings: Settings,
    objective: LocalObjective,
    X0: np.ndarray,
    seed: Any,
    *,
    target: float,
    most: float,
    repeats: int = 3,
) -> dict[str, Any]:
    """Work and time until the training error first is at most `target`.

    A first run looks for the point, ten times per N gradients. The run is then repeated without looking, up to that
    amount of work: the fastest of `repeats` such runs is the time, since other work on a machine only ever adds time
    (long runs, which that matters less for, are not repeated). The first run also compiles and warms what there is.

    Returns
    -------
    dict
        work (gradients of single comparisons) and seconds; both None if not reached within ``most * N`` gradients,
        seconds also if `repeats` is 0. Work is rounded up to tenths of N, since some methods show points in between.
    """
    N = objective.n_comparisons
    reached: list[int] = []

    def look(X: np.ndarray, work: int) -> bool:
        if objective.error(X) <= target:
            reached.append(work)
        return bool(reached) or work >= most * N

    every = max(1, N // 10)
    follow(method, settings, objective, X0, seed, look, every)
    if not reached:
        return {"work": None, "seconds": None}
    end = max(reached[0], 1)
    times: list[float] = []
    while len(times) < repeats and sum(times) < _LONG:
        times.append(follow(method, settings, objective, X0, seed, lambda X, work: work >= end, end))
    return {"work": -(-reached[0] // every) * every, "seconds": min(times, default=None)}


def trace(
    method: str,
    settings: Settings,
    objective: LocalObjective,
    X0: np.ndarray,
    seed: Any,
    *,
    at: list[float],
    measure: Callable[[np.ndarray], Any],
) -> tuple[list[Any], np.ndarray, dict[str, Any]]:
    """What `measure` gives for the newest point at each amount of work.

    Parameters
    ----------
    at : ascending amounts of work, in gradients / N; the run ends at the last.
    measure : called once for each point that is the newest at some amount of work.

    Returns
    -------
    values (one for each of `at`), last point (n, d), {"work", "seconds"}
    """
    N = objective.n_comparisons
    marks = [round(a * N) for a in at]
    newest: list[Any] = [X0, 0]
    values: list[Any] = []

    def look(X: np.ndarray, work: int) -> bool:
        behind = [mark for mark in marks[len(values) :] if mark < work]
        if behind:  # the newest point until now was the answer to these marks
            values.extend([measure(newest[0])] * len(behind))
        if work <= marks[-1]:
            newest[:] = [X.copy(), work]
        return work >= marks[-1]

    seconds = follow(method, settings, objective, X0, seed, look, max(1, min(N, marks[-1])))
    values.extend([measure(newest[0])] * (len(marks) - len(values)))
    return values, newest[0], {"work": newest[1], "seconds": seconds}
