"""The paragraph for a paper: a map, its evaluation and a summary in, sentences out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from nearer import Comparisons, __version__
from nearer.check import check
from nearer.losses import loss_names
from nearer.reports.methods import bibliography, methods_paragraph, references
from nearer.selection import Evaluation

FIT = (
    "The objects were placed in 2 dimensions by t-distributed stochastic triplet embedding (van der Maaten & "
    f"Weinberger, 2012), computed with nearer {__version__} (1 random start, seed 0)."
)
ONE = check(Comparisons([[0, 1, 2]], 21, participants=["ann"]))


def a_map(n_objects=21, d=2, loss="tste", n_init=1, seed=0):
    """What the paragraph reads from a fitted estimator."""
    return SimpleNamespace(
        n_objects_=n_objects, embedding_=np.zeros((n_objects, d)), loss_=SimpleNamespace(name=loss), n_init=n_init,
        random_state=seed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "summary", "text"),
    [
        ({}, {}, ""),
        (
            {},
            {"dimensions": {"n_components": [1, 2, 3], "chosen": 2}},
            " Of 1, 2, 3 dimensions, this is the smallest number that no larger one beats in the prediction of "
            "held-out answers.",
        ),
        (
            {},
            {"dimensions": {"n_components": [1, 2, 3], "chosen": 3}},
            " Of 1, 2, 3 dimensions, 3 is the smallest number that no larger one beats in the prediction of held-out "
            "answers; a map of 2 is shown for [give your reason].",
        ),
        (
            {
                "training": 0.9, "held_out": 0.85, "held_out_low": 0.84, "held_out_high": 0.86,
                "fold_accuracy": (0.85,) * 5,
            },
            {},
            " The map satisfies 90.0 % of the answers and 85.0 % (95 % interval 84.0 to 86.0 %) of held-out answers in "
            "5-fold cross-validation, in which all answers to a question were held out together.",
        ),
        (
            {"ceiling": 0.9, "ceiling_low": 0.8},
            {"bootstrap": {"n_resamples": 1000, "by": "participant"}},
            " By the agreement of answers to repeated questions, the best possible accuracy is 80.0 to 90.0 %. Regions "
            "of uncertainty (90 %) are from 1,000 bootstrap resamples of participants.",
        ),
        (
            {"ceiling": 0.9, "ceiling_questions": 7},
            {},
            " By the agreement of answers to 7 repeated questions, the best possible accuracy is 90.0 %.",
        ),
    ],
)  # fmt: skip
def test_paragraph(figures, summary, text):
    found = methods_paragraph(a_map(), Evaluation(**figures), summary)
    assert found == f"Comparisons of 21 objects were collected. {FIT}{text}"


def test_answers_are_counted():
    found = methods_paragraph(a_map(), Evaluation(check=ONE), {})
    assert found == f"We collected 1 answer from 1 participant to 1 question about 21 objects. {FIT}"


@pytest.mark.parametrize("loss", loss_names())
def test_every_loss_is_cited(loss):
    found = methods_paragraph(a_map(3, 1, loss, 2, None), Evaluation(), {})
    assert "placed in 1 dimension by" in found
    assert "(2 random starts)." in found
    assert len(references(loss)) == 2
    assert bibliography(loss).count("@") == 2


def test_a_custom_loss_is_named():
    found = methods_paragraph(a_map(3, 1, "mine"), Evaluation(), {})
    assert "by an ordinal embedding with the loss mine, computed" in found
    assert len(references("mine")) == 1
    assert bibliography("mine").startswith("@software{nearer,")
