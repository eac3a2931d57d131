"""How often people guess, estimated together with the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import nearer
from nearer import STE, Comparisons, IndividualEmbedding, OrdinalEmbedding
from nearer.data.coded import Coded
from nearer.datasets import make_comparisons, make_points
from nearer.lapse_rates import SHARES, log_likelihoods, population, responsibilities, weigh_answers
from nearer.metrics import comparison_accuracy
from nearer.solvers import LBFGS
from nearer.solvers import solver as solver_module


def people_of(codes):
    return Coded(np.asarray(codes, np.int32), np.arange(max(codes) + 1))


def study(n_people=60, n_bad=18, n_answers=50, n_objects=30, seed=0):
    """Answers of careful people and of guessers; the map; who guesses; further answers of careful people."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(n_objects, 2))

    def answers(n_rows, chance_of_guess):
        rows = np.array([rng.permutation(n_objects)[:3] for _ in range(n_rows)])
        near, far = (np.linalg.norm(X[rows[:, 0]] - X[rows[:, k]], axis=1) for k in (1, 2))
        p = 1 / (1 + np.exp(2 * (near - far)))
        return rows, rng.random(n_rows) < np.where(rng.random(n_rows) < chance_of_guess, 0.5, p)

    who = np.repeat(np.arange(n_people), n_answers)
    made = Comparisons.from_answers(*answers(len(who), who < n_bad), participants=who)
    return made, np.arange(n_people) < n_bad, Comparisons.from_answers(*answers(4000, 0.0))


def test_likelihoods_and_responsibilities_are_those_of_the_mixture():
    rng = np.random.default_rng(1)
    q, people, w = rng.random(30), people_of(rng.permutation(np.arange(30) % 4)), rng.integers(1, 4, 30).astype(float)
    logs = log_likelihoods(q, people, w)
    for person in range(4):
        own = people.codes == person
        for k, share in enumerate(SHARES):
            assert logs[person, k] == pytest.approx((w[own] * np.log(share / 2 + (1 - share) * q[own])).sum())
    posterior = rng.dirichlet(np.ones(len(SHARES)), 4)
    expected = [
        sum(posterior[p, k] * (1 - s) * q[r] / (s / 2 + (1 - s) * q[r]) for k, s in enumerate(SHARES))
        for r, p in enumerate(people.codes)
    ]
    np.testing.assert_allclose(responsibilities(q, people, posterior), expected)


def test_the_spread_of_shares_is_found_and_nobody_is_judged_by_few_answers():
    rng = np.random.default_rng(2)
    share = np.r_[np.zeros(80), np.ones(20)]
    people = people_of(np.repeat(np.arange(100), 60))
    clear = rng.uniform(0.6, 0.99, 6000)
    right = rng.random(6000) < np.where(rng.random(6000) < share[people.codes], 0.5, clear)
    spread, posterior = population(log_likelihoods(np.where(right, clear, 1 - clear), people))
    assert spread.sum() == pytest.approx(1)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert (SHARES * spread).sum() == pytest.approx(0.2, abs=0.05)
    shares = posterior @ SHARES
    assert np.mean(shares[:80] < 0.3) > 0.9
    assert np.mean(shares[80:] > 0.7) > 0.9
    # A single wrong answer of a new person among careful ones costs little.
    few = people_of(np.r_[people.codes[:4800], 80])
    weights, found = weigh_answers(np.r_[np.where(right, clear, 1 - clear)[:4800], 0.2], few, None)
    assert found.guesses[-1] < 0.2
    assert weights[-1] > 0.7


def test_the_fit_finds_the_guessers_and_is_the_better_for_it(tmp_path):
    data, bad, further = study()
    plain = OrdinalEmbedding(2, loss="ste", random_state=0).fit(data)
    model = STE(2, reliability=True, random_state=0).fit(data)
    found = model.reliability_
    assert found.guesses[bad].min() > 0.5 > found.guesses[~bad].max()
    assert found.n_answers.tolist() == [50] * 60
    assert comparison_accuracy(model.embedding_, further) > comparison_accuracy(plain.embedding_, further) + 0.005
    assert model.comparisons_ == data
    assert plain.reliability_ is None
    model.save(tmp_path / "m.nearer")
    again = nearer.load(tmp_path / "m.nearer")
    assert again.reliability_.table() == found.table()
    assert again.reliability is True


@pytest.mark.parametrize("dimensions", [2, 4])
def test_a_loss_with_a_lapse_rate_is_not_misled_by_guesses(dimensions, tmp_path):
    data = make_comparisons(make_points(25, dimensions, random_state=0), 2_500, 2_000, noise=0.1, random_state=0)
    plain = OrdinalEmbedding(dimensions, loss="ste", random_state=0).fit(data.train)
    model = OrdinalEmbedding(dimensions, loss="ste", loss_params={"lapse": 0.1}, random_state=0).fit(data.train)
    assert model.score(data.test) > plain.score(data.test)
    chance = model.predict_proba(data.test)
    assert chance.min() == pytest.approx(0.05, abs=0.01)
    model.save(tmp_path / "m.nearer")
    again = nearer.load(tmp_path / "m.nearer")
    assert again.loss_ == model.loss_
    np.testing.assert_array_equal(again.predict_proba(data.test), chance)


def test_an_odd_one_out_answer_counts_once():
    rng = np.random.default_rng(0)
    sets = np.array([rng.permutation(12)[:3] for _ in range(300)])
    data = Comparisons.from_odd_one_out(sets, sets[:, 0], participants=np.arange(300) % 6)
    assert len(data) == 600
    found = STE(2, reliability=True, random_state=0).fit(data).reliability_
    assert found.n_answers.tolist() == [50] * 6
    found = IndividualEmbedding(2, spread=0.3, reliability=True, random_state=0).fit(data).reliability_
    assert found.n_answers.tolist() == [50] * 6


def test_without_guessers_nobody_is_weighed_down():
    data, _, _ = study(n_bad=0)
    found = OrdinalEmbedding(2, loss="tste", reliability=True, random_state=0).fit(data).reliability_
    assert found.weights.min() > 0.95


def test_what_it_cannot_do_is_refused(tmp_path):
    data, _, _ = study(10, 0, 30)
    with pytest.raises(ValueError, match="loss 'hinge' is not a probability model"):
        OrdinalEmbedding(2, reliability=True, loss="hinge").fit(data)
    with pytest.raises(ValueError, match=r"reliability: got True and a loss with lapse = 0\.1, expected lapse = 0"):
        OrdinalEmbedding(2, reliability=True, loss="ste", loss_params={"lapse": 0.1}).fit(data)
    np.save(tmp_path / "a.npy", data.index)
    for nameless in (data.index, tmp_path / "a.npy"):
        with pytest.raises(ValueError, match="who gave the answers is not known"):
            OrdinalEmbedding(2, reliability=True).fit(nameless)
    with pytest.raises(ValueError, match="reliability=True needs fit"):
        OrdinalEmbedding(2, reliability=True, random_state=0).fit(data).partial_fit(data)


class FakeTime:
    """A clock that moves only when told."""

    now = 0.0

    def perf_counter(self):
        return self.now


@dataclass
class Ticking(LBFGS):
    """One second for each epoch."""

    name = "ticking"

    def epoch(self, *args):
        solver_module.time.now += 1.0
        return super().epoch(*args)


@pytest.mark.parametrize(("limit", "n_init"), [(3.5, 1), (12.5, 1), (12.5, 3), (40.5, 2)])
def test_all_starts_and_rounds_share_one_time_limit(monkeypatch, limit, n_init):
    monkeypatch.setattr(solver_module, "time", FakeTime())
    data = study(12, 3, 30)[0]
    solver = Ticking(tol=0.0, max_epochs=10)
    model = STE(2, reliability=True, solver=solver, n_init=n_init, n_jobs=1, max_seconds=limit, random_state=0)
    model.fit(data)
    assert solver_module.time.now == np.ceil(limit)
    assert model.result_.message == f"stopped: reached max_seconds = {limit:g}"
    assert not model.result_.converged
    assert len(model.reliability_.guesses) == 12


def test_the_history_is_of_all_rounds(monkeypatch):
    monkeypatch.setattr(solver_module, "time", FakeTime())
    data = study(12, 3, 30)[0]
    epochs = []
    model = STE(2, reliability=True, solver=Ticking(max_epochs=5), random_state=0)
    model.set_params(callbacks=[lambda row, state: epochs.append(row.epoch)]).fit(data)
    n_solves = epochs.count(0)
    assert n_solves > 1
    assert model.n_iter_ == len(epochs) - n_solves
    assert model.history_.column("epoch").tolist() == list(range(model.n_iter_ + 1))
    assert model.history_.column("seconds").tolist() == list(range(model.n_iter_ + 1))
    assert (np.diff(model.history_.column("n_gradients")) > 0).all()
    assert model.result_.n_gradients == model.history_[-1].n_gradients
