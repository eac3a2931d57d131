"""`nearer reproduce`: redo the tables and figures of the paper, from a checkout of the source."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from nearer.cli._inputs import RANDOM_STATE

EXPERIMENTS = ("table1", "fig1", "fig2", "table2", "fig3", "music", "theory")


@click.command("reproduce")
@click.argument("what", type=click.Choice([*EXPERIMENTS, "all", "report"]))
@click.option("--quick", is_flag=True, help="Few starts and small grids: minutes, for a first look.")
@click.option("--trials", type=click.IntRange(1), help="Random starts (or problem draws) instead of the usual number.")
@RANDOM_STATE
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results.  [default: experiments, or experiments/quick with --quick]",
)
@click.option(
    "--n-jobs", type=click.IntRange(1), help="Processes; timed trials run one at a time.  [default: all cores]"
)
@click.option(
    "--sun",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SUN397 features, .mat or .npz with testdata and testgnd: also run table2 and fig3 on them.",
)
@click.option("--draw-only", is_flag=True, help="Only draw the figures again, from the tables of an earlier run.")
def reproduce_command(
    what: str, quick: bool, trials: int | None, random_state: int, out: Path | None, n_jobs: int | None,
    sun: Path | None, draw_only: bool,
) -> None:  # fmt: skip
    """Redo WHAT of the paper: run it, write tables (CSV) and settings (JSON), draw figures (PNG, SVG).

    Works in a checkout of the source only: the experiments are not part of the installed package.

    A run that was interrupted goes on where it stopped: finished trials are kept, one small file each, and skipped.
    "report" writes the figures of all tables into docs/reproduction.md, with a verdict on each claim.

    \b
    Examples:
      nearer reproduce all --quick
      nearer reproduce table1
      nearer reproduce table2 --sun SUN397.mat
    """
    root = find_experiments()
    from nearer.objective import resolve_jobs

    with _importable(root):
        registry = importlib.import_module("experiments.registry")
        lab_class = importlib.import_module("experiments.trials").Lab
        out = out or root / "experiments" / ("quick" if quick else "")
        settings = {"quick": quick, "trials": trials, "seed": random_state, "sun": sun and sun.resolve()}
        names = {"all": EXPERIMENTS, "report": ()}.get(what, (what,))
        with _progress() as progress, lab_class(out, jobs=resolve_jobs(n_jobs), progress=progress, **settings) as lab:
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
                click.echo(str(report.write(lab, root)))


def find_experiments() -> Path:
    """The checkout that this package is imported from, else the current folder if it is a checkout of nearer."""
    own, here = Path(__file__).resolve().parents[3], Path.cwd()
    for folder in (own, here):
        project, registry = folder / "pyproject.toml", folder / "experiments" / "registry.py"
        told = project.read_text(encoding="utf-8") if project.is_file() and registry.is_file() else ""
        if re.search(r'^name = "nearer"$', told, re.MULTILINE):
            return folder
    raise click.UsageError(
        f"the experiments are part of the source, not of the installed package: got the current folder {here}, "
        "expected the top folder of a checkout of nearer"
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
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("{task.description}"), rich_progress.BarColumn(), rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(), rich_progress.TimeRemainingColumn(),
    )  # fmt: skip
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, object] = {}

        def tell(title: str, done: int, total: int) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=total)
            progress.update(tasks[title], completed=done, total=total)  # type: ignore[arg-type]

        yield tell
