"""`nearer fit`: make a map from a file of answers."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli import inputs, options, output
from nearer.cli.interrupt import INTERRUPTED, Interrupt
from nearer.cli.output import OutputFolder, Say, speaking
from nearer.cli.progress import Watch

if TYPE_CHECKING:
    from nearer.selection import Evaluation

FILES = ("embedding.csv", inputs.MODEL, "summary.json", "report.html")


def _number_or_auto(value: Any) -> int | str:
    return "auto" if value == "auto" else click.IntRange(1).convert(value, None, None)


@speaking(
    "nearer fit answers.csv -d 2 --loss tste -o out",
    "nearer fit votes.csv -o out --images photos --bootstrap 100 --force",
    "nearer fit 'parts/*.parquet' -d 3 --cluster tcp://host:8786 -o out",
)
@click.argument("file", type=click.Path())
@click.option("-o", "--out", required=True, type=click.Path(), help="Folder for the results.")
@click.option(
    "-d", "--n-components", type=_number_or_auto, metavar="NUMBER OR AUTO", default=2, show_default=True,
    help="Dimensions of the map; auto: as many as the answers support.",
)  # fmt: skip
@click.option("--cv", type=click.IntRange(0), help="Folds of cross-validation; 0: none.  [default: 5, unless large]")
@options.CV_BY
@click.option("--dims", type=options.dimensions, help="Also compare maps of these dimensions, such as 1-5.")
@click.option("--learning-curve", is_flag=True, help="Also estimate whether more answers would help.")
@click.option("--bootstrap", type=click.IntRange(2), metavar="B", help="B resamples, for regions of uncertainty.")
@options.IMAGES
@options.GROUPS
@click.option("--title", help="Heading of the report.  [default: name of the file]")
@click.option("--cluster", metavar="ADDRESS", help="Fit on a Dask cluster: tcp://host:8786, or local:4 workers here.")
@click.option("--checkpoint", type=click.Path(), help="File that keeps the fit while it goes on; removed at the end.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if it is there.")
@options.FORCE
@options.fitting_options
@options.reading_options
def fit_command(
    say: Say, file: str, out: str, n_components: int | str, cv: int | None, cv_by: str, dims: tuple[int, ...] | None,
    learning_curve: bool, bootstrap: int | None, images: str | None, groups: str | None, title: str | None,
    cluster: str | None, checkpoint: str | None, resume: bool, force: bool, fitting: dict[str, Any],
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Make a map from the answers in FILE.

    Writes embedding.csv (label, x1, x2, ...), model.nearer, summary.json and report.html to a folder. Ctrl-C stops
    the computation and keeps the best map so far (exit code 130). With --checkpoint, a fit that was broken off goes on
    with --resume, to the same end.
    """
    if cv == 1:
        raise click.BadParameter("got 1, expected at least 2 folds, or 0 for none", param_hint="--cv")
    if resume and checkpoint is None:
        raise click.BadParameter("needs --checkpoint, the file to go on from", param_hint="--resume")
    folder = OutputFolder(out, FILES, force)
    if checkpoint is not None:
        from nearer.solvers.checkpoint import Checkpoint

        output.claim(checkpoint, "--checkpoint")
        if Path(checkpoint).exists() and not resume:
            raise FileExistsError(f"{checkpoint}: exists already: go on from it with --resume, or remove it")
        # --force does not replace one, which may hold hours of work.
        begun = Checkpoint(checkpoint, resume).found
        if resume:
            going = "going on from there" if begun else "no such checkpoint yet, starting afresh"
            say.note(f"{checkpoint}: {going}")
    inputs.make_estimator(fitting, n_components)  # refuses bad options before a large file is read
    answers, read = _read(say, file, reading, cluster)
    if answers is None and (cv or dims or learning_curve or bootstrap or cv_by == "participant"):
        studies = "--cv, --cv-by participant, --dims, --learning-curve and --bootstrap"
        raise ValueError(f"{studies} need the answers, which stay on the cluster")
    if cv == 0 and not dims:
        options.refuse_given(["cv_by"], "got --cv 0, expected some folds to keep together by it")
    colours = None
    if answers is not None:  # a bad file is refused before the work
        colours = inputs.read_groups(say, groups, inputs.as_names(answers.labels, answers.n_objects))
    elif groups is not None:
        from nearer.io.objects import read_cells

        read_cells(groups)
    if cv_by == "participant" and answers is not None and answers.people is None:
        raise ValueError("--cv-by participant: who gave the answers is not known; say --columns participant=NAME")
    from nearer.coordinates import write_embedding
    from nearer.reports import describe
    from nearer.reports.sentences import scores_line
    from nearer.selection import evaluate
    from nearer.selection.thresholds import default_folds

    interrupt = Interrupt(say.note)
    keeping = {} if checkpoint is None else {"checkpoint": checkpoint, "resume": resume}
    model = _fit(say, file if answers is None else answers, fitting, n_components, cluster, interrupt, keeping)
    if cv is None and answers is not None and not default_folds(len(answers)):
        say.note(f"no cross-validation for {len(answers):,} comparisons unless asked for: --cv 5")
    found = evaluate(
        model, answers, cv=cv, cv_by=cv_by, dims=dims, learning_curve=learning_curve, bootstrap=bootstrap,
        monitor=interrupt.attempt,
    )  # fmt: skip
    for problem in [] if found.check is None else found.check.problems:
        say.note(f"problem: {problem}")
    facts = {"Input": read.get("understood", read["path"])}
    if interrupt.pressed:
        facts["Interrupted"] = "yes: the best map so far was kept"
    summary = _summary(model, found, read, fitting, interrupt.pressed)
    with folder as target:
        write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
        model.save(target / inputs.MODEL)
        output.write_summary(target, summary)
        folder.keep()  # the map, whatever the report may meet
        colours = colours or inputs.read_groups(say, groups, inputs.as_names(model.labels_, model.n_objects_))
        report = describe(
            model, answers, found, title=title or Path(file).stem, command=output.repeat_command(), facts=facts,
            groups=colours, images=images,
        )  # fmt: skip
        output.write_summary(target, summary | {"report": report.to_dict()})
        report.save(target / "report.html")
    line = scores_line(found)
    say.result(summary, line or None if say.quiet else f"{line}\nwrote {', '.join(folder.files())}".lstrip())
    if interrupt.pressed:
        click.echo(f"nearer fit: interrupted; wrote the best map so far to {folder.shown}", err=True)
        if checkpoint is not None:
            click.echo(f"nearer fit: go on with --checkpoint {checkpoint} --resume --force", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)  # only now: the results are in their place


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
        say.note(f"{file}: read here, not by the workers of the cluster, who know nothing of {', '.join(given)}")
    result = inputs.read_answers(say, file, reading)
    return result.comparisons, result.facts()


def _fit(
    say: Say, answers: nearer.Comparisons | str, fitting: dict[str, Any], n_components: int | str, cluster: str | None,
    interrupt: Interrupt, keeping: dict[str, Any],
) -> nearer.OrdinalEmbedding:  # fmt: skip
    """Fit a map to answers, or to a file of them that workers read."""
    from nearer.data.messages import counted
    from nearer.solvers import get_solver

    in_reach = None if isinstance(answers, str) else answers
    many = "as many dimensions as the answers support"
    if isinstance(n_components, int):
        many = counted(n_components, "dimension")
    watch = Watch(say, interrupt, in_reach, fitting["max_seconds"])
    model = inputs.make_estimator(fitting, n_components, [watch])
    if in_reach is None:  # only the workers know the training error
        model.set_params(solver=replace(get_solver(model.solver), record_error=True))
    connected: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if cluster is not None:
        from nearer.distributed import connect

        connected = connect(cluster)
    with connected as client, interrupt.deferred():
        say.note(
            f"fitting: {many}, loss {fitting['loss']}, solver {fitting['solver']}, "
            f"{counted(fitting['n_init'], 'start')}, seed {fitting['random_state']}"
        )
        with watch.showing(), say.compiling():
            model.fit(answers, client=client, **keeping)
    say.note(model.result_.message)
    if n_components == "auto":
        say.note(f"the answers support {counted(model.n_components_, 'dimension')}")
    return model.set_params(callbacks=None)


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
