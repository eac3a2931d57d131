"""The report as HTML text: complete, safe, honest; `test_report_browser` shows that hostile labels stay text."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pytest

import nearer
import nearer.solvers
from nearer.check import check
from nearer.data import Comparisons
from nearer.metrics import worst_comparisons
from nearer.reports import Report
from nearer.reports.page import script_data
from nearer.reports.sentences import CLUSTERED_REGIONS, NO_PROBLEM, NO_PROBLEM_BUT_PEOPLE, violations_sentence
from nearer.selection import Evaluation

HOSTILE = ["</script>", 'a "quote"', "line\nbreak", "🦄", "שלום", "{{data}}", "<!--", "&amp;", "a\u2028b", "\ud800"]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(10, 2))


@pytest.fixture
def full(X):
    """The page of a report with every section."""
    labels = [*HOSTILE[:-1], "é"]  # a lone surrogate is no label of comparisons
    T = np.array([[0, 1, 2], [3, 4, 5], [0, 2, 1], [6, 7, 8], [6, 7, 8], [9, 0, 1]])
    comparisons = Comparisons.from_triplets(T, n_objects=10, labels=labels)
    return Report(
        "Title <b>&", X, labels=HOSTILE, groups=["</style>", "b"] * 5, subtitle="<i>6 triplets",
        command="nearer fit 'a <b>.csv'\n--seed 1", covariances=np.tile(np.eye(2) * 0.01, (10, 1, 1)),
        evaluation=Evaluation(training=0.9, held_out=0.8, held_out_low=0.7, held_out_high=0.85, ceiling=0.95),
        history={"epoch": [0, 1], "objective": [2.0, 1.0], "step_size": [None, 0.1], "note": ["a", "b"]},
        dimensions={"n_components": [1, 2], "accuracy": [0.7, 0.8], "standard_error": [0.01, None]},
        chosen_dimension=2, learning_curve={"n_comparisons": [10, 20], "accuracy": [0.7, 0.8]},
        violations=worst_comparisons(X, comparisons), check=check(comparisons, 2).to_dict(),
        facts={"Seed": 1, "<b>": "</dl>"},
    ).html()  # fmt: skip


def raw(html, tag):
    """The content of an element that holds no HTML."""
    return re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", html, re.DOTALL)[1]


def text_of(html):
    return re.sub("<[^>]+>", "", html)


def test_every_section_is_there(full, X):
    ids = {*re.findall(r' id="([^"]+)"', full)}
    sections = {"map", "fit", "dimensions", "learning", "violations", "check", "convergence", "repeat"}
    assert sections <= ids
    assert {"chart-objective", "chart-steps", "chart-dimensions", "chart-learning", "command"} <= ids
    assert "{{" not in full.replace("{{data}}", "")
    assert "Most divided" in full
    bare = Report("t", X).html()
    assert {*re.findall(r' id="([^"]+)"', bare)} & sections == {"map", "fit"}
    assert "No score was computed" in bare


def test_the_data_survive_as_json(full, X):
    text = raw(full, 'script type="application/json" id="data"')
    assert text.isascii()
    assert not set("<>&") & set(text)
    data = json.loads(text)
    assert data["labels"] == [re.sub("\n|\u2028", "↵", label).replace("\ud800", "\ufffd") for label in HOSTILE]
    np.testing.assert_allclose(np.array(data["x"]).T, X, atol=1e-5)
    assert data["groups"]["names"] == ["</style>", "b"]
    assert data["history"] == {"epoch": [0, 1], "objective": [2.0, 1.0], "step_size": [None, 0.1]}
    assert data["dimensions"]["standard_error"] == [0.01, None]


def test_policy_allows_exactly_the_inline_script_and_style(full):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', full)
    assert policy.startswith("default-src 'none'; ")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(raw(full, kind).encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_nothing_points_outside(full):
    markup = full.replace(raw(full, "script"), "")
    for name, value in re.findall(r'\s(src|href|srcset|action|style|on\w+)="([^"]*)"', markup):
        assert name == "href", name
        assert value.startswith(("#", "data:")), value
    assert "url(" not in raw(full, "style")
    assert {*re.findall(r"https?://[^\s\"']+", full)} == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    ("x", "rounded"), [([1.23456789e-8, -9.87654321e-8], [1.23457e-8, -9.87654e-8]), ([123456.789], [123457.0])]
)
def test_rounding_follows_the_scale(x, rounded):
    values, notes = script_data(Report("t", np.array([*x, np.nan])[:, None]))
    assert values["x"] == [[*rounded, None]]
    assert notes == [f"Without a position, and so not shown: 1 of {len(x) + 1} objects."]


def test_covariances_are_the_upper_triangle():
    covariances = np.arange(18.0).reshape(2, 3, 3)
    values, _ = script_data(Report("t", np.zeros((2, 3)), covariances=covariances))
    assert [column[0] for column in values["cov"]] == [0, 1, 2, 4, 5, 8]


@pytest.mark.parametrize(("scale", "cell"), [(1.0, "0.5000"), (1e7, "5000000"), (1e-3, "0.0005000")])
def test_coordinates_are_written_with_the_digits_that_matter(scale, cell):
    html = Report("t", scale * np.array([[0.5], [1.0], [np.nan]])).html()
    assert f"<td>{cell}</td>" in html
    assert "<td>–</td>" in html
    assert "<td>" not in Report("t", np.zeros((501, 2))).html()


def test_no_problem_is_not_said_where_people_stand_out(X):
    answers = check(Comparisons([[i, (i + 1) % 10, (i + 5) % 10] for i in range(10)] * 2, 10)).to_dict()
    assert not answers["problems"]
    people = {"participant": ["a", "b", "c"], "answers": [9] * 3, "agreement": [0.1, 0.9, 0.9], "repeats": [0] * 3}
    people |= {"guesses": [np.nan, 0.0, 0.0], "guesses_low": [np.nan, 0.0, 0.0], "guesses_high": [np.nan, 0.1, 0.1]}
    for inverted in (False, True):
        p_chance = [0.9999 if inverted else 0.001, 0.001, 0.001]
        found = people | {"p_chance": p_chance, "inverted": [inverted, False, False]}
        text = text_of(Report("t", X, check=answers, people=found).html())
        assert (NO_PROBLEM in text) != inverted
        assert (NO_PROBLEM_BUT_PEOPLE in text) == inverted


def test_rows_of_an_answer_are_not_called_answers(X):
    found = worst_comparisons(X, Comparisons([[0, 1, 2], [2, 1, 0]], len(X)))
    for are_answers, title in ((True, "Answer"), (False, "Comparison")):
        page = Report("t", X, violations=found, check={"answers_are_rows": are_answers}).html()
        assert f'<th scope="col">{title}</th>' in page


def test_violations_are_sentences(X):
    rows = [[0, 1, 2, 3], [2, 3, 0, 1]]
    found = worst_comparisons(X, Comparisons(rows, len(X), labels=list("abcdefghij")))
    text = text_of(Report("t", X, violations=found).html())
    assert violations_sentence(found) in text
    assert re.search("[ac] and [bd] are nearer to each other than [ac] and [bd]", text)
    assert re.search(r"[\d.]+ times as far \([\d.]+ against [\d.]+\s% of the map.*s width\)", text)


def test_what_does_not_fit_the_map_is_refused_and_writes_nothing(X, tmp_path):
    for error, fields in (
        (FileNotFoundError, {"images": tmp_path / "no"}),
        (ValueError, {"labels": ["a"]}),
        (ValueError, {"groups": ["a"]}),
    ):
        with pytest.raises(error, match=r"(images|labels|groups): got"):
            Report("t", X, **fields).save(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_clusters_are_coloured_and_explained_where_there_are_no_groups(X):
    names = ["cluster 1 (stability 0.98)"] * 6 + ["cluster 2 (stability 0.91)"] * 3 + [None]
    values, notes = script_data(Report("t", X, clusters=names))
    assert values["groups"] == {"codes": [0] * 6 + [1] * 3 + [-1], "names": [names[0], names[6]], "other": None}
    assert len(notes) == 1
    regions = np.ones((10, X.shape[1], 1)) * np.eye(X.shape[1])
    assert CLUSTERED_REGIONS not in notes + script_data(Report("t", X, covariances=regions))[1]
    assert CLUSTERED_REGIONS in script_data(Report("t", X, clusters=names, covariances=regions))[1]
    values, notes = script_data(Report("t", X, clusters=names, groups=["a"] * 10))
    assert (values["groups"]["names"], notes) == (["a"], [])


@pytest.fixture
def report_of(tmp_path):
    """The text of the page that reports a map."""

    def call(model, comparisons):
        nearer.write_report(model, comparisons, tmp_path / "report.html", cv=0, bootstrap=0)
        html = (tmp_path / "report.html").read_text(encoding="utf-8")
        page = re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)
        return " ".join(text_of(page.replace("<", " <")).split())

    return call


def test_the_outcome_is_that_it_converged_or_why_it_stopped(report_of, X, tmp_path):
    comparisons = Comparisons.from_distances(np.linalg.norm(X[:, None] - X, axis=2), 300, random_state=0)
    model = nearer.OrdinalEmbedding(2, random_state=0).fit(comparisons)
    assert "Outcome converged Epochs" in report_of(model, comparisons)
    (tmp_path / "report.html").unlink()
    model.set_params(solver=nearer.solvers.GD(max_epochs=2)).fit(comparisons)
    assert f"Outcome {model.result_.message} Epochs" in report_of(model, comparisons)


def test_computed_comparisons_are_not_what_people_said(report_of, X):
    comparisons = Comparisons.from_distances(np.linalg.norm(X[:, None] - X, axis=2), 300, random_state=0)
    told = report_of(nearer.OrdinalEmbedding(2, random_state=0).fit(comparisons), comparisons)
    assert not re.search(r"people|person|participant|judge|\bsaid\b", told, re.IGNORECASE)
