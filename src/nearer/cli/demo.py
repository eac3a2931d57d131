"""`nearer demo`: 21 European cities from comparisons of road distances alone."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli.inputs import FORCE, RANDOM_STATE
from nearer.cli.output import OutputFolder, Say, repeat_command, speaking, write_summary

if TYPE_CHECKING:
    import numpy as np

FILES = ("map.png", "embedding.csv", "report.html", "summary.json")
_TURNED = (
    "turned, mirrored and scaled to the latitude and longitude of the cities, for the eye only; "
    "the shape comes from comparisons alone"
)


@speaking("nearer demo", "nearer demo -o cities --random-state 1")
@click.option("-o", "--out", default="demo", show_default=True, type=click.Path(), help="Folder for the results.")
@RANDOM_STATE
@FORCE
def demo_command(say: Say, out: str, random_state: int, force: bool) -> None:
    """Map 21 European cities from comparisons of road distances alone.

    The distances only answer questions of the form "is Paris nearer to Lyons than to Madrid?". The map is made from
    80 % of all such answers, and judged by the others and by the distances.
    """
    folder = OutputFolder(out, FILES, force)
    from nearer.coordinates import write_embedding
    from nearer.datasets import load_eurodist
    from nearer.metrics import procrustes_align
    from nearer.plots import plot_map, save_figure
    from nearer.reports import Scores, describe, judge, study

    cities = load_eurodist()
    comparisons = nearer.Comparisons.from_distances(cities.distances, labels=cities.names)
    train, test = comparisons.split(0.2, random_state)
    say.note(
        f"{comparisons!r} from road distances between cities, {sum(comparisons.dropped.values())} ties left out; "
        f"{len(train):,} to make the map, {len(test):,} held out"
    )
    model = nearer.SOE(2, random_state=random_state).fit(train)
    values = _measured(model, cities.distances)
    held = judge(model, test)
    scores = Scores(training=model.score(train), held_out=held.accuracy)
    values["held_out"] = {name: getattr(held, name) for name in ("accuracy", "n_satisfied", "n_comparisons")}
    values["training"] = {"accuracy": scores.training, "n_comparisons": len(train)}
    with folder as target:
        write_embedding(target / "embedding.csv", model.embedding_, model.labels_)
        shown = copy.copy(model)
        shown.embedding_ = procrustes_align(model.embedding_, _geography(model.labels_))
        title = "21 European cities from comparisons of road distances"
        save_figure(plot_map(shown.embedding_, model.labels_, title=title), target / "map.png")
        facts = {"For the eye": _TURNED}
        report = describe(shown, train, study(shown, train, cv=0), title=title, facts=facts, command=repeat_command())
        replace(report, scores=scores).save(target / "report.html")
        write_summary(target, values | {"command": repeat_command()})
    say.done(values | {"files": folder.files()}, _told(values, folder))


def _measured(model: nearer.OrdinalEmbedding, distances: np.ndarray) -> dict[str, Any]:
    """Errors of the distances on the map, and of classical scaling, which is given the true ones."""
    import numpy as np
    from scipy.spatial.distance import pdist, squareform

    from nearer.metrics import procrustes_distance

    road = squareform(distances)
    map_distances, classical = pdist(model.embedding_), _classical_scaling(distances)
    map_distances *= (map_distances @ road) / (map_distances @ map_distances)  # a map of comparisons has no unit
    return {
        "mean_miss_km": float(np.abs(map_distances - road).mean()),
        "mean_miss_km_of_classical_scaling": float(np.abs(pdist(classical) - road).mean()),
        "mean_road_km": float(road.mean()),
        "correlation_with_road_distances": float(np.corrcoef(map_distances, road)[0, 1]),
        "procrustes_disparity_to_classical_scaling": procrustes_distance(model.embedding_, classical),
    }


def _classical_scaling(distances: np.ndarray) -> np.ndarray:
    """The plane (n, 2) that fits the distances (n, n) best in the sense of Torgerson."""
    import numpy as np

    centring = np.eye(len(distances)) - 1.0 / len(distances)
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    return vectors[:, -2:] * np.sqrt(values[-2:])


def _told(values: dict[str, Any], folder: OutputFolder) -> str:
    from nearer.reports.sentences import percent

    held = values["held_out"]
    return "\n".join([
        f"held-out comparisons: the map gets {held['n_satisfied']:,} of {held['n_comparisons']:,} right "
        f"({percent(held['accuracy'])})",
        f"true distances: scaled by one factor, distances on the map miss those by road by "
        f"{values['mean_miss_km']:.0f} km on average",
        f"  (mean road distance {values['mean_road_km']:,.0f} km; classical scaling, which is shown the distances, "
        f"misses by {values['mean_miss_km_of_classical_scaling']:.0f} km)",
        f"  correlation {values['correlation_with_road_distances']:.3f}; Procrustes disparity to classical scaling "
        f"after alignment {values['procrustes_disparity_to_classical_scaling']:.3f} (0: same shape, 1: nothing alike)",
        f"the picture and the report are {_TURNED}",
        f"wrote {', '.join(folder.files())}",
    ])  # fmt: skip


def _geography(names: Any) -> np.ndarray:
    """East and north (n, 2) of the cities, in degrees of latitude: for the orientation of the picture only."""
    import csv
    from importlib import resources

    import numpy as np

    text = resources.files("nearer.datasets").joinpath("data", "eurodist_places.csv").read_text(encoding="utf-8")
    places = {row["city"]: row for row in csv.DictReader(text.splitlines())}
    north, east = (np.array([float(places[str(name)][what]) for name in names]) for what in ("latitude", "longitude"))
    return np.column_stack([east * np.cos(np.deg2rad(north.mean())), north])
