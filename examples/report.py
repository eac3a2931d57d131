"""One HTML file about a map, with groups and violations: report.html."""

from __future__ import annotations

import numpy as np
from nearer.report import ReportData, Scores, build_report, worst_violations

from nearer import Comparisons, OrdinalEmbedding

rng = np.random.default_rng(0)
groups = np.repeat(["strings", "winds", "drums"], 8)
points = rng.normal(size=(24, 2)) + 3.0 * np.repeat(np.eye(3)[:, :2], 8, axis=0)
names = [f"{group} {number}" for number, group in enumerate(groups)]
train, test = Comparisons.from_points(points, 2000, labels=names, noise=0.1, random_state=0).split(0.2, 0)

model = OrdinalEmbedding(2, loss="ste", n_init=4, random_state=0).fit(train)
data = ReportData(
    title="Instruments",
    subtitle=repr(train),
    embedding=model.embedding_,
    labels=model.labels_,
    groups=[label.split()[0] for label in model.labels_],
    scores=Scores(training=model.score(train), held_out=model.score(test)),
    history=model.history_.to_dict(),
    violations=worst_violations(model.embedding_, train.index, None, model.labels_),
    check=train.check(2).to_dict(),
)
print("wrote", build_report(data, "report.html", force=True))
