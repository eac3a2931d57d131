"""The losses on answers that people gave (read from NEARER_DATA): held-out accuracy, 5 folds."""

from __future__ import annotations

import os
from pathlib import Path

from _common import write_table

from nearer import OrdinalEmbedding, read_comparisons
from nearer.check import check
from nearer.losses import loss_names
from nearer.selection import cross_validate_dimensions

FOLDER = Path(os.environ["NEARER_DATA"])
music = read_comparisons(FOLDER / "music.csv").comparisons
materials = read_comparisons(FOLDER / "material_train_votes.csv").comparisons
rows = []
for name, answers, d in (
    ("400 artists, 9,090 answers", music, 2),
    ("400 artists, 9,090 answers", music, 5),
    ("100 materials, 22,801 questions with votes", materials, 2),
    ("100 materials, 22,801 questions with votes", materials, 5),
):
    cells = []
    for loss in loss_names():
        estimator = OrdinalEmbedding(loss=loss, n_init=2)
        found = cross_validate_dimensions(estimator, answers, [d], random_state=0)
        cells.append(f"{100 * found.accuracy[0]:.1f}\u00a0±\u00a0{100 * found.accuracy_se[0]:.1f}")
    ceiling = check(answers).noise_ceiling
    rows.append([f"{name}; {d} dimensions", *cells, "unknown" if ceiling is None else f"{100 * ceiling:.1f}"])
write_table(__file__, ["answers", *loss_names(), "ceiling"], rows)
