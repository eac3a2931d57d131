"""`nearer report`: the report of a map, written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nearer.cli._maps import groups_of, labels_of, open_map, read_for_map
from nearer.cli._options import FORCE, reading_options
from nearer.cli._output import refuse_existing
from nearer.cli._say import Say, speaking
from nearer.cli._summary import repeat_command, report_data, scores_of, scores_text

__all__ = ["command"]


@click.command(
    epilog="""\b
Example:
  nearer report out -o report.html --images photos --groups genres.csv
  nearer report out/embedding.csv --file answers.csv -o report.html"""
)
@click.argument("map_path", metavar="MAP", type=click.Path())
@click.option("-o", "--out", required=True, type=click.Path(), help="HTML file to write.")
@click.option("--file", type=click.Path(), help="Answers to judge the map by, if it was saved without its own.")
@click.option("--images", type=click.Path(exists=True, file_okay=False), help="Folder of pictures named as the labels.")
@click.option("--groups", type=click.Path(), help="CSV file with the columns label, group; colours the map.")
@click.option("--title", default="Map", show_default=True, help="Heading of the report.")
@FORCE
@reading_options
@speaking
def command(
    say: Say, map_path: str, out: str, file: str | None, images: str | None, groups: str | None, title: str,
    force: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Write the report of a MAP again, with other pictures, groups or answers.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv). Cross-validated accuracy is
    taken over from the folder's summary.json.
    """
    from nearer.report import build_report

    refuse_existing(out, force)
    model = open_map(map_path)
    comparisons = getattr(model, "comparisons_", None)
    if file is not None:
        comparisons = read_for_map(say, file, reading, model)
        if model.labels_ is not None and comparisons.labels is not None:
            comparisons = comparisons.relabelled(model.labels_)
        if comparisons.n_objects > model.n_objects_:
            raise ValueError(
                f"{file}: names {comparisons.n_objects - model.n_objects_:,} objects that are not on the map"
            )
    earlier = _summary(map_path) if file is None else {}
    held_out = earlier.get("cross_validation")
    training = None if comparisons is None else model.score(comparisons)
    check = None if comparisons is None else comparisons.check(model.embedding_.shape[1])
    scores = scores_of(training, held_out, check)
    data = report_data(
        model, comparisons, title=title, scores=scores, check=check, command=earlier.get("command") or repeat_command(),
        groups=groups_of(groups, labels_of(model)), thumbnails=images,
    )  # fmt: skip
    build_report(data, out, force=force)
    values = {"output": out, "training": training, "cross_validated": held_out}
    told = scores_text(scores, held_out)
    say.result(values, None if say.quiet else f"{told}\nwrote {out}".lstrip())


def _summary(map_path: str) -> dict[str, Any]:
    """What `nearer fit` said about the map, {} if that is not known."""
    file = Path(map_path) / "summary.json"
    if not file.is_file():
        return {}
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: is not a summary of nearer fit: {error}") from error
