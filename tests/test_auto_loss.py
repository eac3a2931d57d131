"""Loss "auto": which loss, lapse rate and penalty are chosen from the answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import nearer
from nearer import Comparisons, OrdinalEmbedding
from nearer.auto_loss import CHOICE, FIXED, choose_loss
from nearer.datasets import make_comparisons, make_points
from nearer.losses import STELoss, TSTELoss
from nearer.refits import fit_best, template
from nearer.solvers import Auto


def study(noise, n=40, d=3, per_object=60, seed=0):
    return make_comparisons(make_points(n, d, random_state=seed), n * per_object, 2_000, noise=noise, random_state=seed)


@pytest.fixture(scope="module")
def noisy():
    return study(0.1)


@pytest.fixture(scope="module")
def model(noisy):
    return OrdinalEmbedding(3, loss="auto", random_state=0).fit(noisy.train)


def test_it_errs_at_most_half_as_often_as_tste(noisy, model):
    before = OrdinalEmbedding(3, loss="tste", random_state=0).fit(noisy.train)
    assert 1 - model.score(noisy.test) < 0.6 * (1 - before.score(noisy.test))
    clean = study(0.0)
    fitted, before = (OrdinalEmbedding(3, loss=loss, random_state=0).fit(clean.train) for loss in ("auto", "tste"))
    assert 1 - fitted.score(clean.test) < 0.5 * (1 - before.score(clean.test))
    assert fitted.loss_.lapse < 0.03


def test_what_was_chosen_is_kept(noisy, model, tmp_path):
    assert model.loss_.name == "ste"
    assert model.loss_.lapse == pytest.approx(0.2, abs=0.05)
    assert model.penalty_ is not None
    model.save(tmp_path / "m.nearer")
    again = nearer.load(tmp_path / "m.nearer")
    assert (again.loss, again.loss_, again.penalty_) == ("auto", model.loss_, model.penalty_)
    named = OrdinalEmbedding(3, loss=model.loss_, solver=Auto(penalty=model.penalty_), random_state=0).fit(noisy.train)
    np.testing.assert_array_equal(named.embedding_, model.embedding_)
    assert named.penalty_ is None
    further = again.partial_fit(noisy.test[:50])
    assert (further.loss_, further.penalty_) == (model.loss_, model.penalty_)
    assert model.predict_proba(noisy.test).min() > 0.05


def test_the_choice_depends_on_the_answers_alone(noisy):
    assert choose_loss(noisy.train, 3, n_jobs=1) == choose_loss(noisy.train, 3, n_jobs=2)
    spread = Comparisons(2 * noisy.train.index + 1)  # every other object occurs in no answer
    assert choose_loss(spread, 3) == choose_loss(noisy.train, 3)


def test_heavy_tailed_answers_get_the_heavy_tailed_loss():
    X = make_points(60, 5, random_state=0) * 2.0 ** -np.arange(5)
    data = make_comparisons(X, 60 * 30, 2_000, random_state=0)
    assert choose_loss(data.train, 5).loss.name == "tste"


def test_studies_of_a_fitted_model_use_its_loss(noisy, model):
    copy = template(model)
    assert (copy.loss, copy.solver.penalty) == (model.loss_, model.penalty_)
    assert template(clone(model)).loss == "auto"
    best = fit_best(clone(model), noisy.train, [], 2, np.random.default_rng(0))
    assert best.loss_ == model.loss_


@pytest.mark.parametrize("d", [1, 3])
def test_nothing_is_chosen_in_one_dimension_or_from_hardly_any_answers(d):
    few = Comparisons([[0, 1, 2], [1, 2, 3]])
    assert OrdinalEmbedding(d, loss="auto", random_state=0).fit(few).loss_ == TSTELoss().resolve(d)
    assert choose_loss(few, d) == FIXED


def test_nothing_is_chosen_for_very_many_objects_and_blocks_are_refused(noisy, tmp_path):
    rows = np.arange(2 * CHOICE.most_objects)
    many = Comparisons(np.column_stack([rows, np.roll(rows, 1), np.roll(rows, 2)]))
    assert choose_loss(many, 2) == FIXED
    np.save(tmp_path / "answers.npy", noisy.train.index)
    with pytest.raises(ValueError, match="loss: got 'auto', which needs the comparisons in memory"):
        OrdinalEmbedding(2, loss="auto", random_state=0).fit(tmp_path / "answers.npy")


def test_with_reliability_lapses_are_those_of_participants():
    data = study(0.1, per_object=40)
    people = np.arange(len(data.train)) % 4
    given = Comparisons(data.train.index, participants=people)
    model = OrdinalEmbedding(3, loss="auto", reliability=True, random_state=0).fit(given)
    assert model.loss_ == STELoss()
    assert len(model.reliability_.guesses) == 4


def test_parameters_of_no_loss_are_refused(noisy):
    with pytest.raises(ValueError, match=r"loss_params: got \{'alpha': 2\} and loss='auto'"):
        OrdinalEmbedding(2, loss="auto", loss_params={"alpha": 2}).fit(noisy.train)
