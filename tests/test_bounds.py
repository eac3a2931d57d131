"""`make bounds`: kernels with every index checked, once compiled with checks and once as plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core import config

from nearer import kernels

pytestmark = pytest.mark.skipif(
    not (config.BOUNDSCHECK or config.DISABLE_JIT), reason="kernels without checks of their indices: see `make bounds`"
)


@pytest.mark.parametrize("row", [(0, 1, 3), (0, 1, 2, 3)])
def test_an_object_outside_is_noticed(row):
    index, X, nothing = np.array([row], dtype=np.int32), np.ones((3, 2)), np.empty(0)
    calls = {
        "value_block": (index, nothing, 0, 0.0, 0.0, X, 0, 1),
        "gradient_block": (index, nothing, 0, 0.0, 0.0, X, 0, 1, np.zeros_like(X), nothing, nothing),
        "satisfied_block": (index, nothing, X, 0, 1),
        "sgd_pass": (index, nothing, 0, 0.0, 0.0, X, 0.1, 0.0, 1.0, 1, 0, 5),
    }
    for name, arguments in calls.items():
        with pytest.raises(IndexError):
            getattr(kernels, name)(*arguments)


def test_a_row_beyond_the_comparisons_is_noticed():
    index, X = np.array([[0, 1, 2]], dtype=np.int32), np.ones((3, 2))
    with pytest.raises(IndexError):
        kernels.value_block(index, np.empty(0), 0, 0.0, 0.0, X, 0, 2)
