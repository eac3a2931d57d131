"""The paragraph for a paper: figures in, sentences out."""

from __future__ import annotations

import pytest

from nearer import __version__
from nearer.losses import loss_names
from nearer.reports.methods import Figures, bibliography, methods_paragraph, references

BARE = Figures(21, 2, "tste", 1, 0)
FIT = (
    "The objects were placed in 2 dimensions by t-distributed stochastic triplet embedding (van der Maaten & "
    f"Weinberger, 2012), computed with nearer {__version__} (1 random start, seed 0)."
)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({}, "Comparisons of 21 objects were collected. " + FIT),
        (
            {"n_answers": 1.0, "n_questions": 1, "n_people": 1},
            "We collected 1 answer from 1 participant to 1 question about 21 objects. " + FIT,
        ),
        (
            {"n_answers": 9300.0, "n_questions": 1200},
            "We collected 9,300 answers to 1,200 distinct questions about 21 objects. " + FIT,
        ),
        (
            {"dims_tried": (1, 2, 3), "chosen": 2},
            f"Comparisons of 21 objects were collected. {FIT} Of 1, 2, 3 dimensions, this is the smallest number that "
            "no larger one beats in the prediction of held-out answers.",
        ),
        (
            {"dims_tried": (1, 2, 3), "chosen": 3},
            f"Comparisons of 21 objects were collected. {FIT} Of 1, 2, 3 dimensions, 3 is the smallest number that no "
            "larger one beats in the prediction of held-out answers; a map of 2 is shown for [give your reason].",
        ),
        (
            {"training": 0.9, "held_out": 0.85, "held_out_low": 0.84, "held_out_high": 0.86, "n_folds": 5},
            f"Comparisons of 21 objects were collected. {FIT} The map satisfies 90.0 % of the answers and 85.0 % (95 % "
            "interval 84.0 to 86.0 %) of held-out answers in 5-fold cross-validation, in which all answers to a "
            "question were held out together.",
        ),
        (
            {"ceiling": 0.9, "ceiling_low": 0.8, "n_resamples": 1000, "resampled_by": "participant"},
            f"Comparisons of 21 objects were collected. {FIT} By the agreement of answers to repeated questions, the "
            "best possible accuracy is 80.0 to 90.0 %. Regions of uncertainty (90 %) are from 1,000 bootstrap "
            "resamples of participants.",
        ),
        (
            {"ceiling": 0.9},
            f"Comparisons of 21 objects were collected. {FIT} By the agreement of answers to repeated questions, the "
            "best possible accuracy is 90.0 %.",
        ),
    ],
)
def test_paragraph(figures, said):
    assert methods_paragraph(Figures(21, 2, "tste", 1, 0, **figures)) == said


@pytest.mark.parametrize("loss", loss_names())
def test_every_loss_is_cited(loss):
    figures = Figures(3, 1, loss, 2, None)
    assert "placed in 1 dimension by" in methods_paragraph(figures)
    assert "(2 random starts)." in methods_paragraph(figures)
    assert len(references(figures)) == 2
    assert bibliography(figures).count("@") == 2


def test_a_loss_of_ones_own_is_named():
    figures = Figures(3, 1, "mine", 2, 1)
    assert "by an ordinal embedding with the loss mine, computed" in methods_paragraph(figures)
    assert len(references(figures)) == 1
    assert bibliography(figures).startswith("@software{nearer,")
