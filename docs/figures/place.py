"""How many answers place a new object: every city taken off the map in turn, and put back by a few comparisons."""

from __future__ import annotations

import warnings

import numpy as np
from _common import PALETTE, panels, save

from nearer import SOE, Comparisons, read_comparisons
from nearer.datasets import load_eurodist
from nearer.metrics import procrustes_align


def named(rows):
    """Comparisons of the objects that occur in some rows, int (N, 3)."""
    return read_comparisons(dict(zip(("anchor", "near", "far"), cities.names[rows].T))).comparisons


cities = load_eurodist()
every = Comparisons.from_distances(cities.distances, labels=cities.names)
whole = SOE(2, n_init=10, random_state=0).fit(every).embedding_
unit = np.median([np.linalg.norm(a - b) for i, a in enumerate(whole) for b in whole[:i]])
sizes, missed = (3, 5, 10, 20, 50, 100), {}
for city in range(len(cities.names)):
    names = (every.index == city).any(axis=1)
    rest = named(every.index[~names])
    model = SOE(2, n_init=5, random_state=0).fit(rest)
    for size in sizes:
        for repeat in range(3):
            rows = np.random.default_rng([city, size, repeat]).choice(np.flatnonzero(names), size, replace=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                placed = model.place(named(every.index[rows]))
            order = [list(placed.full_labels).index(name) for name in cities.names]
            full = placed.full_embedding[order]
            known = full.copy()
            known[city] = np.nan
            moved = procrustes_align(full, np.where(np.isnan(known), np.nan, whole))
            missed.setdefault(size, []).append(np.linalg.norm(moved[city] - whole[city]) / unit)
figure, (ax,) = panels(width=6.0)
middle = [np.median(missed[size]) for size in sizes]
low, high = (np.array([np.quantile(missed[size], q) for size in sizes]) for q in (0.25, 0.75))
ax.fill_between(sizes, low, high, color=PALETTE[0], alpha=0.15, linewidth=0)
ax.plot(sizes, middle, color=PALETTE[0], marker="o")
ax.set(xscale="log", xlabel="Comparisons that name the new city")
ax.set(ylabel="Distance from its place\n(median distance of two cities: 1)")
ax.set_xticks(sizes, [str(size) for size in sizes])
ax.set_ylim(bottom=0)
save(figure, __file__)
