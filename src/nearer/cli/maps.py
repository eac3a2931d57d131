"""Commands for a map: `nearer score`, `place`, `map`, `neighbours`, `export`, `plot`, `report` and `methods`."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli import inputs, output
from nearer.cli.output import OutputFile, Say, speaking

if TYPE_CHECKING:
    import numpy as np

_POSITIONS = click.option(
    "-o", "--out", type=OutputFile(*output.POSITIONS), help="CSV file for the positions; printed if not given."
)


@speaking("nearer score out new_answers.csv", "nearer score out/embedding.csv new_answers.csv --loss ste --json")
@inputs.MAP
@click.argument("file", type=click.Path())
@inputs.LOSS_OF_COORDINATES
@inputs.reading_options
def score_command(say: Say, map_path: str, file: str, loss: str | None, reading: dict[str, Any]) -> None:
    """Report how many answers of FILE the MAP satisfies.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv). For a loss with a model of
    the answers, also how well it predicts them: log-loss, and the expected error of its probabilities.
    """
    from nearer.reports.sentences import judgement_lines
    from nearer.selection.evaluate import judge

    model = inputs.open_map(map_path, loss)
    comparisons, facts = inputs.read_for_map(say, file, reading, model)
    found = judge(model, comparisons)
    say.result(found.to_dict() | {"input": facts}, judgement_lines(found))


@speaking("nearer place out answers_about_new.csv", "nearer place out answers_about_new.csv -o new.csv --json")
@inputs.MAP
@click.argument("file", type=click.Path())
@_POSITIONS
@click.option("--whole-map", is_flag=True, help="Give all objects, not only the new ones.")
@click.option("--n-init", type=click.IntRange(1), default=8, show_default=True, help="Starts; the best is kept.")
@inputs.RANDOM_STATE
@inputs.LOSS_OF_COORDINATES
@inputs.FORCE
@inputs.reading_options
def place_command(
    say: Say, map_path: str, file: str, out: str | None, whole_map: bool, n_init: int, random_state: int,
    loss: str | None, force: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Find positions for objects that are named in FILE but not on the MAP; the MAP stays as it is.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv, with --loss).
    """
    from nearer.data.messages import counted

    model = inputs.open_map(map_path, loss)
    if not hasattr(model, "loss_"):
        raise ValueError(f"{map_path}: got coordinates alone, expected a loss too; say --loss")
    model.random_state = random_state
    comparisons, facts = inputs.read_for_map(say, file, reading, model)
    placed = model.place(comparisons, n_init=n_init)
    say.note(repr(placed))
    if placed.n_unused:
        say.note(f"{counted(placed.n_unused, 'comparison')} not used: no new object is named")
    positions, labels = placed.embedding, placed.objects if placed.labels is None else placed.labels
    if whole_map:
        positions, labels = placed.full_embedding, inputs.as_names(placed.full_labels, len(placed.full_embedding))
    values = placed.to_dict() | {"random_state": random_state, "input": facts}
    output.give_positions(say, positions, labels, out, force, values)


def _number_or_cv(value: Any) -> float | str:
    try:
        return "cv" if value == "cv" else float(value)
    except ValueError:
        raise click.BadParameter(f"got {value!r}, expected a positive number or cv") from None


@speaking("nearer map out features.csv", "nearer map out features_of_all.npy -o new.csv --gamma 0.5 --alpha 0.1")
@inputs.MAP
@click.argument("features", type=click.Path())
@_POSITIONS
@click.option("--gamma", type=_number_or_cv, default="cv", show_default=True, help="Inverse width of the kernel.")
@click.option("--alpha", type=_number_or_cv, default="cv", show_default=True, help="Penalty; larger is smoother.")
@click.option(
    "--standardise/--as-they-are", default=True, show_default=True, help="Bring all features to one scale first."
)
@inputs.RANDOM_STATE
@inputs.FORCE
def map_command(
    say: Say, map_path: str, features: str, out: str | None, gamma: Any, alpha: Any, standardise: bool,
    random_state: int, force: bool,
) -> None:  # fmt: skip
    """Find positions for objects that nobody compared, from FEATURES: a table (label, and numbers) or .npy.

    FEATURES holds objects of the MAP, from which the way from features to positions is learnt (kernel ridge
    regression, by default with cross-validation), and new objects, which get a position. In a .npy file, which has no
    labels, the first rows are the objects of the map, in its order.
    """
    import numpy as np

    from nearer.data.messages import counted
    from nearer.reports.sentences import percent

    model = inputs.open_map(map_path)
    on_map = inputs.as_names(model.labels_, model.n_objects_)
    values, labels = inputs.read_numbers(say, features)
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values).all(axis=1)))
        where = f"{values[row].tolist()} in row {row + 1} of the data"
        raise ValueError(f"{features}: got {where}, expected finite numbers")
    if labels is None and model.labels_ is not None and not features.lower().endswith(".npy"):
        raise ValueError(f"{features}: got no labels, expected a column of them, such as {str(model.labels_[0])!r}")
    names, rows = _matched(features, on_map, labels, len(values))
    known = np.flatnonzero(rows >= 0)
    known = known[np.isfinite(model.embedding_[rows[known]]).all(axis=1)]
    new = np.flatnonzero(rows < 0)
    if len(known) < 2:
        raise ValueError(f"{features}: got {counted(len(known), 'object')} placed on the map, expected 2 or more")
    if not len(new):
        raise ValueError(f"{features}: got {counted(len(names), 'object')}, all on the map already, expected new ones")
    say.note(
        f"{features}: {counted(values.shape[1], 'feature')}; {len(known):,} objects of the map to learn from, "
        f"{len(new):,} new"
    )
    if standardise:
        spread = values[known].std(axis=0)
        values = (values - values[known].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    positions = model.embedding_[rows[known]]
    learnt = nearer.FeatureMap(gamma, alpha, random_state=random_state).fit(values[known], positions)
    found: dict[str, Any] = {"gamma": learnt.gamma_, "alpha": learnt.alpha_, "n_known": len(known), "n_new": len(new)}
    if learnt.cv_results_ is not None:
        missed = -float(np.max(learnt.cv_results_["mean_test_score"]))
        found["explained"] = 1.0 - missed / float(positions.var(axis=0).mean())
        say.note(f"the features explain {percent(found['explained'])} of the spread of held-out objects of the map")
    output.give_positions(say, learnt.transform(values[new]), names[new], out, force, found)


def _matched(path: str, on_map: np.ndarray, names: np.ndarray | None, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Names of the objects of a file (unnamed: those of the map first), and their rows of the map, or -1."""
    import numpy as np

    from nearer.io.objects import rows_on_map

    if names is None:
        rows = np.arange(n_rows)
        new = rows[len(on_map) :].astype(str)
        if np.isin(new, on_map).any():
            new = np.array([f"row {row}" for row in rows[len(on_map) :] + 1])
        return np.append(on_map[:n_rows], new), np.where(rows < len(on_map), rows, -1)
    return names, rows_on_map(path, names, on_map)


@speaking("nearer neighbours out Paris Rome -k 3", "nearer neighbours out -o neighbours.csv")
@inputs.MAP
@click.argument("objects", nargs=-1, metavar="[OBJECT]...")
@click.option("-k", type=click.IntRange(1), default=5, show_default=True, help="How many for each object.")
@click.option("-o", "--out", type=OutputFile(*output.TABLES), help="CSV file to write, instead of printing.")
@inputs.FORCE
def neighbours_command(say: Say, map_path: str, objects: tuple[str, ...], k: int, out: str | None, force: bool) -> None:
    """List which objects are nearest to each OBJECT on the MAP; for all objects if none is named.

    Gives a table: label, rank, neighbour, distance. Distances have no unit; only their ratios mean something.
    """
    import numpy as np

    from nearer.data.messages import counted
    from nearer.metrics import nearest_neighbours

    model = inputs.open_map(map_path)
    labels = inputs.as_names(model.labels_, model.n_objects_).tolist()
    number = {label: row for row, label in enumerate(labels)}
    for name in objects:
        if name not in number:
            near = difflib.get_close_matches(name, labels, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name!r}: no such object on the map{hint}")
    placed = np.isfinite(model.embedding_).all(axis=1)
    for name in objects:
        if not placed[number[name]]:
            raise ValueError(f"{name!r}: has no place on the map, so no neighbours")
    if not objects and not placed.all():
        say.note(f"{map_path}: {int((~placed).sum()):,} of {len(labels):,} objects have no place, and are left out")
    found, distances = nearest_neighbours(model.embedding_, k)
    table: dict[str, list] = {"label": [], "rank": [], "neighbour": [], "distance": []}
    for row in [number[name] for name in objects] or range(len(labels)):
        for rank, (other, far) in enumerate(zip(found[row].tolist(), distances[row].tolist())):
            if other >= 0:
                for column, value in zip(table.values(), (labels[row], rank + 1, labels[other], far)):
                    column.append(value)
    rows = counted(len(table["label"]), "row")
    output.give_table(say, output.csv_text(table, ".6g"), out, force, {"neighbours": table}, rows)


@speaking("nearer export out map.mat", "nearer export out/model.nearer map.npz")
@inputs.MAP
@click.argument("target", type=OutputFile(*output.POSITIONS))
@inputs.FORCE
def export_command(say: Say, map_path: str, target: str, force: bool) -> None:
    """Write the coordinates and labels of a MAP to TARGET.

    \b
    .csv  columns label, x1, x2, ...: R, spreadsheets
    .mat  embedding, labels: MATLAB, Octave
    .npz  embedding, labels: NumPy
    """
    from nearer.coordinates import write_embedding
    from nearer.data.messages import counted

    model = inputs.open_map(map_path)
    write_embedding(target, model.embedding_, model.labels_, force=force)
    n, d = model.embedding_.shape
    values = {"output": target, "n_objects": n, "n_components": d}
    say.done(values, f"wrote {target}: {counted(n, 'object')}, {counted(d, 'dimension')}")


@speaking(
    "nearer plot out -o map.png",
    "nearer plot out -o map.svg --groups genres.csv --axes 1,3",
    "nearer plot out -o calibration.png --what calibration --file new_answers.csv",
)
@inputs.MAP
@click.option(
    "-o", "--out", required=True, type=OutputFile(*output.PICTURES), help="Picture to write: .png, .svg or .pdf."
)
@click.option(
    "--what", type=click.Choice(["map", "convergence", "steps", "calibration"]), default="map", show_default=True
)
@click.option("--axes", default="1,2", show_default=True, help="Which two, of a map with more dimensions.")
@inputs.GROUPS
@click.option("--labels/--no-labels", "with_labels", default=True, show_default=True, help="Write the labels.")
@click.option("--title", help="Above the picture.")
@click.option("--size", metavar="WIDTHxHEIGHT", help="Of the map in inches, such as 5x4.  [default: shape of the map]")
@click.option("--dpi", type=click.FloatRange(10, 2000), default=200, show_default=True, help="Dots per inch of a PNG.")
@click.option("--file", type=click.Path(), help="Answers for the calibration, preferably new ones.")
@inputs.LOSS_OF_COORDINATES
@inputs.FORCE
@inputs.reading_options
def plot_command(
    say: Say, map_path: str, out: str, what: str, axes: str, groups: str | None, with_labels: bool, title: str | None,
    size: str | None, dpi: float, file: str | None, loss: str | None, force: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Draw the MAP; or how its fit went, or how far to believe its probabilities.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv).
    """
    if what != "map":
        inputs.refuse_given(["axes", "groups", "with_labels", "size"], f"got --what {what}, expected a map to draw")
    if what != "calibration":
        why = f"got --what {what}, expected --what calibration, which needs answers"
        inputs.refuse_given(["file", "loss", *reading], why)
    if file is None:
        inputs.refuse_given(reading, "says how to read --file, but got none")
    if not out.lower().endswith(".png"):
        inputs.refuse_given(["dpi"], f"got {out}, expected a .png, which alone has dots")
    model = inputs.open_map(map_path, loss)
    from nearer import plots

    if what == "map":
        labels = inputs.as_names(model.labels_, model.n_objects_)
        shown = labels if with_labels else None
        drawn = plots.plot_map(
            model.embedding_, shown, inputs.read_groups(say, groups, labels), axes=_axes(axes, model), title=title,
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


def _axes(text: str, model: nearer.OrdinalEmbedding) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise ValueError(f"--axes: got {text!r}, expected two numbers such as 1,2")
    first, second = (int(part) - 1 for part in parts)
    most = model.embedding_.shape[1]
    if most == 1:
        inputs.refuse_given(["axes"], "got a map of one dimension, expected one with axes to choose from")
    elif first == second or max(first, second) >= most:
        raise ValueError(f"--axes: got {text!r}, expected two different numbers from 1 to {most}")
    return first, second


def _calibration(say: Say, model: nearer.OrdinalEmbedding, path: str, file: str | None, reading: dict[str, Any]) -> Any:
    from nearer.selection.evaluate import calibrate

    if not hasattr(model, "loss_"):
        raise ValueError(f"{path}: got coordinates alone, expected a loss too; say --loss")
    if file is not None:
        comparisons, _ = inputs.read_for_map(say, file, reading, model)
    elif hasattr(model, "comparisons_"):
        say.note("calibration on the answers the map was made from; new ones (--file) would say more")
        comparisons = model.comparisons_
    else:
        raise ValueError(f"{path}: got a map without its answers, expected some; give them with --file")
    return calibrate(model, comparisons)


@speaking(
    "nearer report out -o report.html --images photos --groups genres.csv",
    "nearer report out/embedding.csv --file answers.csv -o report.html",
)
@inputs.MAP
@click.option("-o", "--out", required=True, type=OutputFile(*output.PAGES), help="HTML file to write.")
@click.option("--file", type=click.Path(), help="Answers to judge the map by, if it was saved without its own.")
@inputs.IMAGES
@inputs.GROUPS
@click.option("--title", help="Heading of the report.  [default: as before]")
@inputs.FORCE
@inputs.reading_options
def report_command(
    say: Say, map_path: str, out: str, file: str | None, images: str | None, groups: str | None, title: str | None,
    force: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Write the report of a MAP again, with other pictures, groups or answers.

    MAP is a folder that `nearer fit` wrote, its model file, or coordinates (embedding.csv). All that was found out
    before (regions, dimensions, learning curve, scores) is taken over from the folder's summary.json; with --file, what
    the other answers say takes the place of the scores.
    """
    from nearer.reports import Report, describe
    from nearer.reports.sentences import scores_line
    from nearer.selection import evaluate
    from nearer.selection.evaluate import held_out_of

    if file is None:
        inputs.refuse_given(reading, "says how to read --file, but got none")
    model = inputs.open_map(map_path)
    comparisons, facts = (None, None) if file is None else inputs.read_for_map(say, file, reading, model)
    earlier = inputs.read_summary(map_path, model)
    kept = Report.from_dict(earlier.get("report") or {})
    # Who answered how is taken over too, unless it is asked of other answers.
    found = evaluate(model, comparisons, cv=0, people=False if file is None and "people" in kept else None)
    if file is None:
        found = replace(found, **held_out_of(earlier))
    else:
        kept = {name: kept[name] for name in ("title", "groups", "images", "covariances", "level") if name in kept}
    if not Path(kept.get("images") or ".").is_dir():
        say.note(f"{kept['images']}: no such folder any more, so no pictures; give it with --images")
        del kept["images"]
    coloured = inputs.read_groups(say, groups, inputs.as_names(model.labels_, model.n_objects_))
    changes = {"title": title, "images": images, "groups": coloured}
    made = describe(model, comparisons, found, command=earlier.get("command") or "")
    kept |= {name: value for name, value in changes.items() if value is not None}
    replace(made, **kept).save(out, force=force)
    say.done({"output": out, "input": facts, **found.summary()}, f"{scores_line(found)}\nwrote {out}".lstrip())


@speaking("nearer methods out", "nearer methods out/model.nearer --bibtex > references.bib")
@inputs.MAP
@click.option("--bibtex", is_flag=True, help="Print the references as BibTeX instead.")
def methods_command(say: Say, map_path: str, bibtex: bool) -> None:
    """Write how a MAP was made, for the methods section of a paper.

    MAP is a folder that `nearer fit` wrote, or its model file. What was found out with it (cross-validation,
    dimensions, regions) is taken from the folder's summary.json.
    """
    from nearer.reports.methods import bibliography, methods_paragraph, references
    from nearer.selection import evaluate
    from nearer.selection.evaluate import held_out_of

    model = inputs.open_map(map_path)
    if not hasattr(model, "loss_"):
        raise ValueError(f"{map_path}: got coordinates alone, expected the folder or model that nearer fit wrote")
    earlier = inputs.read_summary(map_path, model)
    found = replace(evaluate(model, cv=0, people=False), **held_out_of(earlier))
    paragraph = methods_paragraph(model, found, earlier)
    cited, entries = references(model.loss_.name), bibliography(model.loss_.name)
    text = entries if bibtex else "\n\n".join([paragraph, "References", *cited])
    say.result({"paragraph": paragraph, "references": cited, "bibtex": entries}, text)
