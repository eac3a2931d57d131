"""`nearer fit`: make a map from a file of answers."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import nearer
from nearer.cli import inputs, options
from nearer.cli.interrupt import INTERRUPTED, Interrupt, handled_by
from nearer.cli.output import SUMMARY, Results, Say, command, repeat_command, write_summary

FILES = ("embedding.csv", inputs.MODEL, SUMMARY, "report.html")


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
_SHOWN = options.grouped(
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
@click.option("-o", "--out", required=True, type=click.Path(), help="Folder for the results.")
@click.option(
    "-d", "--n-components", type=_number_or_auto, metavar="NUMBER OR AUTO", default=2,
    help="Dimensions of the map; auto: as many as the answers support.",
)  # fmt: skip
@_STUDIES
@_SHOWN
@_RUN
@options.FORCE
@options.fitting_options
@inputs.reading_options
def fit_command(
    say: Say, file: str, out: str, n_components: int | str, studies: dict[str, Any], shown: dict[str, Any],
    run: dict[str, Any], fitting: dict[str, Any], reading: dict[str, Any],
) -> None:  # fmt: skip
    """Make a map from the answers in FILE.

    Writes embedding.csv (label, x1, x2, ...), model.nearer, summary.json and report.html to a folder. Ctrl-C stops
    the computation and keeps the best map so far (exit code 130). With --checkpoint, an interrupted fit continues
    with --resume and gives the same result.
    """
    from nearer.io.read import find_format

    results = Results(out, FILES, say.force)
    model = options.make_estimator(fitting, n_components)
    if run["checkpoint"]:
        from nearer.solvers.checkpoint import Checkpoint

        begun = Checkpoint(run["checkpoint"], run["resume"]).found  # refuses before the work what cannot be used
        say.note(f"{run['checkpoint']}: {'continuing from there' if begun else 'starting afresh'}")
    answers, read = None, {"path": file, "format": "parquet", "read_by": "workers"}
    if run["cluster"] is None or options.were_given(reading) or find_format(file) != "parquet":
        result = inputs.read_answers(say, file, reading)
        answers, read = result.comparisons, result.facts()
    _check_studies(answers, studies)
    groups = None if answers is None else inputs.read_groups(say, shown["groups"], answers.labels, answers.n_objects)
    interrupt = Interrupt(say.note)
    _fit(say, model, file if answers is None else answers, run, interrupt)
    from nearer.coordinates import write_embedding
    from nearer.reports import describe
    from nearer.reports.sentences import scores_line
    from nearer.selection import evaluate

    found = evaluate(model, answers, **studies, monitor=interrupt.attempt)
    for problem in [] if found.check is None else found.check.problems:
        say.note(f"problem: {problem}")
    summary = _summary(model, found, read, fitting, interrupt.pressed)
    interrupted = {"Interrupted": "yes: the best map so far was kept"} if interrupt.pressed else {}
    facts = {"Input": read.get("understood", file)} | interrupted
    with results.writing() as target:
        write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
        model.save(target / inputs.MODEL)
        write_summary(target, summary)  # from here on, the map is kept even if the report fails
        report = describe(
            model, answers, found, title=shown["title"] or Path(file).stem, command=repeat_command(),
            facts=facts, groups=groups, images=shown["images"],
        )  # fmt: skip
        write_summary(target, summary | {"report": report.to_dict()})
        report.save(target / "report.html")
    line = scores_line(found)
    say.result(summary, line or None if say.quiet else f"{line}\nwrote {', '.join(results.files())}".lstrip())
    if interrupt.pressed:
        hint = f"; continue with --checkpoint {run['checkpoint']} --resume --force" if run["checkpoint"] else ""
        click.echo(f"nearer fit: interrupted; wrote the best map so far to {out}{hint}", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if run["checkpoint"]:
        Path(run["checkpoint"]).unlink(missing_ok=True)  # only now: the results are in their place


def _check_studies(answers: nearer.Comparisons | None, studies: dict[str, Any]) -> None:
    """Refuse before the work what the answers do not allow."""
    if studies["cv"] == 0 and not studies["dims"]:
        options.refuse_given(["cv_by"], "got --cv 0, expected some folds to keep together by it")
    if answers is None:
        asked = [name for name, value in studies.items() if value]
        options.refuse_given([*asked, "groups"], "needs the answers, which stay on the cluster")
    elif studies["cv_by"] == "participant" and answers.people is None:
        raise ValueError("--cv-by participant: who gave the answers is not known; say --columns participant=NAME")


def _fit(
    say: Say, model: nearer.OrdinalEmbedding, answers: nearer.Comparisons | str, run: dict[str, Any],
    interrupt: Interrupt,
) -> None:  # fmt: skip
    """Fit a map to answers in memory, or to a file of answers that workers read."""
    from nearer.solvers import get_solver

    comparisons = None if isinstance(answers, str) else answers
    if comparisons is None:  # only the workers know the training error
        model.set_params(solver=replace(get_solver(model.solver), record_error=True))
    callbacks: list[Any] = [interrupt]
    client = None
    with contextlib.ExitStack() as stack:
        if run["cluster"] is not None:
            from nearer.distributed import connect

            client = stack.enter_context(connect(run["cluster"]))
        stack.enter_context(handled_by(interrupt.press))
        how = f"loss {model.loss}, dimensions {model.n_components}, starts {model.n_init}"
        say.note(f"fitting: {how}, seed {model.random_state}")
        if sys.stderr.isatty() and not say.quiet:
            from nearer.cli.progress import progress

            callbacks.append(stack.enter_context(progress(comparisons, model.max_seconds)))
        stack.enter_context(say.compiling())
        model.set_params(callbacks=callbacks)
        model.fit(answers, client=client, checkpoint=run["checkpoint"], resume=run["resume"])
    model.set_params(callbacks=None)
    say.note(model.result_.message)
    if model.n_components == "auto":
        say.note(f"dimensions that the answers support: {model.n_components_}")


def _summary(
    model: nearer.OrdinalEmbedding, found: Any, read: dict[str, Any], fitting: dict[str, Any], interrupted: bool
) -> dict[str, Any]:
    """The content of summary.json."""
    result = {name: getattr(model.result_, name) for name in ("converged", "message", "n_iter", "n_gradients")}
    result |= {"map": inputs.fingerprint(model), "objective": model.objective_}
    return {
        "nearer": nearer.__version__,
        "command": repeat_command(),
        "interrupted": interrupted,
        "input": read,
        "n_objects": model.n_objects_,
        "n_components": model.n_components_,
        "loss": {"name": model.loss_.name} | vars(model.loss_),
        "options": fitting,
        "result": result | {"seconds": model.history_[-1].seconds},
        **found.summary(),
        "reliability": None if model.reliability_ is None else model.reliability_.table(),
        "files": list(FILES),
    }
