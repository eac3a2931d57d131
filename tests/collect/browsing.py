"""A participant in a real Chromium."""

from __future__ import annotations

import contextlib
import json

from selenium.common.exceptions import TimeoutException

KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, " ": 32, "Tab": 9}


class Participant:
    """One browser, at one page of a study."""

    def __init__(self, driver):
        self.driver, self._script = driver, None

    def hurry(self, times):
        """From the next page on the page's clock is so many times as fast, and what it waits for so much shorter."""
        if self._script is not None:
            self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": self._script})
        self._script = None
        if times != 1:
            clock = f"""{{
              const now = performance.now.bind(performance), wait = setTimeout;
              performance.now = () => {times} * now();
              window.setTimeout = (what, time) => wait(what, time / {times});
            }}"""
            added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": clock})
            self._script = added["identifier"]

    def size(self, width, height=800, mobile=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": mobile})

    def open(self, url, fresh=True):
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        if fresh:
            self.driver.get(url)
            self.js("localStorage.clear(); sessionStorage.clear()")
        self.driver.get(url)
        self.wait("!document.getElementById('words').hidden || !document.getElementById('asking').hidden")

    def js(self, code, *args):
        return self.driver.execute_script(code, *args)

    def wait(self, condition, *args, seconds=20):
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.driver, seconds, 0.03)
        return waiting.until(lambda driver: driver.execute_script(f"return {condition}", *args))

    def text(self, selector="main"):
        return self.js("return document.querySelector(arguments[0]).innerText", selector)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
            if key in ("Enter", " "):
                event["text"] = "\r" if key == "Enter" else " "
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", event)

    def _middle(self, selector, number=0):
        return self.js(
            "const b = document.querySelectorAll(arguments[0])[arguments[1]].getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]",
            selector,
            number,
        )

    def click(self, selector, number=0, times=1):
        x, y = self._middle(selector, number)
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": count}
                self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    def tap(self, selector, number=0):
        """Touch until there is a click that counts.

        On a busy machine a touch may last long enough to be a long press, and one soon after another at the same place
        is a double click, which the page does not take for an answer.
        """
        counting = "addEventListener('click', (event) => { window.clicks += event.detail < 2; }, {capture: true})"
        self.js(f"window.clicks = 0; {counting}")
        for _ in range(5):
            x, y = self._middle(selector, number)
            points = {"touchStart": [{"x": x, "y": y}], "touchEnd": []}
            for kind, touched in points.items():
                self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})
            with contextlib.suppress(TimeoutException):
                return self.wait("window.clicks > 0", seconds=1)
        raise AssertionError(f"no click after five touches of {selector}")

    def offline(self, cut):
        conditions = {"offline": cut, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def ready(self, before=None):
        """Wait for a question other than `before`, long enough on the screen to be answered; give its id."""
        return self.driver.execute_async_script(
            """
            const [before, done] = arguments;
            (function look() {
              const shown = document.documentElement.dataset.ready;
              const there = !document.getElementById('asking').hidden && shown && shown !== before;
              if (there) setTimeout(() => done(shown), 270); else setTimeout(look, 10);
            })()
            """,
            before or "",
        )

    def agree(self, practice=True):
        """Through consent and instructions to the first question."""
        self.click("#go")
        self.wait("document.getElementById('progress').hidden === false")
        self.click("#go")
        if practice:
            assert self.ready() == "practice"
            assert "does not count" in self.text()
            self.choose()
            self.wait("!document.getElementById('words').hidden")
            self.click("#go")
        return self.ready("practice")

    def choose(self, number=0):
        self.click("#options button", number)

    def finished(self):
        return self.js("return document.documentElement.dataset.finished === 'yes'")

    def requests(self):
        """Addresses asked for since `open`."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def complaints(self):
        """Messages of the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def shot(self, path):
        import base64

        data = self.driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
        path.write_bytes(base64.b64decode(data))
