"""Cross-validate dimension and loss on answers that people might have given."""

from __future__ import annotations

import numpy as np

from nearer import Comparisons, OrdinalEmbedding
from nearer.selection import cross_validate_dimensions

points = np.random.default_rng(0).normal(size=(40, 3))
answers = Comparisons.from_points(points, 3000, random_state=1, noise=0.1)

for loss in ("ste", "soe"):
    found = cross_validate_dimensions(OrdinalEmbedding(loss=loss, n_init=2), answers, range(1, 6), random_state=0)
    curve = "  ".join(f"{d}: {a:.1%}" for d, a in zip(found.dims, found.accuracy))
    print(f"{loss:4} {curve}")
    print(f"     {found.verdict}")
