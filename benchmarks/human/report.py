"""What the leaderboard says: means with intervals, one table, one figure, verdicts, and the page of the docs."""

from __future__ import annotations

import base64
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm, t

from benchmarks import common
from benchmarks.figures import fill, legend, panels
from benchmarks.human.entries import OLD_DEFAULT, REFERENCE
from benchmarks.human.sets import FOLDS, HumanSet, split_of
from nearer.display import PALETTE
from nearer.losses import loss_names
from nearer.metrics import chance_level
from nearer.metrics.by_answer import sampling_error
from nearer.selection.thresholds import LEVEL

Row = dict[str, Any]
DOCS = common.ROOT / "docs" / "leaderboard.md"
FIGURE = common.ROOT / "docs" / "figures" / "leaderboard.py"
LEAST = -0.005  # difference to the best entry of cblearn that the lower bound has to exceed
_MEANS = ("accuracy", "accuracy_by_comparison", "log_loss", "calibration_error", "seconds", "n_components")


# ---- figures of the cells --------------------------------------------------------------------------------------------


def summarise(rows: list[Row], sets: dict[str, HumanSet]) -> Row:
    """A row for each set, grouping, dimension and entry: means over the splits, and the difference to the reference.

    Standard errors treat what was held out together (answers to a question, or of a participant) as one unit; the test
    sets of the folds do not overlap, and a unit that is tested in several repeats still counts once. They are those of
    the maps of these folds, as in `nearer.selection.evaluate`.
    """
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if not row["note"]:
            cells.setdefault((row["set"], row["grouping"], row["d"], row["entry"]), []).append(row)
    tested = {
        (name, grouping, number): split_of(sets[name], grouping, number)
        for name, grouping, number in {(row["set"], row["grouping"], row["split"]) for row in rows}
    }

    def pooled(part: list[Row], other: list[Row] | None) -> tuple[float, float, float]:
        """Mean over the answers of all splits, its standard error, and half the width of its interval."""
        values, weights, units = [], [], []
        for row in part:
            split = tested[row["set"], row["grouping"], row["split"]]
            right = _right(row, len(split.unit))
            if other is not None:
                right = right - _right(next(one for one in other if one["split"] == row["split"]), len(right))
            values.append(right)
            weights.append(split.weights)
            units.append(split.unit)
        value, weight, unit = (np.concatenate(parts) for parts in (values, weights, units))
        error = sampling_error(value, weight, [unit])
        half = float(t.ppf((1 + LEVEL) / 2, max(len(np.unique(unit)) - 1, 1))) * error
        return float(np.average(value, weights=weight)), error, half

    found = []
    for (name, grouping, d, entry), part in cells.items():
        mean, error, half = pooled(part, None)
        row = {"set": name, "grouping": grouping, "d": d, "entry": entry, "splits": len(part)}
        row |= {figure: _mean([one[figure] for one in part]) for figure in _MEANS}
        row |= {"accuracy": mean, "standard_error": error, "low": mean - half, "high": mean + half}
        reference = cells.get((name, grouping, d, REFERENCE))
        if entry != REFERENCE and reference is not None and len(reference) == len(part):
            mean, error, half = pooled(part, reference)
            row |= {"difference": mean, "difference_error": error, "difference_half": half}
            logs = [_mean([one["log_loss"] for one in those]) for those in (part, reference)]
            row["log_loss_difference"] = None if None in logs else logs[0] - logs[1]
            row["spread"] = _spread(part, reference)
        found.append(row)
    about = {
        name: {
            "answers": human.answers.n_answers,
            "objects": int(human.answers.seen.sum()),
            "participants": None if human.answers.people is None else len(human.answers.people.names),
            "chance": chance_level(human.answers),
            "ceiling": human.ceiling(),
            "source": human.source,
        }
        for name, human in sets.items()
    }
    failed = [f"{row['entry']} on {row['set']}, d = {row['d']}: {row['note']}" for row in rows if row["note"]]
    return {"sets": about, "rows": found, "failed": failed}


def packed(right: np.ndarray) -> str:
    """Bits as text."""
    return base64.b64encode(np.packbits(right).tobytes()).decode()


def _right(row: Row, n: int) -> np.ndarray:
    """Which answers of the test set an entry satisfied, float (n,)."""
    bits = np.frombuffer(base64.b64decode(row["right"]), dtype=np.uint8)
    return np.unpackbits(bits, count=n).astype(float)


def _spread(part: list[Row], reference: list[Row]) -> float | None:
    """Standard error of the mean difference from its variation between splits; None without a cross-validation."""
    at = {row["split"]: row["accuracy"] for row in reference}
    differences = [row["accuracy"] - at[row["split"]] for row in part]
    return None if len(part) != FOLDS else float(np.std(differences, ddof=1) / math.sqrt(len(part)))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


# ---- what it amounts to ----------------------------------------------------------------------------------------------


def against_cblearn(rows: list[Row]) -> list[Row]:
    """For each set and dimension, by question: the reference minus the best entry of cblearn there."""
    found = []
    for cell in dict.fromkeys((row["set"], row["d"]) for row in rows if row["grouping"] == "question"):
        there = [row for row in rows if (row["set"], row["d"]) == cell and row["grouping"] == "question"]
        rivals = [row for row in there if row["entry"].startswith("cblearn") and "difference" in row]
        if rivals:
            best = max(rivals, key=lambda row: row["difference"])
            low = -best["difference"] - best["difference_half"]
            found.append({
                "set": cell[0], "d": cell[1], "best": best["entry"], "difference": -best["difference"],
                "low": low, "high": -best["difference"] + best["difference_half"], "holds": low > LEAST,
            })  # fmt: skip
    return found


def mean_difference(rows: list[Row]) -> tuple[float, float]:
    """Mean difference to the reference over some cells, and half the width of its interval of 95 %.

    Cells of a set share their answers, so their errors are taken as fully dependent; those of different sets are
    independent.
    """
    by_set: dict[str, float] = {}
    for row in rows:
        by_set[row["set"]] = by_set.get(row["set"], 0.0) + row["difference_error"] / len(rows)
    mean = float(np.mean([row["difference"] for row in rows]))
    return mean, float(norm.ppf((1 + LEVEL) / 2)) * math.hypot(*by_set.values())


def against_cblearn_table(cells: list[Row]) -> str:
    """A row for each set, a column for each dimension; bold where the lower bound is not above `LEAST`."""
    lines = []
    for name in dict.fromkeys(cell["set"] for cell in cells):
        line: Row = {"": name}
        for cell in cells:
            if cell["set"] == name:
                low, high = _points(cell["low"]), _points(cell["high"])
                text = f"{_points(cell['difference'])} ({low} to {high})"
                rival = cell["best"].removeprefix("cblearn ")
                line[f"d = {cell['d']}"] = f"{text if cell['holds'] else f'**{text}**'} {rival}"
        lines.append(line)
    return common.table(lines)


def verdicts(record: Row) -> list[str]:
    """The default against cblearn and against the old default, in lines."""
    rows = record["rows"]
    cells = against_cblearn(rows)
    lines = []
    if cells:
        mean = float(np.mean([cell["difference"] for cell in cells]))
        n_held = sum(cell["holds"] for cell in cells)
        lines.append(
            f"{REFERENCE} minus the best of cblearn in each cell: {_points(mean)} on average over {len(cells)} cells; "
            f"the lower bound is above {_points(LEAST)} in {n_held}. The best is chosen on the same answers, which "
            "favours cblearn"
        )
    old = [row for row in rows if row["entry"] == OLD_DEFAULT and row["grouping"] == "question" and "difference" in row]
    if old:
        mean, half = mean_difference(old)
        lines.append(
            f'{REFERENCE} minus loss="{OLD_DEFAULT}": {_points(-mean)} ({_points(-mean - half)} to '
            f"{_points(-mean + half)}) on average over {len(old)} cells"
        )
    ratios = [row["spread"] / row["difference_error"] for row in rows if row.get("spread") and row["difference_error"]]
    if ratios:
        lines.append(
            "standard errors of differences from the variation between splits, relative to those given: "
            f"{math.sqrt(float(np.mean(np.square(ratios)))):.2f} (root mean square of {len(ratios)})"
        )
    return lines


def leaderboard(record: Row) -> str:
    """One table: a row for each entry, the best mean difference first."""
    rows, sets = record["rows"], record["sets"]
    columns = [(name, "question") for name in sets]
    columns += [(name, by) for by in ("participant", "published") for name in sets]
    columns = [one for one in columns if any((row["set"], row["grouping"]) == one for row in rows)]
    dims = sorted({row["d"] for row in rows if isinstance(row["d"], int)})
    lines = []
    for entry in dict.fromkeys(row["entry"] for row in rows):
        for kind, chosen in (("numbers", dims), ("auto", ["auto"]), ("none", [None])):
            part = [row for row in rows if row["entry"] == entry and row["d"] in chosen]
            if part:
                lines.append((entry, kind, part))
    lines.sort(key=lambda line: (line[1] == "none", -(_mean_of(line[2], "difference") or 0.0)))  # the reference: 0
    table = []
    for entry, kind, part in lines:
        line: Row = {"": (f'loss="{entry}"' if entry in loss_names() else entry) + (", auto" if kind == "auto" else "")}
        for name, by in columns:
            there = [row["accuracy"] for row in part if (row["set"], row["grouping"]) == (name, by)]
            line[_title(name, by)] = _percent(_mean(there))
        is_reference = entry == REFERENCE
        compared = [row for row in part if "difference" in row]
        mean, half = mean_difference(compared) if compared else (0.0, 0.0)
        line["difference"] = f"{_points(mean)} ± {100 * half:.2f}" if compared else ""
        logs = _mean_of(part, "log_loss" if is_reference else "log_loss_difference")
        line["log loss"] = "" if logs is None else f"{logs:.3f}" if is_reference else f"{logs:+.3f}"
        error = _mean_of(part, "calibration_error")
        line["calibration error"] = "" if error is None else f"{error:.3f}"
        seconds = _mean_of(part, "seconds")
        line["seconds"] = "" if seconds is None or kind == "none" else f"{seconds:.2g}"
        table.append(line)
    ceiling: Row = {"": "noise ceiling"}
    for name, by in columns:
        known = sets[name]["ceiling"]
        ceiling[_title(name, by)] = "" if known is None else f"{100 * known[0]:.0f} to {100 * known[1]:.0f}"
    chance = {"": "chance"} | {_title(name, by): _percent(sets[name]["chance"]) for name, by in columns}
    return common.table([*table, ceiling, chance])


def _title(name: str, by: str) -> str:
    return {"question": name, "participant": f"{name}, new participants", "published": f"{name}, published split"}[by]


def _mean_of(part: list[Row], figure: str) -> float | None:
    return _mean([row.get(figure) for row in part])


def _points(value: float) -> str:
    return f"{round(100 * value, 2) + 0.0:+.2f}"  # no "-0.00"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


# ---- figure and pages ------------------------------------------------------------------------------------------------


def draw(record: Row) -> Figure:
    """Accuracy by dimension for each set, held out by question; below, the difference to the best entry of cblearn."""
    rows = [row for row in record["rows"] if row["grouping"] == "question"]
    names = list(dict.fromkeys(row["set"] for row in rows))
    dims = sorted({row["d"] for row in rows if isinstance(row["d"], int)})
    ticks: list[Any] = [*dims, *(["auto"] if any(row["d"] == "auto" for row in rows) else [])]
    figure, axes = panels(len(names), 2, width=3.4, height=2.7)
    cells = against_cblearn(rows)
    for upper, lower, name in zip(axes, axes[len(names) :], names):
        here = [row for row in rows if row["set"] == name]
        about = record["sets"][name]
        upper.set_title(name)
        if about["ceiling"] is not None:
            low, high = about["ceiling"]
            upper.axhspan(100 * low, 100 * high, color="#e5e7eb", label="noise ceiling")
        of_maps = [100 * row["accuracy"] for row in here if row["d"] is not None]
        upper.set_ylim(min(of_maps) - 1.0, max(of_maps) + 1.0)
        for entry in dict.fromkeys(row["entry"] for row in here if row["d"] is not None):
            known = {row["d"]: 100 * row["accuracy"] for row in here if row["entry"] == entry}
            label, style = _look(entry)
            chosen = [known.pop("auto")] if "auto" in known else []
            upper.plot([ticks.index(d) for d in known], list(known.values()), label=label, **style)
            upper.plot([len(ticks) - 1] * len(chosen), chosen, **style)
        mine = [cell for cell in cells if cell["set"] == name]
        if mine:
            x = [ticks.index(cell["d"]) for cell in mine]
            y, low, high = 100 * np.array([[cell[key] for key in ("difference", "low", "high")] for cell in mine]).T
            lower.errorbar(x, y, [y - low, high - y], fmt="o", color=PALETTE[0], capsize=2)
        lower.axhline(0.0, color="black", linewidth=0.8)
        lower.axhline(100 * LEAST, color=PALETTE[1], linewidth=0.8, linestyle="--")
        for ax in (upper, lower):
            ax.set_xticks(range(len(ticks)), ticks)
            ax.set_xlim(-0.3, len(ticks) - 0.7)
        lower.set_xlabel("dimensions")
    if cells:
        ends = [100 * cell[end] for cell in cells for end in ("low", "high")]
        for lower in axes[len(names) :]:
            lower.set_ylim(min(ends) - 0.2, max(ends) + 0.2)
    axes[0].set_ylabel("% of answers predicted")
    axes[len(names)].set_ylabel("points over best of cblearn")
    legend(figure, axes)
    return figure


def _look(entry: str) -> tuple[str, Row]:
    """Label and style of an entry's line: the default stands out."""
    if entry == REFERENCE:
        return entry, {"color": PALETTE[0], "marker": "o", "linewidth": 2.2, "zorder": 4}
    if entry in ("reliability=True", "IndividualEmbedding()"):
        number = 2 if entry == "reliability=True" else 5
        return entry, {"color": PALETTE[number], "marker": "s", "markersize": 4, "linewidth": 1.3}
    if entry.startswith("cblearn"):
        return "cblearn", {"color": PALETTE[1], "linewidth": 0.9, "linestyle": "--"}
    return "single losses", {"color": "#9ca3af", "linewidth": 0.9}


def saved(name: str = "human") -> Row:
    """The results of a run."""
    return json.loads((common.RESULTS / f"{name}.json").read_text())


def write(name: str) -> str:
    """Table and verdicts of the saved results; the docs show those called "human". Returns what to print."""
    record = saved(name)
    text = f"{common.about(record)}\n\n{leaderboard(record)}\n{_verdict_block(record)}"
    (common.RESULTS / f"{name}.md").write_text(text)
    if name == "human":
        write_page()
    return text


def write_page() -> None:
    """Draw the figure and fill the page of the docs."""
    subprocess.run([sys.executable, str(FIGURE)], check=True)
    DOCS.write_text(fill(DOCS.read_text(), blocks(saved())))


def blocks(record: Row) -> dict[str, str]:
    """What goes between the markers of the page."""
    sets = [
        {
            "set": name,
            "answers": f"{about['answers']:,.0f}",
            "objects": about["objects"],
            "participants": about["participants"] or "not known",
            "source": about["source"],
        }
        for name, about in record["sets"].items()
    ]
    return {
        "leaderboard": f"{leaderboard(record)}\n{common.about(record)}.",
        "leaderboard-sets": common.table(sets),
        "leaderboard-verdicts": _verdict_block(record),
    }


def _verdict_block(record: Row) -> str:
    cells = against_cblearn(record["rows"])
    lines = [*verdicts(record), *(f"failed: {line}" for line in record["failed"])]
    return (f"{against_cblearn_table(cells)}\n" if cells else "") + "".join(f"- {line}.\n" for line in lines)
