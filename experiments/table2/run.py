"""Run Table 2 and Figure 3: embed the training images, map the test images by their features, retrieve."""

from __future__ import annotations

import functools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.data import load_digits, load_letters
from experiments.methods import METHODS, Settings, absolute, grid, pairs
from experiments.problems import RetrievalProblem, retrieval_problem
from experiments.search import Point, search, untried
from experiments.sun import load_sun
from experiments.table2.config import AUTHORS_EPSILON, CATEGORIES, FULL, QUICK, TUNING_DRAW, Config, K
from experiments.tables import Row, write_csv
from experiments.trials import Lab, Params
from experiments.watch import trace
from nearer.featuremap import FeatureMap
from nearer.metrics.retrieval import retrieval_scores
from nearer.objective import LocalObjective

EXPERIMENT = "table2"


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    if lab.trials is not None:
        config = replace(config, seeds=lab.trials)
    return config if lab.sun is None else replace(config, datasets=("sun", *config.datasets))


@functools.lru_cache(maxsize=2)
def features(dataset: str, path: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, p) and category (n,) of all images of a dataset."""
    found = {"letters": load_letters, "digits": load_digits}[dataset]() if path is None else load_sun(path)
    return np.asarray(found.features, dtype=float), found.labels


def n_categories(dataset: str, path: str | None) -> int:
    """Categories of the problem: as many as the paper has, or all if there are fewer."""
    return min(CATEGORIES[dataset], len(np.unique(features(dataset, path)[1])))


@functools.lru_cache(maxsize=2)
def problem(
    dataset: str, path: str | None, n_train: int, n_test: int, n_triplets: int, noise: float, seed: int, draw: int
) -> RetrievalProblem:
    """One draw of the retrieval problem."""
    X, y = features(dataset, path)
    sizes = {"n_classes": n_categories(dataset, path), "n_train": n_train, "n_test": n_test, "n_triplets": n_triplets}
    return retrieval_problem(X, y, **sizes, noise=noise, random_state=np.random.default_rng([seed, 4, draw]))


def trial(params: Params) -> dict[str, Any]:
    """Embed, map and retrieve once; method "raw" retrieves by the features themselves."""
    p = problem(
        params["dataset"],
        params["path"],
        params["n_train"],
        params["n_test"],
        params["n_triplets"],
        params["noise"],
        params["seed"],
        params["draw"],
    )
    if params["method"] == "raw":
        return score(p.test_features, p.test_labels)
    n_components = len(p.classes)
    objective = LocalObjective(p.comparisons, params["loss"], n_components, n_jobs=1)
    X0 = np.random.default_rng([params["seed"], 5, params["draw"]]).random((objective.n_objects, n_components))
    seed = [params["seed"], 6, params["draw"]]
    arguments = params["method"], params["settings"], objective, X0, seed
    _, X, spent = trace(*arguments, at=[params["budget"]], measure=lambda X: None)
    mapped = FeatureMap().fit(p.train_features, X).predict(p.test_features)
    return {**score(mapped, p.test_labels), "train_error": objective.error(X), **spent}


def score(points: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Each image queries all others: MAP and precision at 40, recall at each K."""
    scores = retrieval_scores(points, labels, k=np.array(K))
    return {
        "map": float(scores.mean_average_precision[0]),
        "precision_at_40": float(scores.precision[0]),
        "recall": scores.recall.tolist(),
    }


def tuning(lab: Lab, config: Config, dataset: str) -> list[Row]:
    """Search on a problem of its own draw; the best MAP, on average over the noises, is chosen."""
    noises = config.tuning_noises
    n_objects = config.n_train * n_categories(dataset, _path(lab, dataset))

    def attempt(points: list[Point]) -> list[Row]:
        params = [
            _params(lab, config, dataset, loss, method, settings, noise, TUNING_DRAW)
            for noise in noises
            for loss, method, settings in points
        ]
        results = lab.collect(EXPERIMENT, f"tuning on {dataset}", trial, params)
        by_point = [results[p :: len(points)] for p in range(len(points))]
        return [
            {
                "dataset": dataset,
                "loss": loss,
                "method": method,
                "settings": settings,
                "absolute": absolute(method, settings, n_objects, config.n_triplets),
                "map": float(np.mean([r["map"] for r in found])),
                "train_error": float(np.mean([r["train_error"] for r in found])),
                "chosen": False,
                "untried": "",
            }
            for (loss, method, settings), found in zip(points, by_point)
        ]

    points: list[Point] = [(*pair, s) for pair in pairs() for s in grid(pair[1], config.tuning_every)]
    authors: Settings = {"epsilon": AUTHORS_EPSILON, "first": None, "inner": 1.0}
    points += [(loss, method, authors) for loss, method in pairs() if method == "sbb"]
    rows = search(points, attempt, [lambda row: -row["map"]], config.tuning_rounds)
    for loss, method in pairs():
        mine = [row for row in rows if (row["loss"], row["method"]) == (loss, method)]
        best = max(mine, key=lambda row: row["map"])
        best |= {"chosen": True, "untried": " ".join(untried(mine, best))}
    return rows


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    grids: list[Row] = []
    runs: list[Row] = []
    for dataset in config.datasets:
        rows = tuning(lab, config, dataset)
        grids += rows
        best = {(row["loss"], row["method"]): row["settings"] for row in rows if row["chosen"]}
        # a problem is drawn once for all the methods that follow each other on it
        cases = [
            (draw, noise, loss, method, best.get((loss, method), {}))
            for draw in range(config.seeds)
            for noise in config.noises
            for loss, method in [("", "raw"), *pairs()]
        ]
        params = [_params(lab, config, dataset, loss, m, s, noise, draw) for draw, noise, loss, m, s in cases]
        results = lab.collect(EXPERIMENT, f"Table 2 on {dataset}", trial, params)
        for (draw, noise, loss, method, _), r in zip(cases, results):
            head = {"dataset": dataset, "loss": loss, "method": method, "noise": noise, "draw": draw}
            recall = {f"recall_at_{k}": value for k, value in zip(K, r["recall"])}
            spent = {name: r.get(name) for name in ("train_error", "work", "seconds")}
            spent["work"] = None if spent["work"] is None else spent["work"] / config.n_triplets
            runs.append({**head, "map": r["map"], "precision_at_40": r["precision_at_40"], **recall, **spent})
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "tuning.csv", grids)
    write_csv(folder / "runs.csv", runs)
    write_csv(folder / "table2.csv", summarise(runs, config))
    return {"K": K, **asdict(config)}


def summarise(runs: list[Row], config: Config) -> list[Row]:
    """Mean and standard deviation over the draws."""
    measures = ["map", "precision_at_40", *(f"recall_at_{k}" for k in K), "train_error", "work", "seconds"]
    groups: dict[tuple, list[Row]] = {}
    for row in runs:
        groups.setdefault((row["dataset"], row["noise"], row["loss"], row["method"]), []).append(row)
    out = []
    for (dataset, noise, loss, method), rows in groups.items():
        line: Row = {"dataset": dataset, "loss": loss, "method": method, "noise": noise, "draws": len(rows)}
        for name in measures:
            values = [row[name] for row in rows]
            known = all(v is not None for v in values)
            line[f"{name}_mean"] = float(np.mean(values)) if known else None
            line[f"{name}_std"] = float(np.std(values, ddof=1)) if known and len(values) > 1 else None
        out.append(line)
    order = ["", *dict.fromkeys(loss for loss, _ in pairs())]
    methods = ["raw", *METHODS]
    return sorted(
        out,
        key=lambda r: (
            config.datasets.index(r["dataset"]),
            order.index(r["loss"]),
            methods.index(r["method"]),
            r["noise"],
        ),
    )


def _path(lab: Lab, dataset: str) -> str | None:
    return str(lab.sun) if dataset == "sun" else None


def _params(
    lab: Lab, config: Config, dataset: str, loss: str, method: str, settings: Settings, noise: float, draw: int
) -> Params:
    return {
        "dataset": dataset,
        "path": _path(lab, dataset),
        "loss": loss,
        "method": method,
        "settings": settings,
        "noise": noise,
        "draw": draw,
        "seed": lab.seed,
        "n_train": config.n_train,
        "n_test": config.n_test,
        "n_triplets": config.n_triplets,
        "budget": config.cvx_budget if method == "cvx" else config.budget,
    }
