"""Run Table 1: tune every method, then measure it from many starts, as tuned and as the authors set it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from experiments.methods import AUTHORS, EXTRAS, HORIZONS, Settings, absolute, as_programmed, pairs
from experiments.synthetic import N_OBJECTS, N_TRAIN, TARGET, chosen, problem, tune
from experiments.table1.config import FULL, QUICK, Config
from experiments.tables import Row, spread, write_csv
from experiments.trials import Lab, Params
from experiments.watch import reach

EXPERIMENT = "table1"
# The authors' programs of these differ from the algorithms (that of cvx for STE would take as long as all others).
PROGRAMMED = [("hinge", "cvx"), *pairs(("sbb0", "sbb"))]


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


def tuning(lab: Lab) -> list[Row]:
    """The points tried, for every draw; Figure 2 uses them too."""
    config = config_for(lab)
    sizes = {"budget": config.tuning_budget, "starts": config.tuning_starts}
    options = {"every": config.tuning_every, "rounds": config.tuning_rounds}
    return [row for draw in range(config.draws) for row in tune(lab, draw, **sizes, **options)]


def trial(params: Params) -> dict[str, Any]:
    """Work and seconds to the target from one start."""
    objective, X0, seed = problem(params)
    limits = {"most": params["most"], "repeats": params["repeats"]}
    return reach(params["method"], params["settings"], objective, X0, seed, target=TARGET, **limits)


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    grid_rows = tuning(lab)
    best = chosen(grid_rows, "target")
    cases = [("tuned", *pair) for pair in pairs()]
    cases += [("none to choose", *pair) for pair in pairs(tuple(EXTRAS))]
    cases += [("authors", *pair) for pair in pairs()]
    cases += [("programmed", *pair) for pair in PROGRAMMED]
    runs_of = [(draw, start) for draw in range(config.draws) for start in range(config.starts)]
    params = [
        {
            "loss": loss,
            "method": method,
            "settings": settings_of(source, draw, loss, method, best),
            "seed": lab.seed,
            "draw": draw,
            "start": start,
            "most": limit(config, source, loss),
            "repeats": config.repeats,
        }
        for source, loss, method in cases
        for draw, start in runs_of
    ]
    results = lab.collect(EXPERIMENT, "Table 1", trial, params, timed=True)
    runs: list[Row] = []
    summary: list[Row] = []
    for c, (source, loss, method) in enumerate(cases):
        found = results[c * len(runs_of) : (c + 1) * len(runs_of)]
        head = {"settings": source, "loss": loss, "method": method}
        mine = [
            {**head, "draw": draw, "start": start, "work": r["work"] and r["work"] / N_TRAIN, "seconds": r["seconds"]}
            for (draw, start), r in zip(runs_of, found)
        ]
        runs += mine
        summary.append(
            {
                **head,
                "starts": len(mine),
                "reached": sum(row["work"] is not None for row in mine),
                **spread([row["work"] for row in mine], "work"),
                **spread([row["seconds"] for row in mine], "seconds"),
            }
        )
    larger = scaling(lab, config, best)
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "tuning.csv", grid_rows)
    write_csv(folder / "runs.csv", runs)
    write_csv(folder / "table1.csv", summary)
    write_csv(folder / "authors.csv", authors_settings())
    write_csv(folder / "scaling.csv", larger)
    return {"target": TARGET, **asdict(config)}


def settings_of(source: str, draw: int, loss: str, method: str, best: dict[tuple[int, str, str], Settings]) -> Settings:
    """The settings of a method in a draw."""
    if source == "tuned":
        return best[draw, loss, method]
    given = AUTHORS[loss].get(method, {}) if source in ("authors", "programmed") else {}
    return as_programmed(given) if source == "programmed" else given


def limit(config: Config, source: str, loss: str) -> float:
    """Gradients / N after which a run gives up: that of the configuration, or the length of the authors' scripts."""
    return min(config.longest, HORIZONS[loss]) if source in ("authors", "programmed") else config.most


def authors_settings() -> list[Row]:
    """The authors' settings, as the solvers take them."""
    return [
        {"loss": loss, "method": method, "values": absolute(method, settings, N_OBJECTS, N_TRAIN)}
        for loss, method in pairs()
        for settings in [AUTHORS[loss][method]]
    ]


def scaling(lab: Lab, config: Config, best: dict[tuple[int, str, str], Settings]) -> list[Row]:
    """Runs of the convex method and of SVRG-SBB, tuned, as the number of objects grows."""
    params = [
        {
            "loss": loss,
            "method": method,
            "settings": best[draw, loss, method],
            "seed": lab.seed,
            "draw": draw,
            "start": start,
            "most": config.most,
            "repeats": 1,
            "n_objects": n,
        }
        for n in config.scaling_objects
        for loss in ("hinge", "ste")
        for method in ("cvx", "sbb")
        for draw in range(config.draws)
        for start in range(config.scaling_starts)
    ]
    results = lab.collect(EXPERIMENT, "Table 1, more objects", trial, params, timed=True)
    return [
        {
            **{name: p[name] for name in ("loss", "method", "n_objects", "draw", "start")},
            "work": r["work"] and r["work"] / (N_TRAIN * p["n_objects"] // N_OBJECTS),
            "seconds": r["seconds"],
        }
        for p, r in zip(params, results)
    ]
