"""Comparisons held out: when to stop, which map to keep, and how strong a penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import oracles
from nearer.datasets import make_comparisons, make_points
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import LBFGS, Auto, Solver, State, get_solver, solver_names
from nearer.solvers.multistart import best_of_starts
from nearer.solvers.penalty import Ridge
from problems import MemorySource, noisy_problem


class Line:
    """Comparisons of two objects on a line: the error about those held out is `errors` at the epoch x."""

    n_objects, n_components, n_comparisons, loss = 2, 1, 10, None

    def __init__(self, errors):
        self.errors = errors

    def value(self, X):
        return 100.0 - X[0, 0]

    def value_and_gradient(self, X):
        return self.value(X), np.ones_like(X)

    def error(self, X):
        return self.errors[int(X[0, 0])]

    def split(self, fraction, rng):
        return self, self


@dataclass
class Counting(Solver):
    provisional_until: int = 0
    inside_until: int = 0
    max_epochs: int = 100
    tol: float = 0.0
    name = "counting"

    def init(self, objective, X0, rng, progress):
        for t in range(self.inside_until):
            progress(self._at(t))
        return self._at(self.inside_until)

    def epoch(self, objective, state, rng):
        return self._at(state.n_gradients + 1)

    def _at(self, t):
        return State(
            np.array([[float(t)], [0.0]]),
            100.0 - t,
            t,
            provisional=t < self.provisional_until,
            surrogate=t < self.inside_until,
        )


def run(errors, **changes):
    errors = errors + [max(errors)] * 200
    return Counting(validation_fraction=0.1, **changes).solve(Line(errors), np.zeros((2, 1)))


def test_the_best_map_is_kept_and_told():
    result = run([0.5, 0.3, 0.2, 0.25])
    assert result.embedding[0, 0] == 2.0
    assert result.objective == 98.0
    assert result.held_out_error == 0.2
    assert result.converged
    assert result.n_iter == 12  # ten epochs more
    assert result.message == (
        "converged: held-out error did not improve in 10 epochs "
        "(epoch 2 is best on 10 held out: error 0.2, at the end 0.5)"
    )
    assert result.history.column("held_out_error")[:4].tolist() == [0.5, 0.3, 0.2, 0.25]


def test_how_long_it_waits():
    assert run([0.5 - 0.01 * t for t in range(31)]).n_iter == 60  # as long as it took to get there
    last_of_equals = run([0.5, 0.2, 0.2, 0.2, 0.3])
    assert (last_of_equals.embedding[0, 0], last_of_equals.n_iter) == (3.0, 11)


def test_early_stages_do_not_stop_a_run_and_maps_of_other_losses_are_not_kept():
    result = run([0.5, 0.1, 0.2, 0.3], provisional_until=30, inside_until=2)
    assert result.n_iter == 40
    assert result.embedding[0, 0] == 2.0


@pytest.mark.parametrize("name", solver_names())
def test_every_solver_may_hold_comparisons_out(name):
    problem = noisy_problem("ste", size=1500, noise=0.2)
    solver = replace(get_solver(name), max_epochs=40, validation_fraction=0.2)
    if isinstance(solver, Auto):
        solver = replace(solver, guide=0)  # whose maps, of another loss, are not to be kept
    result = solver.solve(problem.objective, problem.X, 0)
    errors = result.history.column("held_out_error")
    assert result.held_out_error == np.nanmin(errors)
    assert "held out" in result.message
    assert result.objective == pytest.approx(problem.objective.value(result.embedding), rel=1e-12)
    again = solver.solve(problem.objective, problem.X, 0)
    np.testing.assert_array_equal(result.embedding, again.embedding)


def test_comparisons_on_disk_are_refused_with_a_remedy():
    problem = noisy_problem("ste")
    source = MemorySource(problem.objective.comparisons)
    objective = StreamedObjective(source, "ste", 2, 15, n_jobs=1)
    with pytest.raises(ValueError, match=r"got StreamedObjective.*no split.*validation_fraction=0"):
        LBFGS(validation_fraction=0.1).solve(objective, problem.X)


def test_of_several_starts_the_one_that_held_out_comparisons_like_best_is_kept():
    problem = noisy_problem("ste", size=1500)
    starts = [np.zeros_like(problem.X) + 1e-3, problem.X]
    solver = LBFGS(validation_fraction=0.2, max_epochs=0)
    best = best_of_starts(problem.objective, [solver] * 2, starts, [np.random.default_rng(0) for _ in range(2)])
    np.testing.assert_array_equal(best.embedding, problem.X)


# ---- the penalty of the default solver -----------------------------------------------------------------------------


def few_answers(loss, d=5, n=400, noise=0.05, each=20):
    questions = n * (n - 1) * (n - 2) // 2
    points = make_points(n, d, random_state=1)
    data = make_comparisons(points, each * n, min(5000, questions - each * n), noise=noise, random_state=1)
    return LocalObjective(data.train, loss, d, 1), data.test


@pytest.mark.parametrize("loss", ["hinge", "ste", "soe", "softplus", "ckl", "tste"])
def test_a_chosen_penalty_helps_with_comparisons_not_seen(loss):
    objective, test = few_answers(loss, noise=0.2 if loss == "tste" else 0.05)  # which needs it less
    X = np.random.default_rng(7).normal(size=(400, 5))
    without, chosen = (Auto(penalty=penalty).solve(objective, X, 0) for penalty in (0.0, None))
    assert "chosen by" in chosen.message
    assert "chosen by" not in without.message
    assert chosen.objective == pytest.approx(objective.value(chosen.embedding), rel=1e-12)  # without the penalty
    assert chosen.objective > without.objective
    judge = LocalObjective(test, loss, 5, 1)
    assert judge.error(chosen.embedding) < judge.error(without.embedding)
    assert chosen.held_out_error == np.nanmin(chosen.history.column("held_out_error"))
    assert chosen.converged


@pytest.fixture
def foretold(monkeypatch):
    """Tell the errors about comparisons held out, one after the other; the shares held out so far."""
    split = LocalObjective.split

    def tell(errors=None):
        shares = []

        def splitting(self, fraction, rng):
            shares.append(fraction)
            kept, held_out = split(self, fraction, rng)
            if errors is not None:
                held_out.error = lambda X: next(errors)
            return kept, held_out

        monkeypatch.setattr(LocalObjective, "split", splitting)
        return shares

    return tell


@pytest.mark.parametrize(
    ("loss", "n", "errors", "chosen"),
    [
        ("ste", 400, [0.3, 0.28, 0.34], 0.03),  # stronger until that is clearly worse, and no look at weaker ones
        ("ste", 400, [0.3, 0.301, 0.302, 0.25, 0.26], 0.3),  # a little worse may be chance
        ("ste", 400, [0.3, 0.34, 0.3, 0.301], 0.003),  # else weaker while that is not worse
        # of a heavy-tailed loss the weakest that may as well be best
        ("tste", 400, [0.3, 0.29, 0.34, 0.3, 0.301, 0.302], 0),
        ("tste", 400, [0.3, 0.25, 0.2, 0.24, 0.29], 0.1),
        # of four splits each: 0.01, then 0.03, which is better in the mean, then 0.1, which is clearly worse
        ("ste", 40, [0.3, 0.3, 0.3, 0.3, 0.4, 0.3, 0.2, 0.2, 0.2, 0.4, 0.4, 0.4], 0.03),
    ],
)
def test_how_a_penalty_is_chosen(loss, n, errors, chosen, foretold):
    objective, _ = few_answers(loss, n=n)
    told = iter(errors)
    shares = foretold(told)
    result = Auto().solve(objective, np.random.default_rng(7).normal(size=(n, 5)), 0)
    assert f"penalty {chosen:g} chosen by" in result.message
    assert result.held_out_error == pytest.approx(np.reshape(errors, (-1, len(shares))).mean(axis=1).min())
    assert list(told) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"d": 3}, "guide"),
        ({"n": 30, "loss": "tste"}, "heavy tails, few"),
        ({"n": 15, "each": 3}, "too few"),
        ({"keep_start": True}, "start"),
    ],
)
def test_no_penalty_is_chosen_where_it_was_not_found_to_help(changes, why):
    changes = dict(changes)
    solver = Auto(keep_start=changes.pop("keep_start", False))
    objective, _ = few_answers(**{"loss": "ste", **changes})
    X = np.random.default_rng(0).normal(size=(objective.n_objects, objective.n_components))
    assert "penalty" not in solver.solve(objective, X, 0).message


def test_a_given_penalty_holds_the_map_down():
    problem = noisy_problem("ste")
    sizes = [
        np.linalg.norm(Auto(penalty=penalty).solve(problem.objective, problem.X, 0).embedding)
        for penalty in (0.0, 0.03, 0.3)
    ]
    assert sizes[0] > 1.02 * sizes[1] > 1.02**2 * sizes[2]
    small, large = (Auto(penalty=0.03, scale=scale).solve(problem.objective, problem.X, 0) for scale in (1.0, 2.0))
    np.testing.assert_array_equal(large.embedding, 2.0 * small.embedding)
    assert large.objective == problem.objective.value(large.embedding)
    with pytest.raises(ValueError, match="auto: penalty: got -1, expected a number >= 0 or None"):
        Auto(penalty=-1).solve(problem.objective, problem.X)


def test_the_gradient_of_a_penalty_by_finite_differences():
    problem = noisy_problem("ste")
    held = Ridge(problem.objective, 0.3)
    numeric = oracles.numeric_gradient(lambda X: held.value_and_gradient(X)[0], problem.X)
    np.testing.assert_allclose(held.value_and_gradient(problem.X)[1], numeric, rtol=1e-6, atol=1e-9)
