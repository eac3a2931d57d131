"""Small work for every kernel: run as a script it compiles them, so that the processes of the tests find them on disk.

It prints how often each kernel was found there and how often it was compiled, and a number from each fit.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

from nearer import Comparisons, OrdinalEmbedding, kernels
from nearer.objective import StreamedObjective
from nearer.people import IndividualEmbedding
from nearer.questions import suggest
from nearer.solvers import SVRG, get_solver
from problems import MemorySource

SOLVERS = ("auto", "svrg-sbb", "sgd", "gd", "lbfgs", "convex", SVRG(output="uniform", max_epochs=3))


def work() -> list[float]:
    """A number from each of the fits."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(8)[:4] for _ in range(60)])
    found = []
    for index, weights in ((rows[:, :3], None), (rows, np.linspace(1, 2, 60))):
        data = Comparisons(index, n_objects=8, weights=weights, participants=np.arange(60) % 3)
        for d, solver in [(2, solver) for solver in SOLVERS] + [(1, "auto")]:
            fit = OrdinalEmbedding(d, loss="ste", solver=solver, random_state=0, n_init=2, n_jobs=2).fit(data)
            found.append(fit.embedding_.sum() + fit.score(data) + fit.predict_proba(data).sum())
        streamed = StreamedObjective(MemorySource(data), "ste", 2, 8, block_size=25)
        for solver in ("auto", "svrg-sbb", "sgd"):
            result = get_solver(solver).solve(streamed, rng.normal(size=(8, 2)), 0)
            found.append(result.embedding.sum() + streamed.error(result.embedding))
    triplets = Comparisons(rows[:, :3], n_objects=8, participants=np.arange(60) % 3)
    found.append(IndividualEmbedding(spread=0.3, random_state=0).fit(triplets).weights_.sum())
    found.append(float(suggest(triplets, 2, random_state=0).index.sum()))
    kernels.draw_many(1, 0, 5, 3)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # poor maps on purpose
    numbers = work()
    compiled = {
        name: [sum(item.stats.cache_hits.values()), sum(item.stats.cache_misses.values())]
        for name, item in vars(kernels).items()
        if isinstance(item, kernels.Dispatcher)
    }
    sys.stdout.write(json.dumps({"stats": compiled, "numbers": numbers}) + "\n")
