"""How sure is the map? Bootstrap regions and single statements, drawn to regions.png."""

from __future__ import annotations

import numpy as np

from nearer import SOE, Comparisons
from nearer.datasets import load_eurodist
from nearer.plots import plot_map, save_figure
from nearer.selection import bootstrap

cities = load_eurodist()
answers = Comparisons.from_distances(cities.distances, 800, labels=cities.names, random_state=0, noise=0.05)
found = bootstrap(SOE(2, n_init=3, random_state=0), answers, n_resamples=50, random_state=0)
save_figure(plot_map(found.embedding, cities.names, covariances=found.covariance), "regions.png", force=True)

asked = [("Paris", "Brussels", "Rome"), ("Lyons", "Geneva", "Marseilles"), ("Vienna", "Munich", "Milan")]
number = {str(name): row for row, name in enumerate(cities.names)}
sure = found.nearer(np.array([[number[name] for name in row] for row in asked]))
words = {1: "yes", 0: "cannot tell", -1: "no"}
for (i, j, k), settled, support in zip(asked, sure.settled, sure.support):
    print(f"is {i} nearer to {j} than to {k}? {words[int(settled)]} ({support:.0%} of the resamples say yes)")
