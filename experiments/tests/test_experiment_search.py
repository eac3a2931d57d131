"""Choosing settings: neighbours, the search until the best is inside, what is left on the edge."""

from __future__ import annotations

import math

import pytest
from experiments.search import search, untried

pytestmark = pytest.mark.tools


def around(best):
    """A bowl over the logarithms of step and inner, with its lowest point at `best`."""

    def attempt(points):
        return [
            {
                "loss": loss,
                "method": method,
                "settings": s,
                "value": sum(abs(math.log2(s[axis] / best[axis])) for axis in best),
            }
            for loss, method, s in points
        ]

    return attempt


def value(row):
    return row["value"]


def test_the_search_leaves_the_grid_until_its_best_point_is_inside():
    start = [("ste", "svrg", {"step": 1.0, "inner": 1.0}), ("tste", "svrg", {"step": 64.0, "inner": 0.25})]
    rows = search(start, around({"step": 32.0, "inner": 0.25}), [value], rounds=12)
    for loss in ("ste", "tste"):
        mine = [row for row in rows if row["loss"] == loss]
        best = min(mine, key=value)
        assert best["settings"] == {"step": 32.0, "inner": 0.25}
        assert untried(mine, best) == []


def test_a_search_that_is_cut_short_says_on_which_axes():
    rows = search(
        [("ste", "svrg", {"step": 1.0, "inner": 1.0})], around({"step": 32.0, "inner": 1.0}), [value], rounds=2
    )
    best = min(rows, key=value)
    assert best["settings"]["step"] == 4.0
    assert untried(rows, best) == ["step", "inner"]


def test_no_point_is_tried_twice_and_each_criterion_has_its_own_best():
    seen = []

    def attempt(points):
        seen.extend(tuple(s.values()) for _, _, s in points)
        return around({"relative_lam": 1.0})(points)

    rows = search([("ste", "cvx", {"relative_lam": 0.1})], attempt, [value, lambda row: -value(row)], rounds=4)
    assert len({f"{v:.4g}" for (v,) in seen}) == len(seen)
    assert (
        min(row["settings"]["relative_lam"] for row in rows)
        < 0.01
        < 1.0
        == pytest.approx(min(rows, key=value)["settings"]["relative_lam"])
    )
