"""Synthetic comparisons: random points, and answers by true distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nearer.data import Comparisons, as_generator, check_integer, check_number
from nearer.metrics import comparison_distances

RandomState = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """Points, and disjoint sets of training and test comparisons."""

    points: np.ndarray  # float64, shape (n, d)
    train: Comparisons
    test: Comparisons


def make_points(n: int, d: int, scale: float = 1.0, random_state: RandomState = None) -> np.ndarray:
    """Random points (n, d), float64, from a normal distribution.

    Parameters
    ----------
    n, d : int
    scale : float
        Standard deviation of each coordinate.
    random_state : int, Generator or None
    """
    check_number(scale, "scale")
    size = check_integer(n, "n", 1), check_integer(d, "d", 1)
    return as_generator(random_state).normal(scale=scale, size=size)


def make_comparisons(
    points: ArrayLike,
    n_train: int,
    n_test: int | None,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> SyntheticData:
    """Random triplets answered by true distance, and a test set of other questions.

    The questions "is i nearer to j or to k?" are drawn without replacement; the order of j and k is irrelevant. No
    n x n matrix is formed.

    Parameters
    ----------
    points : array (n, d)
        True positions, all finite.
    n_train : int
        Number of training triplets.
    n_test : int or None
        Number of test triplets; None: all other questions, of n (n - 1) (n - 2) / 2 in total.
    noise : float in [0, 1]
        Fraction of the training answers that are swapped; the test answers stay true.
    random_state : int, Generator or None

    Returns
    -------
    SyntheticData
        Questions with equal distances have no true answer; they are omitted and counted in `dropped`.
    """
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or len(array) < 3 or not np.isfinite(array).all():
        raise ValueError(f"points: got shape {array.shape}, expected at least 3 rows of finite coordinates")
    total = _n_questions(len(array))
    if total >= 2**63:
        raise ValueError(f"points: got {len(array):,} rows, more than there are 64-bit numbers for their questions")
    n_train = check_integer(n_train, "n_train", 1)
    n_test = None if n_test is None else check_integer(n_test, "n_test", 1)
    if n_train + (1 if n_test is None else n_test) > total:
        raise ValueError(
            f"n_train, n_test: got {n_train} and {n_test}, expected at most {total:,} together, "
            f"the number of questions about {len(array):,} objects"
        )
    rng = as_generator(random_state)
    if n_test is None:
        chosen = rng.choice(total, n_train, replace=False)
        held_out = np.delete(np.arange(total), chosen)
    else:
        chosen, held_out = np.split(rng.choice(total, n_train + n_test, replace=False), [n_train])
    train = _answer(array, _questions(chosen, len(array)))
    test = _answer(array, _questions(held_out, len(array)))
    return SyntheticData(array, train.with_noise(noise, rng) if noise else train, test)


def _n_questions(n: int) -> int:
    """Number of triplet questions about n objects: an anchor and an unordered pair of others."""
    return n * ((n - 1) * (n - 2) // 2)


def _questions(numbers: np.ndarray, n: int) -> np.ndarray:
    """Questions (N, 3) [anchor, a, b], a < b, int32, from their numbers (N,) below `_n_questions(n)`."""
    anchor, pair = np.divmod(numbers, (n - 1) * (n - 2) // 2)
    # the pair a < b has number b (b - 1) / 2 + a; 1 + 8 pair stays below 2**53, where the root is exact enough
    b = ((1.0 + np.sqrt(1.0 + 8.0 * pair)) / 2.0).astype(np.int64)
    a = pair - b * (b - 1) // 2
    # a and b count the objects other than the anchor
    return np.stack([anchor, a + (a >= anchor), b + (b >= anchor)], axis=1).astype(np.int32)


def _answer(points: np.ndarray, questions: np.ndarray) -> Comparisons:
    """Answer questions by true distance, omitting ties."""
    asked = Comparisons.from_triplets(questions, n_objects=len(points))
    near, far = comparison_distances(points, asked)
    tie = near == far
    if tie.all():
        raise ValueError("points: all distances asked about are equal, so no question has an answer")
    return asked.flipped(near > far)[~tie].replaced(dropped={"ties": int(np.count_nonzero(tie))})
