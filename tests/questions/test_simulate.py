"""Simulated people, simulated studies, plans."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.questions import Crowd, plan_study, simulate_study

POINTS = np.random.default_rng(1).normal(size=(12, 2))


def likeness(law, scale, a, b):
    t = np.linalg.norm(POINTS[a] - POINTS[b])
    if law == "ste":
        return np.exp(-((scale * t) ** 2))
    return 1 / (1 + (scale * t) ** 2) if law == "tste" else t**-scale


@pytest.mark.parametrize("law", ["ste", "tste", "ratio"])
def test_people_answer_by_their_law(law):
    crowd = Crowd(POINTS, law, 1.5, lapse=0.2)
    question = np.array([[0, 1, 2]])
    near, far = likeness(law, 1.5, 0, 1), likeness(law, 1.5, 0, 2)
    p = 0.1 + 0.8 * near / (near + far)
    assert crowd.probability(question)[0] == pytest.approx(p)
    given = crowd.answer(np.repeat(question, 20_000, axis=0), "triplets", np.random.default_rng(0))
    assert (given.index[:, 1] == 1).mean() == pytest.approx(p, abs=0.015)


def test_the_odd_one_out_is_not_in_the_most_alike_pair():
    crowd = Crowd(POINTS, "tste", 2.0)
    sets = np.repeat([[3, 4, 5]], 20_000, axis=0)
    given = crowd.answer(sets, "odd-one-out", np.random.default_rng(0))
    assert len(given) == 40_000
    alike = np.array([likeness("tste", 2.0, *pair) for pair in ((4, 5), (3, 5), (3, 4))])
    shares = [(given.index[:, 2] == odd).mean() for odd in (3, 4, 5)]
    np.testing.assert_allclose(shares, alike / alike.sum(), atol=0.015)


def test_people_differ():
    crowd = Crowd(POINTS, "ste", 1.0, n_people=5, spread=1.5, random_state=0)
    rows = crowd.truth(25_000, np.random.default_rng(0))
    given = crowd.answer(rows.index, "triplets", np.random.default_rng(1))
    right = [(given.index[given.participants == k] == rows.index[k::5]).all(axis=1).mean() for k in range(5)]
    assert max(right) - min(right) > 0.1
    assert np.mean(right) == pytest.approx(crowd.probability(rows.index).mean(), abs=0.01)


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out"])
def test_a_study_knows_how_each_question_was_chosen(kind):
    crowd = Crowd(POINTS, "ste", 2.0)
    study = simulate_study(crowd, [90, 150], batch=30, in_flight=20, kind=kind, random_state=0)
    assert study.n_answers.tolist() == [90, 150]
    assert study.comparisons.n_answers >= 150
    assert len(study.comparisons) == study.comparisons.n_answers * (1 if kind == "triplets" else 2)
    assert set(study.comparisons.answers.chosen_by.names) == {"random", "predictive"}
    assert study.error[1] < 0.3
    again = simulate_study(crowd, [90, 150], batch=30, in_flight=20, kind=kind, random_state=0)
    assert (again.comparisons.index == study.comparisons.index).all()


def test_choosing_pays():
    rng = np.random.default_rng(0)
    errors = {"random": [], "auto": []}
    for seed in range(3):
        crowd = Crowd(rng.normal(size=(20, 2)), "ratio", 5.0)
        for strategy, found in errors.items():
            found.append(simulate_study(crowd, [500], strategy=strategy, batch=50, random_state=seed).error[-1])
    assert np.mean(errors["auto"]) < 0.8 * np.mean(errors["random"])


def test_a_plan_says_how_many_answers():
    plan = plan_study(10, wrong=0.1, target=0.8, n_runs=2, random_state=0)
    low, high = plan.range
    assert low <= plan.needed <= high
    assert plan.n_answers[0] <= plan.needed <= plan.n_answers[-1]
    assert "10 objects in 2 dimensions need about" in str(plan)
    assert (np.diff(plan.accuracy) >= 0).all()
    assert plan.to_dict().keys() == {"n_comparisons", "accuracy", "low", "high"}


def test_a_target_out_of_reach():
    plan = plan_study(5, wrong=0.3, target=0.999, n_runs=2, random_state=0)
    assert plan.needed == np.inf
    assert "need more than 30 answers" in str(plan)  # there are no more questions


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (Crowd, {"points": POINTS[:2]}, "points: got shape"),
        (Crowd, {"points": POINTS, "law": "gauss"}, "law: got 'gauss'"),
        (Crowd, {"points": POINTS, "scale": 0}, "scale: got 0"),
        (simulate_study, {"people": Crowd(POINTS), "checkpoints": [10], "kind": "pairs"}, "kind"),
        (plan_study, {"n_objects": 9, "n_components": 9}, "n_components: got 9"),
        (plan_study, {"n_objects": 9, "wrong": 0.5}, "wrong: got 0.5"),
        (plan_study, {"n_objects": 9, "target": 0.5}, "target: got 0.5"),
    ],
)
def test_wrong_arguments_are_refused(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**arguments)


def test_calibrated_people_err_as_often_as_asked():
    rng = np.random.default_rng(0)
    crowd = Crowd.calibrated(rng.normal(size=(12, 2)), 0.2, rng)
    assert abs(1 - crowd.probability(crowd.truth(5000, rng).index).mean() - 0.2) < 0.02
