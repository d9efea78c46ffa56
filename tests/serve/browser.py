# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by the WebDriver protocol through chromedriver.

Only loopback can be reached: every other name fails to resolve.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from tests.documented import free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
DRIVER = shutil.which("chromedriver")
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_PATIENCE = 60
_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39, " ": 32}


def lacking():
    """Return the reason why no browser is available, or ``None``."""
    if CHROMIUM is None or DRIVER is None:
        return "there is no Chromium with chromedriver on this machine"
    return None


@contextlib.contextmanager
def browsing(folder):
    """Yield a browser with its profile in ``folder``."""
    port = free_port()
    driver = subprocess.Popen(
        [DRIVER, f"--port={port}", "--log-level=SEVERE"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        browser = Browser(f"http://127.0.0.1:{port}", folder)
        try:
            yield browser
        finally:
            browser.quit()
    finally:
        driver.terminate()
        driver.wait(timeout=_PATIENCE)


class Browser:
    """A browser window."""

    def __init__(self, driver, folder):
        self._url = driver
        options = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={folder}"]}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        for _ in range(10 * _PATIENCE):
            with contextlib.suppress(urllib.error.URLError):
                self._send("GET", "/status")
                break
            time.sleep(0.1)
        made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._url += f"/session/{made['sessionId']}"
        self._send("POST", "/timeouts", {"script": 1_000 * _PATIENCE})

    def _send(self, method, path, data=None):
        sent = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(
            self._url + path, sent, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=2 * _PATIENCE) as response:
            return json.load(response)["value"]

    def open(self, url):
        """Load a page and wait until it is loaded."""
        self._send("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Return the result of a script; the page's policy does not apply to it."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """Return the value that a script passes to the last of its ``arguments``."""
        return self._send("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments):
        """Return the first true result of a script that is repeated."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if found := self.run(script, *arguments):
                return found
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}")

    def complaints(self):
        """Return new console messages: errors of scripts, violations of the content policy."""
        found = self._send("POST", "/se/log", {"type": "browser"})
        return [one["message"] for one in found if one["level"] in ("SEVERE", "WARNING")]

    def look(self, *, width=1280, height=900, dark=False):
        """Set the size of the window, and the preference for dark mode."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", {"features": [scheme]})

    def command(self, name, given):
        """Send a command of the DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": name, "params": given})

    def press(self, *keys, modifiers=0):
        """Press keys one after the other: characters, or names such as Tab."""
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            code = _CODES.get(key) or (ord(key.upper()) if key.isalnum() else 0)
            given = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            down = {"type": "keyDown", **given, **({"text": text} if text else {})}
            self.command("Input.dispatchKeyEvent", down)
            self.command("Input.dispatchKeyEvent", {"type": "keyUp", **given})

    def quit(self):
        """Close the window."""
        with contextlib.suppress(urllib.error.URLError):
            self._send("DELETE", "")
