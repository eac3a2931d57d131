"""Choosing the dimension: cross-validated accuracy of data that are three-dimensional, with 10 % wrong answers."""

from __future__ import annotations

import numpy as np
from _common import panels, save

from nearer import Comparisons, OrdinalEmbedding
from nearer.plots import plot_dimensions
from nearer.selection import cross_validate_dimensions

figure, axes = panels(2, width=4.6, sharey=True)
for ax, size in zip(axes, (6_000, 500)):
    points = np.random.default_rng(0).normal(size=(60, 3))
    answers = Comparisons.from_points(points, size, random_state=1, noise=0.1)
    found = cross_validate_dimensions(OrdinalEmbedding(loss="ste", n_init=2), answers, range(1, 7), random_state=2)
    plot_dimensions(found, chosen=found.chosen, ax=ax)
    ax.set_xlabel(f"Dimensions ({size:,} answers: {'decisive' if found.decisive else 'not decisive'})")
save(figure, __file__)
