"""Labels neither collide nor leave the picture."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer.plots.labels import arrange_labels

BOUNDS = (0.0, 0.0, 600.0, 400.0)


def boxes_of(placed):
    return {label.item: label.box for label in placed}


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


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
    boxes = boxes_of(placed)
    assert len(boxes) == len(placed)
    for a, b in itertools.combinations(boxes.values(), 2):
        assert not overlap(a, b)
    for box in boxes.values():
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[2] <= 600
        assert box[3] <= 400
        inside = (points > box[:2]).all(axis=1) & (points < box[2:]).all(axis=1)
        assert not inside.any()


def test_leader_lines_cross_no_label():
    rng = np.random.default_rng(3)
    points = rng.normal((300, 200), 45, (60, 2))
    placed = arrange_labels(points, lambda i: (60.0, 11.0), BOUNDS, radius=3.0)
    leaders = [label for label in placed if label.leader is not None]
    assert leaders
    for label in leaders:
        line = np.linspace(points[label.item], label.leader, 50)
        for other in placed:
            if other.item == label.item:
                continue
            low, high = np.array(other.box[:2]), np.array(other.box[2:])
            assert not ((line > low) & (line < high)).all(axis=1).any()


def test_a_lone_label_stands_right_of_its_point():
    (label,) = arrange_labels(np.array([[100.0, 100.0]]), lambda i: (40.0, 10.0), BOUNDS, radius=2.5)
    assert label.leader is None
    assert label.box == pytest.approx((104, 95, 144, 105))


def test_at_the_right_border_the_label_goes_left():
    (label,) = arrange_labels(np.array([[595.0, 100.0]]), lambda i: (40.0, 10.0), BOUNDS, radius=2.5)
    assert label.box[2] < 595


def test_lonely_points_come_first_and_the_number_is_limited():
    points = np.array([[100.0, 100.0], [103.0, 100.0], [500.0, 300.0]])
    placed = arrange_labels(points, lambda i: (20.0, 10.0), BOUNDS, radius=2.0, max_labels=1)
    assert [label.item for label in placed] == [2]


def test_empty_labels_and_points_outside_get_none():
    points = np.array([[100.0, 100.0], [700.0, 100.0], [300.0, 300.0]])
    measured = []

    def measure(i):
        measured.append(i)
        return (0.0, 0.0) if i == 0 else (20.0, 10.0)

    placed = arrange_labels(points, measure, BOUNDS, radius=2.0)
    assert [label.item for label in placed] == [2]
    assert 1 not in measured
