"""Write the figures of all tables, and the verdicts, into the page on the reproduction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from experiments.methods import GROWING, LOSSES, NAMES
from experiments.registry import TITLES
from experiments.table2.config import TITLES as DATASETS
from experiments.tables import PAPER, Row, read_csv, where
from experiments.trials import Lab
from experiments.verdicts import judge_all
from nearer.io.files import atomic_write

FIGURES = {
    "table1": ("table1", "tuning", "scaling"),
    "fig1": ("fig1",),
    "fig2": ("fig2", "fig2_authors"),
    "table2": ("table2",),
    "fig3": ("fig3",),
    "music": ("music",),
    "theory": ("bounds", "rate"),
}
_MARKERS = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
_NAMES = {k: v.replace("$", "") for k, v in {**NAMES, "raw": "raw features"}.items()}


def write(lab: Lab, root: Path) -> Path:
    """Fill the page from the tables; returns the file written.

    The committed results go to ``experiments/RESULTS.md``, and the verdicts also to ``docs/reproduction.md``; those of
    any other folder to a page in that folder.
    """
    template = root / "experiments" / "RESULTS.md"
    target = lab.out / template.name
    content = blocks(lab)
    _rewrite(template, target, content)
    if target.resolve() == template.resolve():
        page = root / "docs" / "reproduction.md"
        _rewrite(page, page, {name: content[name] for name in ("verdicts", "speed")})
    return target


def _rewrite(template: Path, target: Path, content: dict[str, str]) -> None:
    text = fill(template.read_text(encoding="utf-8"), content)
    with atomic_write(target, force=True, mode="w") as file:
        file.write(text)


def fill(text: str, content: dict[str, str]) -> str:
    """Replace what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""
    names = [name for _, name, _ in _MARKERS.findall(text)]
    unknown = [name for name in names if name not in content]
    absent = [name for name in content if name not in names]
    if unknown or absent or len(set(names)) < len(names):
        raise ValueError(f"page: markers {names} do not match the blocks {sorted(content)}")
    return _MARKERS.sub(lambda found: f"{found[1]}{content[found[2]].strip()}\n{found[3]}", text)


def blocks(lab: Lab) -> dict[str, str]:
    """All generated parts of the page, by the name of their markers."""
    out = {
        "verdicts": _verdicts(lab),
        "run": _or_not_run(_run_block, lab),
        "speed": _or_not_run(_speed, lab),
        "table1": _or_not_run(_table1, lab),
        "chosen": _or_not_run(_chosen, lab),
        "edges": _or_not_run(_edges, lab),
        "fig1": _or_not_run(_fig1, lab),
        "fig2": _or_not_run(_fig2, lab),
        "table2": _or_not_run(_table2, lab),
        "music": _or_not_run(_music, lab),
        "theory": _or_not_run(_theory, lab),
    }
    for name, figures in FIGURES.items():
        folder = lab.results(name)
        found = [folder / f"{figure}.png" for figure in figures]
        shown = {path.stem: path.relative_to(lab.out).as_posix() for path in found if path.is_file()}
        lines = [f"![{TITLES[name]} ({stem})]({path})" for stem, path in shown.items()]
        out[f"{name}-figures"] = "\n\n".join(lines) or "(not run)"
    return out


def _or_not_run(block: Callable[[Lab], str], lab: Lab) -> str:
    try:
        return block(lab)
    except FileNotFoundError:
        return "(not run)"


def _markdown(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [list(header), ["---"] * len(list(header)), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}g}" if abs(value) < 1e-3 else f"{value:.{digits}f}"


def _verdicts(lab: Lab) -> str:
    found = judge_all(lambda name: lab.out / name / "results")
    return _markdown(
        ("", "claim", "verdict", "figures"), ((v.claim, v.text, f"**{v.verdict}**", v.figures) for v in found)
    )


def _run_block(lab: Lab) -> str:
    records = {}
    for name in TITLES:
        path = lab.out / name / "results" / "run.json"
        if path.is_file():
            records[name] = json.loads(path.read_text(encoding="utf-8"))
    if not records:
        raise FileNotFoundError("run.json")
    last = list(records.values())[-1]
    versions = ", ".join(f"{name} {version}" for name, version in last["versions"].items())
    machine = f"{last['machine']['processor']}, {last['machine']['cores']} cores, {last['machine']['system']}"
    minutes = sum(record["trial_seconds"] for record in records.values()) / 60
    lines = [f"Machine: {machine}. Versions: {versions}."]
    lines.append(
        f"Command: `python -m experiments all`; the trials of all experiments took {minutes:.0f} minutes together."
    )
    table = _markdown(
        ("experiment", "commit", "seed", "processes", "minutes", "minutes of trials", "trials of an earlier run"),
        (
            (name, r["commit"], r["seed"], r["jobs"], f"{r['wall_seconds'] / 60:.1f}", f"{r['trial_seconds'] / 60:.1f}",
             r["trials_read_from_an_earlier_run"])
            for name, r in records.items()
        ),
    )  # fmt: skip
    return " ".join(lines) + "\n\n" + table


def _speed(lab: Lab) -> str:
    """SVRG-SBB against the paper's times, and against the other stochastic methods by work."""
    table, paper = read_csv(lab.out / "table1/results/table1.csv"), read_csv(PAPER / "table1.csv")
    rows = []
    for loss, title in LOSSES.items():
        printed = where(paper, loss=loss, method="sbb")[0]["mean"]
        for settings, method in (("tuned", "sbb"), ("tuned", "sbb-grow"), ("authors", "sbb")):
            mine = {row["method"]: row for row in where(table, loss=loss, settings=settings)}
            if method not in mine or mine[method]["seconds_mean"] is None:
                continue
            seconds = mine[method]["seconds_mean"]
            rivals = {
                m: mine[m]["work_mean"] for m in ("sgd", "svrg", "sbb0", "sbb") if mine[m]["work_mean"] is not None
            }
            quick = min(rivals, key=rivals.__getitem__)
            others = {m: w for m, w in rivals.items() if m != "sgd"}
            variance_reduced = min(others, key=others.__getitem__)
            rows.append(
                (
                    title,
                    settings + (", growing*" if method in GROWING else ""),
                    f"{1e3 * seconds:.2f}",
                    f"{1e3 * printed:.0f}",
                    f"{printed / seconds:.0f}",
                    f"{mine[method]['work_mean']:.2f}",
                    f"{_NAMES[quick]}, {rivals[quick]:.2f}",
                    f"{_NAMES[variance_reduced]}, {others[variance_reduced]:.2f}",
                )
            )
    header = (
        "loss", "settings", "SBB_ε here, ms", "SBB_ε in the paper, ms", "times faster", "work of SBB_ε",
        "least work of a stochastic method of the paper", "least work of an SVRG of the paper",
    )  # fmt: skip
    return _markdown(header, rows)


def _table1(lab: Lab) -> str:
    table, paper = read_csv(lab.out / "table1/results/table1.csv"), read_csv(PAPER / "table1.csv")
    rows = []
    for loss, title in LOSSES.items():
        for row in where(table, loss=loss):
            printed = where(paper, loss=loss, method=row["method"])
            seconds = [_milliseconds(row[f"seconds_{part}"]) for part in ("min", "mean", "max", "std")]
            theirs = (
                " / ".join(f"{1e3 * printed[0][part]:.0f}" for part in ("min", "mean", "max", "std"))
                if printed
                else "-"
            )
            work = " / ".join(_number(row[f"work_{part}"], 1) for part in ("min", "mean", "max", "std"))
            reached = f"{row['reached']} of {row['starts']}"
            rows.append((title, _NAMES[row["method"]], row["settings"], " / ".join(seconds), theirs, work, reached))
    header = (
        "loss", "method", "settings", "ms here: min / mean / max / std", "ms in the paper", "gradients / N", "reached",
    )  # fmt: skip
    return _markdown(header, rows)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.2f}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def _chosen(lab: Lab) -> str:
    rows = [row for row in read_csv(lab.out / "table1/results/tuning.csv") if row["chosen_for"]]
    return _markdown(
        ("loss", "method", "chosen for", "values", "gradients / N to 0.15", "mean training error over the budget"),
        (
            (LOSSES[r["loss"]], _NAMES[r["method"]], r["chosen_for"], _values(r["absolute"]), _number(r["work"], 1),
             _number(r["mean_error"]))
            for r in rows
        ),
    )  # fmt: skip


def _edges(lab: Lab) -> str:
    """How many settings were tried, and which chosen ones were not passed on both sides on every axis."""
    lines = []
    for experiment in ("table1", "table2", "music"):
        rows = read_csv(lab.out / experiment / "results" / "tuning.csv")
        chosen = [row for row in rows if row.get("chosen") or row.get("chosen_for")]
        edge = [row for row in chosen if row["untried"]]
        told = "; ".join(
            f"{', '.join(filter(None, (DATASETS.get(r.get('dataset')), LOSSES[r['loss']], _NAMES[r['method']])))} "
            f"({_values(r['absolute'])}: {r['untried']})"
            for r in edge
        )
        lines.append(
            f"- {TITLES[experiment].split(':')[0]}: {len(rows):,} settings tried, {len(chosen)} chosen, "
            + (f"{len(edge)} of them on the edge of what was tried: {told}." if edge else "none of them on the edge.")
        )
    return "\n".join(lines)


def _values(settings: Row) -> str:
    return ", ".join(
        f"{name} {'measured' if value is None else format(value, 'g')}" for name, value in settings.items()
    )


def _fig1(lab: Lab) -> str:
    rows = read_csv(lab.out / "fig1/results/summary.csv")
    header = (
        "rule",
        "negative steps",
        "jump in epochs 2-11: median, max",
        "later: median, max",
        "training error at the end",
    )
    names = {"bb": "BB", "sbb0": "SBB_0", "sbb": "SBB_0.005"}
    return _markdown(
        header,
        (
            (names[r["rule"]], f"{r['negative_steps']} of {r['steps']}",
             f"{_number(r['early_jump_median'])}, {_number(r['early_jump_max'])}",
             f"{_number(r['late_jump_median'])}, {_number(r['late_jump_max'])}", _number(r["median_error"]))
            for r in rows
        ),
    )  # fmt: skip


def _fig2(lab: Lab) -> str:
    rows = read_csv(lab.out / "fig2/results/final.csv")
    return _markdown(
        ("loss", "method", "settings", "test error at the end: mean ± std", "training error"),
        (
            (LOSSES[r["loss"]], _NAMES[r["method"]], r["settings"],
             _plus_minus(r, "test_error", 4), _number(r["train_error_mean"], 4))
            for r in rows
        ),
    )  # fmt: skip


def _table2(lab: Lab) -> str:
    table, paper = read_csv(lab.out / "table2/results/table2.csv"), read_csv(PAPER / "table2.csv")
    noises = sorted({row["noise"] for row in table})
    parts = []
    for dataset in dict.fromkeys(row["dataset"] for row in table):
        rows = []
        for loss, method in dict.fromkeys((r["loss"], r["method"]) for r in where(table, dataset=dataset)):
            cells = [where(table, dataset=dataset, loss=loss, method=method, noise=noise)[0] for noise in noises]
            theirs = [where(paper, loss=loss, method=method, noise=noise) for noise in noises]
            rows.append(
                (
                    LOSSES.get(loss, ""),
                    _NAMES[method],
                    *(_plus_minus(cell, "map") for cell in cells),
                    *(_plus_minus(cell, "precision_at_40") for cell in cells),
                    " / ".join(f"{t[0]['map']:.3f}" for t in theirs if t) or "-",
                    " / ".join(f"{t[0]['precision_at_40']:.3f}" for t in theirs if t) or "-",
                    _number(cells[-1]["work_mean"], 0),
                    _number(cells[-1]["seconds_mean"], 2),
                )
            )
        percent = [f"{100 * noise:.0f} %" for noise in noises]
        header = (
            "loss", "method", *(f"MAP, {p}" for p in percent), *(f"P@40, {p}" for p in percent),
            "paper on SUN397: MAP", "P@40", "gradients / N", "seconds",
        )  # fmt: skip
        parts.append(f"### {DATASETS[dataset]}\n\n" + _markdown(header, rows))
    return "\n\n".join(parts)


def _plus_minus(row: Row, measure: str, digits: int = 3) -> str:
    spread = row[f"{measure}_std"]
    return f"{row[f'{measure}_mean']:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def _music(lab: Lab) -> str:
    rows = read_csv(lab.out / "music/results/music.csv")
    return _markdown(
        ("loss", "method", "test error: mean ± std", "training error", "gradients / N", "seconds"),
        (
            (LOSSES[r["loss"]], _NAMES[r["method"]], _plus_minus(r, "test_error"),
             _number(r["train_error_mean"]), _number(r["work_mean"], 0), _number(r["seconds_mean"], 2))
            for r in rows
        ),
    )  # fmt: skip


def _theory(lab: Lab) -> str:
    folder = lab.out / "theory/results"
    bounds, rates, demands = (read_csv(folder / f"{name}.csv") for name in ("bounds", "rates", "demands"))
    first = _markdown(
        ("loss", "ε", "L of F", "steps outside", "least step / lower bound", "largest / upper bound", "power of T"),
        (
            (b["loss"], f"{b['epsilon']:g}", _number(b["lipschitz"]), f"{b['below'] + b['above']} of {b['steps']}",
             _number(b["smallest_to_lower_bound"], 2), _number(b["largest_to_upper_bound"], 4), _number(r["slope"], 2))
            for b, r in zip(bounds, rates)
        ),
    )  # fmt: skip
    second = _markdown(
        ("loss", "ε from", "ε", "m used", "m asked, L of F", "m asked, L of single comparisons", "reached 0.15",
         "epochs to it", "training error at the end"),
        (
            (d["loss"], d["case"], f"{d['epsilon']:.3g}", f"{d['m']:,}", f"{d['theorem_m']:,}",
             f"{d['theorem_m_single']:.3g}", f"{d['reached']} of {d['starts']}", _number(d["epochs_to_target"], 1),
             _number(d["error_at_end"]))
            for d in demands
        ),
    )  # fmt: skip
    return first + "\n\n" + second
