"""nearer demo."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import pdist, squareform

from nearer.cli import cli
from nearer.cli.demo import _classical_scaling, _geography
from nearer.coordinates import read_embedding
from nearer.datasets import load_eurodist


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo"
    return folder, CliRunner().invoke(cli, ["demo", "--out", str(folder), "--json"])


def test_demo_writes_map_coordinates_and_report(demo):
    folder, result = demo
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["embedding.csv", "map.png", "report.html", "summary.json"]
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert "Hook of Holland" in (folder / "report.html").read_text(encoding="utf-8")


def test_demo_reports_the_truth(demo):
    folder, result = demo
    told = json.loads(result.stdout)
    X, labels = read_embedding(folder / "embedding.csv")
    cities = load_eurodist()
    assert labels.tolist() == cities.names.tolist()
    road, on_map = squareform(cities.distances), pdist(X)
    factor = np.linalg.lstsq(on_map[:, None], road, rcond=None)[0]
    assert told["mean_miss_km"] == pytest.approx(np.abs(on_map * factor - road).mean())
    assert told["correlation_with_road_distances"] == pytest.approx(np.corrcoef(on_map, road)[0, 1])
    held, training = told["held_out"], told["training"]
    assert held["n_comparisons"] + training["n_comparisons"] == 3986  # 21 * 190 less 4 ties
    assert held["accuracy"] == held["n_satisfied"] / held["n_comparisons"]
    # Both are the best a plane can do, nearly: road distances are not those of a plane.
    assert held["accuracy"] > 0.93
    assert told["mean_miss_km"] < 130


def test_classical_scaling_recovers_a_plane(points):
    found = _classical_scaling(squareform(pdist(points)))
    np.testing.assert_allclose(pdist(found), pdist(points))


def test_places_of_all_cities_are_known_and_roughly_right():
    names = load_eurodist().names
    places = dict(zip(names.tolist(), _geography(names).tolist()))
    assert len(places) == 21
    assert places["Stockholm"][1] == max(y for _, y in places.values())
    assert places["Lisbon"][0] == min(x for x, _ in places.values())
    # As the crow flies, in km, no pair is farther apart than by road, but for three old slips in the distances.
    crow, road = 111.2 * squareform(pdist(_geography(names))), load_eurodist().distances
    longer = {(str(names[i]), str(names[j])) for i, j in np.argwhere(np.triu(crow > 1.1 * road, 1))}
    assert longer == {("Athens", "Rome"), ("Copenhagen", "Hook of Holland"), ("Lisbon", "Lyons")}
