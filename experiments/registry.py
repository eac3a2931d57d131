"""All experiments by name: run them, draw them."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

from experiments.data import load_music
from experiments.tables import write_run
from experiments.trials import Lab

TITLES = {
    "table1": "Table 1: seconds and work until the training error is 0.15",
    "fig1": "Figure 1: step sizes by epoch",
    "fig2": "Figure 2: test error against work",
    "table2": "Table 2: image retrieval, MAP and Precision@40",
    "fig3": "Figure 3: image retrieval, Recall@K at 10 % noise",
    "music": "Music: test error on human judgements",
    "theory": "Theory: bounds on the step size and the rate",
}


def missing(name: str) -> str:
    """Why an experiment cannot run here, in words; empty if it can."""
    if name == "music":
        try:
            load_music()
        except FileNotFoundError as error:
            return str(error)
    return ""


def has_run(lab: Lab, name: str) -> bool:
    """Whether there are tables of an experiment to draw."""
    return (lab.results(name) / "run.json").is_file()


def run(lab: Lab, name: str) -> None:
    """Run an experiment: trials that are missing, then its tables."""
    lab.trial_seconds[name], lab.trials_read[name] = 0.0, 0
    started = time.perf_counter()
    settings = importlib.import_module(f"experiments.{name}.run").run(lab)
    write_run(
        lab.results(name) / "run.json",
        experiment=name,
        title=TITLES[name],
        quick=lab.quick,
        seed=lab.seed,
        jobs=lab.jobs,
        settings=settings,
        wall_seconds=time.perf_counter() - started,
        trial_seconds=lab.trial_seconds[name],
        trials_read_from_an_earlier_run=lab.trials_read[name],
    )


def draw(lab: Lab, name: str) -> list[Path]:
    """Draw the figures of an experiment from its saved tables; returns the files written."""
    return importlib.import_module(f"experiments.{name}.figure").draw(lab.results(name))
