"""report.html in a real Chromium, at desktop and phone width, on light and dark paper.

Chromium and its driver come from the distribution; `selenium` only speaks to them. Where they are
missing these tests fail and name the command that installs them: a page nobody opened is not
tested. Everything waited for is a condition with a deadline.
"""

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from analysis.report.page import render
from analysis.report.panels import PALETTE
from tests.support import reports

pytestmark = pytest.mark.browser

INSTALL = "apt-get install -y --no-install-recommends chromium chromium-driver"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
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
LABELS = """document.getElementById('picture').layout.annotations
    .filter((note) => note.name === 'fault' && note.visible)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A browser, and the folder of the pages that it opens."""

    browser: Chrome
    folder: Path

    def open(
        self, example: reports.Example, *, size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> None:
        """The example's page, drawn and at rest, in a window of that size."""
        page = self.folder / "report.html"
        page.write_text(render(example.report, example.timeline, example.views), encoding="utf-8")
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
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])
        self.browser.get(page.as_uri())
        if example.timeline:
            self.wait("return document.querySelector('#picture .xtick') !== null")

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
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        missing = "Chromium" if found is None else "chromedriver"
        pytest.fail(f"{missing} is not installed, so the page cannot be opened. Install: {INSTALL}")
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


@pytest.mark.parametrize(
    ("build", "size"),
    [
        pytest.param(reports.invalid, DESKTOP, id="invalid-desktop"),
        pytest.param(reports.hostile, DESKTOP, id="hostile-desktop"),
        pytest.param(reports.invalid, PHONE, id="invalid-phone"),
        pytest.param(reports.unknown, PHONE, id="unknown-phone"),
        pytest.param(reports.empty, PHONE, id="empty-phone"),
        pytest.param(reports.huge, PHONE, id="huge-phone"),
        pytest.param(reports.hostile, PHONE, id="hostile-phone"),
    ],
)
def test_the_verdict_is_found_and_nothing_is_wrong(
    screen: Screen, build: Callable[[], reports.Example], size: tuple[int, int]
) -> None:
    example = build()
    screen.open(example, size=size)

    verdict = screen.browser.find_element(By.ID, "verdict")
    assert verdict.is_displayed()
    assert verdict.location["y"] < size[1] / 2
    assert example.report["verdict"].capitalize() in verdict.text
    assert verdict.find_element(By.TAG_NAME, "svg").is_displayed()
    assert "broken" != screen.ask("return document.title")
    assert [] == screen.complaints()
    assert {screen.browser.current_url} == {u for u in screen.requests() if u[:5] != "data:"}
    wide = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
    assert 0 == screen.ask(wide)


def test_hovering_tells_what_held_at_that_moment(screen: Screen) -> None:
    example = reports.kills(times=3)
    screen.open(example)
    x, y = screen.point(example.report["faults"][1]["start_s"] + 1.0)
    for place in ((x - 3, y), (x, y)):
        screen.tell("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    screen.wait("return document.querySelector('#picture .hoverlayer').textContent !== ''")

    text = screen.ask("return document.querySelector('#picture .hoverlayer').textContent")
    assert "0 acks/s" in text
    assert "faults: kill →" in text
    assert "no acks:" in text


def test_dragging_zooms_all_panels_and_a_double_click_shows_all_again(screen: Screen) -> None:
    screen.open(reports.kills(times=3))
    shown = "document.getElementById('picture').layout.xaxis.range"
    before = screen.ask(f"return {shown}")
    left, right = screen.point(10.0), screen.point(20.0)
    screen.mouse("mousePressed", left, clicks=1)
    screen.mouse("mouseMoved", ((left[0] + right[0]) / 2, left[1]))
    screen.mouse("mouseMoved", right)
    screen.mouse("mouseReleased", right, clicks=1)
    screen.wait(f"return {shown}[1] - {shown}[0] < 12")
    assert [10.0, 20.0] == [pytest.approx(x, abs=0.5) for x in screen.ask(f"return {shown}")]

    for clicks in (1, 2):
        screen.mouse("mousePressed", left, clicks=clicks)
        screen.mouse("mouseReleased", left, clicks=clicks)
    screen.wait(f"return {shown}[1] - {shown}[0] > 20")
    assert before == screen.ask(f"return {shown}")
    assert [] == screen.complaints()


def test_labels_of_faults_lie_flat_where_there_is_room(screen: Screen) -> None:
    screen.open(reports.invalid())

    assert [0] * 10 == screen.ask(f"return {LABELS}.map((note) => note.textangle)")


def test_on_a_phone_labels_stand_upright_and_a_touch_scrolls_the_page(screen: Screen) -> None:
    screen.open(reports.invalid(), size=PHONE)

    assert [-90] * 10 == screen.ask(f"return {LABELS}.map((note) => note.textangle)")
    assert screen.ask("return document.getElementById('picture').layout.dragmode") is False


def test_labels_without_room_wait_for_a_zoom(screen: Screen) -> None:
    screen.open(reports.kills(times=150, period_s=8.0), size=PHONE)
    assert 0 == screen.ask(f"return {LABELS}.length")

    screen.ask("Plotly.relayout('picture', {'xaxis.range': [101, 139]})")
    screen.wait(f"return {LABELS}.length === 4")


def test_on_dark_paper_the_page_and_the_picture_are_dark(screen: Screen) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    ink = "return document.getElementById('picture').layout.font.color"
    screen.open(reports.invalid())
    light_paper, light_ink = screen.ask(paper), screen.ask(ink)
    screen.open(reports.invalid(), dark=True)

    assert light_paper != screen.ask(paper)
    assert PALETTE["ink"] == (light_ink, screen.ask(ink))


def test_the_picture_follows_the_reader_to_dark_paper_and_to_another_width(screen: Screen) -> None:
    screen.open(reports.invalid())
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    screen.tell("Emulation.setEmulatedMedia", features=features)
    screen.wait(
        f"return document.getElementById('picture').layout.font.color === '{PALETTE['ink'][1]}'"
    )

    screen.tell(
        "Emulation.setDeviceMetricsOverride",
        width=700,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    drawn = "document.querySelector('#picture .main-svg').getBoundingClientRect().width"
    screen.wait(f"return {drawn} < 700")
    assert [] == screen.complaints()


def test_printing_opens_the_details_and_closes_them_again(screen: Screen) -> None:
    screen.open(reports.control(), dark=True)
    closed = "return document.querySelectorAll('details:not([open])').length"
    before = screen.ask(closed)
    screen.ask(
        "addEventListener('beforeprint', () => { window.seen = document.querySelectorAll("
        "'details:not([open])').length })"
    )
    printed = screen.tell("Page.printToPDF", printBackground=True)

    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    assert before > 0
    assert 0 == screen.ask("return window.seen")
    screen.wait(f"return (() => {{ {closed} }})() === {before}")
    assert [] == screen.complaints()
