"""What an answer tells: forms against dense matrices, derivatives by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import Comparisons
from nearer.metrics.answer_law import DistanceLaw, fit_distance_law
from nearer.questions import Predictive
from nearer.questions.pool import Pool
from nearer.questions.posterior import Posterior

LAWS = [
    DistanceLaw(0.0, 0.3, 2.0, 0.0),
    DistanceLaw(0.5, 0.1, 1.5, 0.05),
    DistanceLaw(1.0, 0.2, 0.7, 0.1),
    DistanceLaw(0.25, 0.2, 0.7, 0.1),
]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(7, 2))
QUESTIONS = Pool(7, np.arange(7)).draw(40, RNG)


def gradient(law, question, step=1e-6):
    """Of the margin in all coordinates, by finite differences."""
    g = np.zeros(X.size)
    for k in range(X.size):
        moved = [X.copy(), X.copy()]
        for sign, Y in zip((1, -1), moved):
            Y.flat[k] += sign * step
        high, low = (law.margin(Y, question[None])[0][0] for Y in moved)
        g[k] = (high - low) / (2 * step)
    return g


def symmetric(seed):
    A = np.random.default_rng(seed).normal(size=(X.size, X.size))
    return A @ A.T


@pytest.mark.parametrize("law", LAWS)
def test_worth_is_the_fisher_information(law):
    margin, step = np.array([-30.0, -2.0, -0.1, 0.0, 0.5, 3.0]), 1e-5
    slope = (law.probability(margin + step) - law.probability(margin - step)) / (2 * step)
    p = law.probability(margin)
    np.testing.assert_allclose(law.worth(margin), slope**2 / (p * (1 - p)), rtol=1e-4, atol=1e-11)


def test_worth_of_an_uncertain_margin_is_the_mean():
    law, margin = DistanceLaw(0.0, 0.1, 1.0, 0.0), np.array([0.0, 1.0, 3.0])
    drawn = margin[:, None] + 2.0 * np.random.default_rng(0).normal(size=(3, 200_000))
    np.testing.assert_allclose(law.worth(margin, np.full(3, 4.0)), law.worth(drawn).mean(axis=1), rtol=0.15)


@pytest.mark.parametrize("law", LAWS)
def test_forms_are_those_of_the_gradients(law):
    posterior, S, M = Posterior(X, law, np.arange(7)), symmetric(0), symmetric(1)
    margin, by_S, by_M = posterior.forms(QUESTIONS, S, M, n_jobs=2)
    dense = np.array([gradient(law, question) for question in QUESTIONS])
    np.testing.assert_allclose(margin, law.margin(X, QUESTIONS)[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_S, np.einsum("qi,ij,qj->q", dense, S, dense), rtol=1e-6)
    np.testing.assert_allclose(by_M, np.einsum("qi,ij,qj->q", dense, M, dense), rtol=1e-6)
    where, sparse = posterior.gradients(QUESTIONS)
    filled = np.zeros_like(dense)
    for row, at, values in zip(filled, where, sparse):
        row[at] = values
    np.testing.assert_allclose(filled, dense, atol=1e-6)


@pytest.mark.parametrize("columns", [3, 4])
def test_information_adds_up(columns):
    law = LAWS[1]
    rows = QUESTIONS if columns == 3 else np.array([[0, 1, 2, 3], [4, 1, 4, 5], [6, 0, 2, 5]], dtype=np.int32)
    weights = np.linspace(0.5, 2.0, len(rows))
    posterior = Posterior(X, law, np.arange(7))
    prior = posterior.precision.copy()
    posterior.add(rows, weights)
    dense = np.array([gradient(law, row) for row in rows])
    worth = law.worth(law.margin(X, rows)[0]) * weights
    np.testing.assert_allclose(posterior.precision, prior + (dense.T * worth) @ dense, rtol=1e-5, atol=1e-6)


def test_objects_without_a_slot_stay_where_they_are():
    law = LAWS[0]
    everything, part = Posterior(X, law, np.arange(7)), Posterior(X, law, np.array([5, 2, 3]))
    everything.add(QUESTIONS)
    part.add(QUESTIONS)
    rows = [c + 2 * k for k in (5, 2, 3) for c in (0, 1)]
    added = everything.precision - Posterior(X, law, np.arange(7)).precision
    np.testing.assert_allclose(part.precision - Posterior(X, law, np.array([5, 2, 3])).precision, added[rows][:, rows])


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out"])
def test_choices_are_made_in_the_light_of_those_before(kind):
    law, pool = LAWS[1], Pool(7, np.arange(7), kind)
    posterior = Posterior(X, law, np.arange(7))
    S = posterior.covariance()
    M = Predictive()._targets(posterior, S, QUESTIONS)
    candidates = pool.draw(1000, np.random.default_rng(0))
    chosen, bits = Predictive()._greedy(posterior, S, M, candidates, 4, kind, 1)
    worth = 1.0 if kind == "triplets" else 2 / 3
    heads = 1 if kind == "triplets" else 3
    A = np.linalg.solve(S, np.linalg.solve(S, M).T)
    rows = [np.ascontiguousarray(np.roll(candidates, head, axis=1)) for head in range(heads)]
    # what an answer is worth is settled when the round begins
    margins = [posterior.forms(one, S, M)[:2] for one in rows]
    weights = np.array([worth * law.worth(margin, spread) for margin, spread in margins])
    for turn, row in enumerate(chosen):
        forms = [posterior.forms(one, S, S @ A @ S)[1:] for one in rows]
        gains = sum(w * by_M / (1 + w * by_S) for w, (by_S, by_M) in zip(weights, forms))
        gains[~pool.without(chosen[:turn]).is_open(candidates)] = -1
        assert bits[turn] == pytest.approx(gains.max(), rel=1e-6)
        best = int(np.flatnonzero(pool.keys(candidates) == pool.keys(row))[0])
        assert gains[best] == pytest.approx(gains.max(), rel=1e-6)
        for head, one in enumerate(rows):
            where, gradient = posterior.gradients(one[best : best + 1])
            g = np.zeros(X.size)
            g[where[0]] = gradient[0]
            S = S - np.outer(S @ g, S @ g) * weights[head, best] / (1 + weights[head, best] * g @ S @ g)


def test_the_odds_of_answers_are_found_again():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(40, 2))
    asked = Comparisons(Pool(40, np.arange(40)).draw(20_000, rng), n_objects=40)
    for law in (DistanceLaw(1.0, 0.08, 0.8, 0.02), DistanceLaw(0.0, 0.8, 2.0, 0.05)):
        answers = asked.flipped(rng.random(len(asked)) > law.probability(law.margin(P, asked.index)[0]))
        found = fit_distance_law(P, answers)
        assert found.power == law.power
        told, true = (one.probability(one.margin(P, asked.index)[0]) for one in (found, law))
        assert np.abs(told - true).mean() < 0.02


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_stretched_odds_are_those_of_a_larger_map(power):
    rng = np.random.default_rng(1)
    P, law = rng.normal(size=(10, 2)), DistanceLaw(power, 0.1, 1.5, 0.03)
    asked = Pool(10, np.arange(10)).draw(50, rng)
    expected = law.margin(P, asked)[0]
    np.testing.assert_allclose(law.stretched(9.0).margin(3.0 * P, asked)[0], expected, rtol=1e-12)
