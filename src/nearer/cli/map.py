"""`nearer map`: put new objects on a map by their features."""

from __future__ import annotations

from typing import Any

import click

import nearer
from nearer.cli import inputs, options
from nearer.cli.output import Say, command


def _number_or_cv(value: Any) -> float | str:
    return "cv" if value == "cv" else float(value)


@command("nearer map out features.csv", "nearer map out features_of_all.npy -o new.csv --gamma 0.5 --alpha 0.1")
@options.MAP
@click.argument("features", type=click.Path())
@options.POSITIONS
@click.option("--gamma", type=_number_or_cv, default="cv", help="Inverse width of the kernel.")
@click.option("--alpha", type=_number_or_cv, default="cv", help="Penalty; larger is smoother.")
@click.option("--standardise/--as-they-are", default=True, help="Standardise the features first.")
@options.RANDOM_STATE
@options.FORCE
def map_command(
    say: Say, map_path: str, features: str, out: str | None, gamma: Any, alpha: Any, standardise: bool,
    random_state: int,
) -> None:  # fmt: skip
    """Find positions for objects that nobody compared, from FEATURES: a table (label, and numbers) or .npy.

    FEATURES holds objects of the MAP, from which positions are learnt as a function of the features (kernel ridge
    regression, by default with cross-validation), and new objects, which get a position. In a .npy file, which has no
    labels, the first rows are the objects of the map, in its order.
    """
    import numpy as np

    from nearer.io.objects import rows_on_map
    from nearer.reports.sentences import percent

    model = inputs.open_map(map_path)
    on_map = inputs.as_names(model.labels_, model.n_objects_)
    values, labels = inputs.read_numbers(say, features)
    if labels is None and model.labels_ is not None and not features.lower().endswith(".npy"):
        raise ValueError(f"{features}: got no labels, expected a column of them, such as {str(model.labels_[0])!r}")
    if labels is None:  # in the order of the map
        labels = np.append(on_map, [f"row {row}" for row in range(len(on_map) + 1, len(values) + 1)])[: len(values)]
    rows = rows_on_map(features, labels, on_map)
    known = np.flatnonzero(rows >= 0)
    known = known[np.isfinite(model.embedding_[rows[known]]).all(axis=1)]
    new = np.flatnonzero(rows < 0)
    if len(known) < 2 or not len(new):
        got = f"{len(known):,} objects placed on the map and {len(new):,} new"
        raise ValueError(f"{features}: got {got}, expected at least 2 to learn from, and new ones")
    say.note(f"{features}: {len(known):,} objects of the map to learn from, {len(new):,} new")
    if standardise:
        from sklearn.preprocessing import StandardScaler

        values = StandardScaler().fit(values[known]).transform(values)
    learnt = nearer.FeatureMap(gamma, alpha, random_state=random_state)
    learnt.fit(values[known], model.embedding_[rows[known]])
    found: dict[str, Any] = {"gamma": learnt.gamma_, "alpha": learnt.alpha_, "n_known": len(known), "n_new": len(new)}
    if learnt.explained_ is not None:
        found["explained"] = learnt.explained_
        say.note(f"the features explain {percent(learnt.explained_)} of the spread of held-out objects of the map")
    say.positions(learnt.transform(values[new]), labels[new], found, out)
