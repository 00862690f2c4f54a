"""An outage tells when a leader that was elected in it was first seen."""

from __future__ import annotations

from typing import Any

import pytest

from harness.commands.campaigns.lines import summary
from harness.model.runs.report import report_of
from tests.support.histories import final_read, sent, view, with_story

Report = dict[str, Any]
OUT = (sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=1200, took=2800), final_read(1, 2))


@with_story(*OUT, view("kafka1", ms=0), view(None, ms=1500), view("kafka2", ms=3100, epoch=1))
def test_what_is_left_after_the_election_is_not_its_own(report: Report) -> None:
    """Out from 1.2 s to 4.0 s; nobody led from 1.5 s on, and kafka2 from 3.1 s on."""
    (window,) = report["windows"]

    assert window["leader_s"] == pytest.approx(3.1)
    assert summary(None, 0, report_of(report))["produce_led_s"] == [0.9]


@with_story(
    *OUT,
    view("kafka1", ms=0),
    view("kafka2", ms=2000, epoch=1),
    view("kafka3", ms=3000, epoch=2),
    view("kafka2", ms=5000, epoch=3),
)
def test_the_last_election_before_the_success_counts(report: Report) -> None:
    assert report["windows"][0]["leader_s"] == pytest.approx(3.0)


@with_story(*OUT, view("kafka1", ms=0), view("kafka2", ms=1100, epoch=1), view(None, ms=1500))
def test_an_outage_in_which_nobody_was_elected_has_none(report: Report) -> None:
    """kafka2 led before it began; then nobody did."""
    assert report["windows"][0]["leader_s"] is None
    assert summary(None, 0, report_of(report))["produce_led_s"] == [None]


@with_story(*OUT, view("kafka1", ms=0), view("kafka2", ms=2000, epoch=1), view(None, ms=3000))
def test_a_leader_that_is_gone_again_counts_for_nothing(report: Report) -> None:
    """Who took the writes at 4 s nobody saw."""
    assert report["windows"][0]["leader_s"] is None


@with_story(*OUT, view("kafka1", ms=0), view(None, ms=1500), view("kafka2", ms=4040, epoch=1))
def test_an_election_that_was_seen_just_after_the_success_came_before_it(report: Report) -> None:
    assert report["windows"][0]["leader_s"] == pytest.approx(4.0)
    assert summary(None, 0, report_of(report))["produce_led_s"] == [0.0]


@with_story(*OUT, view("kafka1", ms=2000))
def test_the_first_look_of_all_is_no_election(report: Report) -> None:
    assert report["windows"][0]["leader_s"] is None
