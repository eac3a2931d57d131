"""What regions allow to conclude: the same twelve objects from few answers and from many; and one map, turned."""

from __future__ import annotations

import numpy as np
from _common import save
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nearer import Comparisons, OrdinalEmbedding
from nearer.plots import plot_map
from nearer.selection import bootstrap

names = list("ABCDEFGHIJKL")
truth = np.random.default_rng(4).normal(size=(12, 2)) * [1.6, 1.0]
figure = Figure(figsize=(11, 4.2), layout="constrained")
FigureCanvasAgg(figure)
panels = figure.subplots(1, 3)
for ax, n_answers in zip(panels, (250, 2500)):
    answers = Comparisons.from_points(truth, n_answers, random_state=1, noise=0.1, labels=names)
    model = OrdinalEmbedding(2, loss="tste", n_init=5, random_state=0).fit(answers)
    found = bootstrap(model, answers, n_resamples=100, random_state=0)
    plot_map(found.embedding, names, covariances=found.covariance, title=f"from {n_answers:,} answers", ax=ax)
turn = np.array([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]]) @ np.diag([1, -1])
plot_map(
    found.embedding @ turn, names, covariances=turn.T @ found.covariance @ turn, title="the same, turned and mirrored",
    ax=panels[2],
)  # fmt: skip
for ax in panels:
    ax.set(xlabel="", ylabel="")
save(panels[0], __file__)
