"""One HTML file about a map, with groups and violations: report.html."""

from __future__ import annotations

import numpy as np

import nearer
from nearer import Comparisons, OrdinalEmbedding

rng = np.random.default_rng(0)
groups = np.repeat(["strings", "winds", "drums"], 8)
points = rng.normal(size=(24, 2)) + 3.0 * np.repeat(np.eye(3)[:, :2], 8, axis=0)
names = [f"{group} {number}" for number, group in enumerate(groups)]
answers = Comparisons.from_points(points, 2000, labels=names, noise=0.1, random_state=0)

model = OrdinalEmbedding(2, loss="ste", random_state=0).fit(answers)
groups_on_map = [label.split()[0] for label in model.labels_]
report = nearer.write_report(model, answers, "report.html", title="Instruments", groups=groups_on_map, force=True)
print(f"wrote report.html: {report.evaluation.held_out:.1%} of held-out answers satisfied")
