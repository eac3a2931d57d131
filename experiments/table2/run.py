"""Run Table 2 and Figure 3: embed the training images, map the test images by their features, retrieve.

Three kinds of rows: settings tuned here ("tuned"), those of the authors' scripts ("authors"), and these with what their
programs do besides ("programs"). Every embedding is scored by the procedure as printed and by that of the authors'
programs; at the highest noise also with each of the differences switched on by itself.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.data import load_digits, load_letters
from experiments.methods import LOSSES, METHODS, Settings, absolute, as_programmed, grid, make_solver, pairs
from experiments.problems import RetrievalProblem, retrieval_problem
from experiments.search import Point, search, untried
from experiments.sun import load_sun
from experiments.table2.authors import (
    Embedding,
    before_projection,
    first_eigenpairs,
    map_features,
    scores_with_query,
    squared_distances,
)  # fmt: skip
from experiments.table2.config import (
    AUTHORS,
    CATEGORIES,
    FULL,
    PRINTED,
    QUICK,
    SWITCHES,
    TUNING_DRAW,
    Config,
    K,
)  # fmt: skip
from experiments.tables import Row, write_csv
from experiments.trials import Lab, Params
from experiments.watch import trace
from nearer.featuremap import mean_squared_distance
from nearer.metrics.retrieval import retrieval_scores
from nearer.objective import LocalObjective
from nearer.solvers.convex import points_from_gram
from nearer.solvers.solver import no_progress

EXPERIMENT = "table2"
MEASURES = ("map", "precision_at_40", *(f"recall_at_{k}" for k in K))


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    if lab.trials is not None:
        config = replace(config, draws=lab.trials)
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


def procedure(*switches: str) -> str:
    """The name of a procedure by its switches."""
    return "+".join(name for name in SWITCHES if name in switches)


def authors_procedure(method: str) -> str:
    """The procedure with every switch on; only the convex method has eigenpairs."""
    return procedure("kernel", "width", "query", *(["eigenpairs"] if method == "cvx" else []))


def all_procedures(method: str) -> list[str]:
    """Every switch by itself, and all together; imaginary coordinates only as in the programs, with all else."""
    every = authors_procedure(method)
    found = [PRINTED, "kernel", "width", "query", procedure("kernel", "width"), procedure("width", "unit"), every]
    found.append(procedure(*every.split("+"), "unit"))
    if method == "cvx":
        found += ["eigenpairs", authors_procedure(""), procedure(*every.split("+"), "imaginary")]
    return found


def trial(params: Params) -> dict[str, Any]:
    """Embed, map and retrieve once, at several amounts of work; method "raw" retrieves by the features themselves.

    Returns ``at``, one entry for each amount, with the training error and the scores by every procedure asked for.
    """
    names = ("dataset", "path", "n_train", "n_test", "n_triplets", "noise", "seed", "draw")
    p = problem(*(params[name] for name in names))
    if params["method"] == "raw":
        scores = {PRINTED: score(p.test_features, p.test_labels)}
        scores[procedure("query")] = with_query(p.test_features, p.test_labels)
        return {"at": [{"train_error": None, "scores": scores}]}
    n_components = len(p.classes)
    objective = LocalObjective(p.comparisons, params["loss"], n_components, n_jobs=1)
    X0 = np.random.default_rng([params["seed"], 5, params["draw"]]).random((objective.n_objects, n_components))
    if params["method"] == "cvx":
        found, spectrum = convex_embeddings(params["settings"], objective, X0, params["budgets"])
    else:
        seed = [params["seed"], 6, params["draw"]]
        arguments = params["method"], params["settings"], objective, X0, seed
        points, _, _ = trace(*arguments, at=params["budgets"], measure=lambda X: X)
        found, spectrum = [(Embedding.real(_tamed(X)), None) for X in points], []
    at = [
        {
            "train_error": objective.error(largest.places),
            "scores": scores_by(params["procedures"], p, largest, first),
        }
        for largest, first in found
    ]
    return {"at": at, "spectrum": spectrum if params.get("spectrum") else []}


def _tamed(X: np.ndarray) -> np.ndarray:
    """Points small enough to be squared: a run that diverged is ranked as it is, at another scale."""
    return X / max(1.0, float(np.abs(X).max()) / 1e100)


def convex_embeddings(
    settings: Settings, objective: LocalObjective, X0: np.ndarray, budgets: Sequence[float]
) -> tuple[list[tuple[Embedding, Embedding]], list[float]]:
    """From the largest and from the first eigenpairs, at each budget; and the spectrum before the last projection."""
    solver = make_solver("cvx", settings, objective.n_objects, objective.n_comparisons)
    state, ahead, found = solver.init(objective, X0, np.random.default_rng(0), no_progress), None, []
    for budget in budgets:
        while (ahead := ahead or solver.advance(objective, state)).n_gradients <= budget * objective.n_comparisons:
            state, ahead = ahead, None
        before, symmetric = before_projection(solver, objective, state)
        largest = Embedding.real(points_from_gram(state.memory["K"], objective.n_components))
        found.append((largest, first_eigenpairs(before, objective.n_components, symmetric)))
    return found, np.linalg.eigvalsh((before + before.T) / 2).tolist()


def scores_by(
    procedures: Sequence[str], p: RetrievalProblem, largest: Embedding, first: Embedding | None
) -> dict[str, dict[str, Any]]:
    """Scores of an embedding by each procedure."""

    scale = mean_squared_distance(np.concatenate([p.train_features, p.test_features])) ** 0.5

    @functools.lru_cache
    def mapped(eigenpairs: bool, imaginary: bool, kernel: bool, width: bool, unit: bool) -> tuple[np.ndarray, ...]:
        embedding = first if eigenpairs and first is not None else largest
        if not imaginary:
            embedding = Embedding.real(embedding.places)
        train, test = (X / (scale if unit else 1.0) for X in (p.train_features, p.test_features))
        return map_features(embedding, train, test, own_kernel=kernel, authors_width=width), embedding.imaginary

    found = {}
    for name in procedures:
        on = name.split("+")
        places, imaginary = mapped(*(switch in on for switch in ("eigenpairs", "imaginary", "kernel", "width", "unit")))
        found[name] = with_query(places, p.test_labels, imaginary) if "query" in on else score(places, p.test_labels)
    return found


def score(points: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Each image queries all others: MAP and precision at 40, recall at each K."""
    scores = retrieval_scores(points, labels, k=np.array(K))
    return {
        "map": float(scores.mean_average_precision[0]),
        "precision_at_40": float(scores.precision[0]),
        "recall": scores.recall.tolist(),
    }


def with_query(points: np.ndarray, labels: np.ndarray, imaginary: np.ndarray | None = None) -> dict[str, Any]:
    """The same with every query in its own ranking."""
    mask = np.zeros(points.shape[1], dtype=bool) if imaginary is None else imaginary
    return scores_with_query(squared_distances(points, mask), labels, K)


class Run:
    """One dataset: its sizes, and the parameters of its trials."""

    def __init__(self, lab: Lab, config: Config, dataset: str):
        self.lab, self.config, self.dataset = lab, config, dataset
        self.path = str(lab.sun) if dataset == "sun" else None
        self.n_objects = config.n_train * n_categories(dataset, self.path)
        self.large = self.n_objects > config.large

    def params(
        self, loss: str, method: str, settings: Settings, noise: float, draw: int, budgets: Iterable[float],
        procedures: Iterable[str],
    ) -> Params:  # fmt: skip
        return {
            "dataset": self.dataset, "path": self.path, "loss": loss, "method": method, "settings": settings,
            "noise": noise, "draw": draw, "seed": self.lab.seed, "n_train": self.config.n_train,
            "n_test": self.config.n_test, "n_triplets": self.config.n_triplets, "budgets": list(budgets),
            "procedures": list(procedures),
        }  # fmt: skip

    def tuning(self, number: int) -> list[Row]:
        """Search on a problem of its own draw; the best MAP is chosen."""
        config, noise = self.config, self.config.tuning_noise

        def attempt(points: list[Point]) -> list[Row]:
            draw = TUNING_DRAW + number
            params = [self.params(*point, noise, draw, [config.budget], [PRINTED]) for point in points]
            results = self.lab.collect(EXPERIMENT, f"tuning on {self.dataset}", trial, params)
            return [
                {
                    "dataset": self.dataset, "tuning_draw": number, "loss": loss, "method": method,
                    "settings": settings, "absolute": absolute(method, settings, self.n_objects, config.n_triplets),
                    "map": r["at"][0]["scores"][PRINTED]["map"], "train_error": r["at"][0]["train_error"],
                    "chosen": False, "untried": "",
                }
                for (loss, method, settings), r in zip(points, results)
            ]  # fmt: skip

        once = self.large and number >= config.large_tuning_draws
        tuned = [(loss, method) for loss, method in pairs() if not (once and method == "cvx")]
        points: list[Point] = [(*pair, s) for pair in tuned for s in grid(pair[1], config.tuning_every)]
        points += [(loss, method, AUTHORS[loss][method]) for loss, method in tuned if method == "sbb"]
        rows = search(points, attempt, [lambda row: -row["map"]], config.tuning_rounds)
        for loss, method in tuned:
            mine = [row for row in rows if (row["loss"], row["method"]) == (loss, method)]
            best = max(mine, key=lambda row: row["map"])
            best |= {"chosen": True, "untried": " ".join(untried(mine, best))}
        return rows

    def cases(self, tuned: list[Row]) -> list[tuple[str, int, Params]]:
        """All runs to be judged: which settings, of which tuning draw, with which parameters.

        The authors' settings are run to their horizon too, as are the tuned ones of the first tuning draw; the convex
        method, which takes far longer, on the first draw of a small problem alone.
        """
        config, found = self.config, []
        least, most, horizons = min(config.noises), config.switched_noise, dict(config.horizons)
        for draw, noise in itertools.product(range(config.draws), config.noises):
            found.append(("", 0, self.params("", "raw", {}, noise, draw, [0], [])))
            for row in tuned:
                loss, method, number = row["loss"], row["method"], row["tuning_draw"]
                longer = [config.more * config.budget] if method == "cvx" else [horizons[loss]] if number == 0 else []
                point = loss, method, row["settings"], noise, draw
                found.append(("tuned", number, self.judged(*point, longer if noise == most else [])))
            for loss, method in pairs() if noise in (least, most) else ():
                slow = method == "cvx" and self.large
                once = method != "cvx" or (noise == most and draw == 0 and not slow)
                settings, longer = AUTHORS[loss][method], [horizons[loss]] if once else []
                if noise == most or not slow:
                    found.append(("authors", 0, self.judged(loss, method, settings, noise, draw, longer)))
                # the convex STE of the programs takes eigenvectors of a matrix that is not symmetric: slow
                if noise == most and (draw == 0 or method != "cvx"):
                    point = loss, *_programmed(loss, method), noise, draw
                    found.append(("programs", 0, self.judged(*point, [] if method == "cvx" else longer)))
        return found

    def judged(
        self, loss: str, method: str, settings: Settings, noise: float, draw: int, longer: list[float]
    ) -> Params:
        """Parameters of a run up to the budget and to longer ones."""
        switched = noise == self.config.switched_noise
        procedures = all_procedures(method) if switched else [PRINTED, authors_procedure(method)]
        return self.params(loss, method, settings, noise, draw, [self.config.budget, *longer], procedures)

    def steps(self) -> tuple[list[Row], list[Row]]:
        """Plain projected gradient by step size, and the spectrum from which the authors' programs take eigenpairs."""
        if self.large:
            return [], []
        config, rows, spectra = self.config, [], []
        imaginary = procedure(*authors_procedure("cvx").split("+"), "imaginary")
        procedures = [PRINTED, procedure("eigenpairs"), authors_procedure(""), authors_procedure("cvx"), imaginary]
        for loss in ("hinge", "ste"):
            authors = AUTHORS[loss]["cvx"]["step"]
            rest = config.switched_noise, 0, [config.step_budget], procedures
            params = [
                {**self.params(loss, "cvx", {"step": step}, *rest), "spectrum": step == authors}
                for step in (authors, *config.steps)
            ]  # fmt: skip
            for one, r in zip(params, self.lab.collect(EXPERIMENT, "steps of the convex method", trial, params)):
                step, last = one["settings"]["step"], r["at"][-1]
                head = {"dataset": self.dataset, "loss": loss, "step": step, "authors": step == authors}
                scores = {name: _rounded(last["scores"][name]["map"]) for name in procedures}
                rows += [{**head, "procedure": name, "map": value} for name, value in scores.items()]
                spectra += [
                    {"dataset": self.dataset, "loss": loss, "rank": k + 1, "eigenvalue": value}
                    for k, value in enumerate(r["spectrum"])
                ]
        return rows, spectra


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    grids: list[Row] = []
    runs: list[Row] = []
    steps: list[Row] = []
    spectra: list[Row] = []
    for dataset in config.datasets:
        part = Run(lab, config, dataset)
        tried = [row for number in range(config.tuning_draws) for row in part.tuning(number)]
        grids += tried
        cases = part.cases([row for row in tried if row["chosen"]])
        results = lab.collect(EXPERIMENT, f"Table 2 on {dataset}", trial, [params for _, _, params in cases])
        for (settings, number, params), r in zip(cases, results):
            runs += _rows(settings, number, params, r)
        by_step, spectrum = part.steps()
        steps, spectra = steps + by_step, spectra + spectrum
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "tuning.csv", grids)
    whole = [row for row in runs if row["procedure"] in (PRINTED, _authors(row))]
    write_csv(folder / "runs.csv", whole)
    write_csv(folder / "table2.csv", summarise(whole, config))
    write_csv(folder / "switches.csv", _switches(runs, config))
    write_csv(folder / "steps.csv", steps)
    write_csv(folder / "spectrum.csv", spectra)
    return {"K": K, **asdict(config)}


def _rows(settings: str, number: int, params: Params, result: dict[str, Any]) -> list[Row]:
    """One row for each amount of work and procedure."""
    head = {"dataset": params["dataset"], "loss": params["loss"],
            "method": {"bb": "sbb0"}.get(params["method"], params["method"]), "settings": settings,
            "tuning_draw": number, "noise": params["noise"], "draw": params["draw"]}  # fmt: skip
    return [
        {
            **head, "budget": budget, "procedure": name, "train_error": _rounded(at["train_error"]),
            "map": _rounded(r["map"]), "precision_at_40": _rounded(r["precision_at_40"]),
            **{f"recall_at_{k}": _rounded(value) for k, value in zip(K, r["recall"])},
        }
        for budget, at in zip(params["budgets"], result["at"])
        for name, r in at["scores"].items()
    ]  # fmt: skip


def _programmed(loss: str, method: str) -> tuple[str, Settings]:
    """The method and settings of a program: Batch, SGD and SVRG do as they should, SBB_0 mostly takes BB steps."""
    settings = AUTHORS[loss][method]
    if method in ("batch", "sgd", "svrg"):
        return method, settings
    return "bb" if method == "sbb0" and loss != "hinge" else method, as_programmed(settings)


def _authors(row: Row) -> str:
    return authors_procedure(row["method"]) if row["method"] != "raw" else "query"


def _switches(runs: list[Row], config: Config) -> list[Row]:
    """MAP by every procedure, where each was tried."""
    names = ("dataset", "procedure", "settings", "budget", "loss", "method", "draws", "map_mean", "map_std")
    switched = [row for row in runs if row["noise"] == config.switched_noise]
    return [{name: row[name] for name in names} for row in summarise(switched, config)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def summarise(runs: list[Row], config: Config) -> list[Row]:
    """Mean over all pairs of a tuning draw and a draw; standard deviation over the draws, of the mean over tuning."""
    groups: dict[tuple, list[Row]] = {}
    for row in runs:
        key = ("dataset", "procedure", "settings", "budget", "noise", "loss", "method")
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    out = []
    for key, rows in groups.items():
        line = dict(zip(("dataset", "procedure", "settings", "budget", "noise", "loss", "method"), key))
        line |= {"draws": len({row["draw"] for row in rows}), "tunings": len({row["tuning_draw"] for row in rows})}
        for name in (*MEASURES, "train_error"):
            by_draw: dict[int, list[float]] = {}
            for row in rows:
                by_draw.setdefault(row["draw"], []).append(row[name])
            known = all(v is not None for values in by_draw.values() for v in values)
            means = [float(np.mean(values)) for values in by_draw.values()] if known else []
            line[f"{name}_mean"] = _rounded(float(np.mean(means))) if means else None
            line[f"{name}_std"] = _rounded(float(np.std(means, ddof=1))) if len(means) > 1 else None
        out.append(line)
    losses, methods = ["", *LOSSES], ["raw", *METHODS]
    orders = {"dataset": config.datasets, "settings": ("", "tuned", "authors", "programs")}
    return sorted(
        out,
        key=lambda r: (
            orders["dataset"].index(r["dataset"]), r["procedure"], orders["settings"].index(r["settings"]), r["budget"],
            losses.index(r["loss"]), methods.index(r["method"]), r["noise"],
        ),
    )  # fmt: skip
