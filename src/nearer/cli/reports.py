"""Commands that show a map to readers: `nearer plot`, `report` and `methods`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nearer.cli._inputs import labels_of, open_map, read_for_map, read_groups, read_summary
from nearer.cli._options import FORCE, GROUPS, IMAGES, LOSS_OF_COORDINATES, MAP, reading_options, refuse_given
from nearer.cli._output import PAGES, PICTURES, OutputFile
from nearer.cli._say import Say, speaking

if TYPE_CHECKING:
    from nearer.estimator import OrdinalEmbedding


@speaking(
    "nearer plot out -o map.png",
    "nearer plot out -o map.svg --groups genres.csv --axes 1,3",
    "nearer plot out -o calibration.png --what calibration --file new_answers.csv",
)
@MAP
@click.option("-o", "--out", required=True, type=OutputFile(*PICTURES), help="Picture to write: .png, .svg or .pdf.")
@click.option(
    "--what", type=click.Choice(["map", "convergence", "steps", "calibration"]), default="map", show_default=True
)
@click.option("--axes", default="1,2", show_default=True, help="Which two, of a map with more dimensions.")
@GROUPS
@click.option("--labels/--no-labels", "with_labels", default=True, show_default=True, help="Write the labels.")
@click.option("--title", help="Above the picture.")
@click.option("--size", metavar="WIDTHxHEIGHT", help="Of the map in inches, such as 5x4.  [default: shape of the map]")
@click.option("--dpi", type=click.FloatRange(10, 2000), default=200, show_default=True, help="Dots per inch of a PNG.")
@click.option("--file", type=click.Path(), help="Answers for the calibration, preferably new ones.")
@LOSS_OF_COORDINATES
@FORCE
@reading_options
def plot_command(
    say: Say, map_path: str, out: str, what: str, axes: str, groups: str | None, with_labels: bool, title: str | None,
    size: str | None, dpi: float, file: str | None, loss: str | None, force: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Draw the MAP; or how its fit went, or how far to believe its probabilities.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv).
    """
    if what != "map":
        refuse_given(["axes", "groups", "with_labels", "size"], f"got --what {what}, expected a map to draw")
    if what != "calibration":
        refuse_given(["file", "loss", *reading], f"got --what {what}, expected --what calibration, which needs answers")
    if file is None:
        refuse_given(reading, "says how to read --file, but got none")
    if not out.lower().endswith(".png"):
        refuse_given(["dpi"], f"got {out}, expected a .png, which alone has dots")
    model = open_map(map_path, loss)
    from nearer import plots

    if what == "map":
        labels = labels_of(model)
        shown = labels if with_labels else None
        drawn = plots.plot_map(
            model.embedding_, shown, read_groups(say, groups, labels), axes=_axes(axes, model), title=title,
            size=_size(size),
        )  # fmt: skip
    elif what == "calibration":
        drawn = plots.plot_calibration(_calibration(say, model, map_path, file, reading))
    else:
        history = getattr(model, "history_", None)
        if not history:
            raise ValueError(f"{map_path}: got coordinates alone, expected the folder or model that nearer fit wrote")
        drawn = plots.plot_convergence(history) if what == "convergence" else plots.plot_step_sizes(history)
    if title is not None and what != "map":
        drawn.set_title(title, parse_math=False)
    plots.save_figure(drawn, out, dpi=dpi, force=force)
    say.done({"output": out, "what": what}, f"wrote {out}")


def _size(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        width, height = (float(part) for part in text.lower().split("x"))
    except ValueError:
        width = height = 0.0
    if not (0 < width <= 100 and 0 < height <= 100):
        raise ValueError(f"--size: got {text!r}, expected inches such as 5x4")
    return width, height


def _axes(text: str, model: OrdinalEmbedding) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise ValueError(f"--axes: got {text!r}, expected two numbers such as 1,2")
    first, second = (int(part) - 1 for part in parts)
    most = model.embedding_.shape[1]
    if most == 1:
        refuse_given(["axes"], "got a map of one dimension, expected one with axes to choose from")
    elif first == second or max(first, second) >= most:
        raise ValueError(f"--axes: got {text!r}, expected two different numbers from 1 to {most}")
    return first, second


def _calibration(say: Say, model: OrdinalEmbedding, path: str, file: str | None, reading: dict[str, Any]) -> Any:
    from nearer.reporting.studies import calibrate

    if not hasattr(model, "loss_"):
        raise ValueError(f"{path}: got coordinates alone, expected a loss too; say --loss")
    if file is not None:
        comparisons = read_for_map(say, file, reading, model)
    elif hasattr(model, "comparisons_"):
        say.note("calibration on the answers the map was made from; new ones (--file) would tell more")
        comparisons = model.comparisons_
    else:
        raise ValueError(f"{path}: got a map without its answers, expected some; give them with --file")
    return calibrate(model, comparisons)


@speaking(
    "nearer report out -o report.html --images photos --groups genres.csv",
    "nearer report out/embedding.csv --file answers.csv -o report.html",
)
@MAP
@click.option("-o", "--out", required=True, type=OutputFile(*PAGES), help="HTML file to write.")
@click.option("--file", type=click.Path(), help="Answers to judge the map by, if it was saved without its own.")
@IMAGES
@GROUPS
@click.option("--title", help="Heading of the report.  [default: as before]")
@FORCE
@reading_options
def report_command(
    say: Say, map_path: str, out: str, file: str | None, images: str | None, groups: str | None, title: str | None,
    force: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Write the report of a MAP again, with other pictures, groups or answers.

    MAP is a folder that `nearer fit` wrote, its model file, or coordinates (embedding.csv). All that was found out
    before (regions, dimensions, learning curve, scores) is taken over from the folder's summary.json; with --file, what
    the other answers say takes the place of the scores.
    """
    from nearer.reporting import Report, describe, study
    from nearer.reporting.words import scores_line

    if file is None:
        refuse_given(reading, "says how to read --file, but got none")
    model = open_map(map_path)
    comparisons = None if file is None else read_for_map(say, file, reading, model)
    earlier = read_summary(map_path, model)
    kept = Report.from_dict(earlier.get("report") or {})
    # Who answered how is taken over too, unless it is asked of other answers.
    found = study(model, comparisons, cv=0, people=False if file is None and "people" in kept else None)
    if file is None:
        found = replace(found, cross_validation=earlier.get("cross_validation"))
    else:
        kept = {name: kept[name] for name in ("title", "groups", "images", "covariances", "level") if name in kept}
    if not Path(kept.get("images") or ".").is_dir():
        say.note(f"{kept['images']}: no such folder any more, so no pictures; give it with --images")
        del kept["images"]
    changes = {"title": title, "images": images, "groups": read_groups(say, groups, labels_of(model))}
    made = describe(model, comparisons, found, command=earlier.get("command") or "")
    kept |= {name: value for name, value in changes.items() if value is not None}
    replace(made, **kept).save(out, force=force)
    say.done({"output": out, **found.summary()}, f"{scores_line(found)}\nwrote {out}".lstrip())


@speaking(
    "nearer methods out",
    "nearer methods out/model.nearer --bibtex > references.bib",
)
@MAP
@click.option("--bibtex", is_flag=True, help="Print the references as BibTeX instead.")
def methods_command(say: Say, map_path: str, bibtex: bool) -> None:
    """Write how a MAP was made, for the methods section of a paper.

    MAP is a folder that `nearer fit` wrote, or its model file. What was found out with it (cross-validation,
    dimensions, regions) is taken from the folder's summary.json.
    """
    from nearer.reporting.methods import bibliography, methods_paragraph, references, told_of

    model = open_map(map_path)
    if not hasattr(model, "loss_"):
        raise ValueError(f"{map_path}: got coordinates alone, expected the folder or model that nearer fit wrote")
    figures = told_of(model, read_summary(map_path, model))
    paragraph = methods_paragraph(figures)
    cited = references(figures)
    text = bibliography(figures) if bibtex else "\n\n".join([paragraph, "References", *cited])
    say.result({"paragraph": paragraph, "references": cited, "bibtex": bibliography(figures)}, text)
