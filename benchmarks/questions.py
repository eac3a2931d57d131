"""What choosing questions is worth: error against number of answers, by strategy; speed.

    python -m benchmarks.questions [curves] [misfit] [speed] [summary] [pages]
                                   [--only NUMBER ...] [--minutes M] [--quick]

Everything is simulated, so that the truth is known. `curves` runs one setting after the other and keeps each in
``benchmarks/results/questions_curves.json`` when it is done: what is there is not run again, so it can be broken off
and taken up (`--only` names settings by number, `--minutes` begins none after so long). `summary` makes the table
and the figure of what is there, `pages` writes the tables into benchmarks/RESULTS.md.

Every level of kind, noise, size and answers in flight occurs in the settings, not every combination. "chosen on" are
the kinds of points that the strategy was developed with. In the settings "looked into" it did worst in a first run of
all of them; why was found out on other studies of the same kind, and mended. The others were kept aside.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import NullFormatter
from scipy.optimize import brentq

from benchmarks import common
from benchmarks.figures import NOT_RUN, fill, legend, panels
from nearer import Comparisons, OrdinalEmbedding
from nearer.display import PALETTE
from nearer.io import atomic_write
from nearer.metrics.answer_law import fit_distance_law
from nearer.plots import save_figure
from nearer.questions import Crowd, Predictive, simulate_study, suggest
from nearer.questions.pool import Pool
from nearer.questions.posterior import Posterior

Rows = list[dict[str, Any]]

SEED = 9000
RUNS = 10
STRATEGIES = ("random", "balanced", "uncertainty", "crowd-kernel", "auto")
TIMES = (1.0, 1.5, 2.0, 3.0, 4.5)  # n d log2 n answers; 4.5 are 45 answers an object for 30 objects in 2-D
LEVELS = {"low": 0.1, "high": 0.25}  # of random answers wrong
CURVES = common.RESULTS / "questions_curves.json"


class Setting(NamedTuple):
    """One study that is simulated over and over."""

    kind: str
    noise: str
    law: str
    n: int
    in_flight: int


SETTINGS = (
    Setting("ring", "low", "ste", 30, 20), Setting("clusters", "high", "ste", 30, 20),
    Setting("tree", "high", "ratio", 30, 0), Setting("normal 5-D", "low", "ratio", 30, 0),
    Setting("normal 2-D", "low", "ste", 60, 0), Setting("music", "high", "ste", 60, 20),
    Setting("tree", "low", "ste", 60, 100), Setting("ring", "high", "ratio", 60, 0),
    Setting("normal 5-D", "high", "tste", 60, 100), Setting("clusters", "low", "ratio", 200, 100),
    Setting("normal 2-D", "high", "ratio", 200, 20), Setting("music", "low", "ratio", 200, 0),
)  # fmt: skip
CHOSEN_ON = ("normal 2-D", "ring")
LOOKED_INTO = (("clusters", "high"), ("music", "high"))
SIDES = ("chosen on", "looked into", "aside")


# ---- points and people -----------------------------------------------------------------------------------------------


def _clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(6, 2))[rng.integers(6, size=n)] + 0.25 * rng.normal(size=(n, 2))


def _ring(n: int, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(n, 2))


def _tree(n: int, rng: np.random.Generator) -> np.ndarray:
    """Every object branches off one of the first few at a distance that shrinks with each level."""
    X, depth = np.zeros((n, 3)), np.zeros(n)
    for k in range(1, n):
        parent = rng.integers(min(k, max(k // 2, 1)))
        depth[k] = depth[parent] + 1
        X[k] = X[parent] + 0.75 ** depth[k] * rng.normal(size=3)
    return X


def _music(n: int, rng: np.random.Generator) -> np.ndarray:
    """A 3-D map of real answers about artists; those with the most answers."""
    return _artists()[:n]


@functools.cache
def _artists() -> np.ndarray:
    from nearer.io import read_comparisons

    folder = os.environ.get("NEARER_DATA")
    if folder is None:
        raise SystemExit("music: set NEARER_DATA to the folder with music.csv")
    data = read_comparisons(Path(folder) / "music.csv").comparisons
    X = OrdinalEmbedding(3, loss="tste", random_state=0, n_jobs=1).fit(data).embedding_
    return X[np.argsort(-np.bincount(data.index.ravel(), minlength=len(X)), kind="stable")]


POINTS: dict[str, tuple[Callable[[int, np.random.Generator], np.ndarray], int]] = {
    "normal 2-D": (lambda n, rng: rng.normal(size=(n, 2)), 2),
    "normal 5-D": (lambda n, rng: rng.normal(size=(n, 5)), 5),
    "clusters": (_clusters, 2),
    "ring": (_ring, 2),
    "tree": (_tree, 3),
    "music": (_music, 3),
}


def crowd_of(setting: Setting, rng: np.random.Generator) -> Crowd:
    """Ten people of different quality who get the share of answers wrong that the setting says."""
    X = POINTS[setting.kind][0](setting.n, rng)
    X = X / math.sqrt(X.var(axis=0).sum())
    asked = Crowd(X).truth(4000, rng).index
    people = {"lapse": 0.02, "n_people": 10, "spread": 0.3, "random_state": int(rng.integers(2**31))}

    def excess(log_scale: float) -> float:
        made = Crowd(X, setting.law, math.exp(log_scale), **people)
        return float(1.0 - made.probability(asked).mean()) - LEVELS[setting.noise]

    scale = math.exp(brentq(excess, math.log(1e-2), math.log(1e2), xtol=1e-3))
    return Crowd(X, setting.law, scale, **people)


# ---- error against answers -------------------------------------------------------------------------------------------


def unit_of(setting: Setting) -> float:
    """n d log2 n, the answers at which a map begins to form."""
    return setting.n * POINTS[setting.kind][1] * math.log2(setting.n)


def _run(case: tuple[Setting, str, int]) -> tuple[list[float], float]:
    setting, strategy, seed = case
    started = time.process_time()
    crowd = crowd_of(setting, np.random.default_rng([SEED, seed, SETTINGS.index(setting)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = simulate_study(
            crowd, [round(times * unit_of(setting)) for times in TIMES], strategy=strategy,
            batch=round(unit_of(setting) / 4), in_flight=setting.in_flight, random_state=seed,
            estimator=OrdinalEmbedding(POINTS[setting.kind][1], loss="tste", n_jobs=1),
        )  # fmt: skip
    return study.error.tolist(), time.process_time() - started


def curves(quick: bool = False, only: list[int] | None = None, minutes: float = math.inf) -> None:
    """Error on random questions by number of answers; the same points, people and first answers for all strategies."""
    record = {} if quick or not CURVES.is_file() else json.loads(CURVES.read_text())
    done = {row["setting"]: row for row in record.get("rows", [])}
    runs, began = 2 if quick else RUNS, time.monotonic()
    for number, setting in enumerate(SETTINGS[:1] if quick else SETTINGS):
        if number in done or (only and number not in only) or time.monotonic() - began > 60 * minutes:
            continue
        started = time.perf_counter()
        cases = [(setting, strategy, seed) for strategy in STRATEGIES for seed in range(runs)]
        with ProcessPoolExecutor(2) as pool:
            found = list(pool.map(_run, cases))
        errors = {s: [found[k * runs + seed][0] for seed in range(runs)] for k, s in enumerate(STRATEGIES)}
        cpu = sum(seconds for _, seconds in found)
        done[number] = {
            "setting": number, **setting._asdict(), "d": POINTS[setting.kind][1],
            "answers": [round(times * unit_of(setting)) for times in TIMES], "errors": errors, "cpu_seconds": cpu,
            "commit": common.facts()["commit"],
        }  # fmt: skip
        print(f"{setting}: {cpu:.0f} s of CPU, {time.perf_counter() - started:.0f} s", flush=True)
        if quick:
            print(common.table(_curve_rows(list(done.values()))))
        else:
            rows = [done[key] for key in sorted(done)]
            CURVES.write_text(json.dumps({**common.facts(), "rows": rows}, indent=1) + "\n")


def _side(kind: str, noise: str) -> str:
    if kind in CHOSEN_ON:
        return SIDES[0]
    return SIDES[1] if (kind, noise) in LOOKED_INTO else SIDES[2]


def share_needed(answers: np.ndarray, base: np.ndarray, mine: np.ndarray, at: int) -> float:
    """Answers from which on `mine` is no worse than `base` at one of the sizes, as a fraction of that size.

    Above 1 if it takes more; infinite if the error is larger at the end, even if it was smaller before.
    """
    goal = base[at]
    k = int(np.max(np.flatnonzero(mine > goal), initial=-1)) + 1
    if k in (0, len(mine)):
        return math.inf if k else float(answers[0] / answers[at])
    share = math.log(mine[k - 1] / goal) / math.log(mine[k - 1] / max(mine[k], 1e-9))
    return float(answers[k - 1] * (answers[k] / answers[k - 1]) ** share / answers[at])


def _curve_rows(done: Rows) -> Rows:
    rows = []
    for one in done:
        answers = np.array(one["answers"], dtype=float)
        errors = {name: np.array(runs) for name, runs in one["errors"].items()}
        base, mine = errors["random"], errors["auto"]
        rng = np.random.default_rng(0)
        drawn = []
        for _ in range(400):  # runs drawn with replacement, the same for both: points and people are shared
            pick = rng.integers(len(base), size=len(base))
            drawn.append(share_needed(answers, base[pick].mean(axis=0), mine[pick].mean(axis=0), -1))
        low, high = np.quantile(drawn, [0.05, 0.95], method="nearest")
        difference = mine - base
        se = difference.std(axis=0, ddof=1) / math.sqrt(len(base))
        ended_worse = int((difference[:, -1] > 0).sum())
        worst = float(np.max(np.where(se > 0, difference.mean(axis=0) / np.where(se > 0, se, 1.0), 0.0)))
        row: dict[str, Any] = {
            "setting": f"{one['kind']}, {one['noise']} noise ({one['law']})", "n": one["n"],
            "in flight": one["in_flight"], "data": _side(one["kind"], one["noise"]),
            "random's error": float(base[:, -1].mean()), "auto's": float(mine[:, -1].mean()),
            "auto needs": share_needed(answers, base.mean(axis=0), mine.mean(axis=0), -1),
            "90 % from": float(low), "to": float(high),
            "at 3 n d log2 n": share_needed(answers, base.mean(axis=0), mine.mean(axis=0), -2),
            "at 2": share_needed(answers, base.mean(axis=0), mine.mean(axis=0), -3),
        }  # fmt: skip
        for name in ("balanced", "uncertainty", "crowd-kernel"):
            row[name] = share_needed(answers, base.mean(axis=0), errors[name].mean(axis=0), -1)
        rows.append(row | {"auto at its worst, in SE": worst, "runs that ended worse": ended_worse})
    return rows


def summary() -> None:
    """Tables of the curves that are there."""
    record = json.loads(CURVES.read_text())
    found = _curve_rows(record["rows"])
    rows = list(found)
    for side in (*SIDES, "all"):
        mine = [row for row in found if side in (row["data"], "all")]
        if mine:
            middle = {name: float(np.median([row[name] for row in mine])) for name, value in mine[0].items()
                      if isinstance(value, float)}  # fmt: skip
            rows.append({"setting": f"median, {side}", "n": "", "in flight": "", "data": len(mine), **middle})
    rows = [{key: "not reached" if value == math.inf else value for key, value in row.items()} for row in rows]
    print(common.table(rows))
    draw()
    common.save("questions", rows, about=curves.__doc__, curves=CURVES.name, runs=RUNS,
                cpu_seconds=round(sum(row["cpu_seconds"] for row in record["rows"])))  # fmt: skip


def draw() -> None:
    """The curves, with bands of one standard error, as docs/figures/questions.svg."""
    done = json.loads(CURVES.read_text())["rows"]
    figure, axes = panels(4, -(-len(done) // 4), width=3.2, height=2.6)
    for ax, one in zip(axes, done):
        for number, name in enumerate(STRATEGIES):
            runs = 100 * np.array(one["errors"][name])
            mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(len(runs))
            colour = PALETTE[5] if name == "auto" else PALETTE[number]
            ax.plot(one["answers"], mean, color=colour, label=name, linewidth=2.2 if name == "auto" else 1.2)
            ax.fill_between(one["answers"], mean - se, mean + se, color=colour, alpha=0.2, linewidth=0)
        ax.set(xscale="log", yscale="log", xlabel="answers", ylabel="error, %")
        ax.set_title(f"{one['kind']}, {one['noise']} noise, n = {one['n']}, {one['in_flight']} in flight", fontsize=8)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter(NullFormatter())
        ax.set_xticks(one["answers"][::2], [f"{count:,}" for count in one["answers"][::2]])
        low, high = ax.get_ylim()
        ticks = [tick for tick in (1, 2, 3, 5, 7, 10, 15, 20, 30, 40) if low <= tick <= high]
        ax.set_yticks(ticks, [str(tick) for tick in ticks])
    for ax in axes[len(done) :]:
        ax.remove()
    legend(figure, axes[: len(done)])
    save_figure(figure, common.ROOT / "docs" / "figures" / "questions.svg", force=True)


def pages() -> None:
    """Write the saved tables into benchmarks/RESULTS.md."""
    page = common.PAGE
    content = {}
    for name in ("curves", "misfit", "speed"):
        path = common.RESULTS / f"questions{'' if name == 'curves' else '_' + name}.json"
        if path.is_file():
            record = json.loads(path.read_text())
            content[f"questions-{name}"] = f"{common.table(record['rows'])}\n{common.about(record)}\n"
        else:
            content[f"questions-{name}"] = NOT_RUN
    with atomic_write(page, force=True, mode="w") as file:
        file.write(fill(page.read_text(encoding="utf-8"), content))


# ---- too few dimensions ---------------------------------------------------------------------------------------------


MISFIT = ((3, 1), (4, 2))  # dimensions of the points, and of the map
MISFIT_TIMES = (2.0, 5.0, 10.0, 20.0)


def _misfit_run(case: tuple[int, int, str, int]) -> list[float]:
    true, d, strategy, seed = case
    X = np.random.default_rng([SEED + 1, seed, true]).normal(size=(30, true))
    crowd = Crowd(X / math.sqrt(X.var(axis=0).sum()), "ste", 2.0, lapse=0.02)
    unit = 30 * d * math.log2(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = simulate_study(
            crowd, [round(times * unit) for times in MISFIT_TIMES], strategy=strategy, batch=round(unit),
            random_state=seed, estimator=OrdinalEmbedding(d, loss="tste", n_jobs=1),
        )  # fmt: skip
    return study.error.tolist()


def misfit(quick: bool = False) -> None:
    """Maps of too few dimensions and many answers: is the error of `auto` below that of random questions?"""
    rows, runs = [], 2 if quick else 8
    for true, d in MISFIT[: 1 if quick else None]:
        with ProcessPoolExecutor(2) as pool:
            cases = [(true, d, strategy, seed) for strategy in ("random", "auto") for seed in range(runs)]
            base, mine = np.array(list(pool.map(_misfit_run, cases))).reshape(2, runs, -1)
        for k, times in enumerate(MISFIT_TIMES):
            away = mine[:, k] - base[:, k]
            rows.append({
                "points": f"{true}-D", "map": f"{d}-D", "answers": round(times * 30 * d * math.log2(30)),
                "random's error": base[:, k].mean(), "auto's": mine[:, k].mean(), "difference": away.mean(),
                "its standard error": away.std(ddof=1) / math.sqrt(runs), "runs worse": int((away > 0).sum()),
                "of": runs,
            })  # fmt: skip
    print(common.table(rows), flush=True)
    if not quick:
        common.save("questions_misfit", rows, about=misfit.__doc__)


# ---- speed -----------------------------------------------------------------------------------------------------------


def speed(quick: bool = False) -> None:
    """Candidates scored, and a round of 100 questions at 300 objects and 20,000 answers; medians of 9.

    Seconds of processor time count the work, whatever else runs on the machine; seconds are those of the clock.
    """
    rows = [_speed_of(d, *((2, 50_000) if quick else (9, 500_000))) for d in (2, 3, 5)]
    print(common.table(rows), flush=True)
    if not quick:
        load = os.getloadavg()[0]
        common.save("questions_speed", rows, about=speed.__doc__, load_average=round(load, 1))


def _speed_of(d: int, repeats: int, count: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, d))
    data = Comparisons.from_points(X, 20_000, random_state=0, noise=0.1)
    fitted = OrdinalEmbedding(d, loss="tste", random_state=0).fit(data)
    posterior = Posterior(fitted.embedding_, fit_distance_law(fitted.embedding_, data), np.arange(300))
    posterior.add(data.index)
    S = posterior.covariance()
    pool = Pool(300, np.arange(300))
    M = Predictive()._targets(posterior, S, pool.draw(2000, rng))
    candidates = pool.draw(count, rng)
    state = suggest(data, 100, n_components=d, random_state=0).state

    def score(n_jobs: int) -> None:
        margin, by_S, by_M = posterior.forms(candidates, S, M, n_jobs)
        worth = posterior.law.worth(margin, by_S)
        np.argsort(-worth * by_M / (1.0 + worth * by_S))

    def ask(known: Any) -> None:
        suggest(data, 100, n_components=d, random_state=0, n_jobs=2, state=known)

    one, two = _timed(lambda: score(1), repeats), _timed(lambda: score(2), repeats)
    first, later = _timed(lambda: ask(None), repeats), _timed(lambda: ask(state), repeats)
    return {
        "d": d, "candidates in a second of a core": round(count / one[0]),
        "by the clock, two threads": round(count / two[1]), "first round, processor s": first[0],
        "by the clock": first[1], "later round, processor s": later[0], "by the clock ": later[1],
    }  # fmt: skip


def _timed(work: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Median seconds of processor time, and of the clock."""
    found = []
    for _ in range(repeats):
        cpu, clock = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - cpu, time.perf_counter() - clock))
    return tuple(np.median(found, axis=0).tolist())  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("curves", "misfit", "speed", "summary", "pages")
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="default: all")
    parser.add_argument("--only", type=int, nargs="*", help="settings of the curves, by number")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no setting after so long")
    parser.add_argument("--quick", action="store_true", help="a few cases, nothing saved")
    args = parser.parse_args()
    for name in args.parts or parts:
        if name == "curves":
            curves(args.quick, args.only, args.minutes)
        elif name in ("summary", "pages"):
            if not args.quick:
                {"summary": summary, "pages": pages}[name]()
        else:
            {"misfit": misfit, "speed": speed}[name](args.quick)


if __name__ == "__main__":
    main()
