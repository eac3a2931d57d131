"""The paragraph for a paper: a map, its evaluation and a summary in, sentences out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from nearer import Comparisons, __version__
from nearer.check import check
from nearer.data import Flow, LeftOut
from nearer.losses import loss_names
from nearer.reports.methods import bibliography, methods_paragraph, references
from nearer.selection import Evaluation

# Four people, one of them excluded, a check that was passed and one that was failed, and a trial without an answer.
FLOW = Flow(12, 4, 1, 1, 0, (LeftOut({"gave fewer than 2 answers": 1}, 1, 1.0),), {"no answer": 1.0})
ASKED = Comparisons.from_odd_one_out([[0, 1, 2]] * 8, [2] * 8, n_objects=21, participants=list("abcabcab"))
ANSWERS = ASKED.replaced(flow=FLOW)


def a_map(loss="tste", n_init=1, seed=0, **more):
    """What the paragraph reads from a fitted estimator."""
    values = {"n_objects_": 21, "embedding_": np.zeros((21, 2)), "loss_": SimpleNamespace(name=loss), **more}
    return SimpleNamespace(**values, n_init=n_init, random_state=seed)


def test_paragraph():
    figures = {"training": 0.9, "held_out": 0.85, "held_out_low": 0.84, "held_out_high": 0.86}
    ceiling = {"ceiling": 0.9, "ceiling_low": 0.8, "ceiling_questions": 700}
    given = {"check": check(ANSWERS), "chance": 1 / 3, "n_unplaced": 2.0}
    found = Evaluation(**figures, **ceiling, **given, fold_accuracy=(0.85,) * 5)
    dimensions = {"n_components": [1, 2, 3], "chosen": 2, "accuracy": [0.7, 0.8, 0.85]}
    summary = {"dimensions": dimensions, "bootstrap": {"n_resamples": 1000, "by": "participant"}}
    assert methods_paragraph(a_map(comparisons_=ANSWERS), found, summary) == (
        "12 trials were collected from 4 participants; the question was which of three objects is the odd one out. 2 "
        "answers were attention checks, of which 1 passed and 1 failed. 1 participant (1 answer) was excluded by these "
        "rules: 1 gave fewer than 2 answers. 1 trial was not used: 1 (no answer). Analysed were 8 answers to 1 "
        "question about 21 objects, by 3 participants, which give 16 comparisons. The objects were placed in 2 "
        "dimensions by t-distributed stochastic triplet embedding (van der Maaten & Weinberger, 2012), computed with "
        f"nearer {__version__} (1 random start, seed 0). Of 1, 2, 3 dimensions, this is the smallest number that no "
        "larger one clearly beats on held-out answers (by 2.5 standard errors in likelihood and half a point in "
        "accuracy), by maps of the softplus loss made for this comparison."
        " Maps of 3 dimensions satisfy more held-out answers (85.0 %). The map satisfies 90.0 % of the answers and 85.0"
        " % of held-out answers (5-fold cross-validation, 95 % interval 84.0 to 86.0 %), in which all answers to a "
        "question were held out together (chance level 33.3 %). An answer is satisfied if all of its comparisons are. "
        "Of the "
        "held-out answers, 2 were left out: they name an object that no other answer names. By the agreement of "
        "answers to 700 repeated questions, the best possible accuracy lies between about 80 % and 90 %. Regions of "
        "uncertainty (90 %) are from 1,000 bootstrap resamples of participants."
    )
    summary = {"dimensions": dimensions | {"chosen": 3}}
    text = methods_paragraph(a_map(), found, summary)
    assert "a map of 2 is shown for [give your reason]. More dimensions were not tried." in text
    assert " set in advance" not in methods_paragraph(a_map(comparisons_=ANSWERS), found, summary)
    nobody = LeftOut({"gave fewer than 2 answers": 0, "guessed": 0}, 0, 0.0, preregistered=True)
    text = methods_paragraph(a_map(comparisons_=ASKED.replaced(flow=replace(FLOW, excluded=(nobody,)))), found, {})
    assert all(words in text for words in ("set in advance", *nobody.rules))


def test_what_was_done_otherwise_is_said():
    excluded = replace(FLOW.excluded[0], preregistered=True)
    answers = ANSWERS[:8].replaced(flow=replace(FLOW, excluded=(excluded,), rows={"not selected (where)": 5}))
    by_people = {"training": 0.9, "held_out": 0.8, "fold_accuracy": (0.8,) * 5, "folds_by": "participant"}
    weighed = a_map(comparisons_=answers, reliability_=SimpleNamespace())
    text = methods_paragraph(weighed, Evaluation(check=check(answers), **by_people), {})
    assert "excluded by rules set in advance" in text
    assert "not counted: 5 (not selected (where))" in text
    assert "Analysed were 4 answers to 1 question about 21 objects, by 3 participants (of 8 that were left)" in text
    assert "answers of a participant were held out" in text
    assert "Answers were weighted by" in text
    declined = Evaluation(training=0.9, declined="comparisons: 95% of the held-out answers name an object", check=None)
    assert "new answers is not reported: 95% of the" in methods_paragraph(weighed, declined, {})


def test_groups_that_were_never_compared_with_each_other_are_said():
    apart = Comparisons([[0, 1, 2], [1, 0, 2], [2, 0, 1], [3, 4, 5], [4, 3, 5]])
    text = methods_paragraph(a_map(comparisons_=apart), Evaluation(check=check(apart)), {})
    assert "fall into 2 groups that were never compared with each other (2 answers to questions about the" in text
    apart = apart[:3]
    assert "groups" not in methods_paragraph(a_map(comparisons_=apart), Evaluation(check=check(apart)), {})


@pytest.mark.parametrize("loss", [*loss_names(), "mine"])
def test_every_loss_is_named_and_cited(loss):
    found = methods_paragraph(a_map(loss, 2, None), Evaluation(), {})
    assert found.startswith("Comparisons of 21 objects were collected.")
    assert found.endswith("(2 random starts).")
    assert ("by an ordinal embedding with the loss mine, computed" in found) == (loss == "mine")
    assert len(references(loss)) == bibliography(loss).count("@") == (1 if loss == "mine" else 2)
