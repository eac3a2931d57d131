"""The benchmark of loss "auto": its studies are what they say, and its rows count what they say."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import auto_loss

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("study", [*auto_loss.MUST, *auto_loss.CHOSEN_ON, *auto_loss.ASIDE], ids=str)
def test_answers_are_wrong_as_often_as_stated(study):
    train, test = study.answers(0)
    assert len(test) == auto_loss.N_TEST
    assert len(train) == study.n * study.per_object
    again, _ = study.answers(0)
    assert again == train
    if not study.law:
        right = auto_loss.Study(study.shape, study.n, study.d, study.per_object).answers(0)[0]
        assert np.mean((train.index != right.index).any(axis=1)) == pytest.approx(study.wrong, abs=0.02)


def test_quick(capsys):
    auto_loss.main(["--quick"])
    told = capsys.readouterr().out
    assert "clouds, 60 objects" in told
    assert "| 100 | 2 | 20 |" in told
