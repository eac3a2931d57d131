"""The methods that the paper compares, their settings, and the grids from which the settings are chosen.

Settings are relative to the size of a problem, so that they carry over from one to another (n objects, N comparisons):

- ``step`` c of Batch is the step c n, of SVRG the inner step c n / m, since the curvature of F falls as 1/n and an
  epoch of m inner steps moves about as far as one batch step of size m times the inner step; ``first`` likewise for the
  first epoch of SBB (None: measured by one further gradient);
- ``step`` of SGD is the step itself; ``decay`` is that of `nearer.solvers.Decaying`;
- ``step`` of cvx is that of plain projected gradient without penalty, over n;
- ``inner`` is m / N; ``epsilon`` e is the epsilon e / n; ``relative_lam`` is that of `nearer.solvers.Convex`;
  ``first_snapshot`` is that of `experiments.growing.GrowingSVRG`.
"""

from __future__ import annotations

import itertools
from typing import Any

from experiments.growing import GrowingSVRG, WarmSVRG
from experiments.table2.authors import GrowingBatch, PlainConvex
from nearer.solvers import BB, GD, SBB, SGD, SVRG, Auto, Constant, Convex, Decaying, Solver

Settings = dict[str, Any]

LOSSES = {"hinge": "GNMDS", "ste": "STE", "tste": "t-STE"}
METHODS = {"cvx": "cvx", "batch": "Batch", "sgd": "SGD", "svrg": "SVRG", "sbb0": "SVRG-SBB$_0$", "sbb": "SVRG-SBB$_ε$"}
# Not in the paper, tuned as its methods are: snapshots of a part of the data that doubles with every epoch.
GROWING = {"svrg-grow": "SVRG, growing*", "sbb-grow": "SVRG-SBB$_ε$, growing*"}
# Not in the paper, with nothing to choose: batch descent with Barzilai-Borwein steps and a line search, SVRG-SBB with
# the defaults of this package, the same after two adaptive stochastic passes, and the default solver of this package.
EXTRAS = {
    "batch-bb": "Batch, BB steps*",
    "sbb-default": "SVRG-SBB$_ε$, defaults*",
    "sbb-warm": "SVRG-SBB$_ε$, warm-up*",
    "auto": "auto*",
}
NAMES = {**METHODS, **GROWING, **EXTRAS}
STOCHASTIC = ("sgd", "svrg", "sbb0", "sbb")

# What the authors' scripts use on the synthetic data (n = 100, N = m = 10,000), and for how long, in gradients / N.
# Their steps of Batch and cvx are multiplied by n; that of Batch grows by 1 % while the objective falls (`grows`).
_C = 10_000 / 100
AUTHORS: dict[str, dict[str, Settings]] = {
    "hinge": {
        "cvx": {"step": 0.75e-4},
        "batch": {"step": 5e-4, "grows": True},
        "sgd": {"step": 1e-4, "decay": 0.01},
        "svrg": {"step": 5e-4 * _C, "inner": 1.0},
        "sbb0": {"first": 5e-4 * _C, "inner": 1.0},
        "sbb": {"epsilon": 0.025 * 100, "first": 5e-4 * _C, "inner": 1.0},
    },
    "tste": {
        "batch": {"step": 4e-3, "grows": True},
        "sgd": {"step": 5e-4, "decay": 0.01},
        "svrg": {"step": 0.02 * _C, "inner": 1.0},
        "sbb0": {"first": 3.75e-3 * _C, "inner": 1.0},
        "sbb": {"epsilon": 0.005 * 100, "first": 0.05 * _C, "inner": 1.0},
    },
}
AUTHORS["ste"] = AUTHORS["hinge"]
HORIZONS = {"hinge": 150, "ste": 1500, "tste": 600}


def as_programmed(settings: Settings) -> Settings:
    """The settings for what the authors' programs really do with them: see `experiments.table2.authors`."""
    return {**settings, "programmed": True}


def _grid(**axes: Any) -> list[Settings]:
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


# The same effort for everybody: 24 settings for each method (8 for cvx, which has no step size to choose).
GRIDS: dict[str, list[Settings]] = {
    "cvx": _grid(relative_lam=[10.0 ** (-k / 2) for k in range(8)]),
    "batch": _grid(step=[2.0 ** (k / 2) for k in range(-8, 16)]),
    "sgd": _grid(step=[2.0**k for k in range(-9, 3)], decay=[0.0, 0.5]),
    "svrg": _grid(step=[2.0**k for k in range(-4, 4)], inner=[1.0, 0.5, 0.25]),
    "sbb0": _grid(first=[None, 0.0625, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0], inner=[1.0, 0.5, 0.25]),
    "sbb": _grid(epsilon=[0.1, 0.5, 2.5], first=[None, 2.0, 4.0, 8.0], inner=[0.5, 0.25]),
    # Their first steps are those of SGD, which are longer. Chosen on other draws of the data than that of the tables.
    "svrg-grow": _grid(step=[2.0**k for k in range(-1, 7)], inner=[1.0, 0.5, 0.25], first_snapshot=[0.005]),
    "sbb-grow": _grid(epsilon=[0.02, 0.1], first=[2.0**k for k in range(6)], inner=[0.5, 0.25], first_snapshot=[0.005]),
}


def pairs(methods: tuple[str, ...] = tuple(METHODS)) -> list[tuple[str, str]]:
    """Every loss with every method that can take it: t-STE has no convex form."""
    return [(loss, method) for loss in LOSSES for method in methods if (loss, method) != ("tste", "cvx")]


def grid(method: str, every: int = 1) -> list[Settings]:
    """The grid of a method, or each `every`-th of its points; a method without settings has one point."""
    return GRIDS.get(method, [{}])[::every]


def absolute(method: str, settings: Settings, n_objects: int, n_comparisons: int) -> Settings:
    """The settings of a method in a problem of a given size, as the solver takes them."""
    m = max(1, round(settings.get("inner", 1.0) * n_comparisons))
    scale = {"batch": float(n_objects), "svrg": n_objects / m, "svrg-grow": n_objects / m}
    out: Settings = {}
    for name, value in settings.items():
        if name == "step":
            out["step"] = value * scale.get(method, 1.0)
        elif name == "first":
            out["first_step"] = None if value is None else value * n_objects / m
        elif name == "inner":
            out["inner_steps"] = m
        elif name == "epsilon":
            out["epsilon"] = value / n_objects
        else:
            out[name] = value
    return out


def make_solver(method: str, settings: Settings, n_objects: int, n_comparisons: int) -> Solver:
    """The solver for a method; it runs until it is stopped from outside."""
    given = absolute(method, settings, n_objects, n_comparisons)
    endless: Settings = {"max_epochs": 10**9, "tol": 0.0}
    if method == "cvx" and "step" in given:
        return PlainConvex(step=given["step"], as_published=given.get("programmed", False), **endless)
    if method == "cvx":
        return Convex(relative_lam=given["relative_lam"], gap_tol=0.0, **endless)
    if given.get("grows"):
        return GrowingBatch(step=given["step"], **endless)
    if method == "batch":
        return GD(step=given["step"], **endless)
    if method == "batch-bb":
        return GD(**endless)
    if method == "sbb-default":
        return SVRG(step=SBB(), **endless)
    if method == "sbb-warm":
        return WarmSVRG(step=SBB(), **endless)
    if method == "auto":
        return Auto(**endless)
    if method == "sgd":
        return SGD(step=Decaying(given["step"], given["decay"]), **endless)
    epochs: Settings = {"inner_steps": given.get("inner_steps"), **endless}
    if method == "svrg":
        return SVRG(step=Constant(given["step"]), **epochs)
    if method == "svrg-grow":
        return GrowingSVRG(step=Constant(given["step"]), first_snapshot=given["first_snapshot"], **epochs)
    if method == "bb":
        return SVRG(step=BB(given["first_step"]), **epochs)
    if method in ("sbb0", "sbb"):
        return SVRG(step=SBB(given.get("epsilon", 0.0), given["first_step"]), **epochs)
    if method == "sbb-grow":
        rule = SBB(given["epsilon"], given["first_step"])
        return GrowingSVRG(step=rule, first_snapshot=given["first_snapshot"], **epochs)
    raise ValueError(f"unknown method {method!r}; expected one of: {', '.join([*NAMES, 'bb'])}")
