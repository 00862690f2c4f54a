"""What a run recorded stays text on its page, in a real Chromium: none of it becomes an element, a
script, a request or a dialog, also in the picture, its labels and what it says to the mouse.

The same page is made of an attack in every place and of plain words of the same length, and the
elements of both are counted.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support import expected_conditions

from analysis.report.page import render
from tests.support.pages import reports
from tests.support.pages.hostile_reports import ATTACK, IN_PICTURE, looks, spoiled
from tests.support.pages.page_browser import DESKTOP, Screen
from tests.support.pages.report_parts import beside_report

pytestmark = pytest.mark.browser

PLAIN = "x" * len(ATTACK)
ELEMENTS = """
    const counts = {};
    for (const each of document.querySelectorAll('head, head *, body, body *')) {
        if (each.closest('.picture')) continue;
        counts[each.tagName] = (counts[each.tagName] || 0) + 1;
    }
    return counts;"""
ATTRIBUTES = """
    const names = new Set();
    for (const each of document.querySelectorAll('*'))
        for (const { name, value } of each.attributes)
            if (name.startsWith('on') || /^\\s*javascript:/i.test(value)) names.add(name);
    return [...names];"""
DRAWN = """
    const made = document.querySelectorAll(
        '.picture a, .picture image, .picture foreignObject, .picture script, .picture iframe');
    const bold = [...document.querySelectorAll('.picture tspan')].filter(
        (span) => ['bold', 'link'].includes(span.textContent));
    return made.length + bold.length;"""
SHOW_LABELS = """
    const notes = document.getElementById('picture').layout.annotations;
    const all = Object.fromEntries(notes.map((_, n) => [`annotations[${n}].visible`, true]));
    return Plotly.relayout('picture', all).then(() => true);"""


def opened(screen: Screen, text: str) -> dict[str, int]:
    """The page with that text in every place, drawn; how many elements of each kind it has."""
    example = spoiled(reports.kills(times=2), text)
    page = screen.folder / "report.html"
    beside = beside_report(reader=text, name=text)
    page.write_text(
        render(example.model, example.timeline, example.views, looks(text), beside),
        encoding="utf-8",
    )
    width, height = DESKTOP
    screen.tell(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )
    screen.browser.get(page.as_uri())
    screen.wait("return document.querySelector('#picture .xtick') !== null")
    screen.ask("document.getElementById('close-up').open = true")
    screen.wait("return document.querySelector('#close-up-picture .xtick') !== null")
    found: dict[str, int] = screen.ask(ELEMENTS)
    return found


def hovered(screen: Screen) -> str:
    """What the picture says to the mouse in the middle of the first fault."""
    x, below = screen.point(6.0)
    y = DESKTOP[1] / 2
    screen.ask(f"scrollBy(0, {below - y})")  # labels may take much room above
    for place in ((x - 3, y), (x, y)):
        screen.tell("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    screen.wait("return document.querySelector('#picture .hoverlayer').textContent !== ''")
    return str(screen.ask("return document.querySelector('#picture .hoverlayer').textContent"))


def test_no_recorded_text_becomes_an_element_a_script_a_request_or_a_dialog(
    screen: Screen,
) -> None:
    plain = opened(screen, PLAIN)
    attacked = opened(screen, ATTACK)

    assert plain == attacked
    assert screen.ask(ATTRIBUTES) == []
    assert "<b>bold</b>" in screen.ask("return document.querySelector('main').textContent")
    assert screen.ask("return document.title").startswith("Valid: </script>")
    assert {screen.browser.current_url} == {u for u in screen.requests() if u[:5] != "data:"}
    assert [] == screen.complaints()
    assert expected_conditions.alert_is_present()(screen.browser) is False


def test_in_the_picture_it_is_text_too_in_labels_axes_and_under_the_mouse(
    screen: Screen,
) -> None:
    opened(screen, IN_PICTURE)
    said = hovered(screen)
    screen.ask(SHOW_LABELS)

    assert f"faults: {IN_PICTURE} → <b>bold</b>" in said
    assert f"leader {IN_PICTURE}" in said
    assert f"controller {IN_PICTURE}" in said
    drawn = screen.ask("return document.querySelector('#picture').textContent")
    assert drawn.removeprefix(said).count(IN_PICTURE) > 3
    assert IN_PICTURE in screen.ask(
        "return document.getElementById('close-up-picture').textContent"
    ).replace("kill", "")
    assert screen.ask(DRAWN) == 0
    assert screen.ask(ATTRIBUTES) == []
    assert {screen.browser.current_url} == {u for u in screen.requests() if u[:5] != "data:"}
    assert [] == screen.complaints()
    assert expected_conditions.alert_is_present()(screen.browser) is False


def test_a_text_that_is_let_through_would_be_seen(tmp_path: Path, browser: Chrome) -> None:
    """The twin: what these tests look for is found where a page does not escape."""
    page = tmp_path / "open.html"
    page.write_text(f"<main>{IN_PICTURE}{ATTACK}</main><div id=picture></div>")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(page.as_uri())
        found = browser.execute_script(ELEMENTS)
        attributes = browser.execute_script(ATTRIBUTES)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        browser.get("about:blank")

    assert {"IMG", "A", "B"} <= found.keys()
    assert any(each.startswith("onerror") for each in attributes)
