"""People who answer by a map, by chance, by habit or by another map."""

from __future__ import annotations

import numpy as np

from nearer import Comparisons


def answers_of(points, n_people, n_answers, rng, does=None, weights=None, seconds=None):
    """Answers of people to random questions; `does` says who is careful, random, left, inverted or tired."""
    n, d = points.shape
    who, order = np.repeat(np.arange(n_people), n_answers), np.tile(np.arange(n_answers), n_people)
    rows = np.argsort(rng.random((len(who), n)), axis=1)[:, :3]
    W = np.ones((n_people, d)) if weights is None else weights
    near, far = (np.sqrt((W[who] * (points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1)) for k in (1, 2))
    first = rng.random(len(who)) < 1 / (1 + np.exp(3 * (near - far)))
    kind = np.array(["careful"] * n_people if does is None else does)[who]
    coin = rng.random(len(who)) < 0.5
    first = np.where((kind == "random") | ((kind == "tired") & (order >= n_answers // 2)), coin, first)
    first = np.where(kind == "left", True, first ^ (kind == "inverted"))
    details = {"order": order, **({} if seconds is None else {"seconds": seconds[who]})}
    return Comparisons.from_answers(rows, first, n_objects=n, participants=who, details=details)
