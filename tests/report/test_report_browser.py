"""The report in a real Chromium: what a reader sees and does."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

from nearer.report import ReportData, Scores, build_report, worst_violations

pytestmark = pytest.mark.browser

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(2)>", 'a "quote"', "it's", "line\nbreak", "emoji 🦄",
    "שלום עולם", "مرحبا", "日本語", "=SUM(A1)", "-1+2", "\u202eevil", "&amp;", "{{title}}", "x" * 300, "nul\x00",
]  # fmt: skip
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
]  # fmt: skip


def start_browser(profile):
    """A fresh headless Chromium, or a skip (a failure where a browser is required)."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        webdriver = None
    if webdriver is None or chromium is None or chromedriver is None:
        missing = "selenium" if webdriver is None else "chromium" if chromium is None else "chromedriver"
        message = f"{missing} is not installed"
        if os.environ.get("NEARER_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{message}, and NEARER_REQUIRE_BROWSER is 1")
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(chromedriver))


class Page:
    """One browser; opens reports, moves the pointer, reads what is shown."""

    def __init__(self, driver, folder):
        self.driver, self.folder = driver, folder

    def open(self, data, width=1280, height=900):
        path = build_report(data, self.folder / "report.html", force=True)
        self.resize(width, height)
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.wait("document.documentElement.dataset.ready === 'yes'")
        # Point away from the map: the pointer stays where the last page left it.
        self.mouse("mouseMoved", 2, 2)
        self.settle()

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def js(self, code, *args):
        return self.driver.execute_script(code, *args)

    def wait(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 30, 0.05).until(lambda driver: driver.execute_script(f"return {condition}"))

    def settle(self):
        """Let two frames pass, so that what was asked for is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
        )

    def state(self):
        return self.js("return document.getElementById('canvas').nearer.state()")

    def position(self, i):
        """Where object i is, in pixels of the canvas."""
        return self.js("return document.getElementById('canvas').nearer.position(arguments[0])", i)

    def to_window(self, x, y):
        return self.js(
            "const c = document.getElementById('canvas'); c.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = c.getBoundingClientRect(); return [b.left + arguments[0], b.top + arguments[1]]",
            x,
            y,
        )

    def mouse(self, kind, x, y, **more):
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def hover(self, i):
        """Point at object i; return the label in the tooltip."""
        x, y = self.to_window(*self.position(i))
        self.mouse("mouseMoved", x, y)
        self.settle()
        return self.tip()

    def tip(self):
        return self.js(
            "const t = document.getElementById('tip'); return t.hidden ? null : t.querySelector('strong').textContent"
        )

    def drag(self, dx, dy, start=(200, 150)):
        x, y = self.to_window(*start)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for k in range(1, 6):
            self.mouse("mouseMoved", x + dx * k / 5, y + dy * k / 5, button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta):
        wx, wy = self.to_window(x, y)
        self.mouse("mouseWheel", wx, wy, deltaX=0, deltaY=delta)
        self.settle()

    def click(self, selector):
        self.js("document.querySelector(arguments[0]).click()", selector)
        self.settle()

    def type(self, selector, text):
        element = self.driver.find_element("css selector", selector)
        element.send_keys(text)
        self.settle()

    def assert_clean(self):
        """No console message, and nothing asked of any network."""
        assert [entry["message"] for entry in self.driver.get_log("browser")] == []
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        assert asked, "the page itself must be in the log"
        assert all(url.startswith(("file://", "data:", "blob:")) for url in asked), asked
        assert sum(url.startswith("file://") for url in asked) == 1


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    driver = start_browser(folder / "profile")
    yield Page(driver, folder)
    driver.quit()


def spread(n, d, seed=0):
    """Points of a jittered grid, so that none hides another."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(n ** (1 / min(d, 2))))
    grid = np.stack(np.unravel_index(np.arange(n), (side,) * min(d, 2)), axis=1).astype(float)
    grid += rng.uniform(-0.2, 0.2, grid.shape)
    return np.hstack([grid, rng.normal(size=(n, d - grid.shape[1]))]) if d > 2 else grid


def history(n=40):
    k = np.arange(n)
    return {"epoch": k, "n_gradients": 1000 * k, "objective": 1 + 100 * 0.8**k, "step_size": 0.9**k}


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_hover_shows_the_right_label(page, d):
    n = 30
    covariances = np.tile(np.eye(d) * 0.01, (n, 1, 1))
    data = ReportData(
        f"{d} dimensions", spread(n, d), labels=[f"object {i}" for i in range(n)], covariances=covariances,
        groups=[f"g{i % 10}" for i in range(n)], history=history(),
    )  # fmt: skip
    page.open(data)
    for i in (0, 7, 29):
        assert page.hover(i) == f"object {i}"
    page.mouse("mouseMoved", 2, 2)
    page.settle()
    assert page.tip() is None
    assert page.js("return document.querySelectorAll('#chart-objective path.line, #chart-steps path.line').length") == 2
    assert page.state()["regions"] == n
    page.assert_clean()


def test_zoom_by_wheel_keys_and_buttons(page):
    page.open(ReportData("zoom", spread(25, 2), labels=[f"object {i}" for i in range(25)]))
    before = page.state()["scale"]
    x, y = page.position(8)
    page.wheel(x, y, -200)
    nearer = page.state()["scale"]
    assert nearer > 1.2 * before
    assert page.position(8) == pytest.approx([x, y], abs=0.5)
    assert page.hover(8) == "object 8"
    page.wheel(x, y, 200)
    assert page.state()["scale"] == pytest.approx(before)
    page.click("#zoom-in")
    assert page.state()["scale"] == pytest.approx(1.5 * before)
    page.click("#zoom-reset")
    assert page.state()["scale"] == pytest.approx(before)
    page.type("#canvas", "+")
    assert page.state()["scale"] == pytest.approx(1.4 * before)
    page.type("#canvas", "-")
    page.type("#canvas", "-")
    assert page.state()["scale"] == pytest.approx(before / 1.4)
    page.type("#canvas", "0")
    assert page.state()["scale"] == pytest.approx(before)
    page.assert_clean()


def test_drag_and_arrow_keys_move_the_map(page):
    page.open(ReportData("pan", spread(25, 2)))
    x, y = page.position(3)
    page.drag(60, -40, start=(20, 20))
    assert page.position(3) == pytest.approx([x + 60, y - 40], abs=1)
    assert page.hover(3) == "3"
    x, y = page.position(3)
    page.type("#canvas", "\ue014")
    assert page.position(3)[0] == pytest.approx(x - 40)
    page.assert_clean()


def test_three_dimensions_turn(page):
    page.open(ReportData("turn", np.random.default_rng(1).normal(size=(20, 3)), labels=[f"o{i}" for i in range(20)]))
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
    page.assert_clean()


def test_five_dimensions_have_a_pair_plot_and_a_choice_of_axes(page):
    X = spread(30, 5)
    page.open(ReportData("five", X))
    assert page.js("return document.getElementById('pairs').hidden") is False
    page.js(
        "const s = document.getElementById('axis-x'); s.value = '3'; s.dispatchEvent(new Event('change'))",
    )
    page.settle()
    assert page.state()["axes"] == [3, 1]
    positions = np.array([page.position(i) for i in range(30)])
    assert np.argsort(positions[:, 0]).tolist() == np.argsort(X[:, 3]).tolist()
    # Choosing the dimension that the other axis shows exchanges the two.
    page.js("const s = document.getElementById('axis-x'); s.value = '1'; s.dispatchEvent(new Event('change'))")
    assert page.state()["axes"] == [1, 3]
    x, y = page.js(
        "const c = document.getElementById('pairs-canvas'); c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = c.getBoundingClientRect(); return [b.left + b.width / 8, b.top + b.height * 5 / 8]"
    )
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    page.settle()
    assert page.state()["axes"] == [0, 3]
    page.assert_clean()


def test_hostile_text_is_shown_as_text(page):
    X = spread(len(HOSTILE), 2)
    T = np.array([[i, (i + 5) % len(HOSTILE), (i + 1) % len(HOSTILE)] for i in range(len(HOSTILE))])
    data = ReportData(
        "</title><script>alert(3)</script>", X, labels=HOSTILE, groups=["</script><b>", '"onload="alert(4)'] * 8,
        violations=worst_violations(X, T, labels=HOSTILE), command="nearer fit '<b>.csv'", subtitle="<u>x</u>",
        facts={"<a href=x>": "<svg onload=alert(5)>"}, check={"problems": ["<b>bad</b>"]},
    )  # fmt: skip
    page.open(data)
    assert page.driver.title == "</title><script>alert(3)</script>"
    shown = [page.hover(i) for i in range(len(HOSTILE))]
    assert shown[0] == "<script>alert(1)</script>"
    assert shown[4] == "line↵break"
    assert shown[5:9] == ["emoji 🦄", "שלום עולם", "مرحبا", "日本語"]
    assert shown[11] == "\ufffdevil"
    assert shown[14] == "x" * 300
    assert page.js("return document.querySelectorAll('script').length") == 2
    assert page.js("return document.querySelectorAll('main b, main u, main img, a[href=x]').length") == 0
    assert page.js("return document.querySelector('#legend span').textContent") == '"onload="alert(4)'
    text = page.js("return document.querySelector('#violations').textContent")
    assert "<img src=x onerror=alert(2)>" in text
    page.assert_clean()


def test_download_is_safe_in_a_spreadsheet(page):
    X = spread(len(HOSTILE), 2)
    X[3] = np.nan
    page.open(ReportData("csv", X, labels=HOSTILE))
    text = page.driver.execute_async_script(
        "const done = arguments[0]; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };"
        "HTMLAnchorElement.prototype.click = () => {};"
        "document.getElementById('download').dispatchEvent(new Event('click'));"
    )
    lines = text.split("\r\n")
    assert lines[0] == "label,x1,x2"
    assert lines[3].startswith('"a ""quote""",')
    assert lines[4] == "it's,,"
    assert lines[10].startswith("'=SUM(A1),")
    assert lines[11].startswith("'-1+2,")
    assert len(lines) == len(HOSTILE) + 2
    page.assert_clean()


def test_ten_thousand_objects(page):
    n = 10_000
    labels = [f"object {i}" for i in range(n)]
    covariances = np.tile(np.eye(2) * 0.01, (n, 1, 1))
    page.open(ReportData("many", spread(n, 2), labels=labels, covariances=covariances, groups=np.arange(n) % 7))
    state = page.state()
    assert state["visible"] == n
    assert state["regions"] == 0
    assert "Zoom in to see the regions" in page.js("return document.getElementById('status').textContent")
    x, y = page.position(4321)
    for _ in range(8):
        page.wheel(x, y, -240)
    assert page.hover(4321) == "object 4321"
    state = page.state()
    assert 0 < state["visible"] < 3000
    assert state["regions"] == state["visible"]
    assert 0 < state["labels"] <= state["visible"]
    page.drag(40, 10, start=(15, 15))
    assert page.hover(4321) == "object 4321"
    page.assert_clean()


def test_search_finds_and_centres(page):
    labels = [f"object {i}" for i in range(40)] + ["Zebra", "zebra crossing"]
    page.open(ReportData("search", spread(42, 2), labels=labels))
    page.type("#search", "ZEBRA")
    assert page.js("return document.getElementById('announce').textContent") == "2 objects found"
    page.type("#search", "\ue007")
    assert page.tip() == "Zebra"
    page.type("#search", "\ue007")
    assert page.tip() == "zebra crossing"
    page.type("#search", " crossing nowhere")
    assert page.js("return document.getElementById('announce').textContent") == "0 objects found"
    assert page.tip() is None
    page.assert_clean()


def test_keys_step_through_the_objects(page):
    X = spread(9, 2)
    X[1] = np.nan
    page.open(ReportData("keys", X, labels=list("abcdefghi"), groups=list("xyzxyzxyz")))
    page.type("#canvas", "n")
    assert page.tip() == "a"
    page.type("#canvas", "n")
    assert page.tip() == "c"  # b has no position
    assert page.js("return document.getElementById('announce').textContent").startswith("c, z, at (")
    page.type("#canvas", "p")
    page.type("#canvas", "p")
    assert page.tip() == "i"
    page.type("#canvas", "\ue00c")
    assert page.tip() is None
    page.assert_clean()


def test_legend_and_toggles(page):
    page.open(ReportData("legend", spread(20, 2), labels=[f"o{i}" for i in range(20)], groups=["a", "b"] * 10))
    everything = page.state()["labels"]
    assert everything == 20
    page.click("#legend button")
    assert page.js("return document.querySelector('#legend button').getAttribute('aria-pressed')") == "true"
    assert page.state()["labels"] == 10
    page.click("#legend button")
    page.click("#show-labels")
    assert page.state()["labels"] == 0
    page.assert_clean()


def test_pictures_are_shown(page, tmp_path):
    from PIL import Image

    for name in "abc":
        Image.new("RGB", (100, 200), (10, 200, 30)).save(tmp_path / f"{name}.png")
    page.open(ReportData("pictures", spread(4, 2), labels=list("abcd"), thumbnails=tmp_path))
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
    data = ReportData(
        "A title that is rather long for a small screen", spread(n, 2), labels=[f"object number {i}" for i in range(n)],
        groups=[f"group {i % 9}" for i in range(n)], subtitle="9,090 triplets over 400 objects",
        scores=Scores(0.93, 0.91, 0.9, 0.92, 0.95, 0.94, 0.91), history=history(), command="nearer fit " + "a" * 200,
        dimensions={"n_components": [1, 2, 3], "accuracy": [0.7, 0.9, 0.91], "standard_error": [0.01] * 3},
        learning_curve={"n_comparisons": [10, 20, 40], "accuracy": [0.6, 0.7, 0.75], "extrapolated": [0, 0, 1]},
        chosen_dimension=2, violations=worst_violations(spread(n, 2), np.array([[0, 59, 1], [3, 50, 4]])),
        facts={"long" * 20: "x" * 300},
    )  # fmt: skip
    page.open(data, width=width)
    assert page.js("return document.documentElement.scrollWidth") <= width
    canvas = page.js(
        "const c = document.getElementById('canvas'); return [c.width, c.clientWidth, c.height, c.clientHeight]"
    )
    assert canvas[0] == canvas[1]
    assert canvas[2] == canvas[3]
    assert all(0 <= page.position(i)[0] <= canvas[1] for i in range(n))
    charts = page.js("return [...document.querySelectorAll('.chart svg')].map((s) => s.getBoundingClientRect().width)")
    assert len(charts) == 4
    assert max(charts) <= width
    outside = page.js(
        "return [...document.querySelectorAll('.chart text')].filter((t) => { const b = t.getBoundingClientRect();"
        "return b.left < 0 || b.right > innerWidth; }).map((t) => t.textContent)"
    )
    assert outside == []
    page.assert_clean()


def test_the_map_follows_a_resize_and_survives_being_hidden(page):
    page.open(ReportData("resize", spread(30, 2), labels=[f"o{i}" for i in range(30)]))
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
    page.open(ReportData("dark", spread(5, 2)))

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
    page.open(ReportData("none", np.full((3, 2), np.nan)))
    assert "3 of 3 objects" in page.js("return document.querySelector('.notes').textContent")
    page.type("#canvas", "n")
    page.assert_clean()


def test_one_object_and_equal_positions(page):
    page.open(ReportData("one", np.zeros((3, 2)), labels=["a", "b", "c"]))
    assert page.hover(0) in ("a", "b", "c")
    page.assert_clean()
