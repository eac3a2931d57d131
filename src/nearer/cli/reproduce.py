"""`nearer reproduce`: redo the tables and figures of the paper, from a checkout of the source."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

EXPERIMENTS = ("table1", "fig1", "fig2", "table2", "fig3", "music", "theory")


@click.command("reproduce")
@click.argument("what", type=click.Choice([*EXPERIMENTS, "all", "report"]))
@click.option("--quick", is_flag=True, help="Few starts and small grids: minutes, for a first look.")
@click.option("--trials", type=click.IntRange(1), help="Random starts (or problem draws) instead of the usual number.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same numbers.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results.  [default: experiments, or experiments/quick with --quick]",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes; timed trials run one at a time.  [default: all cores]")
@click.option(
    "--sun",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SUN397 features, .mat or .npz with testdata and testgnd: also run table2 and fig3 on them.",
)
@click.option("--draw-only", is_flag=True, help="Only draw the figures again, from the tables of an earlier run.")
def command(
    what: str,
    quick: bool,
    trials: int | None,
    seed: int,
    out: Path | None,
    jobs: int | None,
    sun: Path | None,
    draw_only: bool,
) -> None:
    """Redo WHAT of the paper: run it, write tables (CSV) and settings (JSON), draw figures (PNG, SVG).

    A run that was interrupted goes on where it stopped: finished trials are kept, one small file each, and skipped.
    "report" writes the figures of all tables into docs/reproduction.md, with a verdict on each claim.

    \b
    Examples:
      nearer reproduce all --quick
      nearer reproduce table1
      nearer reproduce table2 --sun SUN397.mat
    """
    root = find_experiments()
    with _importable(root):
        registry = importlib.import_module("experiments.registry")
        lab_class = importlib.import_module("experiments.trials").Lab
        out = out or root / "experiments" / ("quick" if quick else "")
        settings = {"quick": quick, "trials": trials, "seed": seed, "sun": sun and sun.resolve()}
        names = {"all": EXPERIMENTS, "report": ()}.get(what, (what,))
        started = time.perf_counter()
        with _progress() as progress, lab_class(out, jobs=jobs or _cores(), progress=progress, **settings) as lab:
            for name in names:
                if draw_only:
                    missing = "" if registry.has_run(lab, name) else f"there are no tables of it in {out}"
                else:
                    missing = registry.missing(name)
                if missing and what != "all":
                    raise ValueError(f"{name}: {missing}")
                if missing:
                    click.echo(f"{name}: left out: {missing}", err=True)
                    continue
                if not draw_only:
                    registry.run(lab, name)
                for path in registry.draw(lab, name):
                    click.echo(str(path))
            if what in ("all", "report"):
                report = importlib.import_module("experiments.report")
                click.echo(str(report.write(lab, root, time.perf_counter() - started if what == "all" else None)))


def find_experiments() -> Path:
    """The checkout that holds the experiments: around the working directory, or around this package."""
    here = Path.cwd().resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[3]):
        if (folder / "experiments" / "registry.py").is_file():
            return folder
    raise click.UsageError(
        "the experiments are part of the source, not of the installed package: "
        f"run this inside a checkout of nearer (there is none around {here})"
    )


@contextlib.contextmanager
def _importable(root: Path) -> Iterator[None]:
    """Let the checkout's `experiments` be imported, here and in worker processes."""
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each group of trials, on standard error."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, object] = {}

        def tell(title: str, done: int, total: int) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=total)
            progress.update(tasks[title], completed=done, total=total)  # type: ignore[arg-type]

        yield tell


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
