"""One map and weights of its axes for each person."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_people import answers_of

import oracles
from nearer import Comparisons, IndividualEmbedding, kernels
from nearer.data.validate import frozen
from nearer.losses import get_loss
from nearer.metrics import comparison_distances
from nearer.people.individual import _Problem, joint_axes, metric_scores
from nearer.warning_types import UnseenObjectsWarning


def _oracle(name, param, Q, share, X, W, person):
    """Sum of the losses, comparison by comparison."""
    near, far = (
        np.array([(W[p] * (X[row[a]] - X[row[b]]) ** 2).sum() for row, p in zip(Q, person)])
        for a, b in ((0, 1), (2, 3))
    )
    return float((share * oracles.terms(name, near, far, param)[0]).sum()), near, far


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("loss", ["ste", "tste", "ckl"])
def test_kernels_match_the_oracle_and_its_differences(loss, width):
    rng = np.random.default_rng(4)
    n, d, N = 8, 3, 90
    index = np.array([rng.permutation(n)[:width] for _ in range(N)], dtype=np.int32)
    X, W = rng.normal(size=(n, d)), rng.random((5, d))
    person, scale = frozen(rng.integers(5, size=N).astype(np.int32)), frozen(rng.random(N))
    index = frozen(index)
    formula = get_loss(loss).resolve(d)
    Q = oracles.as_quadruplets(index)
    start, stop = 5, 83  # more than one tile
    rows = slice(start, stop)

    def value(X, W):
        return _oracle(loss, formula.param, Q[rows], scale[rows], X, W, person[rows])[0]

    G, H = np.ones_like(X), np.ones_like(W)
    total = kernels.weighted_gradient_block(index, scale, *formula.code, X, W, person, start, stop, G, H)
    assert total == pytest.approx(value(X, W), rel=1e-12)
    np.testing.assert_allclose(G - 1, oracles.numeric_gradient(lambda Z: value(Z, W), X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(H - 1, oracles.numeric_gradient(lambda V: value(X, V), W), rtol=1e-6, atol=1e-8)
    near, far = np.empty(stop - start), np.empty(stop - start)
    kernels.weighted_distances(index, X, W, person, start, near, far)
    expected = _oracle(loss, formula.param, Q[rows], scale[rows], X, W, person[rows])
    np.testing.assert_allclose([near, far], expected[1:], rtol=1e-13)


def test_slopes_in_the_metric_are_those_of_the_loss():
    rng = np.random.default_rng(5)
    index = np.array([rng.permutation(6)[:4] for _ in range(7)], dtype=np.int32)
    X, loss = rng.normal(size=(6, 2)), get_loss("ste")
    found = metric_scores(index, loss, X)

    def value(M, row):
        i, j, l, k = row  # noqa: E741
        u, v = X[i] - X[j], X[l] - X[k]
        return float(loss.terms(u @ M @ u, v @ M @ v)[0])

    for row, slope in zip(index, found):
        np.testing.assert_allclose(
            slope, oracles.numeric_gradient(lambda M, row=row: value(M, row), np.eye(2)), rtol=1e-6, atol=1e-9
        )


def test_joint_axes_are_found():
    rng = np.random.default_rng(6)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    matrices = np.array([R @ np.diag(rng.normal(size=3)) @ R.T for _ in range(10)])
    found = joint_axes(matrices)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    turned = found.T @ matrices @ found
    assert np.abs(turned * (1 - np.eye(3))).max() < 1e-8


def test_threads_do_not_change_the_bits():
    rng = np.random.default_rng(7)
    data = answers_of(rng.normal(size=(20, 2)), 40, 1000, rng)
    X, W = rng.normal(size=(20, 2)), rng.random((40, 2))
    one, two = (_Problem(data, data.people, get_loss("ste"), jobs).value_and_gradients(X, W) for jobs in (1, 2))
    assert len(_Problem(data, data.people, get_loss("ste"), 1).blocks) > 1
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_array_equal(one[2], two[2])


@pytest.fixture(scope="module")
def model(differing):
    return IndividualEmbedding(2, random_state=0).fit(differing[0])


def test_people_who_differ_get_weights_that_predict_them(differing, model):
    _, test, W = differing
    assert model.spread_ > 0
    assert model.score(test) > model.group_.score(test) + 0.01
    found = np.abs(np.corrcoef(np.log(W).T, np.log(model.weights_ + 0.05).T)[:2, 2:])
    assert found.max(axis=1).min() > 0.6  # axes are those of the people, up to order
    assert found.argmax(axis=1).tolist() in ([0, 1], [1, 0])
    np.testing.assert_allclose(model.weights_.mean(axis=0), 1.0)
    assert (model.weights_ >= 0).all()
    assert list(model.choice_)[:2] == [0.0, 0.1]
    assert len(model.to_frame()) == 24
    p = model.predict_proba(test)
    assert p.shape == (len(test), 2)  # as of scikit-learn
    np.testing.assert_array_equal(p[:, 1] > 0.5, model.predict(test))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_spreads_are_compared_by_fits_that_have_converged(monkeypatch):
    """Each starts from the one before; a loose tolerance stops it there, and the spreads look alike."""
    rng = np.random.default_rng(2)
    data = answers_of(rng.normal(size=(20, 2)) * 1.5, 24, 60, rng)
    model = IndividualEmbedding(2, loss="tste", random_state=0).fit(data)
    found = model.choice_
    monkeypatch.setattr("nearer.people.individual._TOL", 1e-10)
    exact = model.fit(data).choice_
    assert found.keys() == exact.keys()
    np.testing.assert_allclose(list(found.values()), list(exact.values()), atol=5e-4)


def test_a_map_of_one_person_gives_their_predictions(differing, model):
    _, test, _ = differing
    own = test[test.people.codes == 3]
    stranger = Comparisons(own.index, n_objects=20)
    for data, X in ((own, model.map_of(3)), (stranger, model.map_of("nobody")), (stranger, model.embedding_)):
        near, far = comparison_distances(X, data)
        np.testing.assert_array_equal(model.predict(data), near < far)


def test_equal_people_get_the_map_of_the_group(points):
    rng = np.random.default_rng(9)
    data, test = answers_of(points, 20, 50, rng), answers_of(points, 20, 200, rng)
    model = IndividualEmbedding(2, random_state=0).fit(data)
    assert model.spread_ <= 0.1
    assert model.score(test) > model.group_.score(test) - 0.005


def test_guesses_count_less_and_views_of_ones_own_do_not(points):
    rng = np.random.default_rng(10)
    W = np.where(np.arange(24)[:, None] % 2, [[1.8, 0.2]], [[0.2, 1.8]])
    data, test = answers_of(points, 24, 60, rng, weights=W), answers_of(points, 24, 150, rng, weights=W)
    data = data.with_noise(0.1, rng)  # as many as 0.2 guesses
    fair, plain = (
        IndividualEmbedding(2, spread=0.5, reliability=known, random_state=0).fit(data) for known in (True, False)
    )
    assert fair.reliability_.guesses.mean() == pytest.approx(0.2, abs=0.1)
    assert fair.score(test) > plain.score(test) + 0.01
    assert plain.reliability_ is None


def test_no_spread_is_the_map_of_the_group(differing):
    model = IndividualEmbedding(2, spread=0, random_state=0).fit(differing[0])
    np.testing.assert_array_equal(model.predict(differing[1]), model.group_.predict(differing[1]))
    np.testing.assert_array_equal(model.weights_, 1.0)
    assert model.reliability_ is model.group_.reliability_


def test_weights_of_groups_and_strange_input(differing):
    data = differing[0]
    groups = {person: "odd" if person % 2 else "even" for person in range(24)}
    model = IndividualEmbedding(2, spread=0.5, random_state=0).fit(data, groups=groups)
    assert model.participants_.tolist() == ["even", "odd"]
    assert model.choice_ == {}
    assert model.score(data, groups=groups) > 0.6
    with pytest.raises(ValueError, match="participant '23' has no group"):
        IndividualEmbedding(2).fit(data, groups=dict.fromkeys(range(23), "a"))
    with pytest.raises(ValueError, match="who gave the answers is not known"):
        IndividualEmbedding(2).fit(Comparisons(data.index))
    with pytest.raises(ValueError, match="not a probability model"):
        IndividualEmbedding(2, loss="hinge").fit(data)
    with pytest.raises(ValueError, match="spread: got 'much'"):
        IndividualEmbedding(2, spread="much").fit(data)
    assert np.isnan(model.predict_proba(Comparisons([[0, 1, 30]]))).all()


def test_objects_that_nobody_names_have_no_place(points):
    data = answers_of(points, 8, 40, np.random.default_rng(1))
    wider = Comparisons(data.index, n_objects=27, participants=data.participants)
    with pytest.warns(UnseenObjectsWarning):
        model = IndividualEmbedding(2, spread=0.2, random_state=0).fit(wider)
    assert np.isnan(model.embedding_[25:]).all()
    assert np.isfinite(model.embedding_[:25]).all()
    assert np.isnan(model.predict_proba([[0, 1, 26]])).all()
