"""Labels neither collide nor leave the picture."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer.plots.labels import arrange_labels

BOUNDS = (0.0, 0.0, 600.0, 400.0)


@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("n", [1, 2, 40, 600])
def test_no_label_meets_a_label_a_point_or_the_border(n, strip):
    rng = np.random.default_rng(n)
    points = rng.uniform((0, 0), (600, 400), (n, 2))
    if strip:
        points[:, 1] = 200
    widths = rng.uniform(10, 90, n)
    placed = arrange_labels(points, lambda i: (widths[i], 11.0), BOUNDS, radius=3.0, strip=strip)
    assert placed
    assert len({label.item for label in placed}) == len(placed)
    for one, other in itertools.combinations([np.array(label.box) for label in placed], 2):
        assert (one[:2] >= other[2:]).any() or (other[:2] >= one[2:]).any()
    for label in placed:
        low, high = np.array(label.box[:2]), np.array(label.box[2:])
        assert (low >= 0).all()
        assert (high <= BOUNDS[2:]).all()
        assert not ((points > low) & (points < high)).all(axis=1).any()


def test_leader_lines_cross_no_label():
    points = np.random.default_rng(3).normal((300, 200), 45, (60, 2))
    placed = arrange_labels(points, lambda i: (60.0, 11.0), BOUNDS, radius=3.0)
    leaders = [label for label in placed if label.leader is not None]
    assert leaders
    for label, other in itertools.product(leaders, placed):
        line = np.linspace(points[label.item], label.leader, 50)
        crossed = ((line > other.box[:2]) & (line < other.box[2:])).all(axis=1).any()
        assert other is label or not crossed


@pytest.mark.parametrize(("x", "box"), [(100.0, (104, 95, 144, 105)), (595.0, (551, 95, 591, 105))])
def test_a_lone_label_is_right_of_its_point_or_left_at_the_border(x, box):
    (label,) = arrange_labels(np.array([[x, 100.0]]), lambda i: (40.0, 10.0), BOUNDS, radius=2.5)
    assert label.leader is None
    assert label.box == pytest.approx(box)


def test_isolated_points_come_first_empty_labels_and_points_outside_get_none():
    points = np.array([[100.0, 100.0], [104.0, 100.0], [500.0, 300.0], [700.0, 100.0], [300.0, 300.0]])
    sizes = [(20.0, 10.0)] * 4 + [(0.0, 0.0)]
    placed = arrange_labels(points, lambda i: sizes[i], BOUNDS, radius=2.0)
    assert placed[0].item == 2
    assert {label.item for label in placed} == {0, 1, 2}
