"""The report in a real Chromium: how it looks, at two widths, dark, and with odd data."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from browser_page import history, spread
from nearer.metrics import worst_comparisons
from nearer.reports import Report
from nearer.selection import Evaluation
from nearer.warning_types import InputWarning

pytestmark = [pytest.mark.browser, pytest.mark.tools]


def everything(title, n, **more):
    """A report with every section."""
    return Report(
        title, spread(n, 2), labels=[f"object number {i}" for i in range(n)], groups=[f"g{i % 9}" for i in range(n)],
        evaluation=Evaluation(0.93, 0.91, 0.9, 0.92, 0.95, 0.94, 0.91),
        history=history(), command="nearer fit " + "a" * 200,
        dimensions={"n_components": [1, 2, 3], "accuracy": [0.7, 0.9, 0.91], "standard_error": [0.01] * 3},
        learning_curve={"n_comparisons": [10, 20, 40], "accuracy": [0.6, 0.7, 0.75], "extrapolated": [0, 0, 1]},
        chosen_dimension=2, **more,
    )  # fmt: skip


def test_pictures_are_shown(page, tmp_path):
    from PIL import Image

    for name in "abc":
        Image.new("RGB", (100, 200), (10, 200, 30)).save(tmp_path / f"{name}.png")
    with pytest.warns(InputWarning):
        page.open(Report("pictures", spread(4, 2), labels=list("abcd"), images=tmp_path))
    assert page.hover(1) == "b"
    page.wait("document.querySelector('#tip img').naturalWidth === 48")
    x, y = page.position(0)
    page.settle()
    pixel = page.js(
        "const ctx = document.getElementById('canvas').getContext('2d');"
        "return [...ctx.getImageData(arguments[0], arguments[1], 1, 1).data]",
        x,
        y,
    )
    assert pixel == pytest.approx([10, 200, 30, 255], abs=6)
    assert "Pictures: 3 of 4 objects." in page.js("return document.querySelector('.notes').textContent")
    page.assert_clean()


@pytest.mark.parametrize("width", [1280, 400])
def test_layout_fits_the_width(page, width):
    n = 60
    violations = worst_comparisons(spread(n, 2), [[0, 59, 1], [3, 50, 4]])
    facts = {"long" * 20: "x" * 300}
    title = "A title that is rather long for a small screen"
    data = everything(title, n, subtitle="9,090 triplets over 400 objects", violations=violations, facts=facts)
    page.open(data, width=width)
    assert page.js("return document.documentElement.scrollWidth") <= width
    canvas = page.js(
        "const c = document.getElementById('canvas'); return [c.width, c.clientWidth, c.height, c.clientHeight]"
    )
    assert canvas[0] == canvas[1]
    assert canvas[2] == canvas[3]
    assert all(0 <= page.position(i)[0] <= canvas[1] for i in range(n))
    charts = page.js("return [...document.querySelectorAll('.chart svg')].map((s) => s.getBoundingClientRect().width)")
    assert len(charts) == 3  # that of the step sizes is for the curious
    assert max(charts) <= width
    outside = page.js(
        "return [...document.querySelectorAll('.chart text')].filter((t) => { const b = t.getBoundingClientRect();"
        "return b.left < 0 || b.right > innerWidth; }).map((t) => t.textContent)"
    )
    assert outside == []
    page.assert_clean()


def test_the_tools_of_many_dimensions_fit_a_small_screen(page):
    page.open(Report("seven", spread(30, 7)), width=400)
    assert page.js("return document.documentElement.scrollWidth") <= 400
    ends = page.js("return [...document.querySelectorAll('.tools *')].map((e) => e.getBoundingClientRect().right)")
    assert max(ends) <= 400


def test_the_map_follows_a_resize_and_survives_being_hidden(page):
    page.open(Report("resize", spread(30, 2), labels=[f"o{i}" for i in range(30)]))
    page.resize(500, 800)
    page.wait("document.getElementById('canvas').width === document.getElementById('canvas').clientWidth")
    page.js("document.getElementById('map').style.display = 'none'")
    page.settle()
    page.js("document.getElementById('map').style.display = ''")
    page.settle()
    page.settle()
    assert page.js("const c = document.getElementById('canvas'); return c.width === c.clientWidth && c.width > 300")
    assert page.hover(12) == "o12"


def test_dark_mode_changes_the_colours(page):
    page.open(Report("dark", spread(5, 2)))

    def background():
        return page.js("return getComputedStyle(document.body).backgroundColor")

    light = background()
    try:
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
        page.settle()
        assert background() != light
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.assert_clean()


def test_no_position_at_all(page):
    page.open(Report("none", np.full((3, 2), np.nan)))
    assert "3 of 3 objects" in page.js("return document.querySelector('.notes').textContent")
    page.type("#canvas", "n")
    page.assert_clean()


def test_one_object_and_equal_positions(page):
    page.open(Report("one", np.zeros((3, 2)), labels=["a", "b", "c"]))
    assert page.hover(0) in ("a", "b", "c")
    page.assert_clean()


def test_print_shows_every_group(page):
    n = 300
    page.open(Report("groups", spread(n, 2), groups=[f"a group with a longer name {i % 60}" for i in range(n)]))
    hidden = "const l = document.getElementById('legend'); return l.scrollHeight - l.clientHeight"
    assert page.js(hidden) > 0  # on a screen it scrolls
    page.js("window.dispatchEvent(new Event('beforeprint'))")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page.settle()
        assert page.js(hidden) <= 0
        assert page.js("return document.querySelectorAll('#legend button').length") == 56
        end = page.js("return document.getElementById('legend').getBoundingClientRect().bottom + scrollY")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.js("window.dispatchEvent(new Event('afterprint'))")
    assert end < (297 - 2 * 14) / 25.4 * 96


def test_pictures_that_have_no_room_are_counted(page, tmp_path):
    from PIL import Image

    for name in "abcdef":
        Image.new("RGB", (60, 60), (10, 200, 30)).save(tmp_path / f"{name}.png")
    points = np.array([[0.0, 0], [0.001, 0], [1, 0], [1.001, 0], [0, 1], [1, 1]])
    page.open(Report("pictures", points, labels=list("abcdef"), images=tmp_path))
    page.wait("document.getElementById('status').textContent.includes('pictures for 4 of 6 that have one')")


@pytest.mark.parametrize("n", [21, 400])
def test_print_starts_with_the_map_and_takes_four_pages_at_most(page, n):
    rng = np.random.default_rng(0)
    index = np.array([rng.permutation(n)[:3] for _ in range(500)])
    problems = ["A problem that takes some lines to tell. " * 8] * 3
    violations, facts = worst_comparisons(spread(n, 2), index), {f"fact {k}": "text " * 12 for k in range(12)}
    data = everything("Print", n, violations=violations, check={"problems": problems}, facts=facts)
    page.open(data)
    printed = page.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert base64.b64decode(printed["data"]).count(b"/Type /Page\n") <= 4
    # What the page looks like while it is printed: the map is drawn for the paper, and fits on the first sheet.
    page.js("window.dispatchEvent(new Event('beforeprint'))")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        end, wide, drawn = page.js(
            "const c = document.getElementById('canvas'), b = c.getBoundingClientRect();"
            "return [b.bottom + scrollY, b.width, c.width]"
        )
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.js("window.dispatchEvent(new Event('afterprint'))")
    assert end < (297 - 2 * 14) / 25.4 * 96
    assert wide == pytest.approx(182 / 25.4 * 96, abs=3)
    assert drawn == pytest.approx(wide, abs=2)
