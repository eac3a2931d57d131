"""`nearer fit`: a file of answers in; coordinates, model, summary and report out."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nearer.cli._maps import MODEL, groups_of, labels_of
from nearer.cli._options import DIMENSIONS, FORCE, fitting_options, make_estimator, read_answers, reading_options
from nearer.cli._output import OutputFolder
from nearer.cli._progress import Interrupt, Watch
from nearer.cli._say import INTERRUPTED, Say, plain, speaking
from nearer.cli._studies import Found, Wanted, study
from nearer.cli._summary import repeat_command, report_data, scores_of, scores_text

if TYPE_CHECKING:
    from nearer.data import Comparisons
    from nearer.estimator import OrdinalEmbedding

__all__ = ["command"]

FILES = ("embedding.csv", MODEL, "summary.json", "report.html")


@click.command(
    epilog="""\b
Example:
  nearer fit answers.csv -d 2 --loss tste -o out
  nearer fit votes.csv -o out --images photos --bootstrap 100 --force
  nearer fit 'parts/*.parquet' -d 3 --cluster tcp://host:8786 -o out"""
)
@click.argument("file", type=click.Path())
@click.option("-o", "--out", required=True, type=click.Path(), help="Folder for the results.")
@click.option("-d", "--dimensions", type=click.IntRange(1), default=2, show_default=True, help="Of the map.")
@click.option("--cv", type=click.IntRange(0), help="Folds of cross-validation; 0: none.  [default: 5, unless large]")
@click.option("--try-dims", type=DIMENSIONS, help="Also tell how maps of these dimensions do, such as 1-5.")
@click.option("--learning-curve", is_flag=True, help="Also tell whether more answers would help.")
@click.option("--bootstrap", type=click.IntRange(2), metavar="B", help="B resamples, for regions of uncertainty.")
@click.option("--images", type=click.Path(exists=True, file_okay=False), help="Folder of pictures named as the labels.")
@click.option("--groups", type=click.Path(), help="CSV file with the columns label, group; colours the map.")
@click.option("--title", help="Heading of the report.  [default: name of the file]")
@click.option("--cluster", metavar="ADDRESS", help="Fit on a Dask cluster: tcp://host:8786, or local:4 workers here.")
@FORCE
@fitting_options
@reading_options
@speaking
def command(
    say: Say, file: str, out: str, dimensions: int, cv: int | None, try_dims: tuple[int, ...] | None,
    learning_curve: bool, bootstrap: int | None, images: str | None, groups: str | None, title: str | None,
    cluster: str | None, force: bool, fitting: dict[str, Any], reading: dict[str, Any],
) -> None:  # fmt: skip
    """Make a map from the answers in FILE.

    Writes embedding.csv (label, x1, x2, ...), model.nearer, summary.json and report.html to a folder. Ctrl-C stops
    the computation and keeps the best map so far (exit code 130).
    """
    if cv == 1:
        raise click.BadParameter("got 1, expected at least 2 folds, or 0 for none", param_hint="--cv")
    folder = OutputFolder(out, FILES, force)
    wanted = Wanted(cv, try_dims, learning_curve, bootstrap)
    make_estimator(fitting, dimensions)  # refuses bad options before a large file is read
    data = _read(say, file, reading, cluster)
    if data.comparisons is None and wanted.any:
        raise ValueError(
            "--cv, --try-dims, --learning-curve and --bootstrap need the answers, which stay on the cluster"
        )
    if data.comparisons is not None and data.comparisons.labels is not None:
        groups_of(groups, data.comparisons.labels)  # refuses a bad file before the work
    interrupt = Interrupt(say)
    model = _fit(say, data, fitting, dimensions, cluster, interrupt)
    found = Found() if data.comparisons is None else study(say, data.comparisons, model, wanted, interrupt)
    made = _Made(data, model, found, groups_of(groups, labels_of(model)))
    with folder as target:
        summary = _write(target, made, fitting, title or Path(file).stem, images, interrupt.pressed)
    text = f"{scores_text(made.scores, found.held_out)}\nwrote {', '.join(folder.files())}"
    say.result(summary, None if say.quiet else text.lstrip())
    if interrupt.pressed:
        click.echo(f"nearer fit: interrupted; wrote the best map so far to {folder.shown}", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@dataclass
class _Data:
    """The answers: read (`comparisons`), or a path for the workers of a cluster."""

    source: Any
    comparisons: Comparisons | None
    facts: dict[str, Any]


class _Made:
    """A map, and what is known about it."""

    def __init__(self, data: _Data, model: OrdinalEmbedding, found: Found, groups: list[str] | None):
        comparisons = data.comparisons
        self.data, self.model, self.found, self.groups = data, model, found, groups
        self.check = None if comparisons is None else comparisons.check(model.n_components)
        self.training: float | None = None
        if comparisons is not None:
            self.training = model.score(comparisons)
        elif model.history_[-1].train_error is not None:
            self.training = 1.0 - model.history_[-1].train_error

    @property
    def scores(self) -> Any:
        return scores_of(self.training, self.found.held_out, self.check)


def _read(say: Say, file: str, reading: dict[str, Any], cluster: str | None) -> _Data:
    told = any(value is not None for name, value in reading.items() if not name.startswith("on_"))
    if cluster is not None and not told and (any(mark in file for mark in "*?") or _is_parquet(file)):
        say.note(f"{file}: Parquet files, read by the workers of the cluster")
        return _Data(file, None, {"path": file, "format": "parquet", "read_by": "workers"})
    result = read_answers(say, file, reading)
    return _Data(result.comparisons, result.comparisons, result.facts())


def _is_parquet(file: str) -> bool:
    path = Path(file)
    return path.suffix.lower() in (".parquet", ".pq") or (path.is_dir() and any(path.glob("*.parquet")))


def _fit(
    say: Say, data: _Data, fitting: dict[str, Any], dimensions: int, cluster: str | None, interrupt: Interrupt
) -> OrdinalEmbedding:
    from dataclasses import replace

    from nearer.objective import resolve_jobs
    from nearer.solvers import get_solver

    rounds = math.ceil(fitting["starts"] / (1 if cluster else resolve_jobs(fitting["jobs"])))
    watch = Watch(say, interrupt, data.comparisons, fitting["max_seconds"], rounds)
    model = make_estimator(fitting, dimensions, [watch])
    if data.comparisons is None:  # the workers alone can tell the training error
        model.set_params(solver=replace(get_solver(model.solver), record_error=True))
    with _connected(cluster) as client, interrupt.deferred():
        starts = f"{fitting['starts']} start{'s' if fitting['starts'] > 1 else ''}"
        say.note(f"fitting: {dimensions} dimensions, loss {fitting['loss']}, solver {fitting['solver']}, {starts}, "
                 f"seed {fitting['seed']}")  # fmt: skip
        with watch.showing():
            model.fit(data.source) if client is None else model.fit(data.source, client=client)
    say.note(model.result_.message)
    return model.set_params(callbacks=None)


@contextlib.contextmanager
def _connected(cluster: str | None) -> Iterator[Any]:
    """A client of the cluster, None without one; its errors become ones to tell the user."""
    if cluster is None:
        yield None
        return
    from nearer.distributed import ClusterError, connect

    try:
        with connect(cluster) as client:
            yield client
    except ClusterError as error:
        raise ValueError(str(error)) from error


def _write(
    target: Path, made: _Made, fitting: dict[str, Any], title: str, images: str | None, interrupted: bool
) -> dict[str, Any]:
    """Write all files to a folder; returns the summary."""
    from nearer import __version__
    from nearer.io import write_embedding
    from nearer.report import build_report

    model = made.model
    summary = plain(
        {
            "nearer": __version__,
            "command": repeat_command(),
            "interrupted": interrupted,
            "input": made.data.facts,
            "n_objects": model.n_objects_,
            "n_components": model.n_components,
            "loss": {"name": model.loss_.name} | vars(model.loss_),
            "options": fitting,
            "result": {
                "objective": model.objective_,
                "converged": model.result_.converged,
                "message": model.result_.message,
                "n_iter": model.result_.n_iter,
                "n_gradients": model.result_.n_gradients,
                "seconds": model.history_[-1].seconds,
            },
            "training_accuracy": made.training,
            **made.found.summary(),
            "check": None if made.check is None else _short_check(made.check),
            "files": list(FILES),
        }
    )
    write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
    model.save(target / MODEL)
    (target / "summary.json").write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    facts = {"Input": made.data.facts.get("understood", made.data.facts["path"])}
    if made.found.held_out is not None:
        facts["Cross-validation"] = f"{made.found.held_out['n_folds']} folds"
    if interrupted:
        facts["Interrupted"] = "yes: the best map so far was kept"
    data = report_data(
        model, made.data.comparisons, title=title, scores=made.scores, check=made.check, facts=facts,
        command=repeat_command(), groups=made.groups, thumbnails=images, **made.found.for_report(),
    )  # fmt: skip
    build_report(data, target / "report.html")
    return summary


def _short_check(check: Any) -> dict[str, Any]:
    names = ("n_questions", "n_repeated_questions", "noise_ceiling", "noise_ceiling_low", "components", "problems")
    return {name: getattr(check, name) for name in names}
