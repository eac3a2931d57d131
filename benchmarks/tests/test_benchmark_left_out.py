"""The benchmark of settings that are judged on a set they were not chosen on."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import left_out

pytestmark = pytest.mark.tools


@pytest.fixture
def made_up(monkeypatch):
    """Two sets: on "a" one design is better by far, on "b" and in simulations the other one by a little."""
    monkeypatch.setattr(left_out, "DESIGNS", dict.fromkeys(["as it is", "ckl as well"]))
    monkeypatch.setattr(left_out, "simulated", lambda n_studies: {"as it is": 0.0, "ckl as well": 0.01})

    def gains_on(name, d, n_splits):
        better = {"a": 0.5, "b": -0.02}[name]
        gains = {"as it is": np.full(4, better), "ckl as well": np.zeros(4)}
        yield gains | {"tste": np.full(4, 0.4)}, np.ones(4), np.arange(4)

    monkeypatch.setattr(left_out, "gains_on", gains_on)


def test_what_is_judged_on_a_set_was_chosen_on_the_others(made_up):
    of_a, of_b, mean = left_out.judged(["a", "b"], 1, 1)
    assert (of_a["chosen"], of_a["gain on tste"]) == ("ckl as well", 0.0)
    assert (of_b["chosen"], of_b["gain on tste"]) == ("as it is", pytest.approx(-2.0))
    assert of_a["best on this set"] == pytest.approx(50.0)
    assert of_a["over cblearn"] is None
    assert mean["gain on tste"] == pytest.approx(-1.0)


def test_a_quick_run(capsys):
    left_out.main(["--quick"])
    assert "| cars |" in capsys.readouterr().out
