"""Studies whose participants differ, or do not."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_people import answers_of


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(25, 2)) * 1.5


@pytest.fixture(scope="module")
def differing():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20, 2)) * 1.5
    W = np.exp(0.9 * rng.normal(size=(24, 2)))
    W /= W.mean(axis=0)
    data = answers_of(X, 24, 90, rng, weights=W)
    return data, answers_of(X, 24, 150, rng, weights=W), W
