"""The report in a real Chromium: what a reader does with the map."""

from __future__ import annotations

import numpy as np
import pytest

from browser_page import history, spread
from nearer import Comparisons
from nearer.metrics import worst_comparisons
from nearer.reports import Report

pytestmark = pytest.mark.browser

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(2)>", 'a "quote"', "it's", "line\nbreak", "emoji 🦄",
    "שלום עולם", "مرحبا", "日本語", "\u202eevil", "&amp;", "{{title}}", "x" * 300, "nul\x00",
]  # fmt: skip
UNCERTAIN = np.diag([0.01] * 5)


def names(n):
    return [f"object {i}" for i in range(n)]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_hover_shows_the_right_label(page, d):
    n = 30
    covariances = np.tile(UNCERTAIN[:d, :d], (n, 1, 1))
    groups = [f"g{i % 10}" for i in range(n)]
    page.open(Report("", spread(n, d), labels=names(n), covariances=covariances, groups=groups, history=history()))
    for i in (0, 7, 29):
        assert page.hover(i) == f"object {i}"
    page.mouse("mouseMoved", 2, 2)
    page.settle()
    assert page.tip() is None
    page.click("#convergence summary")
    assert page.js("return document.querySelectorAll('#chart-objective path.line, #chart-steps path.line').length") == 2
    assert page.state()["regions"] == n


def test_zoom_by_wheel_keys_and_buttons(page):
    page.open(Report("zoom", spread(25, 2), labels=names(25)))
    before = page.state()["scale"]
    x, y = page.position(8)
    page.wheel(x, y, -200)
    assert page.state()["scale"] > 1.2 * before
    assert page.position(8) == pytest.approx([x, y], abs=0.5)
    assert page.hover(8) == "object 8"
    page.wheel(x, y, 200)
    assert page.state()["scale"] == pytest.approx(before)
    for button, factor in (("#zoom-in", 1.5), ("#zoom-out", 1), ("#zoom-in", 1.5), ("#zoom-reset", 1)):
        page.click(button)
        assert page.state()["scale"] == pytest.approx(factor * before)
    for keys, factor in (("+", 1.4), ("--", 1 / 1.4), ("0", 1)):
        page.type("#canvas", keys)
        assert page.state()["scale"] == pytest.approx(factor * before)


def test_drag_and_arrow_keys_move_the_map(page):
    page.open(Report("pan", spread(25, 2)))
    x, y = page.position(3)
    page.drag(60, -40, start=(20, 20))
    assert page.position(3) == pytest.approx([x + 60, y - 40], abs=1)
    assert page.hover(3) == "3"
    page.type("#canvas", "\ue014")
    assert page.position(3)[0] == pytest.approx(x + 60 - 40, abs=1)


def test_three_dimensions_turn(page):
    page.open(Report("turn", np.random.default_rng(1).normal(size=(20, 3)), labels=[f"o{i}" for i in range(20)]))
    before, scale = page.state()["turn"], page.state()["scale"]
    page.drag(120, 45, start=(30, 30))
    turn = np.array(page.state()["turn"]).reshape(3, 3)
    assert not np.allclose(turn.ravel(), before)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-9)
    assert page.state()["scale"] == scale
    hits = [page.hover(i) == f"o{i}" for i in range(20)]
    assert sum(hits) >= 18  # one may hide another
    page.js("document.getElementById('drag-moves').checked = true")
    x, y = page.position(0)
    page.drag(30, 20, start=(30, 30))
    assert page.position(0) == pytest.approx([x + 30, y + 20], abs=1)


def test_five_dimensions_have_a_pair_plot_and_a_choice_of_axes(page):
    X = spread(30, 5)
    page.open(Report("five", X))
    assert page.js("return document.getElementById('pairs').hidden") is False
    choose = "const s = document.getElementById('axis-x'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    page.js(choose, "3")
    assert page.state()["axes"] == [3, 1]
    across = [page.position(i)[0] for i in range(30)]
    assert np.argsort(across).tolist() == np.argsort(X[:, 3]).tolist()
    # Choosing the dimension that the other axis shows exchanges the two.
    page.js(choose, "1")
    assert page.state()["axes"] == [1, 3]
    x, y = page.js(
        "const c = document.getElementById('pairs-canvas'); c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = c.getBoundingClientRect(); return [b.left + b.width / 8, b.top + b.height * 5 / 8]"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.mouse(kind, x, y, button="left", clickCount=1)
    assert page.state()["axes"] == [0, 3]


def test_hostile_text_is_shown_as_text(page):
    X = spread(len(HOSTILE), 2)
    T = np.array([[i, (i + 5) % len(HOSTILE), (i + 1) % len(HOSTILE)] for i in range(len(HOSTILE))])
    readable = [text.replace("\0", "") for text in HOSTILE]  # comparisons refuse a label with a NUL
    page.open(Report(
        "</title><script>alert(3)</script>", X, labels=HOSTILE, groups=["</script><b>", '"onload="alert(4)'] * 7,
        violations=worst_comparisons(X, Comparisons(T, labels=readable)), command="nearer fit '<b>.csv'",
        subtitle="<u>x</u>", facts={"<a href=x>": "<svg onload=alert(5)>"}, check={"problems": ["<b>bad</b>"]},
    ))  # fmt: skip
    assert page.driver.title == "</title><script>alert(3)</script>"
    shown = [page.hover(i) for i in range(len(HOSTILE))]
    assert shown == [*HOSTILE[:4], "line↵break", *HOSTILE[5:9], "\ufffdevil", *HOSTILE[10:13], "nul\ufffd"]
    assert page.js("return document.querySelectorAll('script').length") == 2
    assert page.js("return document.querySelectorAll('main b, main u, main img, a[href=x]').length") == 0
    assert page.text("#legend span") == '"onload="alert(4)'
    assert "<img src=x onerror=alert(2)>" in page.text("#violations")


def downloaded(page, button):
    """The file that a click on a button gives."""
    return page.driver.execute_async_script(
        "const done = arguments[1]; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };"
        "HTMLAnchorElement.prototype.click = () => {};"
        "document.getElementById(arguments[0]).dispatchEvent(new Event('click'));",
        button,
    )


def test_downloads_are_safe_in_a_spreadsheet(page):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [np.nan, np.nan]])
    page.open(Report("tables", X, labels=['a "quote"', "=b", "-1+2", "d"]))
    assert downloaded(page, "download").split("\r\n") == [
        "label,x1,x2", '"a ""quote""",0,0', "'=b,3,4", "'-1+2,0,1", "d,,", "",
    ]  # fmt: skip
    assert downloaded(page, "download-neighbours").split("\r\n")[:4] == [
        "label,rank,neighbour,distance", '"a ""quote""",1,\'-1+2,1', '"a ""quote""",2,\'=b,5', "'=b,1,'-1+2,4.24264",
    ]  # fmt: skip
    assert downloaded(page, "download-distances").split("\r\n")[1:] == [
        '"a ""quote""",0,5,1,', "'=b,5,0,4.24264,", "'-1+2,1,4.24264,0,", "d,,,,", "",
    ]  # fmt: skip


def test_ten_thousand_objects(page):
    n = 10_000
    covariances = np.tile(UNCERTAIN[:2, :2], (n, 1, 1))
    page.open(Report("many", spread(n, 2), labels=names(n), covariances=covariances, groups=np.arange(n) % 7))
    state = page.state()
    assert (state["visible"], state["regions"]) == (n, 0)
    x, y = page.position(4321)
    for _ in range(8):
        page.wheel(x, y, -240)
    assert page.hover(4321) == "object 4321"
    state = page.state()
    assert 0 < state["visible"] < 3000
    assert state["regions"] == state["visible"]
    assert 0 < state["labels"] <= state["visible"]


def test_search_finds_and_centres(page):
    page.open(Report("search", spread(42, 2), labels=[*names(40), "Zebra", "zebra crossing"]))
    page.type("#search", "ZEBRA")
    assert page.text("#announce") == "2 objects found"
    for label in ("Zebra", "zebra crossing"):
        page.type("#search", "\ue007")
        assert page.tip() == label
    page.type("#search", " crossing nowhere")
    assert page.text("#announce") == "0 objects found"
    assert page.tip() is None
    # A name found is drawn though names are switched off, and once.
    page.click("#show-labels")
    page.js("document.getElementById('search').value = ''")
    page.type("#search", "object 17")
    assert page.state()["labels"] == 1


def test_keys_step_through_the_objects(page):
    X = spread(9, 2)
    X[1] = np.nan
    page.open(Report("keys", X, labels=list("abcdefghi"), groups=list("xyzxyzxyz")))
    for keys, label in (("n", "a"), ("n", "c"), ("pp", "i"), ("\ue00c", None), ("nn", "c")):  # b has no position
        page.type("#canvas", keys)
        assert page.tip() == label
    assert page.text("#announce").startswith("c, z, nearest: ")


def test_legend_and_toggles(page):
    page.open(Report("legend", spread(20, 2), labels=[f"o{i}" for i in range(20)], groups=["a", "b"] * 10))
    assert page.state()["labels"] == 20
    page.click("#legend button")
    assert page.js("return document.querySelector('#legend button').getAttribute('aria-pressed')") == "true"
    assert page.state()["labels"] == 10
    page.click("#legend button")
    page.click("#show-labels")
    assert page.state()["labels"] == 0


def test_the_tooltip_tells_neighbours_and_answers(page):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [0.0, 2.0], [np.nan, np.nan]])
    check = {"too_few": [{"object": "b", "n_questions": 1}]}
    page.open(Report("tip", X, labels=list("abcde"), n_answers=[30, 1, 4, 5, 0], check=check))
    lines = "return [...document.querySelectorAll('#tip span')].map((line) => line.textContent)"
    assert page.hover(0) == "a"
    assert page.js(lines) == ["nearest: b, d, c", "in 30 answers"]
    assert page.hover(1) == "b"
    assert page.js(lines) == ["nearest: a, d, c", "in 1 answer: too few to fix a position"]
    assert "Hollow: 1 object" in page.text(".notes")
    # Hollow: the middle of the marker of b is empty, that of a is not.
    page.mouse("mouseMoved", 2, 2)
    page.settle()
    assert page.pixel(1) == [255, 255, 255, 255]
    assert page.pixel(0) == [0, 114, 178, 255]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_regions_are_inside_the_map(page, d):
    covariances = np.tile(UNCERTAIN[:d, :d], (9, 1, 1))
    covariances[3] = 4 * np.eye(d)
    page.open(Report("regions", spread(9, d), covariances=covariances))
    state = page.state()
    x, y = page.position(3)
    reach = 2 * state["scale"] * (1.6449 if d == 1 else np.sqrt(-2 * np.log(0.1)))
    width, height = page.js("const c = document.getElementById('canvas'); return [c.clientWidth, c.clientHeight]")
    assert reach <= x <= width - reach
    assert d == 1 or reach <= y <= height - reach


def test_many_groups_have_looks_of_their_own(page):
    n = 70
    page.open(Report("groups", spread(n, 2), groups=[f"g{i}" for i in range(n)]))
    looks = page.js("return [...document.querySelectorAll('#legend canvas')].map((c) => c.toDataURL())")
    assert len(looks) == len(set(looks)) == 56
    assert page.js("return [...document.querySelectorAll('#legend button')].pop().textContent") == "other (15 groups)"
