"""`nearer map`: new objects on a map, by their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nearer.cli._inputs import labels_of, open_map, read_numbers
from nearer.cli._options import FORCE, MAP, RANDOM_STATE
from nearer.cli._output import POSITIONS, OutputFile, give_positions
from nearer.cli._say import Say, speaking


class _NumberOrCV(click.ParamType):
    name = "number or cv"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "cv" or isinstance(value, float):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"got {value!r}, expected a positive number or cv", param, ctx)


if TYPE_CHECKING:
    import numpy as np


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
def command(
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
