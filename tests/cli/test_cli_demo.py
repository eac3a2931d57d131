"""nearer demo."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from nearer.cli.app import cli
from nearer.coordinates import read_embedding
from nearer.datasets import load_cars


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo"
    return folder, CliRunner().invoke(cli, ["demo", "--out", str(folder), "--json"])


def test_demo_writes_map_coordinates_and_report(demo):
    folder, result = demo
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["embedding.csv", "map.png", "report.html", "summary.json"]
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "report.html").read_text(encoding="utf-8").count("data:image/jpeg") == 60


def test_demo_reports_dimensions_participants_and_clusters(demo):
    folder, result = demo
    values = json.loads(result.stdout)
    _, labels = read_embedding(folder / "embedding.csv")
    assert labels.tolist() == load_cars().comparisons.labels.tolist()
    assert values["dimensions"]["n_components"] == [1, 2, 3, 4]
    assert len(values["people"]["participant"]) == 146
    assert values["cross_validation"]["accuracy"] > 0.78
    assert values["neighbours_in_the_same_class"] > 0.8
