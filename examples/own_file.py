"""From a CSV file of answers to coordinates: read, check, fit, write.

    python own_file.py answers.csv

Without a file it makes one first.
"""

from __future__ import annotations

import sys

import numpy as np

from nearer import Comparisons, OrdinalEmbedding, read_comparisons, write_comparisons
from nearer.check import check
from nearer.coordinates import write_embedding

if len(sys.argv) > 1:
    path = sys.argv[1]
else:
    path = "answers.csv"
    points = np.random.default_rng(0).normal(size=(25, 2))
    names = [f"object {letter}" for letter in "abcdefghijklmnopqrstuvwxy"]
    write_comparisons(path, Comparisons.from_points(points, 1500, labels=names, noise=0.1, random_state=0), force=True)

read = read_comparisons(path)
print(read.understood)
print(check(read.comparisons, n_components=2))

model = OrdinalEmbedding(2, loss="ste", n_init=4, random_state=0).fit(read.comparisons)
write_embedding("embedding.csv", model.embedding_, model.labels_, force=True)
print(f"{model.score(read.comparisons):.1%} of the answers are satisfied; wrote embedding.csv")
