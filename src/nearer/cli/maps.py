"""Commands that ask or extend a map: `nearer score`, `place`, `map`, `neighbours` and `export`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from nearer.cli._inputs import as_names, labels_of, open_map, read_for_map, read_numbers
from nearer.cli._options import FORCE, LOSS_OF_COORDINATES, MAP, RANDOM_STATE, reading_options
from nearer.cli._output import POSITIONS, TABLES, OutputFile, csv_text, give_positions, give_table
from nearer.cli._say import Say, speaking

if TYPE_CHECKING:
    import numpy as np


@speaking(
    "nearer score out new_answers.csv",
    "nearer score out/embedding.csv new_answers.csv --loss ste --json",
)
@MAP
@click.argument("file", type=click.Path())
@LOSS_OF_COORDINATES
@reading_options
def score_command(say: Say, map_path: str, file: str, loss: str | None, reading: dict[str, Any]) -> None:
    """Tell how many answers of FILE the MAP satisfies.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv). For a loss with a model of
    the answers, also how well it foretells them: log-loss, and the expected error of its probabilities.
    """
    from nearer.reporting import judge
    from nearer.reporting.words import judgement_lines

    model = open_map(map_path, loss)
    found = judge(model, read_for_map(say, file, reading, model))
    say.result(found.to_dict(), judgement_lines(found))


@speaking(
    "nearer place out answers_about_new.csv",
    "nearer place out answers_about_new.csv -o new.csv --json",
)
@MAP
@click.argument("file", type=click.Path())
@click.option("-o", "--out", type=OutputFile(*POSITIONS), help="CSV file for the positions; printed if not given.")
@click.option("--whole-map", is_flag=True, help="Give all objects, not only the new ones.")
@click.option("--n-init", type=click.IntRange(1), default=8, show_default=True, help="Starts; the best is kept.")
@LOSS_OF_COORDINATES
@FORCE
@reading_options
def place_command(
    say: Say, map_path: str, file: str, out: str | None, whole_map: bool, n_init: int, loss: str | None, force: bool,
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Find positions for objects that are named in FILE but not on the MAP; the MAP stays as it is.

    MAP is a folder that `nearer fit` wrote, a model file, or coordinates (embedding.csv, with --loss).
    """
    from nearer.data.errors import counted

    model = open_map(map_path, loss)
    if not hasattr(model, "loss_"):
        raise ValueError(f"{map_path}: got coordinates alone, expected a loss too; say --loss")
    placed = model.place(read_for_map(say, file, reading, model), n_init=n_init)
    say.note(repr(placed))
    if placed.n_unused:
        say.note(f"{counted(placed.n_unused, 'comparison')} not used: no new object is named")
    positions, labels = placed.embedding, placed.objects if placed.labels is None else placed.labels
    if whole_map:
        positions, labels = placed.full_embedding, as_names(placed.full_labels, len(placed.full_embedding))
    give_positions(say, positions, labels, out, force, placed.to_dict())


class _NumberOrCV(click.ParamType):
    name = "number or cv"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "cv" or isinstance(value, float):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"got {value!r}, expected a positive number or cv", param, ctx)


@speaking(
    "nearer map out features.csv",
    "nearer map out features_of_all.npy -o new.csv --gamma 0.5 --alpha 0.1",
)
@MAP
@click.argument("features", type=click.Path())
@click.option("-o", "--out", type=OutputFile(*POSITIONS), help="CSV file for the positions; printed if not given.")
@click.option("--gamma", type=_NumberOrCV(), default="cv", show_default=True, help="Inverse width of the kernel.")
@click.option("--alpha", type=_NumberOrCV(), default="cv", show_default=True, help="Penalty; larger is smoother.")
@click.option(
    "--standardise/--as-they-are", default=True, show_default=True, help="Bring all features to one scale first."
)
@RANDOM_STATE
@FORCE
def map_command(
    say: Say, map_path: str, features: str, out: str | None, gamma: Any, alpha: Any, standardise: bool,
    random_state: int, force: bool,
) -> None:  # fmt: skip
    """Find positions for objects that nobody compared, from FEATURES: a table (label, and numbers) or .npy.

    FEATURES holds objects of the MAP, from which the way from features to positions is learnt (kernel ridge
    regression, by cross-validation unless told otherwise), and new objects, which get a position. In a .npy file,
    which has no labels, the first rows are the objects of the map, in its order.
    """
    import numpy as np

    from nearer.data.errors import counted
    from nearer.featuremap import FeatureMap
    from nearer.reporting.words import percent

    model = open_map(map_path)
    on_map = labels_of(model)
    values, labels = read_numbers(say, features, on_map)
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values).all(axis=1)))
        raise ValueError(
            f"{features}: got {values[row].tolist()} in row {row + 1} of the data, expected finite numbers"
        )
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
    learnt = FeatureMap(gamma, alpha, random_state=random_state).fit(values[known], positions)
    found: dict[str, Any] = {"gamma": learnt.gamma_, "alpha": learnt.alpha_, "n_known": len(known), "n_new": len(new)}
    if learnt.cv_results_ is not None:
        missed = -float(np.max(learnt.cv_results_["mean_test_score"]))
        found["explained"] = 1.0 - missed / float(positions.var(axis=0).mean())
        say.note(f"the features explain {percent(found['explained'])} of the spread of held-out objects of the map")
    give_positions(say, learnt.transform(values[new]), names[new], out, force, found)


def _matched(path: str, on_map: np.ndarray, names: np.ndarray | None, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Name the objects of a file, and give the row of the map for each, -1 for none.

    Without names, the first objects are those of the map, and the others are called by their number, unless that is the
    name of one of those.
    """
    import numpy as np

    from nearer.io.objects import rows_on_map

    if names is None:
        rows = np.arange(n_rows)
        new = rows[len(on_map) :].astype(str)
        if np.isin(new, on_map).any():
            new = np.array([f"row {row}" for row in rows[len(on_map) :] + 1])
        return np.append(on_map[:n_rows], new), np.where(rows < len(on_map), rows, -1)
    return names, rows_on_map(path, names, on_map)


@speaking(
    "nearer neighbours out Paris Rome -k 3",
    "nearer neighbours out -o neighbours.csv",
)
@MAP
@click.argument("objects", nargs=-1, metavar="[OBJECT]...")
@click.option("-k", type=click.IntRange(1), default=5, show_default=True, help="How many for each object.")
@click.option("-o", "--out", type=OutputFile(*TABLES), help="CSV file to write, instead of printing.")
@FORCE
def neighbours_command(say: Say, map_path: str, objects: tuple[str, ...], k: int, out: str | None, force: bool) -> None:
    """Tell which objects are nearest to each OBJECT on the MAP; for all objects if none is named.

    Gives a table: label, rank, neighbour, distance. Distances have no unit; only their ratios mean something.
    """
    import numpy as np

    from nearer.data.errors import counted
    from nearer.metrics import nearest_neighbours

    model = open_map(map_path)
    labels = labels_of(model).tolist()
    number = {label: spot for spot, label in enumerate(labels)}
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
    for spot in [number[name] for name in objects] or range(len(labels)):
        for rank, (other, far) in enumerate(zip(found[spot].tolist(), distances[spot].tolist())):
            if other >= 0:
                for column, value in zip(table.values(), (labels[spot], rank + 1, labels[other], far)):
                    column.append(value)
    told = counted(len(table["label"]), "row")
    give_table(say, csv_text(table, ".6g"), out, force, {"neighbours": table}, told)


@speaking(
    "nearer export out map.mat",
    "nearer export out/model.nearer map.npz",
)
@MAP
@click.argument("target", type=OutputFile(*POSITIONS))
@FORCE
def export_command(say: Say, map_path: str, target: str, force: bool) -> None:
    """Write the coordinates and labels of a MAP to TARGET.

    \b
    .csv  columns label, x1, x2, ...: R, spreadsheets
    .mat  embedding, labels: MATLAB, Octave
    .npz  embedding, labels: NumPy
    """
    from nearer.data.errors import counted
    from nearer.io import write_embedding

    model = open_map(map_path)
    write_embedding(target, model.embedding_, model.labels_, force=force)
    objects = counted(model.n_objects_, "object")
    dimensions = counted(model.embedding_.shape[1], "dimension")
    values = {"output": target, "n_objects": model.n_objects_, "n_components": model.embedding_.shape[1]}
    say.done(values, f"wrote {target}: {objects}, {dimensions}")
