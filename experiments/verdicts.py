"""The claims of the paper, each judged by a rule from the tables; nothing here is written by hand but the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.methods import LOSSES, METHODS, NAMES, STOCHASTIC
from experiments.tables import Row, only, read_csv, where

HOLDS, PART, NOT, UNKNOWN = "holds", "holds in part", "does not hold", "not run"
_NEAR = 1.1  # within 10 % counts as equal
_EPOCHS = (4, 7, 10)  # gradients / N after one, two and three epochs of SVRG with m = N


@dataclass(frozen=True)
class Verdict:
    """A claim, what became of it, and the figures that say so."""

    claim: str
    text: str
    verdict: str
    figures: str


def judge_all(folder: Callable[[str], Path]) -> list[Verdict]:
    """Verdicts on C1 to C9; `folder` gives the results of an experiment."""
    return [
        Verdict(name, text, *_judged(rule, folder))
        for name, text, rule in (
            ("C1", "|BB| steps jump wildly in early epochs; SBB_ε steps settle after a few.", step_sizes),
            ("C2", "Stochastic methods beat batch in the first epochs.", first_epochs),
            ("C3", "SBB_ε converges fastest and generalises about best for all three losses.", fastest),
            ("C4", "SBB_ε is about 4 times faster than fixed-step SVRG to 0.15.", four_times),
            ("C5", "The convex method is competitive only while n is small.", convex_scaling),
            ("C6", "SBB_0 or SBB_ε gives the best MAP and P@40 at 0, 5, 10 % noise.", retrieval),
            ("C7", "SBB_ε has the best Recall@K at 10 % noise.", recall),
            ("C8", "The step bounds and the O(1/T) rate hold.", theory),
            ("C9", "Non-convex beats convex in accuracy.", non_convex),
        )
    ]


def _judged(rule: Callable, folder: Callable[[str], Path]) -> tuple[str, str]:
    try:
        return rule(folder)
    except FileNotFoundError as error:
        return UNKNOWN, f"no results: {error.args[0].split(':')[0].split('/')[-1]} is missing"


def _share(good: int, total: int, part: float = 0.0) -> str:
    """Holds if always, in part if in more than a fraction `part` of the cases."""
    return HOLDS if good == total else PART if good > part * total else NOT


def step_sizes(folder: Callable[[str], Path]) -> tuple[str, str]:
    rows = read_csv(folder("fig1") / "summary.csv")
    bb, zero, sbb = (only(rows, rule=rule) for rule in ("bb", "sbb0", "sbb"))
    wild_early, wild_later = zero["early_jump_median"] > 2, zero["late_jump_median"] > 1.5
    settles = sbb["late_jump_max"] < 1.2
    verdict = HOLDS if wild_early and settles else PART if settles and wild_later else NOT
    figures = (
        f"From one epoch to the next, SBB_0 steps change by a factor of {zero['early_jump_median']:.2f} (median; at "
        f"most {zero['early_jump_max']:.1f}) in the first ten epochs and of {zero['late_jump_median']:.2f} (at most "
        f"{zero['late_jump_max']:.0f}) after them; SBB_0.005 steps by {sbb['early_jump_median']:.3f} and "
        f"{sbb['late_jump_median']:.3f} (at most {sbb['late_jump_max']:.3f}). "
        f"{bb['negative_steps']} of {bb['steps']} BB steps are negative."
    )
    return verdict, figures


def first_epochs(folder: Callable[[str], Path]) -> tuple[str, str]:
    rows = read_csv(folder("fig2") / "curves.csv")
    good, total, lost = 0, 0, []
    for loss in LOSSES:
        for method in STOCHASTIC:
            for work in _EPOCHS:
                batch = _at(where(rows, settings="tuned", loss=loss, method="batch"), work)
                mine = _at(where(rows, settings="tuned", loss=loss, method=method), work)
                total += 1
                good += mine < batch
                if mine >= batch:
                    lost.append(f"{_name(method)} on {LOSSES[loss]} at {work} N ({mine:.3f} against {batch:.3f})")
    figures = (
        f"Median test error below that of Batch, both tuned, after 4, 7 and 10 N gradients: {good} of {total} cases"
    )
    return _share(good, total, 0.5), figures + (f"; not so: {', '.join(lost)}." if lost else ".")


def _at(curve: list[Row], work: float) -> float:
    return [row["median"] for row in curve if row["work"] <= work][-1]


def fastest(folder: Callable[[str], Path]) -> tuple[str, str]:
    table, final = read_csv(folder("table1") / "table1.csv"), read_csv(folder("fig2") / "final.csv")
    good, told = 0, []
    for settings in ("tuned", "authors"):
        for loss in LOSSES:
            work = {m: _mean(table, settings, loss, m, "work_mean") for m in METHODS if m != "cvx"}
            error = {m: _mean(final, settings, loss, m, "test_error_mean") for m in METHODS if m != "cvx"}
            work, error = ({m: v for m, v in d.items() if v is not None} for d in (work, error))
            quick, best = min(work, key=work.__getitem__), min(error, key=error.__getitem__)
            if settings == "tuned":
                good += (work["sbb"] <= _NEAR * work[quick]) + (error["sbb"] <= _NEAR * error[best])
            told.append(
                f"{LOSSES[loss]}, {_SETTINGS[settings]}: {work['sbb']:.1f} N gradients to 0.15 "
                f"(fastest: {_name(quick)}, {work[quick]:.1f} N), test error {error['sbb']:.3f} at the end "
                f"(best: {_name(best)}, {error[best]:.3f})"
            )
    grown = [
        f"{title} {_mean(table, 'tuned', loss, 'sbb-grow', 'work_mean'):.2f} N and "
        f"{_mean(final, 'tuned', loss, 'sbb-grow', 'test_error_mean'):.3f}"
        for loss, title in LOSSES.items()
        if _mean(table, "tuned", loss, "sbb-grow", "work_mean") and where(final, loss=loss, method="sbb-grow")
    ]
    grown_told = f" With growing snapshots, which the paper has not: {', '.join(grown)}." if grown else ""
    return _share(good, 6), f"{'; '.join(told)}.{grown_told}"


def four_times(folder: Callable[[str], Path]) -> tuple[str, str]:
    table = read_csv(folder("table1") / "table1.csv")
    ratios: dict[str, list[float]] = {}
    for settings in ("tuned", "authors"):
        for loss in LOSSES:
            sbb, svrg = (only(table, settings=settings, loss=loss, method=m)["seconds_mean"] for m in ("sbb", "svrg"))
            ratios.setdefault(settings, []).append(svrg / sbb if svrg and sbb else float("nan"))
    verdict = HOLDS if min(ratios["tuned"]) >= 3 else PART if max(ratios["authors"]) >= 3 else NOT
    figures = "; ".join(
        f"{_SETTINGS[settings]}: "
        + ", ".join(f"{name} {ratio:.1f} times" for name, ratio in zip(LOSSES.values(), values))
        for settings, values in ratios.items()
    )
    return verdict, f"Mean seconds of SVRG over those of SBB_ε, {figures}."


def convex_scaling(folder: Callable[[str], Path]) -> tuple[str, str]:
    rows = read_csv(folder("table1") / "scaling.csv")
    sizes = sorted({row["n_objects"] for row in rows})
    told, grows, competitive = [], True, True
    for loss in ("hinge", "ste"):
        ratios = []
        for n in sizes:
            cvx, sbb = (only(rows, loss=loss, method=m, n_objects=n)["seconds_mean"] for m in ("cvx", "sbb"))
            if cvx and sbb:
                ratios.append((n, cvx / sbb))
        grows &= ratios[-1][1] > 2 * ratios[0][1]
        competitive &= ratios[0][1] < 2
        told.append(f"{LOSSES[loss]}: " + ", ".join(f"{ratio:.0f} at n = {n}" for n, ratio in ratios))
    verdict = HOLDS if grows and competitive else PART if grows else NOT
    return verdict, f"Seconds of cvx over those of SBB_ε to 0.15, {'; '.join(told)}."


def retrieval(folder: Callable[[str], Path]) -> tuple[str, str]:
    rows = read_csv(folder("table2") / "table2.csv")
    best, close, total, winners = 0, 0, 0, {}
    for cell in _cells(rows):
        for measure in ("map", "precision_at_40"):
            means = {row["method"]: row[f"{measure}_mean"] for row in cell}
            top = max(means, key=means.__getitem__)
            spread = only(cell, method=top)[f"{measure}_std"] or 0.0
            ours = max(means["sbb0"], means["sbb"])
            total += 1
            best += top in ("sbb0", "sbb")
            close += ours >= means[top] - spread
            winners[top] = winners.get(top, 0) + 1
    ranking = ", ".join(f"{_name(m)} {count}" for m, count in sorted(winners.items(), key=lambda item: -item[1]))
    figures = (
        f"SBB_0 or SBB_ε is best in {best} of {total} cells (dataset, loss, noise, measure) and within one standard "
        f"deviation of the best in {close}; best by method: {ranking}."
    )
    return _best_of(best, total, len(METHODS) / 2), figures


def recall(folder: Callable[[str], Path]) -> tuple[str, str]:
    rows = read_csv(folder("fig3") / "recall.csv")
    best, close, total, winners = 0, 0, 0, {}
    for k in sorted({row["k"] for row in rows}):
        for cell in _cells(where(rows, k=k)):
            means = {row["method"]: row["recall_mean"] for row in cell}
            top = max(means, key=means.__getitem__)
            total += 1
            best += top == "sbb"
            close += means["sbb"] >= means[top] - (only(cell, method=top)["recall_std"] or 0.0)
            winners[top] = winners.get(top, 0) + 1
    ranking = ", ".join(f"{_name(m)} {count}" for m, count in sorted(winners.items(), key=lambda item: -item[1]))
    figures = (
        f"SBB_ε is best in {best} of {total} cells (dataset, loss, K) and within one standard deviation of the best in "
        f"{close}; best by method: {ranking}."
    )
    return _best_of(best, total, len(METHODS)), figures


def _best_of(best: int, total: int, rivals: float) -> str:
    """Holds if nearly always best, in part if more often than by chance among so many equals."""
    return HOLDS if best >= 0.9 * total else PART if best > total / rivals else NOT


def _cells(rows: list[Row]) -> list[list[Row]]:
    """Rows of all methods that share dataset, loss and noise."""
    cells: dict[tuple, list[Row]] = {}
    for row in rows:
        if row["method"] != "raw":
            cells.setdefault((row["dataset"], row["loss"], row["noise"]), []).append(row)
    return list(cells.values())


def theory(folder: Callable[[str], Path]) -> tuple[str, str]:
    bounds, rates = read_csv(folder("theory") / "bounds.csv"), read_csv(folder("theory") / "rates.csv")
    steps, outside = sum(row["steps"] for row in bounds), sum(row["below"] + row["above"] for row in bounds)
    slopes = [row["slope"] for row in rates]
    verdict = HOLDS if outside == 0 and max(slopes) <= -0.9 else PART if outside == 0 else NOT
    figures = (
        f"{outside} of {steps} steps lie outside their bounds. The mean of |∇F|² over the iterates falls as T to the "
        f"power {min(slopes):.2f} to {max(slopes):.2f} in the second half of the runs (-1 or less for a rate of 1/T)."
    )
    return verdict, figures


def non_convex(folder: Callable[[str], Path]) -> tuple[str, str]:
    final, table = read_csv(folder("fig2") / "final.csv"), read_csv(folder("table2") / "table2.csv")
    told = []
    results = []
    for loss in ("hinge", "ste"):
        cvx, sbb = (_mean(final, "tuned", loss, m, "test_error_mean") for m in ("cvx", "sbb"))
        results.append(sbb < cvx)
        told.append(f"synthetic {LOSSES[loss]}, test error {sbb:.3f} against {cvx:.3f}")
    pairs = [
        (only(cell, method="sbb")["map_mean"], only(cell, method="cvx")["map_mean"])
        for cell in _cells(table)
        if where(cell, method="cvx")
    ]
    better = sum(sbb > cvx for sbb, cvx in pairs)
    results += [sbb > cvx for sbb, cvx in pairs]
    told.append(f"retrieval, better MAP in {better} of {len(pairs)} cells")
    if (folder("music") / "music.csv").is_file():
        music = read_csv(folder("music") / "music.csv")
        for loss in ("hinge", "ste"):
            cvx, sbb = (only(music, loss=loss, method=m)["test_error_mean"] for m in ("cvx", "sbb"))
            results.append(sbb < cvx)
            told.append(f"music {LOSSES[loss]}, test error {sbb:.3f} against {cvx:.3f}")
    return _share(sum(results), len(results)), f"SBB_ε against cvx: {'; '.join(told)}."


_SETTINGS = {"tuned": "tuned settings", "authors": "authors' settings"}


def _mean(rows: list[Row], settings: str, loss: str, method: str, column: str) -> float | None:
    found = where(rows, settings=settings, loss=loss, method=method)
    return found[0][column] if found else None


def _name(method: str) -> str:
    return NAMES[method].replace("$", "").replace("SVRG-", "")
