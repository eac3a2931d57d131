"""`nearer fit`: make a map from a file of answers."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli import files, inputs, options, output
from nearer.cli.fitting import fitting_options, make_estimator
from nearer.cli.interrupt import INTERRUPTED, Interrupt
from nearer.cli.output import Say, command
from nearer.cli.progress import Watch

if TYPE_CHECKING:
    from nearer.selection import Evaluation

FILES = ("embedding.csv", inputs.MODEL, files.SUMMARY, "report.html")


def _number_or_auto(value: Any) -> int | str:
    return "auto" if value == "auto" else click.IntRange(1).convert(value, None, None)


_STUDIES = options.grouped(
    "studies",
    click.option("--cv", type=click.IntRange(0), help="Folds of cross-validation; 0: none.  [default: 5 unless large]"),
    options.CV_BY,
    click.option("--dims", type=options.dimensions, help="Also compare maps of these dimensions, such as 1-5."),
    click.option("--learning-curve", is_flag=True, help="Also estimate whether more answers would help."),
    click.option("--bootstrap", type=click.IntRange(2), metavar="B", help="B resamples, for regions of uncertainty."),
)
_REPORT = options.grouped(
    "shown",
    options.IMAGES,
    options.GROUPS,
    click.option("--title", help="Heading of the report.  [default: name of the file]"),
)
_RUN = options.grouped(
    "run",
    click.option(
        "--cluster", metavar="ADDRESS", help="Fit on a Dask cluster: tcp://host:8786, or local:4 workers here."
    ),
    click.option(
        "--checkpoint", type=click.Path(), help="File in which the fit is saved while it runs; removed at the end."
    ),
    click.option("--resume", is_flag=True, help="Continue from the checkpoint, if it is there."),
)


@command(
    "nearer fit answers.csv -d 2 --loss tste -o out",
    "nearer fit votes.csv -o out --images photos --bootstrap 100 --force",
    "nearer fit 'parts/*.parquet' -d 3 --cluster tcp://host:8786 -o out",
)
@click.argument("file", type=click.Path())
@click.option("-o", "--out", required=True, type=files.OutputFolder(*FILES), help="Folder for the results.")
@click.option(
    "-d", "--n-components", type=_number_or_auto, metavar="NUMBER OR AUTO", default=2,
    help="Dimensions of the map; auto: as many as the answers support.",
)  # fmt: skip
@_STUDIES
@_REPORT
@_RUN
@options.FORCE
@fitting_options
@inputs.reading_options
def fit_command(
    say: Say, file: str, out: files.Results, n_components: int | str, studies: dict[str, Any], shown: dict[str, Any],
    run: dict[str, Any], fitting: dict[str, Any], reading: dict[str, Any],
) -> None:  # fmt: skip
    """Make a map from the answers in FILE.

    Writes embedding.csv (label, x1, x2, ...), model.nearer, summary.json and report.html to a folder. Ctrl-C stops
    the computation and keeps the best map so far (exit code 130). With --checkpoint, an interrupted fit continues
    with --resume and gives the same result.
    """
    if studies["cv"] == 1:
        raise click.BadParameter("got 1, expected at least 2 folds, or 0 for none", param_hint="--cv")
    _check_checkpoint(say, run["checkpoint"], run["resume"])
    model = make_estimator(fitting, n_components)
    answers, read = _read(say, file, reading, run["cluster"])
    groups = _check(say, answers, studies, shown["groups"])
    interrupt = Interrupt(say.note)
    _fit(say, model, file if answers is None else answers, fitting["solver"], run, interrupt)
    from nearer.coordinates import write_embedding
    from nearer.reports import describe
    from nearer.reports.sentences import scores_line
    from nearer.selection import evaluate
    from nearer.selection.thresholds import default_folds

    if studies["cv"] is None and answers is not None and not default_folds(len(answers)):
        say.note(f"no cross-validation for {len(answers):,} comparisons unless asked for: --cv 5")
    found = evaluate(model, answers, **studies, monitor=interrupt.attempt)
    for problem in [] if found.check is None else found.check.problems:
        say.note(f"problem: {problem}")
    facts = {"Input": read.get("understood", read["path"])}
    if interrupt.pressed:
        facts["Interrupted"] = "yes: the best map so far was kept"
    summary = _summary(model, found, read, fitting, interrupt.pressed)
    with out as target:
        write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
        model.save(target / inputs.MODEL)
        files.write_summary(target, summary)
        out.keep()  # the map, even if the report fails
        names = inputs.as_names(model.labels_, model.n_objects_)
        report = describe(
            model, answers, found, title=shown["title"] or Path(file).stem, command=output.repeat_command(),
            facts=facts, groups=groups or inputs.read_groups(say, shown["groups"], names), images=shown["images"],
        )  # fmt: skip
        files.write_summary(target, summary | {"report": report.to_dict()})
        report.save(target / "report.html")
    line = scores_line(found)
    say.result(summary, line or None if say.quiet else f"{line}\nwrote {', '.join(out.files())}".lstrip())
    if interrupt.pressed:
        click.echo(f"nearer fit: interrupted; wrote the best map so far to {out.shown}", err=True)
        if run["checkpoint"]:
            click.echo(f"nearer fit: continue with --checkpoint {run['checkpoint']} --resume --force", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if run["checkpoint"]:
        Path(run["checkpoint"]).unlink(missing_ok=True)  # only now: the results are in their place


def _check_checkpoint(say: Say, checkpoint: str | None, resume: bool) -> None:
    """Refuse before the work a checkpoint that does not fit the options."""
    if checkpoint is None:
        if resume:
            raise click.BadParameter("needs --checkpoint, the file to continue from", param_hint="--resume")
        return
    from nearer.solvers.checkpoint import Checkpoint

    files.claim(checkpoint, "--checkpoint")
    # --force does not replace one, which may hold hours of work.
    if Path(checkpoint).exists() and not resume:
        raise FileExistsError(f"{checkpoint}: exists already: continue from it with --resume, or remove it")
    begun = Checkpoint(checkpoint, resume).found
    if resume:
        say.note(f"{checkpoint}: {'continuing from there' if begun else 'no such checkpoint yet, starting afresh'}")


def _read(
    say: Say, file: str, reading: dict[str, Any], cluster: str | None
) -> tuple[nearer.Comparisons | None, dict[str, Any]]:
    """The comparisons, None if workers of a cluster read them, and facts about the file."""
    path = Path(file)
    if cluster is not None and (
        any(mark in file for mark in "*?")
        or path.suffix.lower() in (".parquet", ".pq")
        or (path.is_dir() and any(path.glob("*.parquet")))
    ):
        given = options.were_given(reading)
        if not given:
            say.note(f"{file}: Parquet files, read by the workers of the cluster")
            return None, {"path": file, "format": "parquet", "read_by": "workers"}
        say.note(f"{file}: read here, because the workers of the cluster do not support {', '.join(given)}")
    result = inputs.read_answers(say, file, reading)
    return result.comparisons, result.facts()


def _check(
    say: Say, answers: nearer.Comparisons | None, studies: dict[str, Any], groups: str | None
) -> list[str] | None:
    """Refuse before the work what the answers do not allow; the groups, if the objects are known."""
    by_participant = studies["cv_by"] == "participant"
    if studies["cv"] == 0 and not studies["dims"]:
        options.refuse_given(["cv_by"], "got --cv 0, expected some folds to keep together by it")
    if answers is not None:
        if by_participant and answers.people is None:
            raise ValueError("--cv-by participant: who gave the answers is not known; say --columns participant=NAME")
        return inputs.read_groups(say, groups, inputs.as_names(answers.labels, answers.n_objects))
    if by_participant or any(value for name, value in studies.items() if name != "cv_by"):
        names = "--cv, --cv-by participant, --dims, --learning-curve and --bootstrap"
        raise ValueError(f"{names} need the answers, which stay on the cluster")
    if groups is not None:
        from nearer.io.objects import read_cells

        read_cells(groups)
    return None


def _fit(
    say: Say, model: nearer.OrdinalEmbedding, answers: nearer.Comparisons | str, solver: str, run: dict[str, Any],
    interrupt: Interrupt,
) -> None:  # fmt: skip
    """Fit a map to answers in memory, or to a file of answers that workers read."""
    from nearer.data.messages import counted
    from nearer.solvers import get_solver

    dimensions = "as many dimensions as the answers support"
    if isinstance(model.n_components, int):
        dimensions = counted(model.n_components, "dimension")
    in_reach = None if isinstance(answers, str) else answers
    watch = Watch(say, interrupt, in_reach, model.max_seconds)
    if in_reach is None:  # only the workers know the training error
        model.set_params(solver=replace(get_solver(model.solver), record_error=True))
    connected: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if run["cluster"] is not None:
        from nearer.distributed import connect

        connected = connect(run["cluster"])
    model.set_params(callbacks=[watch])
    with connected as client, interrupt.deferred():
        starts = counted(model.n_init, "start")
        say.note(f"fitting: {dimensions}, loss {model.loss}, solver {solver}, {starts}, seed {model.random_state}")
        with watch.showing(), say.compiling():
            model.fit(answers, client=client, checkpoint=run["checkpoint"], resume=run["resume"])
    model.set_params(callbacks=None)
    say.note(model.result_.message)
    if model.n_components == "auto":
        say.note(f"the answers support {counted(model.n_components_, 'dimension')}")


def _summary(
    model: nearer.OrdinalEmbedding, found: Evaluation, read: dict[str, Any], fitting: dict[str, Any], interrupted: bool
) -> dict[str, Any]:
    """The content of summary.json."""
    return {
        "nearer": nearer.__version__,
        "command": output.repeat_command(),
        "interrupted": interrupted,
        "input": read,
        "n_objects": model.n_objects_,
        "n_components": model.n_components_,
        "loss": {"name": model.loss_.name} | vars(model.loss_),
        "options": fitting,
        "result": {
            "map": inputs.fingerprint(model),
            "objective": model.objective_,
            "converged": model.result_.converged,
            "message": model.result_.message,
            "n_iter": model.result_.n_iter,
            "n_gradients": model.result_.n_gradients,
            "seconds": model.history_[-1].seconds,
        },
        **found.summary(),
        "reliability": None if model.reliability_ is None else model.reliability_.table(),
        "files": list(FILES),
    }
