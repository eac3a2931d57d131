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
from nearer.cli._options import FORCE, fitting_options, make_estimator, read_answers, reading_options
from nearer.cli._output import OutputFolder
from nearer.cli._progress import Interrupt, Watch
from nearer.cli._say import INTERRUPTED, Say, plain, speaking
from nearer.cli._summary import cross_validated, repeat_command, report_data, scores_of, scores_text

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.estimator import OrdinalEmbedding

__all__ = ["command"]

FILES = ("embedding.csv", MODEL, "summary.json", "report.html")
# Cross-validation is done unasked for numbers of comparisons in this range: enough to tell, quick to do.
_CV_FROM, _CV_TO, _CV_FOLDS = 50, 200_000, 5


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
    say: Say, file: str, out: str, dimensions: int, cv: int | None, bootstrap: int | None, images: str | None,
    groups: str | None, title: str | None, cluster: str | None, force: bool, fitting: dict[str, Any],
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Make a map from the answers in FILE.

    Writes embedding.csv (label, x1, x2, ...), model.nearer, summary.json and report.html to a folder. Ctrl-C stops
    the computation and keeps the best map so far (exit code 130).
    """
    folder = OutputFolder(out, FILES, force)
    make_estimator(fitting, dimensions)  # refuses bad options before a large file is read
    data = _read(say, file, reading, cluster)
    interrupt = Interrupt(say)
    model = _fit(say, data, fitting, dimensions, cluster, interrupt)
    made = _Made(data, model, groups_of(groups, labels_of(model)))
    if not interrupt.pressed:
        _study(say, made, fitting, cv, bootstrap, interrupt)
    with folder as target:
        summary = _write(target, made, fitting, title or Path(file).stem, images, interrupt.pressed)
    text = f"{scores_text(made.scores, made.held_out)}\nwrote {', '.join(folder.files())}"
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

    def __init__(self, data: _Data, model: OrdinalEmbedding, groups: list[str] | None):
        comparisons = data.comparisons
        self.data, self.model, self.groups = data, model, groups
        self.check = None if comparisons is None else comparisons.check(model.n_components)
        if comparisons is not None:
            self.training = model.score(comparisons)
        else:
            error = model.history_[-1].train_error
            self.training = None if error is None else 1.0 - error
        self.held_out: dict[str, Any] | None = None
        self.resampled: Any = None

    @property
    def scores(self) -> Any:
        return scores_of(self.training, self.held_out, self.check)


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


def _study(
    say: Say, made: _Made, fitting: dict[str, Any], cv: int | None, bootstrap: int | None, interrupt: Interrupt
) -> None:
    """Cross-validation and bootstrap, each left out on ctrl-C."""
    comparisons = made.data.comparisons
    if comparisons is None:
        if cv or bootstrap:
            raise ValueError("--cv and --bootstrap need the answers here; they stay on the cluster")
        return
    folds = cv
    if cv is None:
        folds = _CV_FOLDS if _CV_FROM <= len(comparisons) <= _CV_TO else 0
        if not folds:
            say.note(f"no cross-validation for {len(comparisons):,} comparisons unless asked for: --cv {_CV_FOLDS}")
    if folds:
        say.note(f"cross-validating: {folds} folds")
        with interrupt.skipping("cross-validation"):
            made.held_out = cross_validated(comparisons, made.model, folds, fitting["seed"], fitting["jobs"])
    if bootstrap and not interrupt.pressed:
        from nearer.selection import bootstrap as resample

        by = "comparison" if comparisons.participants is None else "participant"
        say.note(f"bootstrap: {bootstrap} resamples by {by}")
        with interrupt.skipping("bootstrap"):
            made.resampled = resample(
                comparisons, made.model, n_resamples=bootstrap, by=by, random_state=fitting["seed"],
                n_jobs=fitting["jobs"],
            )  # fmt: skip


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
            "accuracy": {"training": made.training, "cross_validated": made.held_out},
            "bootstrap": None if made.resampled is None else _resampled(made.resampled),
            "check": None if made.check is None else _short_check(made.check),
            "files": list(FILES),
        }
    )
    write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
    model.save(target / MODEL)
    (target / "summary.json").write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    facts = {"Input": made.data.facts.get("understood", made.data.facts["path"])}
    if made.held_out is not None:
        facts["Cross-validation"] = f"{made.held_out['n_folds']} folds"
    if interrupted:
        facts["Interrupted"] = "yes: the best map so far was kept"
    data = report_data(
        model, made.data.comparisons, title=title, scores=made.scores, check=made.check, facts=facts,
        command=repeat_command(), groups=made.groups, thumbnails=images,
        covariances=None if made.resampled is None else made.resampled.covariance,
    )  # fmt: skip
    build_report(data, target / "report.html")
    return summary


def _resampled(found: Any) -> dict[str, Any]:
    interval = found.accuracy()
    return {"n_resamples": len(found.samples), "by": found.by} | {"accuracy": vars(interval)}


def _short_check(check: Any) -> dict[str, Any]:
    names = ("n_questions", "n_repeated_questions", "noise_ceiling", "noise_ceiling_low", "components", "problems")
    return {name: getattr(check, name) for name in names}
