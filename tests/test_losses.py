"""Losses: hand-computed points, extremes, parameters, probabilities, conjugates."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import oracles
from nearer.losses import CKLLoss, HingeLoss, SOELoss, SoftplusLoss, STELoss, TSTELoss, get_loss, loss_names

LOG2 = math.log(2)
LAPSING = [STELoss(lapse=0.1), CKLLoss(lapse=1e-6), TSTELoss(4.0, lapse=0.9)]
MODELS = [STELoss(), CKLLoss(), CKLLoss(delta=2.0), TSTELoss(alpha=1.0), TSTELoss(alpha=9.0), *LAPSING]
EVERY = [*(get_loss(name).resolve(4) for name in loss_names()), CKLLoss(delta=2.0), TSTELoss(alpha=1.0), *LAPSING]


def _name(loss):
    return f"{loss.name}-{loss.param:g}-{_lapse(loss):g}"


def _lapse(loss):
    return getattr(loss, "lapse", 0.0)


@pytest.mark.parametrize(
    ("loss", "near", "far", "expected"),
    [
        (HingeLoss(), 2.0, 1.0, (2.0, 1.0, -1.0)),
        (HingeLoss(), 0.0, 1.0, (0.0, 0.0, 0.0)),  # on the kink: not active
        (CKLLoss(), 0.95, 2.95, (math.log(4 / 3), 1 / 4, -1 / 12)),
        (CKLLoss(delta=1.0), 3.0, 1.0, (math.log(3), 1 / 6, -1 / 3)),
        (STELoss(), math.log(3), 0.0, (math.log(4), 0.75, -0.75)),
        (TSTELoss(alpha=1.0), 1.0, 3.0, (math.log(1.5), 1 / 6, -1 / 12)),
        (TSTELoss(alpha=3.0), 1.0, 5.0, (math.log(1.25), 0.1, -0.05)),
        (SOELoss(), 4.0, 1.0, (4.0, 1.0, -2.0)),
        (SOELoss(), 0.0, 0.25, (0.25, 0.0, -1.0)),
        (SOELoss(), 0.0, 0.0, (1.0, 0.0, 0.0)),
        (SoftplusLoss(), 4 - 1e-6, 9 - 1e-6, (LOG2, 0.125, -1 / 12)),
        (SoftplusLoss(math.log(3)), 1 - 1e-6, 1 - 1e-6, (math.log(4), 0.375, -0.375)),
        (HingeLoss().smoothed(0.5), 0.25, 1.0, (0.0625, 0.5, -0.5)),
        (HingeLoss().smoothed(0.5), 1.0, 1.0, (0.75, 1.0, -1.0)),
        (HingeLoss().smoothed(0.5), 0.0, 2.0, (0.0, 0.0, 0.0)),
    ],
)
def test_hand_computed_points(loss, near, far, expected):
    assert tuple(float(a) for a in loss.terms(near, far)) == pytest.approx(expected, rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("loss", EVERY, ids=_name)
def test_extreme_distances_are_finite_and_exact(loss):
    sizes = [0.0, 1e-12, 1e-3, 1.0, 30.0, 1e3, 1e8]
    near, far = np.array(list(itertools.product(sizes, sizes))).T
    assert all(np.isfinite(a).all() for a in loss.terms(1e-300, [0.0, 1e-300, 1e300]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = loss.terms(near, far)
    expected = oracles.terms(loss.name, near, far, loss.param, _lapse(loss))
    assert all(np.isfinite(a).all() for a in got)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-12, atol=1e-15)
    for slope, right in zip(got[1:], expected[1:]):  # soe: a margin of 1e-6 is a difference of roots near 1
        np.testing.assert_allclose(slope, right, rtol=1e-9 if loss.name == "soe" else 1e-12, atol=1e-290)


@pytest.mark.parametrize("loss", EVERY, ids=_name)
def test_not_a_number_stays_visible(loss):
    value, _, _ = loss.terms([np.nan, 1.0], [1.0, np.nan])
    assert np.isnan(value).all()


@pytest.mark.parametrize("loss", MODELS, ids=_name)
def test_probabilities_of_both_answers_sum_to_one(loss):
    sizes = [0.0, 1e-12, 0.3, 1.0, 50.0, 1e3, 1e8]
    near, far = np.array(list(itertools.product(sizes, sizes))).T
    yes, no = loss.probability(near, far), loss.probability(far, near)
    assert yes.shape == near.shape
    np.testing.assert_allclose(yes + no, 1.0, rtol=1e-14)
    assert ((yes >= 0) & (yes <= 1)).all()
    assert (yes[near < far] >= 0.5).all()
    assert yes.min() >= _lapse(loss) / 2
    assert loss.probability(1.0, 1.0) == pytest.approx(0.5)


def test_names_aliases_and_parameters():
    assert loss_names() == oracles.LOSSES
    assert get_loss("gnmds") == HingeLoss()
    assert get_loss("logistic") == STELoss()
    assert get_loss("ckl", delta=0.2) == CKLLoss(delta=0.2)
    assert get_loss("softplus", margin=2) == SoftplusLoss(margin=2)
    ready = TSTELoss(alpha=2)
    assert get_loss(ready) is ready


@pytest.mark.parametrize(("n_components", "alpha"), [(1, 1.0), (2, 1.0), (3, 2.0), (10, 9.0)])
def test_alpha_follows_the_dimension(n_components, alpha):
    assert TSTELoss().resolve(n_components).param == alpha
    assert TSTELoss(alpha=4.0).resolve(n_components).param == 4.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: get_loss("tsne"), "unknown loss 'tsne'; expected one of: hinge, ckl"),
        (lambda: get_loss(3), "unknown loss 3"),
        (lambda: get_loss("ste", alpha=1.0), "loss 'ste' has no parameter alpha; its parameters: lapse"),
        (lambda: get_loss("ckl", alpha=1.0), "loss 'ckl' has no parameter alpha; its parameters: delta, lapse"),
        (lambda: get_loss(STELoss(), alpha=1.0), "together with a loss object"),
        (lambda: TSTELoss(alpha=0.0), "tste: alpha: got 0.0, expected a positive number"),
        (lambda: TSTELoss(alpha=np.inf), "tste: alpha: got inf, expected a positive number"),
        (lambda: TSTELoss(alpha=True), "got True"),
        (lambda: TSTELoss(alpha="1"), "got '1'"),
        (lambda: CKLLoss(delta=-1.0), "ckl: delta: got -1.0, expected a positive number"),
        (lambda: CKLLoss(delta=np.nan), "ckl: delta: got nan, expected a positive number"),
        (lambda: SoftplusLoss(margin=0.0), "softplus: margin: got 0.0, expected a positive number"),
        (lambda: STELoss(lapse=1.0), "ste: lapse: got 1.0, expected a number >= 0 and below 1"),
        (lambda: get_loss("tste", lapse=-0.1), "tste: lapse: got -0.1"),
        (lambda: get_loss("soe", lapse=0.1), "loss 'soe' has no parameter lapse; its parameters: none"),
        (lambda: TSTELoss().param, "alpha is not set"),
        (lambda: TSTELoss(alpha=1.0).dual(np.zeros(1)), "'tste' is not a convex function"),
        (lambda: HingeLoss().probability(1.0, 2.0), "'hinge' is not a probability model; use one of: ckl, ste, tste"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-3])
def test_smoothed_hinge_lies_just_below_the_hinge(width):
    far = np.linspace(0, 3, 301)
    exact, smooth = HingeLoss().terms(0.5, far)[0], HingeLoss().smoothed(width).terms(0.5, far)[0]
    assert (smooth <= exact + 1e-15).all()
    assert (exact - smooth <= width / 2 + 1e-15).all()


@pytest.mark.parametrize("loss", [HingeLoss(), STELoss()], ids=_name)
@pytest.mark.parametrize("slope", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_dual_is_the_smallest_gap_between_loss_and_line(loss, slope):
    z = np.linspace(-60.0, 60.0, 240_001)
    values = loss.terms(np.maximum(z, 0), np.maximum(-z, 0))[0]
    assert float(loss.dual(np.array(slope))) == pytest.approx(np.min(values - slope * z), abs=1e-6)


def test_the_steps_for_a_new_loss_name_what_exists():
    root = Path(__file__).resolve().parents[1]
    (row,) = re.findall(r"\| add a built-in loss \| (.*)", (root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    steps = {}
    for word in re.findall(r"`([^`]+)`", row):
        if "/" in word:
            steps[word] = names = []
        else:
            names.append(word)
    assert sum(map(len, steps.values())) >= 8
    for file, named in steps.items():
        text = (root / file).read_text(encoding="utf-8")
        for name in named:
            assert re.search(rf"^(def |class )?{name}\b", text, re.MULTILINE), f"{file} has no {name}"
