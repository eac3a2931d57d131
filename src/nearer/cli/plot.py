"""`nearer plot`: draw a map, or how its fit went."""

from __future__ import annotations

from typing import Any

import click

import nearer
from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import OutputFile, Say, command

_NEEDED = {"map": "", "convergence": "history_", "steps": "history_", "calibration": "loss_"}


def _size(text: str) -> tuple[float, float]:
    width, height = map(float, text.lower().split("x"))
    return width, height


@command(
    "nearer plot out -o map.png",
    "nearer plot out -o map.svg --groups genres.csv --axes 1,3",
    "nearer plot out -o calibration.png --what calibration --file new_answers.csv",
)
@options.MAP
@click.option("-o", "--out", required=True, type=OutputFile(*registry.PICTURES), help="Picture: .png, .svg or .pdf.")
@click.option("--what", type=click.Choice(list(_NEEDED)), default="map")
@click.option(
    "--axes",
    type=options.dimensions,
    metavar="I,J",
    help="The two dimensions to show, if there are more.  [default: 1,2; all of three]",
)
@options.GROUPS
@click.option("--labels/--no-labels", "with_labels", default=True, help="Write the labels.")
@click.option("--regions/--no-regions", default=True, help="Draw regions of uncertainty, if the fit found them.")
@click.option("--size", type=_size, metavar="WIDTHxHEIGHT", help="Size of the map in inches, such as 5x4.")
@click.option("--title", help="Title of the picture.")
@click.option("--dpi", type=click.FloatRange(10, 2000), default=200, help="Dots per inch of a PNG.")
@click.option("--file", type=click.Path(), help="Answers for the calibration, preferably new ones.")
@options.LOSS_OF_COORDINATES
@options.FORCE
@inputs.READING
def plot_command(
    say: Say, map_path: str, out: str, what: str, title: str | None, dpi: float, file: str | None, loss: str | None,
    **given: Any,
) -> None:  # fmt: skip
    """Draw the MAP, the course of its fit, or the calibration of its probabilities.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv).
    """
    if what != "map":
        options.refuse_given(
            ("axes", "groups", "with_labels", "regions", "size"), f"got --what {what}, expected a map to draw"
        )
    if what != "calibration":
        options.refuse_given(["file", "loss"], f"got --what {what}, expected --what calibration, which needs answers")
    if file is None:
        options.refuse_given(inputs.READING.names, "says how to read --file, but got none")
    if not out.lower().endswith(".png"):
        options.refuse_given(["dpi"], f"got {out}, expected a .png, which alone has dots")
    from nearer import plots
    from nearer.plots.figure import literal
    from nearer.selection.evaluate import calibrate

    model = inputs.open_map(map_path, loss, _NEEDED[what])
    if what == "map":
        drawn = _draw_map(say, map_path, model, given)
    elif what == "calibration":
        own = getattr(model, "comparisons_", None)
        answers = own if file is None else inputs.read_for_map(say, file, given, model)[0]
        if answers is None:
            raise ValueError(f"{map_path}: got a map without its answers, expected some; give them with --file")
        drawn = plots.plot_calibration(calibrate(model, answers))
    else:
        draw = plots.plot_convergence if what == "convergence" else plots.plot_step_sizes
        drawn = draw(model.history_)
    if title is not None:
        literal(drawn.set_title(" ", loc="left"), title)
    say.picture(drawn, out, dpi)
    say.result({"output": out, "what": what})


def _draw_map(say: Say, map_path: str, model: nearer.OrdinalEmbedding, given: dict[str, Any]) -> Any:
    from nearer.plots import plot_map

    if model.embedding_.shape[1] == 1:
        options.refuse_given(["axes"], "got a map of one dimension, expected one with axes to choose from")
    kept = inputs.read_summary(map_path, model).get("report") or {}  # what the report of the fit shows
    labels = inputs.as_names(model.labels_, model.n_objects_) if given["with_labels"] else None
    groups = inputs.read_groups(say, given["groups"], model.labels_, model.n_objects_)
    groups = groups or kept.get("groups") or kept.get("clusters")
    covariances = kept.get("covariances") if given["regions"] else None
    axes: Any = given["axes"] and tuple(axis - 1 for axis in given["axes"])
    return plot_map(model.embedding_, labels, groups, covariances=covariances, axes=axes, size=given["size"])
