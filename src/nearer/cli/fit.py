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
from nearer.cli.interrupt import Interrupt, handled_by
from nearer.cli.output import SUMMARY, Results, Say, command, json_text, repeat_command

FILES = ("embedding.csv", inputs.MODEL, SUMMARY, "report.html")


def _number_or_auto(value: Any) -> int | str:
    return "auto" if value == "auto" else click.IntRange(1).convert(value, None, None)


STUDIES = options.OptionGroup(
    click.option("--cv", type=click.IntRange(0), help="Folds of cross-validation; 0: none.  [default: 5 unless large]"),
    options.CV_BY,
    click.option("--dims", type=options.dimensions, help="Also compare maps of these dimensions, such as 1-5."),
    click.option("--learning-curve", is_flag=True, help="Also estimate whether more answers would help."),
    click.option(
        "--bootstrap",
        type=click.IntRange(0),
        metavar="B",
        help="B resamples, for regions of uncertainty; 0: none.  [default: 100 unless large]",
    ),
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
@STUDIES
@options.IMAGES
@options.GROUPS
@click.option("--title", help="Heading of the report.  [default: Map of N objects]")
@click.option("--cluster", metavar="ADDRESS", help="Fit on a Dask cluster: tcp://host:8786, or local:4 workers here.")
@click.option("--checkpoint", type=click.Path(), help="File that keeps the fit while it runs; removed at the end.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if it is there.")
@options.FORCE
@options.FITTING
@inputs.READING
def fit_command(
    say: Say, file: str, out: str, n_components: int | str, title: str | None, images: str | None, groups: str | None,
    checkpoint: str | None, **given: Any,
) -> None:  # fmt: skip
    """Make a map from the answers in FILE.

    Writes embedding.csv (label, x1, x2, ...), model.nearer, summary.json and report.html to a folder. Ctrl-C stops
    the computation and keeps the best map so far (exit code 130). With --checkpoint, an interrupted fit continues
    with --resume and gives the same result.
    """
    from nearer.coordinates import write_embedding
    from nearer.reports import describe
    from nearer.reports.sentences import scores_line

    results = Results(out, FILES, say.force)
    model = options.make_estimator(given, n_components)
    if checkpoint:
        from nearer.solvers.checkpoint import Checkpoint

        begun = Checkpoint(checkpoint, given["resume"]).found  # refuses unusable options before any work
        say.note(f"{checkpoint}: {'continuing from there' if begun else 'starting afresh'}")
    answers, read = _read(say, file, given)
    coloured = None if answers is None else inputs.read_groups(say, groups, answers.labels, answers.n_objects)
    interrupted = _fit(say, model, file if answers is None else answers, checkpoint, given)
    found, interrupted = _evaluate(say, model, answers, interrupted, given)
    for problem in [] if found.check is None else found.check.problems:
        say.note(f"problem: {problem}")
    facts = {"Input": read.get("understood", file)}
    if interrupted:
        facts["Interrupted"] = "yes: the best map so far was kept"
    summary = {
        "nearer": nearer.__version__,
        "command": repeat_command(),
        "interrupted": interrupted,
        "input": read,
        "options": options.FITTING.of(given),
        **_figures(model),
        "flow": None if answers is None else answers.flow.to_dict(),
        **found.summary(),
        "files": list(FILES),
    }
    drawn: dict[str, Any] = {}
    command = repeat_command()
    shown: dict[str, Any] = {"facts": facts, "groups": coloured, "images": images}
    with results.writing() as target:
        try:
            report = describe(model, answers, found, title=title, command=command, **shown)
            report.save(target / "report.html")
            drawn["report"] = report.to_dict()
        finally:  # the map is kept even if the report fails
            write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
            model.save(target / inputs.MODEL)
            (target / SUMMARY).write_text(json_text(summary | drawn) + "\n", encoding="utf-8")
    verdict = "" if found.dimensions is None else f"dimensions: {found.dimensions.verdict}"
    lines = filter(None, [scores_line(found), verdict, "" if say.quiet else results.wrote])
    say.result(summary, "\n".join(lines) or None)
    if interrupted:
        if checkpoint:
            say.note(f"continue with --checkpoint {checkpoint} --resume --force")
        raise KeyboardInterrupt
    if checkpoint:
        Path(checkpoint).unlink(missing_ok=True)  # only now: the results are in their place


def _read(say: Say, file: str, given: dict[str, Any]) -> tuple[nearer.Comparisons | None, dict[str, Any]]:
    """The answers, None where the workers of a cluster read them, and facts about their file."""
    from nearer.io.read import find_format

    if given["cv"] == 0 and not given["dims"]:
        options.refuse_given(["cv_by"], "got --cv 0, so there are no folds")
    if given["cluster"] is None or options.were_given(inputs.READING.names) or find_format(file) != "parquet":
        result = inputs.read_answers(say, file, given)
        if given["cv_by"] == "participant" and result.comparisons.people is None:
            raise ValueError("--cv-by participant: who gave the answers is not known; say --columns participant=NAME")
        return result.comparisons, result.facts()
    asked = [name for name in STUDIES.names if given[name]]
    options.refuse_given([*asked, "groups"], "needs the answers, which stay on the cluster")
    return None, {"path": file, "format": "parquet", "read_by": "workers"}


def _fit(
    say: Say, model: nearer.OrdinalEmbedding, answers: nearer.Comparisons | str, checkpoint: str | None,
    given: dict[str, Any],
) -> bool:  # fmt: skip
    """Fit a map to answers in memory, or to a file that workers read; returns whether ctrl-C stopped it."""
    from nearer.solvers import get_solver

    comparisons = None if isinstance(answers, str) else answers
    if comparisons is None:  # only the workers know the training error
        model.set_params(solver=replace(get_solver(model.solver), record_error=True))
    interrupt = Interrupt()
    callbacks: list[Any] = [interrupt]
    client = None
    with contextlib.ExitStack() as stack:
        if given["cluster"] is not None:
            from nearer.distributed import connect

            client = stack.enter_context(connect(given["cluster"]))
        stack.enter_context(handled_by(interrupt.press))
        how = f"loss {model.loss}, dimensions {model.n_components}, starts {model.n_init}"
        say.note(f"fitting: {how}, seed {model.random_state}")
        if sys.stderr.isatty() and not say.quiet:
            from nearer.cli.progress import progress

            callbacks.append(stack.enter_context(progress(comparisons, model.max_seconds)))
        stack.enter_context(say.compiling())
        model.set_params(callbacks=callbacks)
        model.fit(answers, client=client, checkpoint=checkpoint, resume=given["resume"])
    model.set_params(callbacks=None)
    from nearer.reports.content import loss_text, outcome

    say.note(outcome(model))
    if model.loss == "auto":
        say.note(f"loss chosen: {loss_text(model)}")
    if model.n_components == "auto":
        say.note(f"dimensions that the answers support: {model.n_components_}")
    return interrupt.pressed


def _evaluate(
    say: Say, model: nearer.OrdinalEmbedding, answers: nearer.Comparisons | None, interrupted: bool,
    given: dict[str, Any],
) -> tuple[Any, bool]:  # fmt: skip
    """What is known about a map, and whether ctrl-C stopped the fit or a study."""
    from nearer.selection import Interrupted, evaluate

    if interrupted:
        return evaluate(model, answers, cv=0, bootstrap=0, people=False), True
    try:
        return evaluate(model, answers, **STUDIES.of(given), progress=say.note), False
    except Interrupted as stopped:
        say.note("interrupted: what is finished is kept; press ctrl-C again to give up")
        return stopped.found, True


def _figures(model: nearer.OrdinalEmbedding) -> dict[str, Any]:
    shown = ("converged", "message", "n_iter", "n_gradients")
    return {
        "n_objects": model.n_objects_,
        "n_components": model.n_components_,
        "loss": {"name": model.loss_.name} | model.loss_.parameters,
        "penalty": model.penalty_,
        "result": {
            **{name: getattr(model.result_, name) for name in shown},
            "map": inputs.fingerprint(model),
            "objective": model.objective_,
            "seconds": model.history_[-1].seconds,
        },
        "reliability": None if model.reliability_ is None else model.reliability_.table(),
    }
