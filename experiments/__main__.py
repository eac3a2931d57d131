"""`python -m experiments`: redo the tables and figures of the paper."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich import progress as rich_progress
from rich.console import Console

from experiments import registry, report
from experiments.trials import Lab
from nearer.objective import resolve_jobs

ROOT = Path(__file__).resolve().parents[1]
INTERRUPTED = 130  # as a shell has it for ctrl-C


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("what", type=click.Choice([*registry.TITLES, "all", "report"]))
@click.option("--quick", is_flag=True, help="Few starts and small grids: minutes, for a first look.")
@click.option("--trials", type=click.IntRange(1), help="Random starts (or problem draws) instead of the usual number.")
@click.option("--random-state", type=click.IntRange(0), default=0, show_default=True, help="Seed.")
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
@click.pass_context
def command(
    ctx: click.Context, what: str, quick: bool, trials: int | None, random_state: int, out: Path | None,
    n_jobs: int | None, sun: Path | None, draw_only: bool,
) -> None:  # fmt: skip
    """Redo WHAT of the paper: run it, write tables (CSV) and settings (JSON), draw figures (PNG, SVG).

    A run that was interrupted goes on where it stopped: finished trials are kept, one small file each, and skipped.
    "report" writes all tables and the verdict on each claim into experiments/RESULTS.md and docs/reproduction.md.

    \b
    Examples:
      python -m experiments all --quick
      python -m experiments table1
      python -m experiments table2 --sun SUN397.mat
    """
    out = out or ROOT / "experiments" / ("quick" if quick else "")
    settings = {"quick": quick, "trials": trials, "seed": random_state, "sun": sun and sun.resolve()}
    try:
        with _progress() as progress, Lab(out, jobs=resolve_jobs(n_jobs), progress=progress, **settings) as lab:
            _redo(lab, what, draw_only)
    except KeyboardInterrupt:
        click.echo("interrupted; the same command goes on from here", err=True)
        ctx.exit(INTERRUPTED)


def _redo(lab: Lab, what: str, draw_only: bool) -> None:
    """Run and draw what is asked for; of "all", what cannot run here is left out."""
    for name in {"all": tuple(registry.TITLES), "report": ()}.get(what, (what,)):
        if draw_only:
            missing = "" if registry.has_run(lab, name) else f"there are no tables of it in {lab.out}"
        else:
            missing = registry.missing(name)
        if missing and what != "all":
            raise click.ClickException(f"{name}: {missing}")
        if missing:
            click.echo(f"{name}: left out: {missing}", err=True)
            continue
        if not draw_only:
            registry.run(lab, name)
        for path in registry.draw(lab, name):
            click.echo(str(path))
    if what in ("all", "report"):
        click.echo(str(report.write(lab, ROOT)))


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each group of trials, on standard error."""
    columns = (
        rich_progress.TextColumn("{task.description}"), rich_progress.BarColumn(), rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(), rich_progress.TimeRemainingColumn(),
    )  # fmt: skip
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, rich_progress.TaskID] = {}

        def tell(title: str, done: int, total: int) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=total)
            progress.update(tasks[title], completed=done, total=total)

        yield tell


if __name__ == "__main__":
    command(prog_name="python -m experiments")
