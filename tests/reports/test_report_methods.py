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

ONE = check(Comparisons([[0, 1, 2]], 21, participants=["ann"]))


def a_map(loss="tste", n_init=1, seed=0):
    """What the paragraph reads from a fitted estimator."""
    values = {"n_objects_": 21, "embedding_": np.zeros((21, 2)), "loss_": SimpleNamespace(name=loss)}
    return SimpleNamespace(**values, n_init=n_init, random_state=seed)


def test_paragraph():
    figures = {"training": 0.9, "held_out": 0.85, "held_out_low": 0.84, "held_out_high": 0.86}
    ceiling = {"ceiling": 0.9, "ceiling_low": 0.8, "ceiling_questions": 700}
    found = Evaluation(**figures, **ceiling, fold_accuracy=(0.85,) * 5, check=ONE)
    dimensions = {"n_components": [1, 2, 3], "chosen": 2}
    summary = {"dimensions": dimensions, "bootstrap": {"n_resamples": 1000, "by": "participant"}}
    assert methods_paragraph(a_map(), found, summary) == (
        "We collected 1 answer to 1 question about 21 objects, by 1 participant. The objects were placed in 2 "
        "dimensions by t-distributed stochastic triplet embedding (van der Maaten & Weinberger, 2012), computed with "
        f"nearer {__version__} (1 random start, seed 0). Of 1, 2, 3 dimensions, this is the smallest number that no "
        "larger one beats in the prediction of held-out answers. The map satisfies 90.0 % of the answers and 85.0 % of "
        "held-out answers (5-fold cross-validation, 95 % interval 84.0 to 86.0 %), in which all answers to a question "
        "were held out together. By the agreement of answers to 700 repeated questions, the best possible accuracy is "
        "80.0 to 90.0 %. Regions of uncertainty (90 %) are from 1,000 bootstrap resamples of participants."
    )
    summary = {"dimensions": dimensions | {"chosen": 3}}
    assert "a map of 2 is shown for [give your reason]." in methods_paragraph(a_map(), found, summary)


@pytest.mark.parametrize("loss", [*loss_names(), "mine"])
def test_every_loss_is_named_and_cited(loss):
    found = methods_paragraph(a_map(loss, 2, None), Evaluation(), {})
    assert found.startswith("Comparisons of 21 objects were collected.")
    assert found.endswith("(2 random starts).")
    assert ("by an ordinal embedding with the loss mine, computed" in found) == (loss == "mine")
    assert len(references(loss)) == bibliography(loss).count("@") == (1 if loss == "mine" else 2)
