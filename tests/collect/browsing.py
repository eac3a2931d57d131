"""A participant in a real Chromium."""

from __future__ import annotations

import contextlib

from selenium.common.exceptions import TimeoutException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import Window

WORDS_SHOWN = "!document.getElementById('words').hidden"


class Participant(Window):
    """A browser at a page of a study."""

    _script = None

    def hurry(self, times):
        """From the next page on the page's clock is so many times as fast, and what it waits for so much shorter."""
        if self._script is not None:
            self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": self._script})
        clock = f"""{{
          const now = performance.now.bind(performance), wait = setTimeout;
          performance.now = () => {times} * now();
          window.setTimeout = (what, time) => wait(what, time / {times});
        }}"""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": clock})
        self._script = added["identifier"]

    def open(self, url, fresh=True):
        self.requests()
        self.complaints()
        if fresh:
            self.driver.get(url)
            self.js("localStorage.clear(); sessionStorage.clear()")
        self.driver.get(url)
        self.wait(f"{WORDS_SHOWN} || !document.getElementById('asking').hidden")

    def text(self, selector="main"):
        return self.js("return document.querySelector(arguments[0]).innerText", selector)

    def press(self, *keys):
        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    def click(self, selector, number=0, times=1):
        element = self.driver.find_elements("css selector", selector)[number]
        acts = ActionChains(self.driver, duration=0)
        (acts.click if times == 1 else acts.double_click)(element).perform()

    def tap(self, selector, number=0):
        """Touch until it counts: on a busy machine a touch may be a long press, or the second of a double click."""
        middle = "const b = document.querySelectorAll(arguments[0])[arguments[1]].getBoundingClientRect();"
        x, y = self.js(f"{middle} return [b.left + b.width / 2, b.top + b.height / 2]", selector, number)
        counting = "addEventListener('click', (event) => { window.clicks += event.detail < 2; }, {capture: true})"
        self.js(f"window.clicks = 0; {counting}")
        for _ in range(5):
            for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
                self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            with contextlib.suppress(TimeoutException):
                return self.wait("window.clicks > 0", seconds=1)
        raise AssertionError(f"no click after five touches of {selector}")

    def offline(self, cut):
        conditions = {"offline": cut, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def ready(self, before=None):
        """Wait for a question other than `before`, long enough on the screen to be answered; None at the end."""
        return self.driver.execute_async_script(
            """
            const [before, done] = arguments;
            (function look() {
              const { ready, finished } = document.documentElement.dataset;
              const there = !document.getElementById('asking').hidden && ready && ready !== before;
              if (finished) done(null);
              else if (there) setTimeout(() => done(ready), 270); else setTimeout(look, 10);
            })()
            """,
            before or "",
        )

    def agree(self, practice):
        """Through consent and instructions to the first question."""
        self.click("#go")
        self.wait("document.getElementById('progress').hidden === false")
        self.click("#go")
        if practice:
            assert self.ready() == "practice"
            assert "does not count" in self.text()
            for number in range(self.js("return document.querySelector('#options [aria-pressed]') ? 2 : 1")):
                self.choose(number)
            self.wait(WORDS_SHOWN)
            self.click("#go")
        return self.ready("practice")

    def begin(self, served, practice=False):
        """From the address to the first question."""
        self.open(f"{served.url}?id=x")
        return self.agree(practice)

    def choose(self, number=0):
        self.click("#options button", number)

    def answer(self, shown, *acts):
        """Do something at each question, and wait for the next one or the end."""
        for act in acts:
            act()
            shown = self.ready(shown)
        return shown
