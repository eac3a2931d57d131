"""`evaluate` and `write_report` in one call: the figures of a map, and what a page makes of them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import nearer
from nearer import Comparisons, OrdinalEmbedding
from nearer.metrics import calibration, log_loss
from nearer.reports import Report, describe
from nearer.reports.sentences import scores_line
from nearer.selection import Evaluation, Interrupted, cross_validate_dimensions, evaluate
from nearer.selection.evaluate import calibrate, figures_of, score_map
from nearer.selection.thresholds import GAIN_OF_ALL, default_folds, default_resamples, why_no_folds
from nearer.warning_types import InputWarning

LABELS = [f"obj{number:02d}" for number in range(12)]
evaluated = partial(evaluate, bootstrap=0)


@pytest.fixture(scope="module")
def answers():
    points = np.random.default_rng(5).normal(size=(12, 2))
    return Comparisons.from_points(points, 400, random_state=1, noise=0.1, labels=LABELS)


@pytest.fixture(scope="module")
def model(answers):
    return OrdinalEmbedding(2, loss="ste", random_state=0).fit(answers)


def test_one_call_makes_every_study_and_writes_the_page(model, answers, tmp_path):
    path = tmp_path / "report.html"
    made = nearer.write_report(
        model, answers, path, title="Twelve", groups=["a", "b"] * 6, cv=2, dims=range(1, 3), learning_curve=True,
        bootstrap=3, facts={"Note": "by hand"},
    )  # fmt: skip
    assert isinstance(made, Report)
    assert path.read_text(encoding="utf-8") == made.html()
    for title in ("How many dimensions?", "Would more answers help?", "Answers the map contradicts", "by hand"):
        assert title in made.html()
    assert made.covariances.shape == (12, 2, 2)
    assert made.dimensions["n_components"] == [1, 2]
    assert made.evaluation.training == model.score(answers)
    assert made.facts["Cross-validation"] == "2 folds"
    with pytest.raises(FileExistsError):
        nearer.write_report(model, answers, path, cv=0, bootstrap=0)
    assert nearer.write_report(model, answers, path, cv=0, bootstrap=0, title="Again", force=True).title == "Again"
    assert "<title>Again</title>" in path.read_text(encoding="utf-8")


def test_what_fit_takes_is_taken_and_names_are_matched(model, answers):
    shuffled = Comparisons(answers.index, 12, labels=LABELS).relabelled(LABELS[::-1])
    assert evaluated(model, shuffled, cv=0).training == evaluated(model, cv=0).training == model.score(answers)
    bare = OrdinalEmbedding(2, random_state=0).fit(answers.index)
    assert evaluated(bare, answers.index, cv=0).training == bare.score(answers.index)


def test_objects_that_are_not_on_the_map_are_refused(model):
    strange = Comparisons([[0, 1, 2], [0, 3, 2]], labels=["obj00", "obj01", "x", "y"])
    with pytest.raises(ValueError, match="comparisons: got 2 objects that are not on the map"):
        nearer.write_report(model, strange, cv=0)


def test_a_map_without_answers_has_what_its_history_says(answers):
    from nearer.solvers import LBFGS

    model = OrdinalEmbedding(2, solver=LBFGS(record_error=True), random_state=0).fit(answers)
    expected = model.score(answers)
    del model.comparisons_
    found = evaluate(model)
    assert found == Evaluation(training=found.training)
    assert found.training == pytest.approx(expected)
    assert found.check is None
    assert describe(model, evaluation=found).violations is None


def test_cross_validation_is_that_of_the_library(model, answers):
    found = evaluated(model, answers, cv=3)
    expected = cross_validate_dimensions(model, answers, [2], n_folds=3, random_state=0)
    assert found.held_out == expected.accuracy[0]
    assert found.fold_accuracy == tuple(expected.fold_accuracy[:, 0].tolist())
    gain = GAIN_OF_ALL * (found.training - found.held_out)
    half = 1.95996 * np.hypot(expected.sampling_se[0], gain)
    assert (found.held_out_low + found.held_out_high) / 2 == pytest.approx(found.held_out + gain)
    assert (found.held_out_high - found.held_out_low) / 2 == pytest.approx(half, rel=1e-4)
    again = Evaluation(**figures_of(json.loads(json.dumps(found.summary()))))
    assert again == replace(found, check=None, bootstrap=None)


def test_regions_are_found_by_default_where_they_take_seconds(model, answers):
    assert len(evaluate(model, answers, cv=0).bootstrap.samples) == default_resamples(answers, "auto", False) > 50
    assert evaluate(model, answers, cv=0, bootstrap=0).bootstrap is None
    many = Comparisons(np.tile(answers.index, (60, 1)))
    wide = Comparisons(answers.index, 600)
    slow = [(many, "auto", False), (wide, "auto", False), (answers, "sgd", False), (answers, "auto", True)]
    assert [default_resamples(*given) for given in slow] == [0] * 4


def test_the_interval_is_wider_where_people_differ(model, answers):
    """Of eight people two answer at random: the accuracy of other people is less certain than that of other answers."""
    rng = np.random.default_rng(0)
    who = np.arange(400) % 8
    mixed = answers.flipped((who < 2) & (rng.random(400) < 0.5))
    people = Comparisons(mixed.index, 12, labels=LABELS, participants=who)
    alone, known = (evaluated(model, data, cv=5, people=False) for data in (mixed, people))
    assert known.held_out == alone.held_out
    assert known.held_out - known.held_out_low > 1.5 * (alone.held_out - alone.held_out_low)


def test_one_dimension_has_one_figure_on_held_out_answers(model, answers):
    found = evaluated(model, answers, cv=2, dims=(1, 2))
    assert found.held_out == found.dimensions.accuracy[1]
    assert found.fold_accuracy == tuple(found.dimensions.fold_accuracy[:, 1].tolist())
    assert evaluated(model, answers, cv=0, dims=(1, 2)).held_out is None


def test_what_is_satisfied_and_what_is_contradicted_make_up_all_answers(model, answers):
    counts = np.stack([np.arange(400) % 7 + 1, np.arange(400) % 3], axis=1)
    votes = Comparisons.from_answers(answers.index, counts, n_objects=12, labels=LABELS)
    found = evaluated(model, votes, cv=0)
    made = describe(model, votes, found)
    violations = made.violations
    assert violations.n_violated / violations.n_comparisons + found.training == pytest.approx(1)
    assert violations.n_comparisons == found.check.n_answers == votes.weights.sum()
    assert score_map(model, votes)["weight_satisfied"] == violations.n_comparisons - violations.n_violated
    assert made.subtitle.startswith(f"{votes.weights.sum():,.0f} answers to ")


@pytest.mark.parametrize(("n_comparisons", "folds"), [(49, 0), (50, 5), (200_000, 5), (200_001, 0)])
def test_cross_validation_is_done_unasked_where_it_tells_and_is_quick(n_comparisons, folds):
    assert default_folds(Comparisons(np.tile([[0, 1, 2]], (n_comparisons, 1)))) == folds


def test_why_no_accuracy_on_new_answers_is_known_is_said(model, answers):
    found = evaluated(model, answers[:49])
    assert found.held_out is None
    assert "49" in found.declined
    assert found.declined in scores_line(found)
    assert replace(Evaluation(), **figures_of(found.summary())).declined == found.declined
    assert evaluated(model, answers[:50]).declined == ""
    assert evaluated(model, answers[:49], cv=0).declined == ""  # as was asked for
    assert "200,001" in why_no_folds(Comparisons(np.tile([[0, 1, 2]], (200_001, 1))))
    votes = Comparisons.from_answers([[0, 1, 2]], [[60, 40]])
    assert "2 comparisons" in why_no_folds(votes)


def test_a_study_that_cannot_be_made_is_left_out(model, answers):
    few = answers[:6]
    with pytest.warns(InputWarning, match="cross-validation"):
        found = evaluate(model, few, cv=20)
    assert found.held_out is None
    assert found.training == model.score(few)


def test_studies_are_announced_and_an_interrupt_keeps_those_before(model, answers, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    said = []
    people = Comparisons(answers.index, 12, labels=LABELS, participants=["ann", "ben"] * 200)
    monkeypatch.setattr(sys.modules["nearer.selection.evaluate"], "resample", interrupted)
    with pytest.raises(Interrupted) as stopped:
        evaluate(model, people, dims=(1, 2), learning_curve=True, bootstrap=2, people=True, progress=said.append)
    assert said == [
        "accuracy by dimension: 1, 2",
        "learning curve: 10 repeats",
        "bootstrap: 2 resamples by participant",
    ]
    found = stopped.value.found
    assert found.held_out == found.dimensions.accuracy[1]
    assert found.learning_curve is not None
    assert (found.bootstrap, found.people) == (None, None)


def test_scores_are_those_of_the_metrics(model, answers):
    known = calibration(model.embedding_, answers, model.loss_)
    assert score_map(model, answers) == {
        "accuracy": model.score(answers), "n_comparisons": 400, "n_satisfied": model.predict(answers).sum(),
        "loss": "ste", "log_loss": log_loss(model.embedding_, answers, model.loss_), "calibration_error": known.ece,
    }  # fmt: skip
    np.testing.assert_array_equal(calibrate(model, answers).count, known.count)
    without = score_map(OrdinalEmbedding(2, loss="soe", random_state=0).fit(answers), answers)
    assert set(without) == {"accuracy", "n_comparisons", "n_satisfied"}


def single_questions(n_people, people=True):
    """Each of 12 objects is the anchor of one question, asked of everybody: held out, it has no position left."""
    rng = np.random.default_rng(0)
    questions = np.array([[k, *rng.choice(np.arange(12, 18), 2, replace=False)] for k in range(12)])
    index = np.tile(questions, (n_people, 1))
    who = np.repeat(np.arange(n_people), len(questions)) if people else None
    return Comparisons(index, participants=who)


def test_folds_are_those_that_can_be_evaluated():
    data = single_questions(8)
    model = OrdinalEmbedding(1, random_state=0).fit(data)
    found = evaluated(model, data, people=False)
    assert (found.folds_by, found.n_unplaced) == ("participant", 0)
    assert found.held_out == 1
    for options in ({"cv_by": "question"}, {"comparisons": single_questions(8, people=False)}):
        with pytest.warns(InputWarning, match="cross-validation left out: .* no map made without them"):
            found = evaluated(model, **{"comparisons": data, "people": False} | options)
        assert (found.held_out, found.fold_accuracy) == (None, ())
        assert "100% of the held-out answers name an object" in found.declined
        assert replace(Evaluation(), **figures_of(found.summary())).declined == found.declined


def test_held_out_answers_that_no_map_can_predict_are_counted_apart(model, answers):
    alone = Comparisons([[12, 0, 1], [13, 2, 3], [13, 2, 3]], labels=[*LABELS, "new", "rare"])
    both = Comparisons(np.concatenate([answers.index, alone.index]), labels=alone.labels)
    found = evaluated(OrdinalEmbedding(2, loss="ste", random_state=0).fit(both), people=False)
    assert (found.folds_by, found.n_unplaced) == ("question", 3)
    assert 0.7 < found.held_out < 1
    assert figures_of(found.summary())["n_unplaced"] == 3


def test_figures_of_answers_with_several_comparisons_are_by_answer():
    points = np.random.default_rng(1).normal(size=(10, 2))
    sets = np.array([np.random.default_rng(k).choice(10, 3, replace=False) for k in range(150)])
    apart = np.linalg.norm(points[sets][:, :, None] - points[sets][:, None], axis=-1).sum(axis=2)
    central = sets[np.arange(150), apart.argmin(axis=1)]
    central[::5] = sets[::5, 0]  # some careless answers
    data = Comparisons.from_most_central(sets, central)
    model = OrdinalEmbedding(2, random_state=0).fit(data)
    found = evaluated(model, data, people=False)
    near, far = (np.linalg.norm(np.diff(model.embedding_[data.index[:, [0, k]]], axis=1)[:, 0], axis=1) for k in (1, 2))
    assert found.training == pytest.approx((near < far).reshape(-1, 2).all(axis=1).mean())
    assert found.training < model.score(data)
    assert found.held_out < model.score(data) - 0.05
    assert figures_of(found.summary())["chance"] == found.chance == pytest.approx(1 / 3)
