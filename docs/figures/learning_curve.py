"""How many answers: the learning curve from a first batch, and what really came."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save

from nearer import Comparisons, OrdinalEmbedding
from nearer.plots import plot_learning_curve
from nearer.selection import learning_curve

points = np.random.default_rng(0).normal(size=(40, 2))
answers = Comparisons.from_points(points, 12_000, random_state=1, noise=0.1)
first, new = answers[:1_500], Comparisons.from_points(points, 20_000, random_state=2, noise=0.1)
model = OrdinalEmbedding(2, loss="ste", random_state=0)
curve = learning_curve(model, first, random_state=0)

figure, (ax,) = panels(width=6.4)
plot_learning_curve(curve.to_dict(12_000), ax=ax)
sizes = (2_000, 3_000, 6_000, 12_000)
came = [model.fit(answers[:size]).score(new) for size in sizes]
ax.plot(sizes, came, "D", color=PALETTE[1], markersize=6, label="what came later")
ax.legend(frameon=False, loc="lower right")
save(figure, __file__)
