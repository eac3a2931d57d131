"""The report in a real Chromium: how it looks, at two widths, dark, and with odd data."""

from __future__ import annotations

import base64
import contextlib

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
        evaluation=Evaluation(0.93, 0.91, 0.9, 0.92, 0.95, 0.94, 0.91), history=history(), command="fit " + "a" * 200,
        dimensions={"n_components": [1, 2, 3], "accuracy": [0.7, 0.9, 0.91], "standard_error": [0.01] * 3},
        learning_curve={"n_comparisons": [10, 20, 40], "accuracy": [0.6, 0.7, 0.75], "extrapolated": [0, 0, 1]},
        chosen_dimension=2, **more,
    )  # fmt: skip


FIRST_SHEET = (297 - 2 * 14) / 25.4 * 96  # its height in CSS pixels


@contextlib.contextmanager
def shown_as(page, **media):
    """The page as it looks in print, or in the dark."""
    page.js("window.dispatchEvent(new Event(arguments[0]))", "beforeprint" if "media" in media else "none")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        page.settle()
        yield
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        page.js("window.dispatchEvent(new Event('afterprint'))")


def pictures(folder, names):
    from PIL import Image

    for name in names:
        Image.new("RGB", (100, 200), (10, 200, 30)).save(folder / f"{name}.png")


def test_pictures_are_shown_where_there_is_room(page, tmp_path):
    pictures(tmp_path, "abcde")
    points = np.array([[0.0, 0], [0.001, 0], [1, 0], [1.001, 0], [0, 1], [1, 1]])
    with pytest.warns(InputWarning):
        page.open(Report("pictures", points, labels=list("abcdef"), images=tmp_path))
    page.wait("document.getElementById('status').textContent.includes('pictures for 3 of 5 that have one')")
    assert page.hover(4) == "e"
    page.wait("document.querySelector('#tip img').naturalWidth === 48")
    page.settle()
    assert page.pixel(4) == pytest.approx([10, 200, 30, 255], abs=6)
    assert "Pictures: 5 of 6 objects." in page.text(".notes")


def test_svg_pictures_are_drawn_and_run_no_scripts(page, tmp_path):
    script = "<script>document.title = 'ran'; parent.document.title = 'ran'</script>"
    for name, size in (("a", ""), ("b", "width='300' height='3000'")):
        svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9' {size}>{script}"
        (tmp_path / f"{name}.svg").write_text(f"{svg}<rect width='9' height='9' fill='#0000ff'/></svg>")
    page.open(Report("pictures", np.array([[0.0, 0], [1, 0]]), labels=["a", "b"], images=tmp_path))
    page.wait("document.getElementById('canvas').nearer.state().pictured === 2")
    page.settle()
    assert page.pixel(0) == pytest.approx([0, 0, 255, 255], abs=6)
    assert page.hover(1) == "b"
    page.wait("document.querySelector('#tip img').naturalHeight === 3000")
    assert page.js("return document.querySelector('#tip img').clientHeight") <= 96
    assert page.js("return document.getElementById('canvas').toDataURL().length") > 1000  # it can be downloaded
    assert page.js("return document.title") == "pictures"


def test_pictures_get_smaller_before_they_are_left_out(page, tmp_path):
    names = [f"o{i}" for i in range(150)]
    pictures(tmp_path, names)
    page.open(Report("pictures", spread(150, 2), labels=names, images=tmp_path), width=400)
    page.wait("document.getElementById('canvas').nearer.state().pictured > 50")


@pytest.mark.parametrize("width", [1280, 400])
def test_layout_fits_the_width(page, width):
    n = 60
    violations, facts = worst_comparisons(spread(n, 2), [[0, 59, 1], [3, 50, 4]]), {"long" * 20: "x" * 300}
    title = "A title that is rather long for a small screen"
    page.open(everything(title, n, subtitle="9,090 triplets", violations=violations, facts=facts), width=width)
    assert page.js("return document.documentElement.scrollWidth") <= width
    drawn, shown = page.js(
        "const c = document.getElementById('canvas'); return [[c.width, c.height], [c.clientWidth, c.clientHeight]]"
    )
    assert drawn == shown
    assert all(0 <= page.position(i)[0] <= shown[0] for i in range(n))
    charts = page.js("return [...document.querySelectorAll('.chart svg')].map((s) => s.getBoundingClientRect().width)")
    assert len(charts) == 3  # that of the step sizes is for the curious
    assert max(charts) <= width
    outside = page.js(
        "return [...document.querySelectorAll('.chart text')].filter((t) => { const b = t.getBoundingClientRect();"
        "return b.left < 0 || b.right > innerWidth; }).map((t) => t.textContent)"
    )
    assert outside == []
    page.open(Report("seven", spread(30, 7)), width=width)
    ends = page.js("return [...document.querySelectorAll('.tools *')].map((e) => e.getBoundingClientRect().right)")
    assert max(ends) <= width


def test_the_map_follows_a_resize_and_survives_being_hidden(page):
    page.open(Report("resize", spread(30, 2), labels=[f"o{i}" for i in range(30)]))
    page.size(500, 800)
    page.wait("document.getElementById('canvas').width === document.getElementById('canvas').clientWidth")
    for display in ("none", "", ""):
        page.js("document.getElementById('map').style.display = arguments[0]", display)
        page.settle()
    assert page.js("const c = document.getElementById('canvas'); return c.width === c.clientWidth && c.width > 300")
    assert page.hover(12) == "o12"


def test_dark_mode_changes_the_colours(page):
    page.open(Report("dark", spread(5, 2)))
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.js(background)
    with shown_as(page, features=[{"name": "prefers-color-scheme", "value": "dark"}]):
        assert page.js(background) != light


def test_no_position_at_all_or_the_same_for_all(page):
    page.open(Report("none", np.full((3, 2), np.nan)))
    assert "3 of 3 objects" in page.text(".notes")
    page.type("#canvas", "n")
    page.open(Report("one", np.zeros((3, 2)), labels=["a", "b", "c"]))
    assert page.hover(0) in ("a", "b", "c")


def test_print_shows_every_group(page):
    n = 300
    page.open(Report("groups", spread(n, 2), groups=[f"a group with a longer name {i % 60}" for i in range(n)]))
    hidden = "const l = document.getElementById('legend'); return l.scrollHeight - l.clientHeight"
    assert page.js(hidden) > 0  # on a screen it scrolls
    with shown_as(page, media="print"):
        assert page.js(hidden) <= 0
        assert page.js("return document.querySelectorAll('#legend button').length") == 56
        end = page.js("return document.getElementById('legend').getBoundingClientRect().bottom + scrollY")
    assert end < FIRST_SHEET


@pytest.mark.parametrize("n", [21, 400])
def test_print_starts_with_the_map_and_takes_four_pages_at_most(page, n):
    rng = np.random.default_rng(0)
    index = np.array([rng.permutation(n)[:3] for _ in range(500)])
    check = {"problems": ["A problem that takes some lines to tell. " * 8] * 3}
    violations, facts = worst_comparisons(spread(n, 2), index), {f"fact {k}": "text " * 12 for k in range(12)}
    page.open(everything("Print", n, violations=violations, check=check, facts=facts))
    printed = page.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert base64.b64decode(printed["data"]).count(b"/Type /Page\n") <= 4
    # What the page looks like while it is printed: the map is drawn for the paper, and fits on the first sheet.
    with shown_as(page, media="print"):
        end, wide, drawn = page.js(
            "const c = document.getElementById('canvas'), b = c.getBoundingClientRect();"
            "return [b.bottom + scrollY, b.width, c.width]"
        )
    assert end < FIRST_SHEET
    assert wide == pytest.approx(182 / 25.4 * 96, abs=3)
    assert drawn == pytest.approx(wide, abs=2)
