"""What must be refused, or told, instead of failing in silence or taking the memory of the machine."""

from __future__ import annotations

import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from nearer import Comparisons, OrdinalEmbedding, machine
from nearer.metrics import log_loss
from nearer.solvers import GD, LBFGS, SGD, SVRG, Auto, Constant
from nearer.warning_types import ConvergenceWarning

T = [[0, 1, 2], [1, 2, 0]]


@pytest.fixture(scope="module")
def data():
    points = np.random.default_rng(0).normal(size=(20, 2))
    return Comparisons.from_points(points, 1_000, random_state=0)


# ---- memory --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [{"n_components": 10**12}, {"n_init": 10**12}, {"n_objects": 2 * 10**9}])
def test_a_map_that_cannot_fit_is_refused(wanted, monkeypatch):
    monkeypatch.setattr(machine, "_of_machine", lambda: 20 * 10**9)
    with pytest.raises(ValueError, match=r"fit: n_objects = .*needs about .* are free; ask for fewer"):
        OrdinalEmbedding(**wanted).fit(T)


def test_memory_is_the_least_of_all_limits(monkeypatch):
    for place, size in (("_of_machine", 3_000), ("_of_container", 2_000), ("_of_process", None)):
        monkeypatch.setattr(machine, place, lambda *_, size=size: size)
    assert machine.available_memory() == 2_000
    machine.check_memory(2_000, "it", "")
    with pytest.raises(ValueError, match=r"it: needs about 2\.0 kB, and 2\.0 kB are free; do less"):
        machine.check_memory(2_001, "it", "do less")


# ---- fits that fail ------------------------------------------------------------------------------------------------


LONG = [{"loss": loss, "solver": solver} for loss in ("tste", "ste", "ckl", "hinge", "soe")
        for solver in (SGD(step=1e8), SVRG(step=Constant(1e8)))]  # fmt: skip
IN_ONE_PLACE = [{"solver": solver, "init": np.ones((20, 2))} for solver in (Auto(), LBFGS(), GD(), SVRG(), SGD())]


@pytest.mark.parametrize("given", [*LONG, *IN_ONE_PLACE])
def test_a_step_far_too_long_and_points_that_start_in_one_place_are_reported(data, given):
    with pytest.warns(ConvergenceWarning):
        found = OrdinalEmbedding(2, random_state=0, **given).fit(data).result_
    assert not found.converged
    assert found.trouble
    assert found.message.startswith("stopped: all points started in one place" if "init" in given else "stopped: ")


@pytest.mark.parametrize("solver", [Auto(), LBFGS(), SVRG()])
def test_a_good_fit_and_one_of_answers_that_contradict_each_other_warn_of_nothing(data, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OrdinalEmbedding(2, solver=solver, random_state=0).fit(data).result_.trouble == ""
        assert OrdinalEmbedding(2, solver=solver, random_state=0).fit([[0, 1, 2], [0, 2, 1]]).result_.trouble == ""


# ---- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OrdinalEmbedding(solver=Auto(penalty=Decimal(1))).fit(T), "penalty: got .*, expected a number"),
        (lambda: OrdinalEmbedding(solver=SGD(step=Decimal(1))).fit(T), "step: got Decimal"),
        (lambda: Comparisons(T).relabelled(None), "relabelled: got None, expected labels"),
        (lambda: log_loss(np.zeros((3, 2)), T, None), "unknown loss None; expected one of"),
        (lambda: OrdinalEmbedding(solver=GD(output=pd.NA), init=np.eye(4, 2)).fit(T), "output: got <NA>, expected"),
        (lambda: OrdinalEmbedding().fit(T, sample_weight=np.ma.masked_array([1, 2], mask=[0, 1])), "masked"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_rows_in_another_byte_order_are_refused_without_harm():
    """With NumPy 2.0 a few hundred such refusals ended the process, or made 12 larger than 12."""
    for _ in range(500):
        with pytest.raises(ValueError, match=r"row 1 is \(-1, 1, 5\)"):
            Comparisons(np.array([[1, 5, 4], [-1, 1, 5]], dtype=">i4"))


def test_the_callers_arrays_may_change_afterwards(data):
    index, weights = data.index.copy(), np.linspace(1, 2, len(data))
    series = pytest.importorskip("pandas").Series(weights)
    model = OrdinalEmbedding(2, random_state=0).fit(index, sample_weight=series)
    before = model.score(model.comparisons_)
    index += 10**8
    series[:] = np.nan
    weights[:] = np.nan
    assert model.score(model.comparisons_) == before


# ---- files that change, cells without measure ----------------------------------------------------------------------


def test_one_long_name_costs_its_length_once(tmp_path):
    path = tmp_path / "a.csv"
    rows = ["anchor,near,far,participant", *["a,b,c,x"] * 200_000, "a,c,b," + "y" * 10_000]
    path.write_text("\n".join(rows) + "\n")
    code = f"""
import resource
from nearer import OrdinalEmbedding, read_comparisons
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(read_comparisons({str(path)!r}).comparisons) == 200_001
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
"""
    subprocess.run([sys.executable, "-c", code], check=True)
