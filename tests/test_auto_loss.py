"""Loss "auto": which loss, lapse rate and penalty are chosen from the answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import nearer
from nearer import Comparisons, OrdinalEmbedding, write_comparisons
from nearer.auto_loss import CHOICE, FIXED, choose_loss
from nearer.datasets import make_comparisons, make_points
from nearer.losses import STELoss, TSTELoss
from nearer.objective import LocalObjective
from nearer.refits import fit_best, template
from nearer.selection import cross_validate_dimensions
from nearer.solvers import Auto


def study(noise, n=40, d=3, per_object=60, seed=0):
    return make_comparisons(make_points(n, d, random_state=seed), n * per_object, 2_000, noise=noise, random_state=seed)


@pytest.fixture(scope="module")
def noisy():
    return study(0.1, seed=1)


@pytest.fixture(scope="module")
def model(noisy):
    return OrdinalEmbedding(3, loss="auto", random_state=0).fit(noisy.train)


def of_falling_spread():
    X = make_points(60, 5, random_state=0) * 2.0 ** -np.arange(5)
    return make_comparisons(X, 60 * 30, 2_000, random_state=0)


def choose(comparisons, d, n_jobs=None):
    objective = LocalObjective(comparisons, "tste", d, n_jobs)
    return choose_loss(objective, int(comparisons.seen.sum()), n_jobs)


def test_it_errs_at_most_half_as_often_as_tste(noisy, model):
    before = OrdinalEmbedding(3, loss="tste", random_state=0).fit(noisy.train)
    assert 1 - model.score(noisy.test) < 0.6 * (1 - before.score(noisy.test))
    clean = study(0.0)
    fitted, before = (OrdinalEmbedding(3, loss=loss, random_state=0).fit(clean.train) for loss in ("auto", "tste"))
    assert 1 - fitted.score(clean.test) < 0.5 * (1 - before.score(clean.test))
    assert fitted.loss_.lapse < 0.03


def test_what_was_chosen_is_kept(noisy, model, tmp_path):
    assert model.loss_.name == "ste"
    assert model.loss_.lapse == pytest.approx(0.2, abs=0.06)
    assert model.penalty_ is not None
    model.save(tmp_path / "m.nearer")
    again = nearer.load(tmp_path / "m.nearer")
    chosen = model.loss_, model.penalty_, model.scale_
    assert (again.loss, again.loss_, again.penalty_, again.scale_) == ("auto", *chosen)
    solver = Auto(penalty=model.penalty_, scale=model.scale_)
    named = OrdinalEmbedding(3, loss=model.loss_, solver=solver, random_state=0).fit(noisy.train)
    np.testing.assert_array_equal(named.embedding_, model.embedding_)
    assert named.penalty_ is None
    further = again.partial_fit(noisy.test[:50])
    assert (further.loss_, further.penalty_, further.scale_) == chosen
    assert model.predict_proba(noisy.test).min() > 0.05


def test_probabilities_are_calibrated_though_a_penalty_makes_maps_smaller():
    data = of_falling_spread()
    model = OrdinalEmbedding(5, loss="auto", random_state=0).fit(data.train)
    assert model.scale_ > 1
    small = model.from_embedding(model.embedding_ / model.scale_, loss=model.loss_)
    assert log_loss(model.predict_proba(data.test)[:, 1]) < log_loss(small.predict_proba(data.test)[:, 1]) - 0.01


def log_loss(chance):
    return -np.log(chance).mean()


def test_the_choice_depends_on_the_answers_alone(noisy):
    assert choose(noisy.train, 3, n_jobs=1) == choose(noisy.train, 3, n_jobs=2)
    spread = Comparisons(2 * noisy.train.index + 1)  # every other object occurs in no answer
    fitted = OrdinalEmbedding(3, loss="auto", random_state=1).fit(spread)
    expected = choose(noisy.train, 3)
    assert (fitted.loss_, fitted.penalty_, fitted.scale_) == expected


@pytest.mark.parametrize("per_object", [50, 120])  # all answers are used, or a sample
def test_the_choice_does_not_depend_on_where_the_answers_are(per_object, tmp_path, client_here, monkeypatch):
    monkeypatch.setattr("nearer.io.blocks._SCAN_ROWS", 400)
    da = pytest.importorskip("dask.array")
    train = study(0.05, n=24, d=2, per_object=per_object).train
    np.save(tmp_path / "answers.npy", train.index)
    write_comparisons(tmp_path / "answers.parquet", train)
    ways = [(train, None), (tmp_path / "answers.npy", None), (tmp_path / "answers.parquet", None)]
    ways += [(train, client_here), (tmp_path / "answers.parquet", client_here)]
    ways += [(da.from_array(train.index, chunks=(170, 3)), client_here)]
    found = []
    for answers, client in ways:
        model = OrdinalEmbedding(2, loss="auto", random_state=0).fit(answers, client=client)
        found.append((model.loss_, model.penalty_, model.scale_))
    assert found == [choose(train, 2)] * len(ways)


def test_heavy_tailed_answers_get_the_heavy_tailed_loss():
    assert choose(of_falling_spread().train, 5).loss.name == "tste"


def test_studies_of_a_fitted_model_use_its_loss(noisy, model):
    copy = template(model)
    assert (copy.loss, copy.solver.penalty, copy.solver.scale) == (model.loss_, model.penalty_, model.scale_)
    assert template(clone(model)).loss == "auto"
    best = fit_best(clone(model), noisy.train, [], 2, np.random.default_rng(0))
    assert best.loss_ == model.loss_


def test_folds_choose_from_their_own_answers(noisy):
    """Held-out figures do not depend on what was chosen from all answers, the held-out ones included."""
    data = noisy.train[:900]
    fitted = OrdinalEmbedding(2, random_state=0).fit(data)
    fitted.loss_, fitted.penalty_ = STELoss(lapse=0.5), 1.0
    found = [cross_validate_dimensions(one, data, [2], random_state=0) for one in (fitted, OrdinalEmbedding(2))]
    np.testing.assert_array_equal(*(one.fold_accuracy for one in found))


@pytest.mark.parametrize("d", [1, 3])
def test_nothing_is_chosen_from_hardly_any_answers(d, noisy):
    few = Comparisons([[0, 1, 2], [1, 2, 3]])
    assert OrdinalEmbedding(d, loss="auto", random_state=0).fit(few).loss_ == TSTELoss().resolve(d)
    assert choose(few, d) == choose(noisy.train[:100], d) == FIXED


def test_nothing_is_chosen_for_very_many_objects():
    rows = np.arange(2 * CHOICE.most_objects)
    many = Comparisons(np.column_stack([rows, np.roll(rows, 1), np.roll(rows, 2)]))
    assert choose(many, 2) == FIXED


def test_a_penalty_of_the_solver_is_kept(noisy):
    model = OrdinalEmbedding(3, loss="auto", solver=Auto(penalty=0.2), random_state=0).fit(noisy.train)
    assert (model.penalty_, model.scale_) == (None, 1.0)
    same = OrdinalEmbedding(3, loss=model.loss_, solver=Auto(penalty=0.2), random_state=0).fit(noisy.train)
    np.testing.assert_array_equal(model.embedding_, same.embedding_)


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
