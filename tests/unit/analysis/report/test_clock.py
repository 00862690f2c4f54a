"""Seconds since the load began, as UTC."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.clock import Clock, load_began_utc
from tests.support.pages import reports

NOTED = {"monotonic_ns": 5_000_000_000, "utc": "2026-11-21T02:15:00+00:00"}


def clock(began: str | None) -> Clock:
    example = reports.kills(times=0)
    example.report["run"]["load_began_utc"] = began
    return Clock.of(example.model)


def test_the_load_began_so_long_after_the_noted_moment() -> None:
    assert load_began_utc({"clock": NOTED}, 9_250_000_000) == "2026-11-21T02:15:04.250+00:00"


@pytest.mark.parametrize("noted", [None, {}, NOTED | {"utc": "yesterday"}])
def test_without_a_moment_by_both_clocks_it_is_not_known(noted: Any) -> None:
    assert load_began_utc({"clock": noted}, 9_250_000_000) is None


def test_where_no_load_began_no_time_is_told() -> None:
    assert load_began_utc({"clock": NOTED}, 0) is None


def test_a_moment_beyond_all_calendars_is_not_known() -> None:
    assert load_began_utc({"clock": NOTED | {"utc": "9999-12-31T23:59:59+00:00"}}, 2**62) is None
    assert clock("2026-11-21T02:15:00+00:00").utc(1e300) == ""


def test_seconds_become_utc_to_the_millisecond() -> None:
    began = clock("2026-11-21T23:59:59.500+00:00")

    assert began.utc(0.75) == "2026-11-22 00:00:00.250 UTC"
    assert began.time_of_day(0.75) == "00:00:00.250 UTC"
    assert began.utc(None) == began.time_of_day(None) == ""


def test_another_zone_is_told_as_utc() -> None:
    assert clock("2026-11-21T03:15:00+01:00").utc(0.0) == "2026-11-21 02:15:00.000 UTC"


@pytest.mark.parametrize("began", [None, "", "<b>"])
def test_a_report_that_does_not_say_it_has_no_utc(began: str | None) -> None:
    assert clock(began).utc(1.0) == clock(began).time_of_day(1.0) == ""
