"""The page's labels and tiles: what happened has its own colour, and only what broke is red."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from analysis.report.page import render, tiles
from harness.model.runs.report import Report
from tests.support.pages import reports


def red(report: dict[str, Any]) -> list[str]:
    """The tiles that are red, by name."""
    return [tile["name"] for tile in tiles(Report.model_validate(report)) if tile["tone"] == "bad"]


def test_only_what_broke_is_red_and_its_tile_is_the_first() -> None:
    report = reports.control().report
    assert red(report) == []

    gap = {"longest_s": 5.9, "demanded": "<= 2", "demand_met": False}
    report |= {"verdict": "invalid", "gap_demands": {"produce-gap-s": gap}}

    assert red(report) == ["Longest write outage"]
    first = tiles(Report.model_validate(report))[0]
    assert first["note"].startswith("The scenario expects at most 2: not met; from ")
    assert len(tiles(Report.model_validate(report))) == 6
    gap["demand_met"] = True
    assert red(report) == []


@pytest.mark.parametrize("met", [False, None, True])
def test_what_broke_and_has_no_tile_gets_one(met: bool | None) -> None:
    report = reports.control().report
    report["anomalies"]["phantom"] |= {"count": 2, "demanded": "0", "demand_met": met}
    report["count_demands"] = {
        "acked-isr-alone": {"seen": 1200, "demanded": "0", "demand_met": met}
    }

    shown = {tile["name"]: tile["value"] for tile in tiles(Report.model_validate(report))[:2]}

    assert ({"Phantoms": "2", "acked-isr-alone": "1,200"} == shown) is (met is False)
    assert len(tiles(Report.model_validate(report))) == 6
    assert red(report) == (["Phantoms", "acked-isr-alone"] if met is False else [])


@pytest.mark.parametrize("build", [reports.valid, reports.invalid, reports.unknown])
def test_both_labels_stand_above_the_sentence(build: Callable[[], reports.Example]) -> None:
    report = build().report
    page = render(Report.model_validate(report), [], [])
    places = [page.index(word) for word in ("<dt>Outcome: ", "<dt>Verdict: ", "<h1>")]

    assert places == sorted(places)
    told = f"<strong>{report['verdict'].capitalize()}</strong>: {report['verdict_words']}"
    assert told in page


def test_a_permitted_loss_is_told_in_its_own_colour_beside_a_green_verdict() -> None:
    page = render(reports.control().model, [], [])

    assert '<div class="lost"><dt>Outcome: what happened?</dt>' in page
    assert '<div class="valid"><dt>Verdict: may that happen?</dt>' in page
    assert "3 of 9,997 acknowledged records lost, 2 duplicates" in page


def test_a_run_without_letters_has_no_row_for_them() -> None:
    assert '<div class="cap">' in render(reports.control().model, [], [])
    assert '<div class="cap">' not in render(reports.unknown().model, [], [])


def test_outages_are_summed_and_those_of_two_partitions_at_once_count_once() -> None:
    example = reports.kills(times=1)
    report = example.report
    window = next(each for each in report["windows"] if each["kind"] == "produce")
    times = ((10.0, 4.0), (12.0, 4.0), (30.0, 1.0), (12.5, 1.0))
    report["windows"] = [window | {"start_s": at, "length_s": for_s} for at, for_s in times]
    report["longest_window_s"] |= {"produce": 4.0, "consume": 0.0}

    notes = {tile["name"]: tile["note"] for tile in tiles(Report.model_validate(report))}

    assert notes["Longest write outage"].endswith("; in all 7.00 s, in 4 outages")
    assert notes["Longest read outage"] == (
        "no acknowledged record waited 500 ms or longer to be read; while writes stopped there was "
        "nothing to read"
    )
