"""Write the figures of all tables, and the verdicts, into the page on the reproduction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments import deviations
from experiments.decision import verdict
from experiments.methods import LOSSES, NAMES
from experiments.registry import TITLES
from experiments.report_retrieval import duels, music, switches
from experiments.table2.config import TITLES as DATASETS
from experiments.tables import PAPER, Row, read_csv, where, write_csv
from experiments.trials import Lab
from experiments.verdicts import Verdict, judge_all, tally
from nearer.io.files import atomic_write

FIGURES = {
    "table1": ("table1", "tuning", "scaling"),
    "fig1": ("fig1", "errors"),
    "fig2": ("fig2", "fig2_authors"),
    "table2": ("table2", "switches", "eigenpairs"),
    "fig3": ("fig3", "fig3_authors"),
    "music": ("music",),
    "theory": ("bounds", "rate"),
}
PAGE = ("verdicts", "entries1", "entries2", "deviations", "run")
_MARKERS = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
_NAMES = {k: v.replace("$", "") for k, v in {**NAMES, "raw": "raw features"}.items()}


def write(lab: Lab, root: Path) -> Path:
    """Fill the page from the tables; returns the file written.

    The committed results go to ``experiments/RESULTS.md``, and part of them to ``docs/reproduction.md``; those of
    any other folder to a page in that folder. All cases that decide claims are in ``cases.csv`` beside the page.
    """
    template = root / "experiments" / "RESULTS.md"
    target = lab.out / template.name
    found = judge_all(lab.results)
    content = blocks(lab, found)
    _rewrite(template, target, {name: text for name, text in content.items() if name == "run" or name not in PAGE})
    if target.resolve() == template.resolve():
        page = root / "docs" / "reproduction.md"
        _rewrite(page, page, {name: content[name] for name in PAGE})
    cases = [{"claim": v.claim.name, **asdict(c), "as_claimed": c.as_claimed} for v in found for c in v.cases]
    write_csv(lab.out / "cases.csv", [{**case, "claimed": " ".join(case["claimed"])} for case in cases])
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


def blocks(lab: Lab, found: list[Verdict]) -> dict[str, str]:
    """All generated parts of the pages, by the name of their markers."""
    out = {"verdicts": _verdicts(found), "cases": _cases(found, lab.quick), "deviations": deviations.table(lab.results)}
    parts = {
        "run": _run_block, "entries1": _entries1, "entries2": _entries2, "table1": _table1, "chosen": _chosen,
        "edges": _edges, "fig1": _fig1, "fig2": _fig2, "table2": _table2, "theory": _theory,
        **{part.__name__: _lines(part) for part in (switches, duels, music)},
    }  # fmt: skip
    out |= {name: _or_not_run(part, lab) for name, part in parts.items()}
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
    return "\n".join("|" + "|".join(str(cell).replace("|", "\\|") for cell in line) + "|" for line in lines)


def _lines(part: Callable[[Lab], tuple[Iterable[str], list]]) -> Callable[[Lab], str]:
    """The block of a part that gives a header and rows."""
    return lambda lab: _markdown(*part(lab))


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}g}" if abs(value) < 1e-3 else f"{value:.{digits}f}"


def _verdicts(found: list[Verdict]) -> str:
    """The claims; where the authors' settings and tuned ones lead to different verdicts, these as well."""
    rows = []
    for v in found:
        split = {
            words: verdict(mine)
            for group, words in (("authors", "authors' settings"), ("tuned", "tuned"))
            if (mine := [case for case in v.cases if case.group == group])
        }
        parts = "; ".join(f"{words}: {one}" for words, one in split.items()) if len(set(split.values())) > 1 else ""
        count = f"{sum(case.as_claimed for case in v.cases)}/{len(v.cases)}"
        told = f"**{v.verdict}** {count}" + (f" ({parts})" if parts else "")
        rows.append((v.claim.name, v.claim.words, told if v.cases else v.verdict, v.figures))
    return _markdown(("", "claim", "verdict, cases as claimed", "our figures (medians)"), rows)


def _cases(found: list[Verdict], quick: bool) -> str:
    """How the cases of each claim come out, and which do not come out as claimed."""
    rows = [
        (
            v.claim.name,
            f"**{v.verdict}**",
            tally(v.cases),
            "; ".join(
                f"{case.group + ', ' if case.group else ''}{case.name} ({case.outcome})"
                for case in v.cases
                if not case.as_claimed
            )
            or "-",
        )
        for v in found
        if v.cases
    ]
    few = "Few pairs decide little: most cases stay open.\n\n" if quick else ""
    return few + _markdown(("", "verdict", "cases", "not as claimed"), rows)


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
    commits = list(dict.fromkeys(record["commit"] for record in records.values()))
    minutes = sum(record["trial_seconds"] for record in records.values()) / 60
    lines = [f"{machine}; {versions}. Commit: {', '.join(commits)}. {minutes:.0f} core-minutes:"]
    table = _markdown(
        ("part", "core-minutes"),
        ((name, f"{r['trial_seconds'] / 60:.1f}") for name, r in records.items() if r["trial_seconds"]),
    )
    return " ".join(lines) + "\n\n" + table


def _entries1(lab: Lab) -> str:
    """One row for each entry of the paper's Table 1: its seconds; ours, with the work."""
    table, paper = read_csv(lab.results("table1") / "table1.csv"), read_csv(PAPER / "table1.csv")
    rows = []
    for entry in paper:
        mine = [where(table, loss=entry["loss"], method=entry["method"], settings=s) for s in ("authors", "tuned")]
        cells = [_reached(row[0]) if row else "-" for row in mine]
        rows.append((LOSSES[entry["loss"]], _short(entry["method"]), f"{1e3 * entry['mean']:.0f}", *cells))
    return _markdown(
        ("loss", "method", "paper, ms", "authors' settings, ms/N gradients", "tuned, ms/N gradients"), rows
    )


def _reached(row: Row) -> str:
    """Mean milliseconds and work, or how many starts got to the target."""
    if row["work_mean"] is None:
        return f"{row['reached']}/{row['starts']} starts"
    return f"{_milliseconds(row['seconds_mean'])}/{row['work_mean']:.1f}"


def _short(method: str) -> str:
    return _NAMES[method].replace("SVRG-", "")


def _entries2(lab: Lab) -> str:
    """One row for each entry of the paper's Table 2 at the highest noise: MAP / P@40."""
    table, paper = read_csv(lab.results("table2") / "table2.csv"), read_csv(PAPER / "table2.csv")
    noise = max(row["noise"] for row in table)
    kinds = [(d, s) for d in dict.fromkeys(row["dataset"] for row in table) for s in ("authors", "tuned")]
    rows = []
    for entry in where(paper, noise=noise):
        cells = []
        for dataset, settings in kinds:
            mine = where(table, dataset=dataset, settings=settings, noise=noise, procedure=None,
                         loss=entry["loss"], method=entry["method"])  # fmt: skip
            # at the authors' settings as long as their scripts run; tuned methods all alike
            mine.sort(key=lambda row: row["budget"], reverse=settings == "authors")
            cells.append(f"{mine[0]['map_mean']:.3f}/{mine[0]['precision_at_40_mean']:.3f}" if mine else "-")
        printed = f"{entry['map']:.3f}/{entry['precision_at_40']:.3f}"
        rows.append((LOSSES[entry["loss"]], _short(entry["method"]), printed, *cells))
    words = {"authors": "authors' settings", "tuned": "tuned"}
    return _markdown(("loss", "method", "paper", *(f"{DATASETS[d]}, {words[s]}" for d, s in kinds)), rows)


def _table1(lab: Lab) -> str:
    table = read_csv(lab.results("table1") / "table1.csv")
    rows = []
    for row in table:
        seconds = [_milliseconds(row[f"seconds_{part}"]) for part in ("min", "mean", "max", "std")]
        work = " / ".join(_number(row[f"work_{part}"], 1) for part in ("min", "mean", "max", "std"))
        reached = f"{row['reached']} of {row['starts']}"
        rows.append(
            (LOSSES[row["loss"]], _NAMES[row["method"]], row["settings"], " / ".join(seconds), work, reached)
        )  # fmt: skip
    header = (
        "loss",
        "method",
        "settings",
        "ms: min / mean / max / std",
        "N gradients: min / mean / max / std",
        "reached",
    )
    return _markdown(header, rows)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.2f}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def _chosen(lab: Lab) -> str:
    rows = [row for row in read_csv(lab.results("table1") / "tuning.csv") if row["chosen_for"]]
    rows.sort(key=lambda r: (list(LOSSES).index(r["loss"]), list(_NAMES).index(r["method"]), r["draw"]))
    lines = [
        (LOSSES[r["loss"]], _NAMES[r["method"]], "authors", "-", _values(r["values"]), "-", "-")
        for r in read_csv(lab.results("table1") / "authors.csv")
    ]
    lines += [
        (LOSSES[r["loss"]], _NAMES[r["method"]], r["draw"], r["chosen_for"], _values(r["absolute"]),
         _number(r["work"], 1), _number(r["mean_error"]))
        for r in rows
    ]  # fmt: skip
    header = (
        "loss",
        "method",
        "draw",
        "chosen for",
        "values",
        "N gradients to 0.15",
        "mean training error over the budget",
    )
    return _markdown(header, lines)


def _edges(lab: Lab) -> str:
    """How many settings were tried, and which chosen ones were not passed on both sides on every axis."""
    lines = []
    for experiment in ("table1", "table2", "music"):
        path = lab.results(experiment) / "tuning.csv"
        if not path.is_file():
            continue
        rows = read_csv(path)
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
    rows = read_csv(lab.results("fig1") / "jumps.csv")
    names = {"bb": "BB", "sbb0": "SBB_0", "sbb": "SBB_ε"}
    lines = []
    for loss, rule in dict.fromkeys((row["loss"], row["rule"]) for row in rows):
        mine = where(rows, loss=loss, rule=rule)
        negative = f"{sum(r['negative'] for r in mine)} of {sum(r['steps'] - 1 for r in mine)}"
        whole = [r for r in mine if r["late_jump"] is not None]
        jumps = (f"{np.median([r[f'{part}_jump'] for r in whole]):.3f}" for part in ("early", "late"))
        rises = (f"{np.median([r[f'{part}_rise'] for r in mine]):.3f}" for part in ("early", "late"))
        lines.append(
            (
                LOSSES[loss],
                names[rule],
                sum(r["diverged"] for r in mine),
                negative,
                f"{np.median([r['range'] for r in mine]):.1f}",
                *jumps,
                *rises,
            )
        )
    header = ("loss", "rule", "diverged", "negative steps", "largest / smallest", "change in the first epochs", "later",
              "rises of the error in the first epochs", "later")  # fmt: skip
    return _markdown(header, lines)


def _fig2(lab: Lab) -> str:
    rows = read_csv(lab.results("fig2") / "final.csv")
    return _markdown(
        ("loss", "method", "settings", "N gradients", "test error: mean ± std", "training error"),
        (
            (LOSSES[r["loss"]], _NAMES[r["method"]], r["settings"], r["horizon"], _plus_minus(r, "test_error", 4),
             _number(r["train_error_mean"], 4))
            for r in rows
        ),
    )  # fmt: skip


def _table2(lab: Lab) -> str:
    table = read_csv(lab.results("table2") / "table2.csv")
    noises = sorted({row["noise"] for row in table})
    parts = []
    for dataset in dict.fromkeys(row["dataset"] for row in table):
        rows = []
        keys = ("settings", "budget", "loss", "method")
        mine = where(table, dataset=dataset, procedure=None)
        for key in dict.fromkeys(tuple(row[name] for name in keys) for row in mine):
            cells = [where(mine, **dict(zip(keys, key)), noise=noise) for noise in noises]
            settings, budget, loss, method = key
            values = (
                " / ".join(_plus_minus(cell[0], name) if cell else "-" for cell in cells)
                for name in ("map", "precision_at_40")
            )
            rows.append((settings or "", budget, LOSSES.get(loss, ""), _NAMES[method], *values))
        percent = " / ".join(f"{100 * noise:.0f}" for noise in noises)
        header = (
            "settings",
            "N gradients",
            "loss",
            "method",
            f"MAP at {percent} % noise",
            f"P@40 at {percent} % noise",
        )
        parts.append(f"### {DATASETS[dataset]}\n\n" + _markdown(header, rows))
    return "\n\n".join(parts)


def _plus_minus(row: Row, measure: str, digits: int = 3) -> str:
    spread = row[f"{measure}_std"]
    return f"{row[f'{measure}_mean']:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def _theory(lab: Lab) -> str:
    bounds = read_csv(lab.results("theory") / "bounds.csv")
    first = _markdown(
        ("loss", "ε", "L of F", "L of single comparisons", "steps outside", "least step / lower bound",
         "largest / upper bound", "mean |∇F|²", "its bound, L of F"),
        (
            (b["loss"], f"{b['epsilon']:g}", _number(b["lipschitz"]), f"{b['single_lipschitz']:.1f}",
             f"{b['below'] + b['above']} of {b['steps']}", _number(b["smallest_to_lower_bound"], 2),
             _number(b["largest_to_upper_bound"], 4), f"{b['mean_squared_gradient']:.2g}",
             "-" if b["bound"] is None else f"{b['bound']:.2g}")
            for b in bounds
        ),
    )  # fmt: skip
    second = _markdown(
        ("loss", "ε", "m as printed", "condition 2 of the proof there", "m corrected", "condition 2 there"),
        (
            (b["loss"], f"{b['epsilon']:g}", f"{b['m_printed']:,}", _number(b["condition2_printed"]),
             f"{b['m_corrected']:,}", _number(b["condition2_corrected"]))
            for b in bounds
        ),
    )  # fmt: skip
    third = _markdown(
        ("draw", "μ", "L", "1 / L", "least m η", "largest m η", "1 / μ", "outside"),
        (
            (r["draw"], *(f"{r[name]:.3f}" for name in ("mu", "lipschitz")), f"{1 / r['lipschitz']:.3f}",
             f"{r['smallest']:.3f}", f"{r['largest']:.3f}", f"{1 / r['mu']:.3f}", f"{r['outside']} of {r['steps']}")
            for r in read_csv(lab.results("theory") / "curved.csv")
        ),
    )  # fmt: skip
    return "\n\n".join((first, second, third))
