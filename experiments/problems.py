"""The problems of the paper: the synthetic one of Table 1, and retrieval of objects by their classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nearer.data import Comparisons, as_generator
from nearer.datasets import SyntheticData, make_comparisons, make_points

RandomState = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class RetrievalProblem:
    """Training and test objects of the same classes, and comparisons over the training objects.

    Attributes
    ----------
    train_features : array (n_classes * n_train, n_features)
    train_labels : array (n_classes * n_train,)
    test_features : array (n_classes * n_test, n_features)
    test_labels : array (n_classes * n_test,)
    comparisons : Comparisons
        Triplets over the rows of `train_features`: anchor and near of one class, far of another (except noise).
    classes : array (n_classes,)
    train_rows, test_rows : int arrays
        Rows of the original features.
    """

    train_features: np.ndarray
    train_labels: np.ndarray
    test_features: np.ndarray
    test_labels: np.ndarray
    comparisons: Comparisons
    classes: np.ndarray
    train_rows: np.ndarray
    test_rows: np.ndarray


def make_table1(
    random_state: RandomState = None,
    *,
    n: int = 100,
    d: int = 10,
    n_train: int = 10_000,
    n_test: int | None = None,
    scale: float = 0.05**0.5,
    noise: float = 0.0,
) -> SyntheticData:
    """The synthetic problem of the paper's Table 1: 100 points in R^10 from N(0, I/20), 10,000 training triplets.

    Parameters
    ----------
    random_state : int, Generator or None
    n, d : int
        Number of points and of coordinates.
    n_train : int
        Training triplets, drawn at random without replacement.
    n_test : int or None
        Test triplets; None: all other questions (475,100 at the default sizes).
    scale : float
        Standard deviation of each coordinate.
    noise : float in [0, 1]
        Fraction of the training answers that are swapped.

    Returns
    -------
    SyntheticData
    """
    rng = as_generator(random_state)
    return make_comparisons(make_points(n, d, scale, rng), n_train, n_test, noise, rng)


def retrieval_problem(
    features: ArrayLike,
    labels: ArrayLike,
    n_classes: int = 18,
    n_train: int = 60,
    n_test: int = 40,
    n_triplets: int = 70_000,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> RetrievalProblem:
    """Draw a retrieval problem: some classes, training and test objects of each, and triplets from the labels.

    The same `random_state` gives the same objects and triplets whatever the noise.

    Parameters
    ----------
    features : array (n, n_features)
    labels : array (n,)
    n_classes : int
        Classes drawn at random from those with at least n_train + n_test objects.
    n_train, n_test : int
        Objects of each class, no object in both.
    n_triplets : int
        Random triplets (i, j of one class, k of another) over the training objects.
    noise : float in [0, 1]
        Fraction of the triplets in which near and far are swapped.
    random_state : int, Generator or None

    Returns
    -------
    RetrievalProblem
    """
    table, names = np.asarray(features), np.asarray(labels)
    if table.ndim != 2 or names.shape != (len(table),):
        raise ValueError(
            f"features, labels: got shapes {table.shape} and {names.shape}, expected (n, n_features) and (n,)"
        )
    if n_classes < 2 or n_train < 2 or n_test < 1:
        raise ValueError(
            f"n_classes, n_train, n_test: got {n_classes}, {n_train}, {n_test}, expected at least 2, 2 and 1"
        )
    known, codes, counts = np.unique(names, return_inverse=True, return_counts=True)
    large = np.flatnonzero(counts >= n_train + n_test)
    if len(large) < n_classes:
        raise ValueError(
            f"n_classes: got {n_classes}, but only {len(large)} of {len(known)} classes have the "
            f"{n_train + n_test} objects that n_train and n_test ask for"
        )
    # separate streams, so that noise changes nothing but the swaps
    objects_rng, triplets_rng, noise_rng = np.random.default_rng(random_state).spawn(3)
    chosen = np.sort(objects_rng.choice(large, n_classes, replace=False))
    members = [objects_rng.permutation(np.flatnonzero(codes.reshape(-1) == c))[: n_train + n_test] for c in chosen]
    train = np.concatenate([rows[:n_train] for rows in members])
    test = np.concatenate([rows[n_train:] for rows in members])
    clean = Comparisons.from_classes(names[train], n_triplets, random_state=triplets_rng)
    return RetrievalProblem(
        train_features=table[train],
        train_labels=names[train],
        test_features=table[test],
        test_labels=names[test],
        comparisons=clean.with_noise(noise, noise_rng) if noise else clean,
        classes=known[chosen],
        train_rows=train,
        test_rows=test,
    )
