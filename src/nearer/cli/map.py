"""`nearer map`: put new objects on a map by their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli import files, inputs, options
from nearer.cli.output import Say, command

if TYPE_CHECKING:
    import numpy as np


def _number_or_cv(value: Any) -> float | str:
    try:
        return "cv" if value == "cv" else float(value)
    except ValueError:
        raise click.BadParameter(f"got {value!r}, expected a positive number or cv") from None


@command("nearer map out features.csv", "nearer map out features_of_all.npy -o new.csv --gamma 0.5 --alpha 0.1")
@options.MAP
@click.argument("features", type=click.Path())
@options.POSITIONS
@click.option("--gamma", type=_number_or_cv, default="cv", help="Inverse width of the kernel.")
@click.option("--alpha", type=_number_or_cv, default="cv", help="Penalty; larger is smoother.")
@click.option("--standardise/--as-they-are", default=True, help="Bring all features to one scale first.")
@options.RANDOM_STATE
@options.FORCE
def map_command(
    say: Say, map_path: str, features: str, out: str | None, gamma: Any, alpha: Any, standardise: bool,
    random_state: int,
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
        from sklearn.preprocessing import StandardScaler

        values = StandardScaler().fit(values[known]).transform(values)
    positions = model.embedding_[rows[known]]
    learnt = nearer.FeatureMap(gamma, alpha, random_state=random_state).fit(values[known], positions)
    found: dict[str, Any] = {"gamma": learnt.gamma_, "alpha": learnt.alpha_, "n_known": len(known), "n_new": len(new)}
    if learnt.explained_ is not None:
        found["explained"] = learnt.explained_
        say.note(f"the features explain {percent(found['explained'])} of the spread of held-out objects of the map")
    files.give_positions(say, learnt.transform(values[new]), names[new], out, found)


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
