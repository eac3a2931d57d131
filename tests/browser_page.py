"""A page that is opened in a browser: the pointer moves, what is shown is read."""

from __future__ import annotations

import numpy as np

from browser import Window


class Page(Window):
    """Opens pages, moves the pointer, reads what is shown."""

    def __init__(self, driver, folder):
        super().__init__(driver)
        self.folder = folder

    def open(self, report, width=1280, height=900):
        self.visit(report.save(self.folder / "report.html", force=True), width, height)
        self.wait("document.documentElement.dataset.ready === 'yes'")
        # Point away from the map: the pointer stays where the last page left it.
        self.mouse("mouseMoved", 2, 2)
        self.settle()

    def visit(self, path, width=1280, height=900):
        """Open a file, with nothing in the logs from before."""
        self.driver.get("about:blank")
        self.size(width, height)
        self.complaints()
        self.requests()
        self.driver.get(path.as_uri())

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0]).textContent", selector)

    def pixel(self, i):
        """The colour of the map at object i: red, green, blue and opacity."""
        return self.js(
            "const copy = new OffscreenCanvas(1, 1).getContext('2d'), map = document.getElementById('canvas');"
            "copy.drawImage(map, arguments[0], arguments[1], 1, 1, 0, 0, 1, 1);"
            "return [...copy.getImageData(0, 0, 1, 1).data]",
            *map(round, self.position(i)),
        )

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

    def assert_clean(self, n_files=1):
        """No console message, and nothing asked of any network; `n_files` were opened, None for any number."""
        assert self.complaints() == []
        asked = self.requests()
        assert asked, "the page itself must be in the log"
        assert all(url.startswith(("file://", "data:", "blob:")) for url in asked), asked
        assert n_files in (None, sum(url.startswith("file://") for url in asked))


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
