"""A real Chromium, and the page of a report in it, at desktop and phone width.

Chromium and its driver come from the distribution; `selenium` only speaks to them. Everything
waited for is a condition with a deadline.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from analysis.report.page import More, render
from harness.host import system_packages
from tests.support.needs import needs
from tests.support.pages import reports

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = (1280, 900), (390, 844)
DEADLINE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A browser, and the folder of the pages that it opens."""

    browser: Chrome
    folder: Path

    def open(
        self,
        example: reports.Example,
        *,
        size: tuple[int, int] = DESKTOP,
        dark: bool = False,
        more: More | None = None,
    ) -> None:
        """The example's page, drawn and at rest, in a window of that size."""
        text = render(example.model, example.timeline, example.views, (), more or More())
        self.show(text, size=size, dark=dark)
        if example.timeline:
            self.wait("return document.querySelector('#picture .xtick') !== null")

    def show(self, text: str, *, size: tuple[int, int], dark: bool = False) -> None:
        """A page in a window of that size."""
        page = self.folder / "report.html"
        page.write_text(text, encoding="utf-8")
        width, height = size
        phone = size == PHONE
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        self.tell("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.paper("dark" if dark else "light")
        self.browser.get(page.as_uri())

    def paper(self, scheme: str) -> None:
        """What the reader prefers: dark or light."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tell("Emulation.setEmulatedMedia", features=[feature])

    def tell(self, command: str, **arguments: Any) -> Any:
        return self.browser.execute_cdp_cmd(command, arguments)

    def ask(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def wait(self, script: str) -> None:
        """Until the script returns something true."""
        WebDriverWait(self.browser, DEADLINE_S).until(lambda _: self.ask(script), script)

    def complaints(self) -> list[str]:
        """What the console says, other than plain information."""
        logged = self.browser.get_log("browser")
        return [entry["message"] for entry in logged if entry["level"] not in {"INFO", "DEBUG"}]

    def requests(self) -> set[str]:
        """Addresses that the page asked for, itself included."""
        logged = [
            json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")
        ]
        sent = [m["params"] for m in logged if m["method"] == "Network.requestWillBeSent"]
        return {s["request"]["url"] for s in sent if s["documentURL"].startswith("file:")}

    def point(self, at_s: float) -> tuple[float, float]:
        """Where in the window that moment is, in the panel of the rates; scrolls there."""
        script = """
            const box = document.getElementById('picture');
            document.documentElement.style.scrollBehavior = 'auto';
            box.scrollIntoView();
            const { xaxis, yaxis2 } = box._fullLayout, at = box.getBoundingClientRect();
            return [at.x + xaxis._offset + xaxis.d2p(arguments[0]), at.y + yaxis2._offset + 60];
        """
        x, y = self.browser.execute_script(script, at_s)
        return x, y

    def mouse(self, kind: str, place: tuple[float, float], clicks: int = 0) -> None:
        """One event: "mouseMoved", or "mousePressed" and "mouseReleased" of the left button."""
        self.tell(
            "Input.dispatchMouseEvent",
            type=kind,
            x=place[0],
            y=place[1],
            button="left",
            buttons=0 if kind == "mouseReleased" else 1,
            clickCount=clicks,
        )


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    needs("browser")
    found, driver = (
        str(next(filter(None, map(system_packages.program, names))))
        for names in (system_packages.BROWSERS, system_packages.BROWSER_DRIVERS)
    )
    options = ChromeOptions()
    options.binary_location = found
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def screen(browser: Chrome, tmp_path: Path) -> Screen:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    return Screen(browser=browser, folder=tmp_path)
