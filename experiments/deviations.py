"""Where the paper, the authors' scripts and this reproduction differ, and what each difference does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.claims_synthetic import median
from experiments.methods import LOSSES
from experiments.tables import Row, read_csv, where

Folder = Callable[[str], Path]
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Deviation:
    """What the paper or the scripts say, what is done here, and the effect, from tables; None: not measured."""

    theirs: str
    here: str
    effect: Callable[[Folder], str] | None = None


def table(folder: Folder) -> str:
    """All deviations as a table in Markdown."""
    lines = ["|paper (P) or scripts (S)|here|effect of theirs|", "|---|---|---|"]
    return "\n".join([*lines, *(f"|{d.theirs}|{d.here}|{_effect(d, folder)}|" for d in DEVIATIONS)])


def _effect(deviation: Deviation, folder: Folder) -> str:
    if deviation.effect is None:
        return NOT_MEASURED
    try:
        return deviation.effect(folder)
    except FileNotFoundError:
        return "not run"


def _work(rows: list[Row], settings: str, loss: str, method: str) -> str:
    """Median work to the target."""
    value = median(where(rows, settings=settings, loss=loss, method=method), "work")
    return "never" if value == float("inf") else f"{value:.1f}"


def _corrections(folder: Folder) -> str:
    runs = read_csv(folder("table1") / "runs.csv")
    changes = [f"{_work(runs, s, loss, 'sbb')}" for loss in LOSSES for s in ("authors", "programmed")]
    return "SBB_ε to 0.15: " + ", ".join(f"{a} → {b} N" for a, b in zip(changes[::2], changes[1::2]))


def _summed(folder: Folder) -> str:
    runs = read_csv(folder("table1") / "runs.csv")
    return f"to 0.15: {_work(runs, 'authors', 'hinge', 'cvx')} → {_work(runs, 'programmed', 'hinge', 'cvx')}"


def _accelerated(folder: Folder) -> str:
    runs = read_csv(folder("table1") / "runs.csv")
    return "to 0.15: " + ", ".join(
        f"{_work(runs, 'tuned', loss, 'cvx')} N → {_work(runs, 'authors', loss, 'cvx')}" for loss in ("hinge", "ste")
    )


def _negative(folder: Folder) -> str:
    rows = where(read_csv(folder("fig1") / "jumps.csv"), rule="bb", loss="tste")
    return f"{sum(row['negative'] for row in rows)} of {sum(row['steps'] for row in rows):,} BB steps are negative"


def _draws(folder: Folder) -> str:
    ends = where(read_csv(folder("fig2") / "ends.csv"), settings="tuned", method="sbb")
    spreads = []
    for loss in LOSSES:
        mine = where(ends, loss=loss)
        by_draw = [median(where(mine, draw=draw), "test_error") for draw in sorted({row["draw"] for row in mine})]
        spreads.append(f"{min(by_draw):.3f}-{max(by_draw):.3f}")
    return f"tuned SBB_ε's error by problem: {', '.join(spreads)}"


def _change(after: Row, before: Row) -> Callable[[Folder], str]:
    """How MAP changes from some rows to others that are alike but for what is named: the range over the rest."""

    def effect(folder: Folder) -> str:
        rows = read_csv(folder("table2") / "switches.csv")
        key = [k for k in ("dataset", "procedure", "settings", "budget", "loss", "method") if k not in after]
        known = {tuple(row[k] for k in key): row["map_mean"] for row in where(rows, **before)}
        pairs = [(row["map_mean"], known.get(tuple(row[k] for k in key))) for row in where(rows, **after)]
        changes = [now - then for now, then in pairs if then is not None]
        return f"MAP {min(changes):+.3f} to {max(changes):+.3f}" if changes else NOT_MEASURED

    return effect


def _switch(name: str) -> Callable[[Folder], str]:
    """How MAP changes with one difference switched on."""
    return _change({"procedure": name}, {"procedure": None})


def _programmed(**which: str) -> Callable[[Folder], str]:
    """How MAP changes when a method does what the authors' program does."""
    return _change({"settings": "programs", **which}, {"settings": "authors", **which})


def _longer(folder: Folder) -> str:
    """How MAP of tuned methods changes when they go on to the authors' horizon."""
    rows = where(read_csv(folder("table2") / "switches.csv"), settings="tuned", procedure=None)
    ends: dict[tuple, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["budget"]):
        ends.setdefault((row["dataset"], row["loss"], row["method"]), []).append(row)
    changes = [mine[-1]["map_mean"] - mine[0]["map_mean"] for mine in ends.values() if len(mine) > 1]
    return f"on from 30 N: MAP {min(changes):+.3f} to {max(changes):+.3f}"


DEVIATIONS = (
    Deviation("P: printed CKL and STE losses have the wrong sign, some gradients slips", "corrected"),
    Deviation("S: SBB's correction is scaled by n/m, SVRG's is not", "Algorithm 1", _corrections),
    Deviation("S: GNMDS's cvx adds gradients up, off the diagonal fourfold", "the gradient", _summed),
    Deviation("P, S: cvx is plain projected gradient, λ = 0", "same; tuned: accelerated, λ chosen", _accelerated),
    Deviation(
        "S: Batch's step grows by 1 % or halves; SGD's is divided by 1 + 0.01 epochs",
        "same; tuned: constant, and a chosen decay",
    ),
    Deviation("S: SBB_0 of t-STE takes BB steps", "absolute values", _negative),
    Deviation("S: runs of 150 / 1,500 / 600 N gradients", "same; tuned: 60 N", lambda folder: "see C3"),
    Deviation("P: 50 starts, one problem", "17 starts on each of 3 problems, tuned on others", _draws),
    Deviation("S: triplets drawn with replacement, for each start (GNMDS, STE)", "without, for each problem"),
    Deviation("S: 20,000 triplets for STE; time until 0.1 (GNMDS, STE)", "as in P"),
    Deviation("S: SVRG (STE, t-STE), SGD and SBB (STE) stop when little moves, then record errors of 0", "no stop"),
    Deviation("P: the output is a random iterate", "the last, as in S"),
    Deviation("P: seconds of MATLAB and C", "of compiled Python; verdicts use work where both exist"),
    Deviation("P: Theorem 1's m lacks a factor 2", "both", lambda folder: "see C8"),
    Deviation("P: SUN397; p is 19 in Table 2's caption, 18 in the text", "letters (p = 18), digits (10)"),
    Deviation("S: feature map fitted with the embedding's kernel", "features' kernel", _switch("kernel")),
    Deviation("S: kernel width 1/(2σ²), σ the mean squared distance", "1/σ (P names none)", _switch("width")),
    Deviation("S: the query is in its own ranking", "it is not", _switch("query")),
    Deviation("S: cvx returns the first eigenpairs", "the largest, as in P", _switch("eigenpairs")),
    Deviation(
        "S: these have negative eigenvalues, so coordinates are imaginary and distances -(p + q)²",
        "moduli of the roots",
        _change(
            {"procedure": "kernel+width+query+eigenpairs+imaginary"}, {"procedure": "kernel+width+query+eigenpairs"}
        ),
    ),
    Deviation(
        "S: cvx of STE has a gradient that is not symmetric, and the eigenpairs of such a matrix are not sorted",
        "the gradient",
        _programmed(method="cvx", loss="ste", procedure="kernel+width+query+eigenpairs"),
    ),
    Deviation(
        "S: in retrieval SBB_0 of STE and t-STE takes BB steps",
        "the absolute value",
        _programmed(method="sbb0", procedure=None),
    ),
    Deviation("S: retrieval runs 300 / 300 / 60 N gradients", "the same (cvx: 30 N); tuned: 30 N", _longer),
    Deviation("S: retrieval trains on 60,000 of 70,000 triplets of one draw", "on all, of 5 draws, tuned 3 times"),
    Deviation("S: music in 50 splits, for 900 / 3,000 / 300 N gradients", "8 splits; tuned and cvx: 60 N"),
)
