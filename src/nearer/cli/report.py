"""`nearer report`: write the report of a map again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import OutputFile, Say, command


@command(
    "nearer report out -o report.html --images photos --groups genres.csv",
    "nearer report out/embedding.csv --file answers.csv -o report.html",
)
@options.MAP
@click.option("-o", "--out", required=True, type=OutputFile(*registry.PAGES), help="HTML file to write.")
@click.option("--file", type=click.Path(), help="Answers to evaluate the map on, if it was saved without its own.")
@options.IMAGES
@options.GROUPS
@click.option("--title", help="Heading of the report.  [default: as before]")
@options.FORCE
@inputs.READING
def report_command(
    say: Say, map_path: str, out: str, file: str | None, images: str | None, groups: str | None, title: str | None,
    **reading: Any,
) -> None:  # fmt: skip
    """Write the report of a MAP again, with other pictures, groups or answers.

    MAP is a folder that `nearer fit` wrote, its model file, or coordinates (embedding.csv). All that was found out
    before (regions, dimensions, learning curve, scores) is taken over from the folder's summary.json; with --file,
    scores on the other answers replace the earlier ones.
    """
    from nearer.reports import Report, describe
    from nearer.reports.sentences import scores_line
    from nearer.selection import evaluate
    from nearer.selection.evaluate import figures_of

    if file is None:
        options.refuse_given(inputs.READING.names, "says how to read --file, but got none")
    model = inputs.open_map(map_path)
    comparisons, facts = (None, None) if file is None else inputs.read_for_map(say, file, reading, model)
    earlier = inputs.read_summary(map_path, model)
    kept = Report.from_dict(earlier.get("report") or {})
    # Who answered how is taken over too, unless it is asked of other answers.
    people = False if file is None and "people" in kept else None
    found = evaluate(model, comparisons, cv=0, bootstrap=0, people=people)
    if file is None:
        found = replace(found, **figures_of(earlier))
    else:
        kept = {name: kept[name] for name in ("title", "groups", "images", "covariances", "clusters") if name in kept}
    if not Path(kept.get("images") or ".").is_dir():
        say.note(f"{kept['images']}: no such folder any more, so no pictures; give it with --images")
        del kept["images"]
    coloured = inputs.read_groups(say, groups, model.labels_, model.n_objects_)
    changes = {"title": title, "images": images, "groups": coloured}
    made = describe(model, comparisons, found, command=earlier.get("command") or "")
    kept |= {name: value for name, value in changes.items() if value is not None}
    replace(made, **kept).save(out, force=say.force)
    say.done({"output": out, "input": facts, **found.summary()}, f"{scores_line(found)}\nwrote {out}".lstrip())
