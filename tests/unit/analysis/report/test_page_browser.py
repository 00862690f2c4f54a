"""report.html in a real Chromium, at desktop and phone width, on light and dark paper."""

import base64
from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By

from analysis.report.figure.panels import PALETTE
from tests.support.pages import reports
from tests.support.pages.page_browser import DESKTOP, PHONE, Screen
from tests.support.pages.report_parts import beside_report

pytestmark = pytest.mark.browser

LABELS = """document.getElementById('picture').layout.annotations
    .filter((note) => note.name === 'fault' && note.visible)"""


TOO_WIDE = """
    document.querySelectorAll('details:not(#close-up)').forEach((part) => (part.open = true));
    const cards = [...document.querySelectorAll('.box:has(.cards)')];
    const wide = cards.filter((box) => box.scrollWidth > box.clientWidth);
    return [cards.length, wide.map((box) => `${box.ariaLabel}: ${box.scrollWidth} px`)];
"""
# All that evidence of one record can say, as long as it comes.
FULL = {
    "value": 4402444557615104,
    "producer": 4004,
    "sequence": 1099511,
    "sent": "acked",
    "partition": 11,
    "offset": 4711123,
    "other_partition": 10,
    "other_offset": 4711999,
    "other_value": 4402444557615105,
    "outcome": "delivered_before",
    "sent_s": 1234.5,
    "acked_s": 1235.5,
    "delivered_s": 1236.5,
    "time_s": 1237.5,
    "leader": "kafka12",
    "epoch": 117,
    "permitted_by": "kafka2, outside the ISR, came to lead partition 11 instead of kafka1, at 9 s",
}

READ = {
    "reader": "transformer-0-2 transaction 1511, transformer-1 transaction 1512",
    "lasted_s": 1.5,
    "outcome": None,
    "other_value": None,
    "copies": 2,
}


def full() -> reports.Example:
    """The invalid run, with evidence that says all it can."""
    example = reports.invalid()
    anomalies = example.report["anomalies"]
    anomalies["lost"]["examples"] = [FULL]
    anomalies["duplicate"] |= {"count": 1, "examples": [FULL | READ]}
    return example


@pytest.mark.parametrize(
    ("build", "size"),
    [
        pytest.param(full, DESKTOP, id="invalid-desktop"),
        pytest.param(reports.hostile, DESKTOP, id="hostile-desktop"),
        pytest.param(full, PHONE, id="invalid-phone"),
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
    if build is full:
        boxes, too_wide = screen.ask(TOO_WIDE)
        assert [] == too_wide
        assert boxes >= 4


def test_hovering_tells_what_held_and_dragging_zooms_all_panels(screen: Screen) -> None:
    """Until a double click shows all again."""
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

    shown = "document.getElementById('picture').layout.xaxis.range"
    before = screen.ask(f"return {shown}")
    left, right = screen.point(10.0), screen.point(20.0)
    screen.mouse("mousePressed", left, clicks=1)
    screen.mouse("mouseMoved", ((left[0] + right[0]) / 2, left[1]))
    screen.mouse("mouseMoved", right)
    screen.mouse("mouseReleased", right, clicks=1)
    screen.wait(f"return {shown}[1] - {shown}[0] < 12")
    assert [10.0, 20.0] == [pytest.approx(x, abs=0.5) for x in screen.ask(f"return {shown}")]

    slow = "picture._mouseDownTime = 0; picture._context.doubleClickDelay = 60_000"
    screen.ask(f"const picture = document.getElementById('picture'); {slow}")
    for clicks in (1, 2):
        screen.mouse("mousePressed", left, clicks=clicks)
        screen.mouse("mouseReleased", left, clicks=clicks)
    screen.wait(f"return {shown}[1] - {shown}[0] > 20")
    assert before == screen.ask(f"return {shown}")
    assert [] == screen.complaints()


def test_on_a_phone_labels_stand_upright_a_touch_scrolls_and_cells_say_what_they_are(
    screen: Screen,
) -> None:
    screen.open(reports.invalid(), size=PHONE)

    assert [-90] * 10 == screen.ask(f"return {LABELS}.map((note) => note.textangle)")
    assert screen.ask("return document.getElementById('picture').layout.dragmode") is False
    name = "getComputedStyle(document.querySelector('.cards td'), '::before').content"
    assert screen.ask(f"return {name}") == '"value"'


def test_labels_without_room_wait_for_a_zoom(screen: Screen) -> None:
    screen.open(reports.kills(times=150, period_s=8.0), size=PHONE)
    assert 0 == screen.ask(f"return {LABELS}.length")

    screen.ask("Plotly.relayout('picture', {'xaxis.range': [101, 139]})")
    screen.wait(f"return {LABELS}.length === 4")


PAPER = "return getComputedStyle(document.body).backgroundColor"
INK = "return document.getElementById('picture').layout.font.color"


def test_the_picture_follows_the_reader_to_dark_paper_and_to_another_width(screen: Screen) -> None:
    screen.open(reports.invalid())
    assert [0] * 10 == screen.ask(f"return {LABELS}.map((note) => note.textangle)")
    light_paper, light_ink = screen.ask(PAPER), screen.ask(INK)
    screen.paper("dark")
    screen.wait(f"{INK} === '{PALETTE['ink'][1]}'")
    assert light_ink == PALETTE["ink"][0]
    assert light_paper != screen.ask(PAPER)

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


OPEN = "document.getElementById('close-up').open = true"
DRAWN = "return document.querySelector('#close-up-picture .xtick') !== null"
# What says that a table goes on beside the screen.
SIDEWAYS = "return getComputedStyle(document.querySelector('.sideways')).display !== 'none'"


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_close_up_is_drawn_when_it_is_opened_and_not_before(
    screen: Screen, size: tuple[int, int]
) -> None:
    screen.open(reports.kills(times=1), size=size, more=beside_report())
    empty = "return document.getElementById('close-up-picture').childElementCount === 0"
    assert screen.ask(empty)
    assert screen.ask(SIDEWAYS) is (size == PHONE)

    screen.ask(OPEN)
    screen.wait(DRAWN)

    marks = "return document.querySelectorAll('#close-up-picture .scatterlayer .point').length"
    assert screen.ask(marks) == 3
    assert [] == screen.complaints()
    wide = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
    assert 0 == screen.ask(wide)


def test_on_dark_paper_the_page_the_picture_and_the_close_up_are_dark(screen: Screen) -> None:
    screen.open(reports.kills(times=1), dark=True, more=beside_report())
    screen.ask(OPEN)
    screen.wait(DRAWN)

    ink = "return document.getElementById('close-up-picture').layout.font.color"
    assert screen.ask(INK) == screen.ask(ink) == PALETTE["ink"][1]
    dark_paper = screen.ask(PAPER)
    screen.paper("light")
    assert screen.ask(PAPER) != dark_paper
