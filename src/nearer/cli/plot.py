"""`nearer plot`: draw a map, or how its fit went."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import nearer
from nearer import registry
from nearer.cli import files, inputs, options
from nearer.cli.output import Say, command


def _pair(separator: str, example: str, kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, Any]]:
    """Type of an option: two positive numbers."""

    def parse(text: str) -> tuple[Any, Any]:
        try:
            first, second = (kind(part) for part in text.lower().split(separator))
        except ValueError:
            first = second = 0
        if not (0 < first <= 100 and 0 < second <= 100):
            raise click.BadParameter(f"got {text!r}, expected two numbers such as {example}")
        return first, second

    return parse


_MAP = options.grouped(
    "shown",
    click.option(
        "--axes", type=_pair(",", "1,2", int), metavar="I,J", default="1,2",
        help="Which two, of a map with more dimensions.",
    ),
    options.GROUPS,
    click.option("--labels/--no-labels", "with_labels", default=True, help="Write the labels."),
    click.option(
        "--size", type=_pair("x", "5x4", float), metavar="WIDTHxHEIGHT",
        help="Of the map in inches, such as 5x4.  [default: shape of the map]",
    ),
)  # fmt: skip


@command(
    "nearer plot out -o map.png",
    "nearer plot out -o map.svg --groups genres.csv --axes 1,3",
    "nearer plot out -o calibration.png --what calibration --file new_answers.csv",
)
@options.MAP
@click.option(
    "-o", "--out", required=True, type=files.OutputFile(*registry.PICTURES), help="Picture: .png, .svg or .pdf."
)
@click.option("--what", type=click.Choice(["map", "convergence", "steps", "calibration"]), default="map")
@_MAP
@click.option("--title", help="Title of the picture.")
@click.option("--dpi", type=click.FloatRange(10, 2000), default=200, help="Dots per inch of a PNG.")
@click.option("--file", type=click.Path(), help="Answers for the calibration, preferably new ones.")
@options.LOSS_OF_COORDINATES
@options.FORCE
@inputs.reading_options
def plot_command(
    say: Say, map_path: str, out: str, what: str, shown: dict[str, Any], title: str | None, dpi: float,
    file: str | None, loss: str | None, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Draw the MAP, the course of its fit, or the calibration of its probabilities.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv).
    """
    if what != "map":
        options.refuse_given(shown, f"got --what {what}, expected a map to draw")
    if what != "calibration":
        why = f"got --what {what}, expected --what calibration, which needs answers"
        options.refuse_given(["file", "loss", *reading], why)
    if file is None:
        options.refuse_given(reading, "says how to read --file, but got none")
    if not out.lower().endswith(".png"):
        options.refuse_given(["dpi"], f"got {out}, expected a .png, which alone has dots")
    model = inputs.open_map(map_path, loss, {"map": "", "calibration": "loss"}.get(what, "fit"))
    from nearer import plots

    if what == "map":
        drawn = _draw_map(say, model, title, **shown)
    elif what == "calibration":
        drawn = plots.plot_calibration(_calibration(say, model, map_path, file, reading))
    elif what == "convergence":
        drawn = plots.plot_convergence(model.history_)
    else:
        drawn = plots.plot_step_sizes(model.history_)
    if title is not None and what != "map":
        drawn.set_title(title, parse_math=False)
    plots.save_figure(drawn, out, dpi=dpi, force=say.force)
    say.done({"output": out, "what": what}, f"wrote {out}")


def _draw_map(
    say: Say, model: nearer.OrdinalEmbedding, title: str | None, axes: tuple[int, int], groups: str | None,
    with_labels: bool, size: tuple[float, float] | None,
) -> Any:  # fmt: skip
    from nearer.plots import plot_map

    most = model.embedding_.shape[1]
    if most == 1:
        options.refuse_given(["axes"], "got a map of one dimension, expected one with axes to choose from")
    elif len(set(axes)) < 2 or max(axes) > most:
        raise click.BadParameter(f"got {axes}, expected two different numbers from 1 to {most}", param_hint="--axes")
    labels = inputs.as_names(model.labels_, model.n_objects_)
    coloured = inputs.read_groups(say, groups, labels)
    shown = labels if with_labels else None
    columns = (axes[0] - 1, axes[1] - 1)
    return plot_map(model.embedding_, shown, coloured, axes=columns, title=title, size=size)


def _calibration(say: Say, model: nearer.OrdinalEmbedding, path: str, file: str | None, reading: dict[str, Any]) -> Any:
    from nearer.selection.evaluate import calibrate

    if file is not None:
        comparisons, _ = inputs.read_for_map(say, file, reading, model)
    elif hasattr(model, "comparisons_"):
        say.note("calibration on the answers the map was made from; new ones (--file) would say more")
        comparisons = model.comparisons_
    else:
        raise ValueError(f"{path}: got a map without its answers, expected some; give them with --file")
    return calibrate(model, comparisons)
