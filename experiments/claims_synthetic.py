"""The claims that the synthetic data and the theory decide: C1 to C5, C8, C10 and their part of C9."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from experiments.decision import ALIKE, BETTER, Case, compare, fact
from experiments.methods import AUTHORS, LOSSES, METHODS, NAMES, STOCHASTIC
from experiments.synthetic import N_OBJECTS, N_TRAIN
from experiments.tables import Row, read_csv, where

Folder = Callable[[str], Path]
Told = tuple[list[Case], str]
SETTINGS = {"authors": "authors' settings", "tuned": "tuned"}
NOT_WORSE = (BETTER, ALIKE)
CONVEX = ("hinge", "ste")


def name_of(method: str) -> str:
    """The name of a method in plain text."""
    return NAMES[method].replace("$", "").replace("SVRG-", "")


def duel(
    name: str, ours: list[Row], theirs: list[Row], column: str, measure: str, claimed: Sequence[str] = (BETTER,),
    **options: object,
) -> Case:  # fmt: skip
    """The case of two methods from their rows, matched by draw and start."""
    found = {(row["draw"], row["start"]): row[column] for row in theirs}
    both = [row for row in ours if (row["draw"], row["start"]) in found]
    pairs = [(row[column], found[row["draw"], row["start"]], row["draw"]) for row in both]
    return compare(name, *map(list, zip(*pairs)), measure, tuple(claimed), **options)


def _by_loss(values: Sequence[str], losses: Sequence[str] = tuple(LOSSES)) -> str:
    return ", ".join(f"{LOSSES[loss]} {value}" for loss, value in zip(losses, values))


def median(rows: list[Row], column: str) -> float:
    """Median over rows; a value that is missing counts as infinite."""
    return float(np.median([math.inf if row[column] is None else row[column] for row in rows]))


def step_sizes(folder: Folder) -> Told:
    """C1: steps of SBB_0 vary more than those of SBB_ε, which settle; the error of SBB_0 rises at first, then not."""
    rows = read_csv(folder("fig1") / "jumps.csv")
    for row in rows:  # what is compared: how far from no change at all, and rises by epoch
        for part, count in (("early", 9), ("late", row["epochs"] - 10)):
            jump = row[f"{part}_jump"]
            row[f"{part}_change"] = None if jump is None else max(math.log(jump), 1e-12)
            row[f"{part}_rate"] = row[f"{part}_rise"] / count
    cases, told, rises = [], [], []
    for loss, title in LOSSES.items():
        zero, sbb = (where(rows, loss=loss, rule=rule) for rule in ("sbb0", "sbb"))
        settles = [{**row, "early_change": row["late_change"]} for row in sbb]
        calms = [{**row, "early_rate": row["late_rate"]} for row in zero]
        cases += [
            duel(f"{title}: range of steps, SBB_ε against SBB_0", sbb, zero, "range", "cost", group="authors"),
            duel(f"{title}: change of SBB_ε steps, later against first", settles, sbb, "early_change", "cost",
                 group="authors"),
            duel(f"{title}: early rises of the error, SBB_ε against SBB_0", sbb, zero, "early_rise", "error",
                 group="authors"),
            duel(f"{title}: rises by epoch of SBB_0, later against first", calms, zero, "early_rate", "error",
                 group="authors"),
        ]  # fmt: skip
        told.append(f"{median(zero, 'range'):.0f}/{median(sbb, 'range'):.1f}")
        rises.append(f"{median(zero, 'early_rise'):.3f}, then {median(zero, 'late_rise'):.3f}")
    diverged = sum(row["diverged"] for row in where(rows, rule="sbb0"))
    return cases, (
        f"Largest over smallest step of a run, SBB_0/SBB_ε: {_by_loss(told)}. All rises of SBB_0's test error, in ten "
        f"epochs and later: {_by_loss(rises)}; {diverged} of {len(where(rows, rule='sbb0'))} runs diverge."
    )


def first_epochs(folder: Folder) -> Told:
    """C2: after one, two and three epochs of SVRG, every stochastic method has a lower test error than Batch."""
    rows = read_csv(folder("fig2") / "early.csv")
    cases, told = [], []
    for group, words in SETTINGS.items():
        for loss, title in LOSSES.items():
            mine = where(rows, settings=group, loss=loss)
            for work in sorted({row["work"] for row in mine}):
                at = where(mine, work=work)
                cases += [
                    duel(f"{title}, {work} N: {name_of(m)} against Batch", where(at, method=m),
                         where(at, method="batch"), "test_error", "error", group=group)
                    for m in STOCHASTIC
                ]  # fmt: skip
        last = where(rows, settings=group, work=max(row["work"] for row in rows))
        told.append(f"{words}: Batch {_span(where(last, method='batch'))}, the others {_span(last, *STOCHASTIC)}")
    return cases, f"Test errors at {max(row['work'] for row in rows)} N, {'; '.join(told)}."


def _span(rows: list[Row], *methods: str) -> str:
    """Least and largest median test error over losses (and methods)."""
    groups = {(row["loss"], row["method"]): [] for row in rows if not methods or row["method"] in methods}
    values = [median(where(rows, loss=loss, method=m), "test_error") for loss, m in groups]
    return f"{min(values):.3f}-{max(values):.3f}"


def fastest(folder: Folder) -> Told:
    """C3: SBB_ε needs no more work to 0.15 than anyone, and nobody ends with a lower test error."""
    runs = read_csv(folder("table1") / "runs.csv")
    cases, told = race(runs, "work")
    ends = read_csv(folder("fig2") / "ends.csv")
    for group, words in SETTINGS.items():
        errors: dict[int, list[str]] = {}
        for loss, title in LOSSES.items():
            mine = where(ends, settings=group, loss=loss)
            horizons = sorted({row["horizon"] for row in mine})
            for horizon in horizons:
                at = where(mine, horizon=horizon)
                ours = where(at, method="sbb")
                cases += [
                    duel(f"{title}, test error at {horizon} N: SBB_ε against {name_of(m)}", ours, where(at, method=m),
                         "test_error", "error", NOT_WORSE, group=group)
                    for m in METHODS if m != "sbb" and where(at, method=m)
                ]  # fmt: skip
                errors.setdefault(horizon, []).append(_least(at, "test_error", 3))
        told += [f"test error at {horizon} N, {words}: {', '.join(errors[horizon])}" for horizon in sorted(errors)]
    text = f"SBB_ε / best ({', '.join(LOSSES.values())}): {'; '.join(told)}. Fastest in {_fastest(runs)}."
    return cases, text


def _fastest(runs: list[Row]) -> str:
    """In how many pairs of loss and settings no method needs less work than SBB_ε."""
    won = []
    for group in SETTINGS:
        for loss in LOSSES:
            mine = where(runs, settings=group, loss=loss)
            works = {m: median(where(mine, method=m), "work") for m in METHODS if where(mine, method=m)}
            won += [works["sbb"] <= min(works.values())] if "sbb" in works else []
    return f"{sum(won)} of {len(won)}"


def race(runs: list[Row], column: str) -> tuple[list[Case], list[str]]:
    """The cases of C3 about speed, from the runs to the target."""
    cases, told = [], []
    for group in (group for group in SETTINGS if where(runs, settings=group)):
        costs = []
        for loss, title in LOSSES.items():
            mine = where(runs, settings=group, loss=loss)
            ours = where(mine, method="sbb")
            cases += [
                duel(f"{title}, {column} to 0.15: SBB_ε against {name_of(m)}", ours, where(mine, method=m), column,
                     "cost", NOT_WORSE, group=group)
                for m in METHODS if m != "sbb" and where(mine, method=m)
            ]  # fmt: skip
            costs.append(_least(mine, column, 1))
        told.append(f"N gradients to 0.15, {SETTINGS[group]}: {', '.join(costs)}")
    return cases, told


def _least(rows: list[Row], column: str, digits: int) -> str:
    """The median of SBB_ε, and that of the best method."""
    values = {m: median(where(rows, method=m), column) for m in METHODS if where(rows, method=m)}
    return f"{values['sbb']:.{digits}f}/{min(values.values()):.{digits}f}"


def four_times(folder: Folder, column: str = "work") -> Told:
    """C4: fixed-step SVRG needs at least about four times the work of SBB_ε to 0.15."""
    runs = read_csv(folder("table1") / "runs.csv")
    sources = {"authors": "authors' settings", "programmed": "with their program of SBB_ε", "tuned": "tuned"}
    cases, told = [], []
    for source, words in sources.items():
        mine, group = where(runs, settings=source, method="sbb"), "tuned" if source == "tuned" else "authors"
        theirs = where(runs, settings=group, method="svrg")
        found = [
            duel(f"{title}, {words}: SBB_ε against SVRG", where(mine, loss=loss), where(theirs, loss=loss), column,
                 "cost", NOT_WORSE, factor=4.0, group=group)
            for loss, title in LOSSES.items() if where(mine, loss=loss)
        ]  # fmt: skip
        cases += found
        if found:
            told.append(f"{words} {', '.join(f'{case.gain:.1f}' for case in found)}")
    text = f"Work of SVRG over that of SBB_ε ({', '.join(LOSSES.values())}): {'; '.join(told)}."
    with contextlib.suppress(FileNotFoundError):
        text += f" SBB_ε's first ten steps at the authors' settings, over 1/(mε): {', '.join(_first_steps(folder))}."
    return cases, text


def _first_steps(folder: Folder) -> list[str]:
    """How near the steps of SBB_ε are to their upper bound, by loss; the very first is given."""
    rows = where(read_csv(folder("fig1") / "steps.csv"), rule="sbb")
    first = [row for row in rows if 2 <= row["epoch"] <= 11]
    bounds = {loss: N_OBJECTS / (N_TRAIN * AUTHORS[loss]["sbb"]["epsilon"]) for loss in LOSSES}
    return [f"{median(where(first, loss=loss), 'step_size') / bounds[loss]:.2f}" for loss in LOSSES]


def convex_scaling(folder: Folder) -> Told:
    """C5: at n = 100 cvx takes no longer than the slowest other method; beyond, it falls behind SBB_ε more and more."""
    runs = read_csv(folder("table1") / "runs.csv")
    cases: list[Case] = []
    told = []
    for group, words in SETTINGS.items():
        mine = where(runs, settings=group)
        found = [effective(where(mine, loss=loss), f"{LOSSES[loss]}, n = 100", group) for loss in CONVEX if mine]
        cases += found
        ratios = ", ".join(f"{1 / case.gain:.1f}" if case.gain else "never there" for case in found)
        told += [f"{words} {ratios}"] if found else []
    as_effective = f"{sum(case.as_claimed for case in cases)} of {len(cases)}"
    out = (
        f"Seconds of cvx over those of the slowest other method, n = 100 (GNMDS, STE): {'; '.join(told)}: effective in "
        f"{as_effective}."
    )
    try:
        rows = read_csv(folder("table1") / "scaling.csv")
    except FileNotFoundError:
        return cases, out
    sizes = sorted({row["n_objects"] for row in rows})
    grown = []
    for loss in CONVEX:
        by_size = {n: _ratios(where(rows, loss=loss, n_objects=n)) for n in sizes}
        cases += [
            duel(f"{LOSSES[loss]}: cvx over SBB_ε at n = {sizes[0]} against n = {n}", by_size[sizes[0]], by_size[n],
                 "ratio", "cost")
            for n in sizes if n > 100
        ]  # fmt: skip
        grown.append(", ".join(f"{median(by_size[n], 'ratio'):.0f}" for n in sizes))
    return cases, f"{out} Over those of SBB_ε, single timings, n = {', '.join(map(str, sizes))}: {'; '.join(grown)}."


def effective(rows: list[Row], name: str, group: str) -> Case:
    """Whether cvx gets to the target, in no more time than the slowest other method that does."""
    cvx, others = where(rows, method="cvx"), [m for m in METHODS if m != "cvx"]
    times = {m: median(where(rows, method=m), "seconds") for m in others}
    arrived = {m: seconds for m, seconds in times.items() if seconds < math.inf}
    if median(cvx, "seconds") == math.inf or not arrived:
        return fact(f"{name}: cvx gets to the target", False, group)
    slowest = max(arrived, key=arrived.__getitem__)
    return duel(f"{name}: cvx against {name_of(slowest)}, the slowest", cvx, where(rows, method=slowest), "seconds",
                "cost", NOT_WORSE, group=group)  # fmt: skip


def _ratios(rows: list[Row]) -> list[Row]:
    """Seconds of cvx over those of SBB_ε, by draw and start, where SBB_ε gets to the target."""
    ours = {(row["draw"], row["start"]): row["seconds"] for row in where(rows, method="sbb")}
    return [
        {**row, "ratio": row["seconds"] and row["seconds"] / ours[row["draw"], row["start"]]}
        for row in where(rows, method="cvx")
        if ours[row["draw"], row["start"]] is not None
    ]


def theory(folder: Folder) -> Told:
    """C8: no step outside its bounds, SBB_0's included; the bound of the theorem; its condition against its proof."""
    bounds, curved = (read_csv(folder("theory") / f"{name}.csv") for name in ("bounds", "curved"))
    cases, ratios = [], []
    for row in bounds:
        name = f"{row['loss']}, ε = {row['epsilon']:g}"
        cases.append(fact(f"{name}: steps within their bounds", row["below"] + row["above"] == 0))
        if row["bound"] is not None:  # else the theorem says nothing
            ratios.append(row["mean_squared_gradient"] / row["bound"])
            cases.append(fact(f"{name}: mean |∇F|² within the theorem's bound", ratios[-1] <= 1))
        satisfied = max(row["condition1_printed"], row["condition2_printed"]) < 0.5
        cases.append(fact(f"{name}: the printed m satisfies the proof", satisfied))
    cases += [
        fact(f"SBB_0 with a ridge, draw {r['draw']}: steps within their bounds", r["outside"] == 0) for r in curved
    ]
    steps, outside = sum(row["steps"] for row in bounds), sum(row["below"] + row["above"] for row in bounds)
    bound = f"is {min(ratios):.2f}-{max(ratios):.2f} of the bound" if ratios else "has no bound"
    fails = sum(row["condition2_printed"] >= 0.5 for row in bounds)
    worst = max(row["condition2_printed"] for row in bounds)
    corrected = sum(max(row["condition1_corrected"], row["condition2_corrected"]) >= 0.5 for row in bounds)
    single = sum(row["bound_single"] is not None for row in bounds)
    curved_outside, curved_steps = (sum(row[name] for row in curved) for name in ("outside", "steps"))
    return cases, (
        f"Steps outside their bounds: {outside} of {steps:,}; SBB_0 with a ridge: {curved_outside} of {curved_steps}. "
        f"Mean |∇F|² {bound} where γ_S > 0: {len(ratios)} of {len(bounds)} cases with an estimated L of F, {single} "
        f"with that of single comparisons, which the proof needs{'' if single else ', so the rate is untested'}. Its "
        f"condition 2 fails in {fails} of {len(bounds)} cases at the printed m (up to {worst:.2f}, not below 0.5), at "
        f"the corrected in {corrected}."
    )


def non_convex(folder: Folder) -> Told:
    """C9 on the synthetic data, at equal budgets: test error of SBB_ε against that of cvx."""
    ends = read_csv(folder("fig2") / "ends.csv")
    cases: list[Case] = []
    told: dict[str, list[str]] = {}
    for group, words in SETTINGS.items():
        for loss in CONVEX:
            mine = where(ends, settings=group, loss=loss)
            for horizon in sorted({row["horizon"] for row in mine}):
                ours, theirs = (where(mine, horizon=horizon, method=m) for m in ("sbb", "cvx"))
                cases.append(
                    duel(f"synthetic {LOSSES[loss]} at {horizon} N: SBB_ε against cvx", ours, theirs, "test_error",
                         "error", group=group)
                )  # fmt: skip
                both = f"{median(ours, 'test_error'):.3f}/{median(theirs, 'test_error'):.3f}"
                told.setdefault(f"{words} at {horizon} N", []).append(both)
    text = "; ".join(f"{words} {', '.join(values)}" for words, values in told.items())
    return cases, f"Synthetic test error, SBB_ε/cvx (GNMDS, STE): {text}."


def same_end(folder: Folder) -> Told:
    """C10: test errors of SBB_0 and SBB_ε at the end of the runs."""
    ends = read_csv(folder("fig2") / "ends.csv")
    cases, told = [], []
    for group, words in SETTINGS.items():
        ends_of = []
        for loss, title in LOSSES.items():
            mine = where(ends, settings=group, loss=loss)
            at = where(mine, horizon=max(row["horizon"] for row in mine))
            zero, sbb = (where(at, method=m) for m in ("sbb0", "sbb"))
            cases.append(duel(f"{title}: SBB_0 against SBB_ε", zero, sbb, "test_error", "error", (ALIKE,), group=group))
            ends_of.append(f"{median(zero, 'test_error'):.3f}/{median(sbb, 'test_error'):.3f}")
        told.append(f"{words} {', '.join(ends_of)}")
    return cases, f"Test error at the end, SBB_0/SBB_ε ({', '.join(LOSSES.values())}): {'; '.join(told)}."
