"""The runs of a scenario side by side, by the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from analysis.report.index.entries import SETTINGS_MAX, Entry, entry_of
from analysis.report.index.matrix import ROWS_MAX, Matrix, matrix, settings_words
from analysis.report.index.page import render
from tests.support.pages import report_parts, reports
from tests.support.pages.hostile_reports import ATTACK
from tests.support.pages.page_browser import Screen
from tests.support.pages.page_reader import reading

LOST = {"words": "1 of 3 acknowledged records lost", "data": "lost"}


def entry(
    name: str,
    acks: str,
    *,
    lost: bool = False,
    duplicates: int = 0,
    more: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> Entry:
    made: dict[str, Any] = reports.kills(times=1).report
    made["configuration"] = {
        "producer": {"acks": acks, **settings, **more},
        "topic": {"name": name},
    }
    made["anomalies"]["duplicate"]["count"] = duplicates
    made["cap"] |= {"available": lost, "consistent": not lost}
    if lost:
        made["outcome"] = LOST
    return entry_of((made["run"]["scenario"], name), made)


def commanded(number: int, text: str) -> Entry:
    made: dict[str, Any] = reports.kills(times=1).report
    made["run"]["command"] = text
    return entry_of((made["run"]["scenario"], str(number)), made)


def found(*runs: Entry) -> Matrix:
    table = matrix(runs)
    assert table is not None
    return table


def test_a_row_for_each_choice_with_what_its_runs_came_to() -> None:
    table = found(
        entry("a", "1", lost=True), entry("b", "1", lost=True), entry("c", "all", duplicates=2)
    )

    one, every = table.cells
    assert ("acks",) == table.heads
    assert (("1",), "2 of 2", "0 of 2", "AP 2") == (one.values, one.lost, one.duplicated, one.cap)
    assert (("all",), "0 of 1", "1 of 1") == (every.values, every.lost, every.duplicated)


def told(name: str, lost: int | None, **changes: Any) -> Entry:
    """A run whose report has so many records lost; None: it does not tell."""
    made: dict[str, Any] = reports.kills(times=1).report
    made["configuration"] = {"producer": {"acks": "1"}}
    if lost is None:
        del made["anomalies"]["lost"]
    else:
        made["anomalies"]["lost"]["count"] = lost
    return entry_of((made["run"]["scenario"], name), made | changes)


def test_runs_without_an_outcome_tell_of_losses_by_their_count() -> None:
    runs = [told(name, 500, outcome=None) for name in "ab"]

    assert "2 of 2" == found(*runs, entry("c", "all")).cells[0].lost
    assert [True, True] == [run.lost for run in runs]


@pytest.mark.parametrize(
    "untold",
    [
        told("x", 0, verdict="unknown"),
        told("x", 0, verdict="invalid", outcome={"words": "not known", "data": "unknown"}),
        told("x", None, outcome=None),
    ],
)
def test_a_run_that_cannot_tell_of_losses_is_not_among_those_that_lost_none(untold: Entry) -> None:
    kept, lost = told("a", 0), told("b", 3, outcome=LOST)
    every = entry("c", "all")

    assert "1 of 2" == found(kept, lost, untold, every).cells[0].lost
    assert "–" == found(untold, every).cells[0].lost


def test_a_run_without_a_verdict_tells_of_the_loss_that_it_saw() -> None:
    saw = told("x", 500, verdict="unknown", outcome=LOST)

    assert "1 of 2" == found(told("a", 0), saw, entry("c", "all")).cells[0].lost


@pytest.mark.parametrize("name", ["vanished", "unacknowledged-lost"])
def test_what_was_not_acknowledged_and_is_gone_is_a_loss_too(name: str) -> None:
    anomalies = {"lost": report_parts.counted(0), name: report_parts.counted(3)}
    gone = {"words": "told", "data": "lost"}

    assert [True, True] == [told("a", 0, anomalies=anomalies, outcome=o).lost for o in (gone, None)]


def test_each_run_is_one_click_away() -> None:
    page = render([entry("a", "1"), entry("b", "1"), entry("c", "all")])

    addresses = [each for each in reading(page).addresses if each.endswith("report.html")]
    assert all(2 == sum(f"/{name}/" in each for each in addresses) for name in "abc")


def test_each_run_tells_what_decides_and_in_what_it_differs() -> None:
    runs = [entry("a", "1", retries=5), entry("b", "all", retries=0)]

    assert settings_words(runs) == ["acks=1, retries=5", "acks=all, retries=0"]
    assert "acks=1, retries=5" in reading(render(runs)).text
    assert settings_words(runs[:1]) == ["acks=1"]


@pytest.mark.browser
def test_eight_settings_fit_a_window_of_1200_pixels(screen: Screen) -> None:
    keys = (
        *("max.in.flight.requests.per.connection", "enable.idempotence", "retries", "linger.ms"),
        *("delivery.timeout.ms", "request.timeout.ms", "compression.type"),
    )
    runs = [
        entry(f"{acks}{n}", acks, more=dict.fromkeys(keys, n * 10_000))
        for acks in ("1", "all")
        for n in (1, 2)
    ]
    screen.show(render(runs), size=(1200, 900))

    wide = "const box = document.querySelector('.box'); return box.scrollWidth - box.clientWidth"
    assert screen.ask(wide) == 0


def test_runs_that_differ_in_nothing_have_no_table() -> None:
    """Nor do those whose topics alone are called otherwise."""
    assert matrix([entry("a", "1"), entry("b", "1")]) is None
    assert "With duplicates" not in render([entry("a", "1"), entry("b", "1")])


def test_what_only_some_runs_have_is_no_setting_of_the_table() -> None:
    assert matrix([entry("a", "1"), entry("b", "1", linger=5)]) is None


def test_what_a_command_set_is_a_setting_too() -> None:
    """Of the scenario's other parts a report's configuration does not tell."""
    commands = ("", "run x --set faults.1.at_s=2 --set expect.lost=1", "run 'x")
    runs = [commanded(number, text) for number, text in enumerate(commands)]

    table = found(*runs)

    assert ("faults.1.at_s",) == table.heads
    assert {("2",): 1, ("–",): 2} == {cell.values: len(cell.runs) for cell in table.cells}


def test_two_settings_of_one_name_are_told_apart() -> None:
    runs = []
    for number, value in enumerate("12"):
        made: dict[str, Any] = reports.kills(times=1).report
        minimum = {"min.insync.replicas": value}
        made["configuration"] = {"topic": {"config": minimum}, "server": minimum}
        runs.append(entry_of(("x", str(number)), made))

    assert ("topic.config.min.insync.replicas", "server.min.insync.replicas") == found(*runs).heads


def test_too_many_choices_are_no_matrix() -> None:
    runs = [entry(f"r{i}", str(i)) for i in range(ROWS_MAX + 1)]

    assert matrix(runs) is None
    assert ROWS_MAX == len(found(*runs[1:]).cells)


@pytest.mark.parametrize("value", [ATTACK, {"deep": {"er": ATTACK}}])
def test_a_setting_s_text_stays_text(value: Any) -> None:
    page = render([entry("a", "1", x=value), entry("b", "1", x="y")])

    assert ATTACK not in page


def test_a_flood_of_settings_is_cut() -> None:
    flood: dict[str, Any] = {f"k{i}": i for i in range(2 * SETTINGS_MAX)}

    assert SETTINGS_MAX == len(entry("a", "1", **flood).settings)


def test_a_configuration_that_is_none_is_refused() -> None:
    made: dict[str, Any] = reports.kills(times=1).report
    made["configuration"] = ["acks"]

    with pytest.raises(ValueError, match="configuration is not what a report"):
        entry_of(("x",), made)


def test_a_row_that_ran_in_two_nights_has_its_trend() -> None:
    first, second = entry("a", "1"), entry("b", "1", lost=True)
    runs = [first, replace(second, started_utc="2026-11-22T02:00:00+00:00"), entry("c", "all")]

    table = found(*runs)

    assert [2, 0] == [len(cell.trend) for cell in table.cells]
    assert "Nights" in render(runs)
    assert "Nights" not in render([first, entry("c", "all")])
