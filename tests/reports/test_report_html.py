"""The report as HTML text: complete, safe, honest."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from nearer.check import check
from nearer.data import Comparisons
from nearer.metrics import worst_comparisons
from nearer.reports import Report
from nearer.reports.page import script_data
from nearer.selection import Evaluation

HOSTILE = [
    "<script>alert(1)</script>", "</script>", 'a "quote"', "a 'q'", "line\nbreak", "🦄", "שלום", "{{data}}", "<!--",
    "&amp;",
]  # fmt: skip


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(10, 2))


class Reader(HTMLParser):
    """The tags, text and content of scripts and styles of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.raw, self.text = [], {}, []
        self.open = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = (tag, dict(attrs).get("type", "")) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.raw[self.open] = self.raw.get(self.open, "") + data
        else:
            self.text.append(data)

    @property
    def ids(self):
        return {attrs.get("id") for _, attrs in self.tags}


def full(X, **more):
    T = np.array([[0, 1, 2], [3, 4, 5], [0, 2, 1], [6, 7, 8], [6, 7, 8], [9, 0, 1]])
    comparisons = Comparisons.from_triplets(T, n_objects=10, labels=HOSTILE)
    values = {
        "labels": HOSTILE,
        "groups": ["</style>", "b"] * 5,
        "subtitle": "<i>6 triplets",
        "command": "nearer fit 'a <b>.csv'\n--seed 1",
        "covariances": np.tile(np.eye(2) * 0.01, (10, 1, 1)),
        "evaluation": Evaluation(training=0.9, held_out=0.8, held_out_low=0.7, held_out_high=0.85, ceiling=0.95),
        "history": {"epoch": [0, 1], "objective": [2.0, 1.0], "step_size": [None, 0.1], "note": ["a", "b"]},
        "dimensions": {"n_components": [1, 2], "accuracy": [0.7, 0.8], "standard_error": [0.01, None]},
        "chosen_dimension": 2,
        "learning_curve": {"n_comparisons": [10, 20], "accuracy": [0.7, 0.8]},
        "violations": worst_comparisons(X, Comparisons(comparisons.index, labels=HOSTILE)),
        "check": check(comparisons, 2).to_dict(),
        "facts": {"Seed": 1, "<b>": "</dl>"},
    }
    return Report("Title <b>&", X, **{**values, **more})


def test_every_section_is_there(X):
    html = full(X).html()
    ids = Reader(html).ids
    sections = {"map", "fit", "dimensions", "learning", "violations", "check", "convergence", "repeat"}
    assert sections <= ids
    assert {"chart-objective", "chart-steps", "chart-dimensions", "chart-learning", "command"} <= ids
    assert "{{" not in html.replace("{{data}}", "")
    assert html == full(X).html()
    html = Report("t", X).html()
    assert Reader(html).ids & sections == {"map", "fit"}
    assert "No score was computed" in html


def test_hostile_text_makes_no_tag(X):
    plain = Reader(
        full(X, labels=list("abcdefghij"), groups=None, subtitle="", facts={"a": "b"}, violations=None).html()
    )
    reader = Reader(full(X).html())
    assert [tag for tag, _ in reader.tags if tag == "script"] == ["script", "script"]
    assert not {"i", "b"} & {tag for tag, _ in reader.tags}
    assert {tag for tag, _ in reader.tags} == {tag for tag, _ in plain.tags}
    text = " ".join(reader.text)
    assert "<script>alert(1)</script>" in text
    assert "line↵break" in text
    assert "nearer fit 'a <b>.csv'\n--seed 1" in text


def test_the_data_survive_as_json(X):
    reader = Reader(full(X).html())
    text = reader.raw["script", "application/json"]
    assert text.isascii()
    assert not set("<>&") & set(text)
    data = json.loads(text)
    assert data["labels"] == [label.replace("\n", "↵") for label in HOSTILE]
    np.testing.assert_allclose(np.array(data["x"]).T, X, atol=1e-5)
    assert data["groups"]["names"] == ["</style>", "b"]
    assert data["history"]["step_size"] == [None, 0.1]
    assert "note" not in data["history"]
    assert data["dimensions"]["standard_error"] == [0.01, None]


def test_policy_allows_exactly_the_inline_script_and_style(X):
    reader = Reader(full(X).html())
    (policy,) = [attrs["content"] for tag, attrs in reader.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(reader.raw[kind, ""].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_nothing_points_outside(X):
    reader = Reader(full(X).html())
    for tag, attrs in reader.tags:
        for name in ("src", "href", "srcset", "action"):
            assert attrs.get(name, "#").startswith(("#", "data:")), (tag, attrs)
        assert "style" not in attrs
        assert not any(name.startswith("on") for name in attrs)
    assert "url(" not in reader.raw["style", ""]
    addresses = set(re.findall(r"https?://[^\s\"']+", full(X).html()))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_missing_positions_are_null_and_told(X):
    X[2] = np.nan
    values, notes = script_data(Report("t", X))
    assert values["x"][0][2] is None
    assert notes == ["Without a position, and so not shown: 1 of 10 objects."]


def test_rounding_follows_the_scale():
    values, _ = script_data(Report("t", np.array([[1.23456789e-8], [-9.87654321e-8]])))
    assert values["x"] == [[1.23457e-8, -9.87654e-8]]
    values, _ = script_data(Report("t", np.array([[123456.789]])))
    assert values["x"] == [[123457.0]]


def test_covariances_are_the_upper_triangle():
    covariances = np.arange(18.0).reshape(2, 3, 3)
    values, _ = script_data(Report("t", np.zeros((2, 3)), covariances=covariances))
    assert [column[0] for column in values["cov"]] == [0, 1, 2, 4, 5, 8]


def test_the_table_of_coordinates_ends_at_500():
    assert "<details>" in Report("t", np.zeros((500, 2))).html()
    assert "<details>" not in Report("t", np.zeros((501, 2))).html()


def test_the_check_is_reported(X):
    assert "1 question is answered both ways" in full(X).html()
    html = Report("t", X, check={"problems": [], "facts": {"participants": "2"}}).html()
    assert "No problem was found" in html
    assert "<dt>Participants</dt>" in html


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0, 1, 2], [0, 2, 1]], r"a is nearer to [bc] than to [bc]"),
        ([[0, 1, 2, 3], [2, 3, 0, 1]], r"[ac] and [bd] are nearer to each other than [ac] and [bd]"),
    ],
)
def test_violations_are_sentences(X, rows, said):
    found = worst_comparisons(X, Comparisons(rows, len(X), labels=list("abcdefghij")))
    text = "".join(Reader(Report("t", X, violations=found).html()).text)
    assert "The map contradicts 1 of 2 answers." in text
    assert re.search(said, text)
    assert re.search(r"[\d.]+ times as far \([\d.]+ against [\d.]+\s% of the map's width\)", text)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"labels": ["a"]}, "labels: got 1, expected 10"),
        ({"groups": ["a"]}, "groups: got 1, expected 10"),
    ],
)
def test_errors_say_what_came(X, kwargs, message):
    with pytest.raises(ValueError, match=message):
        Report(**{"title": "t", "embedding": X, **kwargs}).html()


def test_the_file_is_refused_or_replaced_whole(X, tmp_path):
    path = tmp_path / "report.html"
    assert Report("one", X).save(path) == path
    first = path.read_text(encoding="utf-8")
    with pytest.raises(FileExistsError):
        Report("two", X).save(path)
    assert path.read_text(encoding="utf-8") == first
    Report("two", X).save(path, force=True)
    assert "<title>two</title>" in path.read_text(encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_nothing_is_written_when_a_folder_of_pictures_is_missing(X, tmp_path):
    with pytest.raises(FileNotFoundError):
        Report("t", X, images=tmp_path / "no").save(tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("scale", "cell"), [(1.0, "0.5000"), (1e7, "5000000"), (1e-3, "0.0005000")])
def test_coordinates_are_written_with_the_digits_that_matter(scale, cell):
    html = Report("t", scale * np.array([[0.5], [1.0], [np.nan]])).html()
    assert f"<td>{cell}</td>" in html
    assert "<td>–</td>" in html
