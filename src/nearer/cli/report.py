"""`nearer report`: the report of a map, written again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from nearer.cli._inputs import labels_of, open_map, read_for_map, read_groups, read_summary
from nearer.cli._options import FORCE, GROUPS, IMAGES, reading_options
from nearer.cli._output import refuse_existing
from nearer.cli._say import Say, repeat_command, speaking

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
@IMAGES
@GROUPS
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
    from nearer.reporting import describe, study
    from nearer.reporting.words import scores_line

    refuse_existing(out, force)
    model = open_map(map_path)
    comparisons = None if file is None else read_for_map(say, file, reading, model)
    earlier = read_summary(map_path) if file is None else {}
    found = replace(study(model, comparisons, cv=0), cross_validation=earlier.get("cross_validation"))
    describe(
        model, comparisons, found, title=title, command=earlier.get("command") or repeat_command(),
        groups=read_groups(groups, labels_of(model)), images=images,
    ).save(out, force=force)  # fmt: skip
    told = scores_line(found)
    say.result({"output": out, **found.summary()}, None if say.quiet else f"{told}\nwrote {out}".lstrip())
