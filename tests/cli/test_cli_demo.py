"""nearer demo."""

from __future__ import annotations

from nearer.coordinates import read_embedding
from nearer.datasets import load_cars


def test_demo(nearer, tmp_path, tree):
    called = nearer("demo", "--json")
    assert called.code == 0
    assert tree(tmp_path / "demo") == ["embedding.csv", "map.png", "model.nearer", "report.html", "summary.json"]
    assert (tmp_path / "demo/map.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo/report.html").read_text(encoding="utf-8").count("data:image/jpeg") == 60
    _, labels = read_embedding(tmp_path / "demo/embedding.csv")
    assert labels.tolist() == load_cars().comparisons.labels.tolist()
    values = called.json
    assert values["dimensions"]["n_components"] == [1, 2, 3, 4]
    assert len(values["people"]["participant"]) == 146
    assert values["cross_validation"]["accuracy"] > 0.65  # by answer; guessing gives a third
