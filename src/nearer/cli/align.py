"""`nearer align`: how well models, such as networks, predict the answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nearer.cli import inputs, options
from nearer.cli.output import TABLES, OutputFile, Say, command, repeat_command
from nearer.registry import PAGES, SIMILARITIES

if TYPE_CHECKING:
    from nearer.alignment import Alignment


def _matrix(option: str) -> Callable:
    meaning = f"Also a model: a matrix of {option}; may be repeated."
    return click.option(f"--{option}", type=options.FILE, multiple=True, metavar="FILE", help=meaning)


def _dimension(value: str) -> int | str | None:
    if value in ("auto", "none"):
        return None if value == "none" else value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"got {value!r}, expected auto, none, or a number of dimensions")
    return int(value)


@command("nearer align answers.csv clip.npz dinov2.npz", "nearer align answers.csv pixels.npy --transform --plot a.svg")
@click.argument("file", type=click.Path())
@click.argument("models", nargs=-1, type=click.Path(exists=True), metavar="[MODEL]...")
@_matrix("distances")
@_matrix("similarities")
@click.option("--similarity", type=click.Choice(SIMILARITIES), default="cosine", help="How features are compared.")
@click.option("--transform", is_flag=True, help="Also learn a linear transform; its gain is that on unseen objects.")
@click.option(
    "--best-map", type=_dimension, default="auto", metavar="auto|none|D", help="Dimensions of a map to compare."
)
@click.option("-o", "--out", type=OutputFile(*TABLES), help="CSV file to write, with a row for each model.")
@options.PICTURE
@click.option("--report", type=OutputFile(*PAGES), help="Also write the report of a map, with a section on the models.")
@options.RANDOM_STATE
@options.N_JOBS
@options.FORCE
@inputs.READING
def align_command(
    say: Say, file: str, models: tuple[str, ...], distances: tuple[str, ...], similarities: tuple[str, ...],
    similarity: str, transform: bool, best_map: int | str | None, out: str | None, picture: str | None,
    report: str | None, random_state: int, n_jobs: int | None, **reading: Any,
) -> None:  # fmt: skip
    """Report which share of the answers in FILE each MODEL predicts.

    MODEL is features (.npz, .npy or a table with a column label), coordinates, or a map that nearer fit made. Objects
    are matched by name; a .npy file has no names, its rows are numbered from 0. A map that was fitted to the same
    answers is not held out: the best map, evaluated by cross-validation, is.
    """
    from nearer.alignment import Distances, Features, ObjectModel, Similarities, align, read_model
    from nearer.reports.sentences import alignment_lines

    kinds: list[tuple[tuple[str, ...], type[ObjectModel]]]
    kinds = [(models, Features), (distances, Distances), (similarities, Similarities)]
    if not any(paths for paths, _ in kinds):
        raise click.UsageError("got no MODEL, expected features or a map, --distances or --similarities")
    known: dict[str, Any] = {}
    for paths, holds in kinds:
        for path in paths:
            is_map = holds is Features and (Path(path).is_dir() or path.lower().endswith(".nearer"))
            name = path if Path(path).stem in known else Path(path).stem
            if name in known:
                raise click.UsageError(f"{path}: got this model twice, expected each once")
            known[name] = inputs.open_map(path) if is_map else read_model(path, holds)
            if not is_map:
                n, width = known[name].values.shape
                what = f"features: {width:,}, compared by {similarity}" if holds is Features else holds.__name__
                say.note(f"{path}: {n:,} objects; {what.lower()}")
    result = inputs.read_answers(say, file, reading)
    with say.compiling():
        found = align(
            result.comparisons, known, similarity, best_map=best_map, transform=transform, random_state=random_state,
            n_jobs=n_jobs, progress=say.note,
        )  # fmt: skip
    _write(say, found, out, picture)
    if report is not None:
        from nearer import OrdinalEmbedding
        from nearer.reports import write_report

        model = OrdinalEmbedding(best_map or 2, random_state=random_state, n_jobs=n_jobs).fit(result.comparisons)
        shown: dict[str, Any] = {"alignment": found, "command": repeat_command(), "progress": say.note}
        write_report(model, result.comparisons, report, force=say.force, **shown)
        say.note(f"wrote {report}")
    say.result(found.to_dict() | {"input": result.facts()}, "\n".join(alignment_lines(found)))


def _write(say: Say, found: Alignment, out: str | None, picture: str | None) -> None:
    from nearer.io.text import csv_text

    if out is not None:
        say.write(out, csv_text(found.table()))
    if picture is not None:
        from nearer.plots import plot_alignment

        say.picture(plot_alignment(found), picture)
