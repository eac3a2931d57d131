"""A headless Chromium for the tests of pages."""

from __future__ import annotations

import json
import os
import shutil

import pytest

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


class Window:
    """A browser with a page that is read and clicked."""

    def __init__(self, driver):
        self.driver = driver

    def js(self, code, *args):
        return self.driver.execute_script(code, *args)

    def wait(self, condition, *args, seconds=30):
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.driver, seconds, 0.03)
        return waiting.until(lambda driver: driver.execute_script(f"return {condition}", *args))

    def size(self, width, height=800, mobile=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": mobile})

    def requests(self):
        """Addresses asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def complaints(self):
        """Messages of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
