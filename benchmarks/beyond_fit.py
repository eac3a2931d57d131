"""What comes after a fit, measured: retrieval, placement, further fits.

``python -m benchmarks.beyond_fit`` runs all parts; name some to run those alone. Every part prints its table and saves
it under ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from experiments.data import load_letters
from experiments.problems import retrieval_problem

from benchmarks import common
from nearer import FeatureMap, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.metrics import comparison_accuracy, comparison_distances
from nearer.metrics.retrieval import retrieval_scores

Rows = list[dict[str, Any]]


def retrieval() -> Rows:
    """Letters: 18 classes, 60 training and 40 test images each, 70,000 triplets, 18 dimensions; 3 draws."""
    letters = load_letters()
    rows = []
    for noise in (0.0, 0.05, 0.1):
        for name, map_of in (("paper's width", FeatureMap()), ("cv", FeatureMap("cv", "cv", random_state=0))):
            found = []
            for seed in range(3):
                problem = retrieval_problem(letters.features, letters.labels, noise=noise, random_state=seed)
                raw = retrieval_scores(problem.test_features, problem.test_labels)
                model = OrdinalEmbedding(18, loss="tste", random_state=seed).fit(problem.comparisons)
                places = map_of.fit(problem.train_features, model).transform(problem.test_features)
                mapped = retrieval_scores(places, problem.test_labels)
                found.append([
                    raw.mean_average_precision[0], raw.precision[0],
                    mapped.mean_average_precision[0], mapped.precision[0],
                ])  # fmt: skip
            raw_map, raw_precision, own_map, own_precision = np.mean(found, axis=0)
            rows.append({
                "noise": noise, "feature map": name, "raw MAP": raw_map, "raw P@40": raw_precision, "MAP": own_map,
                "P@40": own_precision, "MAP / raw MAP": own_map / raw_map,
                "least of the draws": min(row[2] / row[0] for row in found),
            })  # fmt: skip
    return rows


def _questions(P: np.ndarray, objects: np.ndarray, count: int, others: np.ndarray, rng: np.random.Generator):
    """`count` true triplets for each object, which is the anchor or one of the two compared."""
    rows = []
    for o in objects:
        a, b = np.array([rng.choice(others, 2, replace=False) for _ in range(count)]).T
        anchor = rng.random(count) < 0.5
        rows.append(np.column_stack([np.where(anchor, o, a), np.where(anchor, a, o), b]))
    T = np.concatenate(rows)
    near, far = comparison_distances(P, T)
    T[near > far] = T[near > far][:, [0, 2, 1]]
    return T


def placement() -> Rows:
    """A fifth of 100 objects hidden, 10 d comparisons for each; 5 data sets. Held-out comparisons about them."""
    rows = []
    for d in (2, 3, 5):
        placed, full, seconds = [], [], []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            P = make_points(100, d, random_state=rng)
            known, hidden = np.arange(80), np.arange(80, 100)
            base = make_comparisons(P[:80], 80 * d * 20, 10, random_state=rng).train
            train, test = (_questions(P, hidden, count, known, rng) for count in (10 * d, 500))
            model = OrdinalEmbedding(d, loss="tste", n_init=3, random_state=seed).fit(base)
            started = time.perf_counter()
            found = model.place(train)
            seconds.append(time.perf_counter() - started)
            placed.append(comparison_accuracy(found.full_embedding, test))
            again = OrdinalEmbedding(d, loss="tste", n_init=3, random_state=seed).fit(
                np.concatenate([base.index, train])
            )
            full.append(again.score(test))
        rows.append({
            "d": d, "placed": np.mean(placed), "full fit": np.mean(full),
            "worst difference": min(np.subtract(placed, full)), "seconds (median)": np.median(seconds),
        })  # fmt: skip
    return rows


def further_fits() -> Rows:
    """Ten equal parts one after the other, the last fifth of the objects only from the sixth part on; 5 data sets."""
    rows = []
    for d, noise in ((2, 0.0), (2, 0.1), (5, 0.0), (5, 0.1)):
        online, scratch = [], []
        for seed in range(5):
            data = make_comparisons(make_points(80, d, random_state=seed), 8000 * d, 10_000, noise, random_state=seed)
            late = (data.train.index >= 64).any(axis=1)
            index = np.concatenate([data.train.index[~late], data.train.index[late]])
            model = OrdinalEmbedding(d, loss="tste", random_state=seed)
            for part in np.array_split(index, 10):
                model.partial_fit(part)
            online.append(model.score(data.test))
            scratch.append(OrdinalEmbedding(d, loss="tste", random_state=seed).fit(data.train).score(data.test))
        rows.append({
            "d": d, "noise": noise, "partial_fit": np.mean(online), "from scratch": np.mean(scratch),
            "worst difference": min(np.subtract(online, scratch)),
        })  # fmt: skip
    return rows


PARTS = {part.__name__: part for part in (retrieval, placement, further_fits)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    for name in parser.parse_args().parts or PARTS:
        started = time.perf_counter()
        rows = PARTS[name]()
        print(f"{name}: {PARTS[name].__doc__}\n\n{common.table(rows)}", flush=True)
        common.save(f"beyond_{name}", rows, about=PARTS[name].__doc__, seconds=round(time.perf_counter() - started, 1))


if __name__ == "__main__":
    main()
