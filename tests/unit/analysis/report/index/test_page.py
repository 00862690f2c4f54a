"""The index lists runs by scenario and release, newest first; what a run recorded stays text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.report.index.entries import TEXT_MAX, Entry, Unshown, entry_of
from analysis.report.index.page import render
from analysis.report.index.trend import NIGHTS, trend
from tests.support.pages import report_parts, reports
from tests.support.pages.hostile_reports import ATTACK
from tests.support.pages.page_reader import reading


def report(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = reports.kills(times=1).report
    made["run"] |= {key: changes.pop(key) for key in ("scenario", "started_utc") if key in changes}
    made["versions"] |= {"kafka": changes.pop("kafka", "3.9.2")}
    return made | changes


def entry(name: str = "20261121T021500Z-42", **changes: Any) -> Entry:
    made = report(**changes)
    return entry_of((made["run"]["scenario"], name), made)


def links(page: str) -> list[str]:
    """Of the runs' rows, without those of trends."""
    rows = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    return [each for each in reading(rows).addresses if each.endswith("report.html")]


def test_a_run_is_told_by_verdict_outcome_release_gaps_and_time() -> None:
    outcome = {"words": "3 of 9,997 acknowledged records lost", "data": "lost"}
    text = reading(render([entry(outcome=outcome, verdict="valid")])).text

    assert "1 run: 1 valid, 0 invalid, 0 unknown" in text
    assert (
        "valid 3 of 9,997 acknowledged records lost acks=1, enable.idempotence=false, "
        "replication_factor=3, min.insync.replicas=1 3.9.2 5.91 s 6.05 s "
        "2026-11-21 02:15:00 UTC local, seed 42 run report logs"
    ) in re.sub(r"\d\.\d\d s \d\.\d\d s", "5.91 s 6.05 s", text)


def test_a_report_without_an_outcome_is_told_by_how_its_sentence_begins() -> None:
    told = "No data was lost: all 9,997 acknowledged records were read back. Writes stopped."
    assert entry(outcome=None, sentence=told).outcome == told.partition(".")[0]
    lost = "Data was lost: 3 of 9 are gone; with acks=1"
    assert entry(outcome=None, sentence=lost).outcome.endswith("gone")


def test_a_gap_that_was_not_there_is_none_and_no_number() -> None:
    made = entry(longest_window_s={"produce": 0.0, "consume": 1.5})

    assert "none 1.50 s" in reading(render([made])).text


def test_a_gap_of_what_nobody_did_is_not_known() -> None:
    none = {"produce": 0.0, "consume": 0.0}
    assert (
        "none –"
        in reading(render([entry(longest_window_s=none, counts={"acked": 9, "reads": 0})])).text
    )
    assert (
        "– –"
        in reading(render([entry(longest_window_s=none, counts={"acked": 0, "reads": 5})])).text
    )


def test_a_gap_that_nobody_could_measure_is_not_known() -> None:
    untold = {"produce": None, "consume": None}
    page = reading(render([entry(longest_window_s=untold, counts={"acked": 9, "reads": 5})]))

    assert "– –" in page.text


def test_the_scenario_with_the_newest_run_comes_first_then_the_newest_release() -> None:
    page = render(
        [
            entry("a", scenario="old", started_utc="2026-11-01T00:00:00+00:00"),
            entry("b", scenario="new", started_utc="2026-11-02T00:00:00+00:00", kafka="3.9.2"),
            entry("c", scenario="new", started_utc="2026-11-03T00:00:00+00:00", kafka="3.9.2"),
            entry("d", scenario="new", started_utc="2026-11-01T00:00:00+00:00", kafka="3.10.0"),
        ]
    )

    places = ["new/d", "new/c", "new/b", "old/a"]
    assert links(page) == [f"{place}/report.html" for place in places]


def test_a_release_that_nobody_noted_comes_last() -> None:
    made = [entry("a", versions={}), entry("b", kafka="2.0"), entry("c", kafka="3.0-rc1")]

    assert [link.split("/")[1] for link in links(render(made))] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"verdict": "splendid"}, "verdict"),
        ({"verdict": None}, "verdict"),
        ({"sentence": 7}, "sentence"),
        ({"longest_window_s": {"produce": "long", "consume": 0.0}}, "longest_window_s.produce"),
        ({"longest_window_s": {"produce": -1.0, "consume": 0.0}}, "longest_window_s.produce"),
        ({"run": {"title": "x"}}, "run.scenario"),
        ({"versions": [1]}, "versions"),
    ],
)
def test_what_is_not_of_its_type_is_no_report_of_this_version(
    changes: dict[str, Any], where: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(where)} is not what a report"):
        entry_of(("a", "b"), reports.kills(times=1).report | changes)


@pytest.mark.parametrize("made", [None, [], "x", 7])
def test_what_is_no_table_is_no_report_at_all(made: object) -> None:
    with pytest.raises(ValueError, match="is not what a report of this version has there"):
        entry_of(("a", "b"), made)


@pytest.mark.parametrize(
    "outcome", [7, [], {"words": 7, "data": "lost"}, {"words": "x", "data": 'a" onclick="x'}]
)
def test_an_outcome_of_another_shape_is_no_report_of_this_version(outcome: object) -> None:
    with pytest.raises(ValueError, match=r"^outcome.* is not what a report of this version has"):
        entry(outcome=outcome)


def test_a_long_text_is_cut() -> None:
    assert len(entry(outcome={"words": "x" * 10_000, "data": "kept"}).outcome) == TEXT_MAX


def test_whatever_a_run_recorded_stays_text_and_the_page_asks_for_nothing() -> None:
    """Its twin has plain words of the same length, and the same elements."""

    def page(text: str) -> str:
        made = report(scenario=text, kafka=text, started_utc=text, sentence=text)
        made["run"] |= {"title": text, "backend": text}
        made["outcome"] = {"words": text, "data": "kept"}
        return render(
            [entry_of((text.replace("/", "-"), "x"), made)], [Unshown(place=(text,), why=text)]
        )

    attacked, plain = reading(page(ATTACK)), reading(page("x" * len(ATTACK)))

    assert attacked.tags == plain.tags
    assert not {"script", "img", "iframe", "svg", "base", "form"} & set(attacked.tags)
    assert attacked.policy.startswith("default-src 'none';")
    assert "script-src" not in attacked.policy
    assert all(re.fullmatch(r"[\w.~%/-]*", each) for each in attacked.addresses if each != "data:,")
    assert "<b>bold</b>" in attacked.text


def test_what_cannot_be_shown_is_one_line_with_its_reason() -> None:
    text = reading(render([], [Unshown(place=("a", "b"), why="report.json is gone")])).text

    assert "No run has been judged yet." in text
    assert "a/b : report.json is gone" in text


def test_the_same_runs_give_the_same_page_in_whichever_order() -> None:
    runs = [entry(str(number)) for number in range(5)]

    assert render(runs) == render(reversed(runs))


def night(day: str, *, lost: bool = False, verdict: str = "valid", number: int = 1) -> Entry:
    outcome = {"words": "told", "data": "lost" if lost else "kept"}
    began = f"{day}T02:15:00+00:00"
    return entry(f"{day}-{number}", outcome=outcome, verdict=verdict, started_utc=began)


def test_two_nights_are_a_trend_with_a_link_to_the_newest_report_of_each() -> None:
    runs = [
        night("2026-11-20"),
        night("2026-11-21", lost=True),
        night("2026-11-21", verdict="invalid", number=2),
    ]

    first, second = trend(runs)

    assert first.words.startswith("2026-11-20: 1 valid; 0 of 1 lost records, write gap ")
    assert second.words.startswith("2026-11-21: 1 valid, 1 invalid; 1 of 2 lost records")
    assert (second.parts, second.lost) == ((("valid", 0.5), ("invalid", 0.5)), 0.5)
    assert "2026-11-21-2/report.html" in second.href
    page = render(runs)
    assert second.words in page
    assert "The last 2 nights" in page


def test_a_night_s_losses_are_those_of_the_runs_that_tell() -> None:
    lossy = {"lost": report_parts.counted(500)}
    runs = [
        entry("a", started_utc="2026-11-20T01:00:00+00:00", outcome=None, anomalies=lossy),
        entry("b", started_utc="2026-11-20T02:00:00+00:00", verdict="unknown"),
        entry("c", started_utc="2026-11-21T01:00:00+00:00", verdict="unknown"),
    ]

    first, second = trend(runs)

    assert first.words.startswith("2026-11-20: 1 valid, 1 unknown; 1 of 1 lost records")
    assert second.words.startswith("2026-11-21: 1 unknown; losses not known")
    assert (first.lost, second.lost) == (1.0, 0.0)


def test_one_night_is_no_trend_and_a_run_of_no_day_is_in_none() -> None:
    undated = entry("x", started_utc=None)
    odd = entry("y", started_utc="yesterday")

    assert trend([night("2026-11-20"), night("2026-11-20", number=2), undated, odd]) == []
    assert 'class="trend"' not in render([night("2026-11-20"), undated])


def test_a_trend_has_the_last_nights_alone() -> None:
    days = [f"2026-11-{day:02}" for day in range(1, 29)]

    found = trend([night(day) for day in reversed(days)])

    assert [each.words[:10] for each in found] == days[-NIGHTS:]
