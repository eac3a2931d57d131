"""SVRG-SBB with its own parameters, its step sizes, and a callback that stops it."""

from __future__ import annotations

import numpy as np

from nearer import OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.solvers import SBB, SVRG

rng = np.random.default_rng(0)
points = make_points(100, 10, scale=0.05**0.5, random_state=rng)
data = make_comparisons(points, n_train=10_000, n_test=20_000, random_state=rng)


def enough(row, state):
    """Stop when 2 % of the training answers are left."""
    return row.train_error is not None and row.train_error < 0.02


solver = SVRG(step=SBB(epsilon=0.001), max_epochs=50, record_error=True)
model = OrdinalEmbedding(10, loss="tste", solver=solver, callbacks=[enough], random_state=0).fit(data.train)
for row in model.history_[1::5]:
    print(f"epoch {row.epoch:3d}  step {row.step_size:.4f}  objective {row.objective:.4f}  error {row.train_error:.3f}")
print(model.result_.message, f"- test error {1 - model.score(data.test):.3f}")
