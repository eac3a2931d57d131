"""Writes the golden files of this version; for a change that is meant to change maps: `python tests/golden/make.py`."""

from __future__ import annotations

import csv
import json
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy
from click.testing import CliRunner

from nearer import Comparisons, OrdinalEmbedding
from nearer.cli.app import cli
from nearer.featuremap import FeatureMap
from nearer.io import open_blocks
from nearer.losses import loss_names
from nearer.metrics.retrieval import retrieval_scores
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import SBB, SVRG, Auto, Result, Solver, get_solver, solver_names

HERE = Path(__file__).parent
SOLVERS = ("svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs")


def comparisons() -> Comparisons:
    """The answers of the golden model of version 0.1.0."""
    saved = np.load(HERE / "cities-0.1.0.npz")
    return Comparisons(saved["index"], None, saved["weights"], saved["labels"], saved["participants"])


def machine() -> dict[str, str]:
    """What the last bits of a fit depend on."""
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "processor": llvmlite.binding.get_host_cpu_name(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def fits() -> dict[str, np.ndarray]:
    """Small maps of every loss with the default solver, and of one loss with every other solver."""
    data = comparisons()
    made = {}
    for d in (1, 2, 3):
        for loss in loss_names():
            made[f"auto {loss} {d}"] = OrdinalEmbedding(d, loss=loss, random_state=0).fit(data)
    for solver in SOLVERS:
        made[f"{solver} tste 2"] = OrdinalEmbedding(
            2, loss="tste", solver=solver, random_state=0, max_seconds=None
        ).fit(data)
    return {name: np.append(model.embedding_.ravel(), model.objective_) for name, model in made.items()}


# ---- every loss with every solver, from memory, from files and from a checkpoint -----------------------------------

N_OBJECTS = 20
EPOCHS, STOP, BLOCK = 5, 2, 130  # epochs of a run, the one after which it stops to be resumed, rows of a block
COLUMNS = {3: ("anchor", "near", "far"), 4: ("i", "j", "l", "k")}


def rows_of_answers(width: int, n_rows: int, seed: int) -> np.ndarray:
    """Answers with some noise about points in two dimensions: int, shape (n_rows, width), the nearer first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_OBJECTS, 2))
    rows = np.argsort(rng.random((n_rows, N_OBJECTS)), axis=1)[:, :width]
    pairs = ((0, 1), (0, 2)) if width == 3 else ((0, 1), (2, 3))
    near, far = (np.linalg.norm(X[rows[:, a]] - X[rows[:, b]], axis=1) for a, b in pairs)
    wrong = near + rng.normal(scale=0.3, size=n_rows) > far
    rows[wrong] = rows[wrong][:, [0, 2, 1] if width == 3 else [2, 3, 0, 1]]
    return rows


def data_in_memory() -> dict[str, Comparisons]:
    """Triplets and weighted quadruplets; a weight in five is zero."""
    triplets, quadruplets = rows_of_answers(3, 500, 0), rows_of_answers(4, 450, 1)
    weights = np.arange(len(quadruplets)) % 5 / 2
    return {
        "triplets": Comparisons(triplets, n_objects=N_OBJECTS),
        "weighted quadruplets": Comparisons(quadruplets, n_objects=N_OBJECTS, weights=weights),
    }


def written(data: dict[str, Comparisons], folder: Path) -> dict[str, Path]:
    """The same as Parquet in row groups of their own size, and without the weights as .npy."""
    files = {}
    for form, comparisons in data.items():
        index = comparisons.index
        table = {name: index[:, column] for column, name in enumerate(COLUMNS[index.shape[1]])}
        if comparisons.weights is not None:
            table["weight"] = comparisons.weights
        files[f"parquet {form}"] = folder / f"{form}.parquet"
        pq.write_table(pa.table(table), files[f"parquet {form}"], row_group_size=170)
        plain = form.removeprefix("weighted ")
        files[f"npy {plain}"] = folder / f"{plain}.npy"
        np.save(files[f"npy {plain}"], index)
    return files


def answers_of_other_kinds() -> dict[str, Comparisons]:
    """Odd ones, central ones, rankings and votes, of which several rows come from one answer."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N_OBJECTS, 2))
    sets = np.argsort(rng.random((200, N_OBJECTS)), axis=1)[:, :3]
    apart = np.stack([np.linalg.norm(X[sets[:, a]] - X[sets[:, b]], axis=1) for a, b in ((1, 2), (0, 2), (0, 1))], 1)
    row = np.arange(len(sets))
    odd, central = sets[row, apart.argmin(axis=1)], sets[row, apart.argmax(axis=1)]
    people = row % 7
    queries, shown = sets[:80, 0], np.argsort(rng.random((80, N_OBJECTS)), axis=1)
    shown = np.stack([some[some != query][:5] for query, some in zip(queries, shown)])
    order = np.argsort(np.linalg.norm(X[queries][:, None] - X[shown], axis=2), axis=1)
    ranked = np.take_along_axis(shown, order, axis=1)
    first = apart[:, 2] < apart[:, 1]
    votes = np.where(first[:, None], [3, 1], [0, 2]) + (row % 3 == 0)[:, None]
    return {
        "odd-one-out": Comparisons.from_odd_one_out(sets, odd, n_objects=N_OBJECTS, participants=people),
        "most-central": Comparisons.from_most_central(sets, central, n_objects=N_OBJECTS),
        "rankings": Comparisons.from_rankings(queries, ranked, n_objects=N_OBJECTS),
        "chosen": Comparisons.from_rankings(queries, ranked, k=2, ordered=False, n_objects=N_OBJECTS),
        "answers": Comparisons.from_answers(sets, first, n_objects=N_OBJECTS, participants=people),
        "votes": Comparisons.from_answers(sets, votes, n_objects=N_OBJECTS),
    }


def short(name: str) -> Solver:
    """A solver with few epochs; the default one as it is."""
    solver = get_solver(name)
    return solver if name == "auto" else replace(solver, max_epochs=EPOCHS)


def pairs() -> Iterator[tuple[str, str]]:
    """Every loss with every solver that takes it."""
    for loss in loss_names():
        for solver in solver_names():
            if solver != "convex" or loss in ("hinge", "ckl", "ste"):
                yield loss, solver


def fitted(X: Any, d: int = 2, checkpoint: Path | None = None, **options: Any) -> Result:
    """The result of a fit; with a checkpoint, of one that stops early and is then resumed."""
    options = {"n_jobs": 1, "random_state": 0, "max_seconds": None} | options
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
        stop = [lambda row, state: row.epoch == STOP]
        stopped = OrdinalEmbedding(d, **options, callbacks=stop).fit(X, checkpoint=checkpoint)
        assert stopped.n_iter_ == STOP
    model = OrdinalEmbedding(d, **options).fit(X, checkpoint=checkpoint, resume=checkpoint is not None)
    return replace(model.result_, embedding=model.embedding_)


def results(folder: Path) -> Iterator[tuple[str, Result]]:
    """Every run by name; `folder` is for files."""
    data = data_in_memory()
    files = written(data, folder)
    start = np.random.default_rng(3).normal(size=(N_OBJECTS, 2))
    for loss, solver in pairs():
        told = {"loss": loss, "solver": short(solver)}
        for form, comparisons in data.items():
            yield f"memory {form} {loss} {solver}", fitted(comparisons, **told)
            yield f"resumed {form} {loss} {solver}", fitted(comparisons, checkpoint=folder / "checkpoint", **told)
        if solver == "convex":  # needs the comparisons in memory
            continue
        for form, path in files.items():
            yield f"{form} {loss} {solver}", fitted(path, **told)
        for form in ("npy triplets", "parquet weighted quadruplets"):
            source = open_blocks(files[form])
            objective = StreamedObjective(source, loss, 2, N_OBJECTS, 1, block_size=BLOCK)
            found = short(solver).solve(objective, start, np.random.default_rng(4))
            yield f"blocks of {form} {loss} {solver}", found
    # Held out by question: where a penalty is to be chosen, and where that is asked for.
    for kind, comparisons in answers_of_other_kinds().items():
        for loss in ("ste", "tste"):
            yield f"memory {kind} {loss} auto", fitted(comparisons, loss=loss)
        yield f"memory {kind} ste auto, five dimensions", fitted(comparisons, 5, loss="ste")
        for name, solver in (("auto", Auto), ("svrg-sbb", SVRG)):
            some = {"step": SBB(), "max_epochs": EPOCHS} if solver is SVRG else {}
            held_out = solver(validation_fraction=0.2, **some)
            yield f"memory {kind} ste {name}, held out", fitted(comparisons, loss="ste", solver=held_out)


def runs() -> dict[str, np.ndarray]:
    """Maps, objectives and gradients of all runs: names (R,), maps one after the other, and the rest (R,)."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few epochs are not enough for a good map
        found = dict(results(Path(folder)))
    return {
        "names": np.array(list(found)),
        "components": np.array([result.embedding.shape[1] for result in found.values()], dtype=np.int8),
        "maps": np.concatenate([result.embedding.ravel() for result in found.values()]),
        "objective": np.array([result.objective for result in found.values()]),
        "n_gradients": np.array([result.n_gradients for result in found.values()]),
    }


# ---- the work that the methods of the paper need -------------------------------------------------------------------


def trials() -> dict[str, list[dict[str, Any]]]:
    """Runs on the problems of Tables 1 and 2, with settings that were once the best of each method: those recorded."""
    recorded = json.loads((HERE / "work.json").read_text())
    return {name: [row["params"] for row in rows] for name, rows in recorded.items()}


def work(trials: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """What the runs give: gradients of single comparisons, for retrieval also how good the map is."""
    root = str(HERE.parents[1])  # the experiments belong to the checkout and not to the installed package
    if root not in sys.path:
        sys.path.insert(0, root)
    return {"table1": list(map(to_the_target, trials["table1"])), "table2": list(map(retrieved, trials["table2"]))}


def to_the_target(params: dict[str, Any]) -> dict[str, Any]:
    """Gradients until the training error of the synthetic problem is 0.15."""
    from experiments.problems import make_table1
    from experiments.watch import reach

    seed, start = params["seed"], params["start"]
    objective = LocalObjective(make_table1(np.random.default_rng([seed, 0])).train, params["loss"], 10, n_jobs=1)
    X0 = np.random.default_rng([seed, 1, start]).random((100, 10))
    arguments = params["method"], params["settings"], objective, X0, [seed, 2, start]
    return {"work": reach(*arguments, target=0.15, most=params["most"], repeats=0)["work"]}


def retrieved(params: dict[str, Any]) -> dict[str, Any]:
    """Work, training error and MAP of digits retrieved by their features after embedding."""
    from experiments.data import load_digits
    from experiments.problems import retrieval_problem
    from experiments.watch import trace

    seed, draw, digits = params["seed"], params["draw"], load_digits()
    sizes = {name: params[name] for name in ("n_train", "n_test", "n_triplets", "noise")}
    random_state = np.random.default_rng([seed, 4, draw])
    p = retrieval_problem(digits.features, digits.labels, 10, random_state=random_state, **sizes)
    objective = LocalObjective(p.comparisons, params["loss"], 10, n_jobs=1)
    X0 = np.random.default_rng([seed, 5, draw]).random((objective.n_objects, 10))
    arguments = params["method"], params["settings"], objective, X0, [seed, 6, draw]
    _, X, spent = trace(*arguments, at=[params["budget"]], measure=lambda X: X)
    places = FeatureMap().fit(p.train_features, X).predict(p.test_features)
    found = retrieval_scores(places, p.test_labels, k=np.arange(40, 101, 10)).mean_average_precision[0]
    return {"work": spent["work"], "train_error": objective.error(X), "map": float(found)}


# ---- what the commands say -----------------------------------------------------------------------------------------

ANSWERS = HERE / "answers"  # about fourteen objects, of which two are new to the map
# Sentences, names of files, times, and how the input was understood: not figures.
NOT_FIGURES = frozenset((
    "nearer", "command", "interrupted", "input", "options", "message", "seconds", "verdict", "sentence", "paragraph",
    "problems", "files", "output", "report", "kind", "dropped", "partial", "facts",
))  # fmt: skip
COMMANDS = {
    "check": "check answers.csv -d 2",
    "check of odd ones": "check odd.csv -d 2",
    "check of named answers": "check asked.csv -d 2",
    "fit": "fit answers.csv -o out --loss tste --cv 3 --dims 1-2 --learning-curve --bootstrap 3",
    "fit of odd ones": "fit odd.csv -o odd --cv 3 --cv-by participant --loss ste",
    "fit of named answers": "fit asked.csv -o asked --loss tste --cv 3 -d 1 --n-init 2",
    "fit with reliability": "fit answers.csv -o reliable --cv 0 --loss ste --reliability",
    "fit in as many dimensions as needed": "fit answers.csv -o auto --loss tste -d auto --cv 0",
    "dims": "dims answers.csv --loss tste --dims 1-3 --cv 3",
    "dims of odd ones": "dims odd.csv --loss tste --dims 1-2 --cv 3",
    "people": "people answers.csv --loss tste",
    "people by rules": "people answers.csv --loss tste --rules rules.toml -o kept.csv",
    "people of odd ones": "people odd.csv --loss tste",
    "score": "score out asked.csv",
    "score of odd ones": "score out odd.csv",
    "place": "place out new.csv",
    "map": "map out features.csv",
    "neighbours": "neighbours out -k 2",
    "suggest": "suggest answers.csv -n 8",
    "suggest odd ones": "suggest odd.csv -n 6 --ask odd-one-out",
    "suggest without answers": "suggest --objects 12 -n 6",
    "plan": "plan 8 --target 0.7 --n-runs 2",
}


def figures(value: Any) -> Any:
    """A result without what is no figure."""
    if isinstance(value, dict):
        return {name: figures(item) for name, item in value.items() if name not in NOT_FIGURES}
    return [figures(item) for item in value] if isinstance(value, list) else value


def said(folder: Path) -> dict[str, Any]:
    """The figures of every command, called one after the other in a folder that holds the answers."""
    found = {}
    for name, line in COMMANDS.items():
        command, *words = line.split()
        here = [(folder / word).exists() or before == "-o" for before, word in zip([command, *words], words)]
        words = [str(folder / word) if is_file else word for word, is_file in zip(words, here)]
        result = CliRunner().invoke(cli, [command, *words, "--json", "--quiet"], prog_name="nearer")
        if result.exit_code:
            raise AssertionError(f"{line}: {result.stderr}")
        found[name] = figures(json.loads(result.stdout))
        if command == "fit":
            with (Path(words[words.index("-o") + 1]) / "embedding.csv").open(newline="") as file:
                rows = list(csv.reader(file))[1:]
            found[name]["embedding"] = {label: list(map(float, place)) for label, *place in rows}
    return found


def write_json(name: str, value: Any) -> None:
    """One figure's list or one trial on a line, so that a change shows as a change of its line."""
    parts = []
    for key, item in value.items():
        inner = item.items() if isinstance(item, dict) else enumerate(item)
        lines = [f"{json.dumps(k) + ': ' if isinstance(item, dict) else ''}{json.dumps(v)}" for k, v in inner]
        ends = "{}" if isinstance(item, dict) else "[]"
        parts.append(f"{json.dumps(key)}: {ends[0]}\n  " + ",\n  ".join(lines) + f"\n {ends[1]}")
    (HERE / name).write_text("{\n " + ",\n ".join(parts) + "\n}\n")


if __name__ == "__main__":
    np.savez_compressed(HERE / "fits.npz", **fits())
    np.savez_compressed(HERE / "runs.npz", **runs())
    wanted = trials()
    given = work(wanted)
    write_json("work.json", {
        name: [{"params": params, "result": result} for params, result in zip(wanted[name], given[name])]
        for name in wanted
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ANSWERS, folder, dirs_exist_ok=True)
        write_json("commands.json", said(Path(folder)))
    (HERE / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n")
    model = OrdinalEmbedding(2, loss="tste", random_state=0).fit(comparisons())
    model.save(HERE / "cities-format2.nearer", force=True)
