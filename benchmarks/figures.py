"""Draw the figures of the saved results and write tables, facts and figures into benchmarks/RESULTS.md.

    python -m benchmarks.figures [--quick]

Reads ``benchmarks/results/*.json``, writes ``docs/figures/*.png`` and ``.svg``, and fills the markers in
``benchmarks/RESULTS.md`` and the summary in ``docs/benchmarks.md``. With --quick, the results of quick runs go to
``benchmarks/results/quick/`` instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks import common
from benchmarks.common import ROOT, about, table
from nearer.display import PALETTE
from nearer.io.files import atomic_write
from nearer.plots.figure import save_figure, style_axes

Record = dict[str, Any]
_MARKERS = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
NOT_RUN = "(not run)"


class Results:
    """The saved results, full or quick."""

    def __init__(self, quick: bool):
        self.suffix = "-quick" if quick else ""

    def get(self, name: str) -> Record | None:
        path = common.RESULTS / f"{name}{self.suffix}.json"
        return json.loads(path.read_text()) if path.is_file() else None


def panels(columns: int, rows: int = 1, width: float = 4.0, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels, row by row."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes:
        style_axes(ax)
    return figure, axes


def legend(figure: Figure, axes: list[Axes]) -> None:
    """One legend below all panels, each entry once."""
    entries = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels())}
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=min(len(entries), 8), frameon=False
    )


def distinct(rows: list[Record], name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


# ---- figures: a function per result, None where there is nothing to draw ----


def draw_rivals(results: Results) -> Figure | None:
    record = results.get("rivals")
    if record is None:
        return None
    rows = record["rows"]
    problems, losses = distinct(rows, "problem"), distinct(rows, "loss")
    figure, axes = panels(len(problems))
    for ax, problem in zip(axes, problems):
        mine = [row for row in rows if row["problem"] == problem]
        ax.bar(
            [row["loss"].replace(", ", "\n") for row in mine], [row["ratio"] for row in mine],
            color=[PALETTE[losses.index(row["loss"])] for row in mine],
        )  # fmt: skip
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set(title=problem, yscale="log", ylabel="times faster" if ax is axes[0] else None)
    return figure


def draw_large(results: Results) -> Figure | None:
    found = {name: results.get(f"large-{name}") for name in ("memory", "file")}
    if not any(found.values()):
        return None
    figure, axes = panels(len(found), width=5.0)
    for ax, (name, record) in zip(axes, found.items()):
        if record is None:
            ax.set_title(f"{name}: not run")
            continue
        row, curve = record["rows"][0], record["curve"]
        for number, stage in enumerate(distinct(curve, "stage")):
            part = [point for point in curve if point["stage"] == stage]
            x, y = [p["seconds"] / 60 for p in part], [p["test error"] for p in part]
            ax.plot(x, y, color=PALETTE[number % len(PALETTE)], label=stage, marker="." if len(part) < 3 else None)
        ax.axhline(row["goal error"], color="black", linewidth=0.8, linestyle=":")
        ax.set(title=f"n = {row['n']:,}, N = {row['n_train']:,}, {row['loss']}", xlabel="minutes", yscale="log")
        ax.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("test error")
    return figure


def draw_growth(results: Results) -> Figure | None:
    record = results.get("growth-time")
    if record is None:
        return None
    figure, axes = panels(1, width=5.0)
    for number, loss in enumerate(distinct(record["rows"], "loss")):
        mine = [row for row in record["rows"] if row["loss"] == loss]
        exponent = record["exponents"][loss]
        label = loss if exponent is None else f"{loss}, exponent {exponent:.2f}"
        axes[0].plot(
            [row["N"] for row in mine], [row["seconds"] for row in mine], "o-", color=PALETTE[number], label=label
        )
    axes[0].set(
        xlabel="comparisons N = 20 n log2 n", xscale="log", yscale="log",
        ylabel=f"seconds to a test error of {record['rows'][0]['goal']:g}",
    )  # fmt: skip
    axes[0].legend(frameon=False)
    return figure


def draw_ablation(results: Results) -> Figure | None:
    record = results.get("ablation")
    if record is None:
        return None
    rows = record["rows"]
    problems, variants = distinct(rows, "problem"), distinct(rows, "variant")[::-1]
    figure, axes = panels(len(problems), height=4.0)
    for ax, problem in zip(axes, problems):
        for number, loss in enumerate(distinct(rows, "loss")):
            mine = [row for row in rows if row["problem"] == problem and row["loss"] == loss]
            x = [row["time ratio"] for row in mine]
            ax.plot(x, [variants.index(row["variant"]) for row in mine], "o", color=PALETTE[number], label=loss)
        ax.axvline(1.0, color="black", linewidth=0.8)
        ax.set_yticks(range(len(variants)), variants if ax is axes[0] else [""] * len(variants))
        ax.set(title=problem, xscale="log", xlabel="time over that of the default")
        ax.xaxis.set_minor_formatter(NullFormatter())
    legend(figure, axes)
    return figure


def draw_scans(results: Results) -> Figure | None:
    record = results.get("sensitivity-scans")
    if record is None:
        return None
    rows = record["rows"]
    cases = [(p, loss) for p in distinct(rows, "problem") for loss in distinct(rows, "loss")]
    varied = distinct(rows, "varied")
    figure, axes = panels(len(varied), len(cases), height=2.4)
    looks = {"svrg-sbb": (PALETTE[1], "o-"), "svrg": (PALETTE[4], "s--")}
    for ax, (problem, loss, name) in zip(axes, [(p, loss, v) for p, loss in cases for v in varied]):
        mine = [row for row in rows if (row["problem"], row["loss"], row["varied"]) == (problem, loss, name)]
        for method, (colour, line) in looks.items():
            part = sorted((row["factor"], row["objective"]) for row in mine if row["method"] == method)
            # what is worse than no map at all is drawn at the edge
            if part:
                ax.plot(*np.minimum(np.array(part).T, [[np.inf], [1.1]]), line, color=colour, label=method, ms=4)
        ax.set(xscale="log", yscale="log")
        ax.set_title(f"{problem}, {loss}", fontsize=9)
        ax.set_xlabel(f"{name}, relative to {'N' if name == 'm' else 'the default'}", fontsize=8)
        ax.set_ylabel("objective" if name == varied[0] else "", fontsize=8)
    legend(figure, axes)
    return figure


def draw_sizes(results: Results) -> Figure | None:
    record = results.get("sensitivity-sizes")
    if record is None:
        return None
    rows = record["rows"]
    losses = distinct(rows, "loss")
    figure, axes = panels(len(losses), width=3.4)
    for ax, loss in zip(axes, losses):
        mine = [row for row in rows if row["loss"] == loss]
        best = {n: min(row["objective"] for row in mine if row["n"] == n) for n in distinct(mine, "n")}
        for number, name in enumerate(distinct(rows, "epsilon")):
            part = [(row["n"], min(row["objective"] / best[row["n"]], 10.0)) for row in mine if row["epsilon"] == name]
            ax.plot(
                *np.array(part).T, "o-", color=PALETTE[number % len(PALETTE)], label=f"ε = {name}", ms=4,
                linewidth=2.4 if name == "default" else 1.2,
            )  # fmt: skip
        ax.set(title=loss, xscale="log", yscale="log", xlabel="objects n", ylim=(0.95, 10.5))
    axes[0].set_ylabel("objective over the best")
    legend(figure, axes)
    return figure


FIGURES: dict[str, Callable[[Results], Figure | None]] = {
    "rivals": draw_rivals,
    "large": draw_large,
    "growth": draw_growth,
    "ablation": draw_ablation,
    "sensitivity-scans": draw_scans,
    "sensitivity-sizes": draw_sizes,
}


# ---- tables ----


def block(
    results: Results, name: str, drop: tuple[str, ...] = (), note: Callable[[Record], str] = lambda record: ""
) -> str:
    """The table of a result with its facts, or a word that there is none."""
    record = results.get(name)
    if record is None:
        return NOT_RUN
    rows = [{key: value for key, value in row.items() if key not in drop} for row in record["rows"]]
    return "\n\n".join(part for part in (table(rows).strip(), note(record), about(record)) if part)


def large_block(results: Results) -> str:
    """Both large problems side by side, and what their passes spend their time on."""
    records = [record for record in (results.get(f"large-{name}") for name in ("memory", "file")) if record]
    if not records:
        return NOT_RUN
    rows = [record["rows"][0] for record in records]
    keys = list(dict.fromkeys(key for row in rows for key in row if key != "problem"))
    lines = [{"": key, **{row["problem"]: row.get(key) for row in rows}} for key in keys]
    notes = [_limits(record) for record in records]
    return "\n\n".join([table(lines).strip(), *notes, *map(about, records)])


def _limits(record: Record) -> str:
    row, threads = record["rows"][0], record["threads"]
    streamed = "streamed pass ns" in row
    whole = row["streamed pass ns" if streamed else "gradient, all cores ns"]
    parts = {"reading": row.get("reading ns"), "gradients on all cores": row["gradient, all cores ns"]}
    shares = ", ".join(f"{name} alone takes {ns / whole:.0%} of it" for name, ns in parts.items() if ns and streamed)
    times = f"{whole * threads / row['floor ns']:.1f} times the floor, counted on {threads} cores"
    said = f"a full pass of {whole * row['n_train'] / 1e9:.3g} s, {times}"
    return f"*{row['problem']}*: {'; '.join(filter(None, (said, shares)))}."


def ablation_block(results: Results) -> str:
    """Per problem a table of variants by losses: ratio of times, ratio of work, difference of test errors."""
    record = results.get("ablation")
    if record is None:
        return NOT_RUN
    rows, parts = record["rows"], []
    for problem in distinct(rows, "problem"):
        lines = []
        for variant in distinct(rows, "variant"):
            line: Record = {"variant": variant}
            for row in rows:
                if row["problem"] == problem and row["variant"] == variant:
                    line[row["loss"]] = (
                        f"{row['seconds']:.3g} s, {row['work']:.0f}, {row['test error']:.4f}" if variant == "auto"
                        else f"{row['time ratio']:.2f}, {row['work ratio']:.2f}, {row['error difference']:+.4f}"
                    )  # fmt: skip
            lines.append(line)
        parts += [f"**{problem}**", table(lines).strip()]
    return "\n\n".join([*parts, about(record)])


def scans_block(results: Results) -> str:
    """How much worse than its best each method gets over three decades."""
    record = results.get("sensitivity-scans")
    if record is None:
        return NOT_RUN
    rows, lines = record["rows"], []
    for problem in distinct(rows, "problem"):
        for loss in distinct(rows, "loss"):
            line: Record = {"problem": problem, "loss": loss}
            mine = [row for row in rows if row["problem"] == problem and row["loss"] == loss]
            best = min(row["objective"] for row in mine)
            for varied in distinct(rows, "varied"):
                for method in distinct(rows, "method"):
                    values = [r["objective"] / best for r in mine if (r["varied"], r["method"]) == (varied, method)]
                    if values:
                        line[f"{varied}: {method}"] = f"{np.median(values):.2f} (worst {max(values):.3g})"
            lines.append(line)
    return f"{table(lines).strip()}\n\n{about(record)}"


def blocks(results: Results) -> dict[str, str]:
    """What goes between the markers of the page."""
    return {
        "rivals": block(results, "rivals"),
        "large-losses": block(results, "large-losses"),
        "large": large_block(results),
        "growth-time": block(results, "growth-time", note=lambda r: f"Exponents: {_exponents(r)}."),
        "growth-memory": block(
            results, "growth-memory", drop=("message",), note=lambda r: f"Ratio of the peaks: {r['ratio']:.3f}."
        ),
        "ablation": ablation_block(results),
        "sensitivity-scans": scans_block(results),
        "sensitivity-sizes": block(results, "sensitivity-sizes"),
    }


def summary_block(results: Results) -> str:
    """Plain fits of human answers against rivals, a row for each loss."""
    record = results.get("rivals")
    if record is None:
        return NOT_RUN
    rows = [
        {
            "loss": row["loss"],
            "nearer": f"{row['nearer s']:.3f} s",
            row["rival"]: f"{row['rival s']:.2f} s",
            "times faster": f"{row['ratio']:.0f} ({row['ratio q25-q75']})",
            "held-out error": f"{row['nearer test error']:.3f}",
            f"of {row['rival']}": f"{row['rival test error']:.3f}",
        }
        for row in record["rows"]
        if row["problem"] == "music" and "starts" not in row["loss"]
    ]
    head = (
        "9,090 answers of people about 400 artists, 9 dimensions. Plain fits, medians of "
        f"{record['rows'][0]['repeats']} interleaved runs; {about(record)}."
    )
    return f"{head}\n\n{table(rows)}\n{summary_large(results)}"


def summary_large(results: Results) -> str:
    """What the largest problem takes, in a sentence; empty if it was not run."""
    record = results.get("large-file")
    if record is None:
        return ""
    row = record["rows"][0]
    return (
        f"Beyond memory: {row['n']:,} objects and {row['n_train']:,} triplets, read from Parquet at every pass, take "
        f"{row['minutes']:.1f} minutes and {row['peak GiB']:.1f} GiB on {record['cores']} cores; "
        f"{row['test error']:.1%} of held-out triplets are wrong "
        f"({row['loss']}; `{record['command']}` at {record['commit']})."
    )


def _exponents(record: Record) -> str:
    return ", ".join(
        f"{loss} {'not reached' if value is None else f'{value:.3f}'}" for loss, value in record["exponents"].items()
    )


def fill(text: str, content: dict[str, str]) -> str:
    """Replace the text between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` for each name in `content`."""
    names = [name for _, name, _ in _MARKERS.findall(text)]
    if not set(content) <= set(names):
        raise ValueError(f"page: markers {sorted(names)} do not match the blocks {sorted(content)}")

    def filled(found: re.Match[str]) -> str:
        return f"{found[1]}{content[found[2]].strip()}\n{found[3]}" if found[2] in content else found[0]

    return _MARKERS.sub(filled, text)


def write(results: Results, page: Path, target: Path) -> list[str]:
    """Draw what there is and fill the page; returns the names of the figures drawn."""
    folder = ROOT / "docs" / "figures" if target == common.PAGE else target.parent / "figures"
    shown = os.path.relpath(folder, target.parent)
    folder.mkdir(parents=True, exist_ok=True)
    drawn, content = [], blocks(results)
    for name, draw in FIGURES.items():
        figure = draw(results)
        key = f"{name}-figure"
        content[key] = NOT_RUN
        if figure is not None:
            for end in (".png", ".svg"):
                save_figure(figure, folder / f"benchmark-{name}{end}", dpi=130, force=True)
            content[key] = f"![{name}]({shown}/benchmark-{name}.svg)"
            drawn.append(name)
    _rewrite(page, target, content)
    return drawn


def _rewrite(page: Path, target: Path, content: dict[str, str]) -> None:
    with atomic_write(target, force=True, mode="w") as file:
        file.write(fill(page.read_text(encoding="utf-8"), content))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="of quick runs, into benchmarks/results/quick")
    options = parser.parse_args(arguments)
    page = common.PAGE
    target = common.RESULTS / "quick" / page.name if options.quick else page
    drawn = write(Results(options.quick), page, target)
    if not options.quick:
        docs = ROOT / "docs" / "benchmarks.md"
        _rewrite(docs, docs, {"rivals-summary": summary_block(Results(False))})
    print(f"{target}: figures {', '.join(drawn) or 'none'}")


if __name__ == "__main__":
    main()
