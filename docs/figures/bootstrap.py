"""Where each city may be: a map from few and noisy comparisons of road distances, with 90 % regions."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
from _common import save

from nearer import SOE, Comparisons
from nearer.datasets import load_eurodist
from nearer.metrics import fit_procrustes
from nearer.plots import plot_map
from nearer.selection import bootstrap

cities = load_eurodist()
answers = Comparisons.from_distances(cities.distances, 600, labels=cities.names, random_state=0, noise=0.05)
found = bootstrap(SOE(2, n_init=5, random_state=0), answers, n_resamples=200, random_state=0)

# Turned by latitude and longitude, for the eye only: a map from comparisons does not know where north is.
rows = csv.DictReader(files("nearer.datasets").joinpath("data", "eurodist_places.csv").read_text().splitlines())
where = {row["city"]: (0.65 * float(row["longitude"]), float(row["latitude"])) for row in rows}
turn = fit_procrustes(found.embedding, np.array([where[str(city)] for city in cities.names]))
matrix = turn.scale * turn.rotation
axes = plot_map(turn.apply(found.embedding), cities.names, covariances=matrix.T @ found.covariance @ matrix, level=0.9)
save(axes, __file__)
