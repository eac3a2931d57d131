"""Objects that come later: place them by a few answers, then take all answers in."""

from __future__ import annotations

import numpy as np

from nearer import Comparisons, OrdinalEmbedding

points = np.random.default_rng(0).normal(size=(33, 2))
answers = Comparisons.from_points(points, 4000, random_state=0).index
late = answers.max(axis=1) >= 30  # objects 30, 31, 32 come later

model = OrdinalEmbedding(2, loss="soe", n_init=4, random_state=0).fit(answers[~late])
placed = model.place(answers[late][:60])
print(placed)

model.partial_fit(answers[late])
test = Comparisons.from_points(points, 5000, random_state=1)
print(f"{len(model.embedding_)} objects; {model.score(test):.1%} of new answers are satisfied")
