"""A map of European cities from comparisons of road distances alone, drawn to europe.png."""

from __future__ import annotations

from nearer import SOE, Comparisons
from nearer.datasets import load_eurodist
from nearer.plots import plot_map, save_figure

cities = load_eurodist()
answers = Comparisons.from_distances(cities.distances, labels=cities.names)
train, test = answers.split(0.2, random_state=0)

model = SOE(2, n_init=5, random_state=0).fit(train)
print(f"{train!r}: {model.score(test):.1%} of {len(test)} held-out answers are satisfied")
save_figure(plot_map(model.embedding_, model.labels_), "europe.png", force=True)
