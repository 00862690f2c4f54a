"""The page of a run that was really checked: its sends, its lag, its clock and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.histories import doubtful, failed, final_read, read, sent, story
from tests.support.pages.page_reader import Reader, reading, script
from tests.support.story_runs import checked, write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE = story(
    *(sent(n, at=n, ms=10 * n, took=2) for n in range(20)),
    failed(30, ms=300, took=4),
    doubtful(31, ms=310, took=None),
    *(read(n, at=n, ms=10 * n + 3) for n in range(15)),
    final_read(*range(20)),
    consumers=1,
)
OTHER = story(sent(1, at=0, ms=0), final_read(1))  # without a reader, and without a clock


@pytest.fixture(scope="module")
def pages(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[dict[str, Any], Reader]]:
    """Report and page of both, from one check: nothing of one run is on the other's page."""
    folder = tmp_path_factory.mktemp("checked")
    runs = [
        write_story(told, folder / name, f"told/{name}")
        for told, name in ((ONE, "a"), (OTHER, "b"))
    ]
    record = json.loads((runs[0] / "run.json").read_text())
    began_ns = record["phases"][0]["start_ns"]
    record["clock"] = {"monotonic_ns": began_ns - 10**9, "utc": "2026-11-21T02:15:00+00:00"}
    record["layers"] = {
        "producer": {"acks": "my.properties, line 3"},
        "server": {"num.io.threads": "s.properties, line 1"},
    }
    record["shown_demands"] = {"lost": ">= 1"}
    record["notes"] = ["s.properties: left out: listeners (the harness sets addresses)"]
    (runs[0] / "run.json").write_text(json.dumps(record))
    (runs[0] / "logs").mkdir()
    (runs[0] / "logs" / "kafka1.log").write_text("started")
    reports = checked(runs)
    return [
        (report, reading(Path(run, "report.html").read_text()))
        for report, run in zip(reports, runs, strict=True)
    ]


def drawn(page: Reader) -> dict[str, list[float]]:
    """The heights of what the close-up draws, by the mark of the points or the word for a line."""
    found: dict[str, list[float]] = {}
    for trace in json.loads(script(page, "close-up-figure"))["data"]:
        points = trace["mode"] == "markers"
        name = trace["marker"].get("symbol", "dot") if points else trace["line"].get("dash", "line")
        found[name] = trace["y"]
    return found


def test_each_send_of_a_small_run_is_drawn(pages: list[tuple[dict[str, Any], Reader]]) -> None:
    heights = drawn(pages[0][1])

    assert sorted(heights["dot"]) == [2.0] * 20
    assert heights["x"] == [4.0]
    assert heights["triangle-up"] == [10_000.0 - 310.0]
    assert drawn(pages[1][1])["dot"] == [5.0]


def test_its_consumer_lags_by_what_it_was_not_given(
    pages: list[tuple[dict[str, Any], Reader]],
) -> None:
    assert drawn(pages[0][1])["line"][-1] == 5
    assert "Consumer lag: acknowledged" not in pages[1][1].text


def test_the_begin_of_its_load_is_known_where_the_clocks_were_noted(
    pages: list[tuple[dict[str, Any], Reader]],
) -> None:
    assert pages[0][0]["run"]["load_began_utc"] == "2026-11-21T02:15:01.000+00:00"
    assert "2026-11-21 02:15:01.000 UTC (the load: second 0 of this page)" in pages[0][1].text
    assert pages[1][0]["run"]["load_began_utc"] is None


def test_its_files_are_linked(pages: list[tuple[dict[str, Any], Reader]]) -> None:
    addresses = set(pages[0][1].addresses)

    assert {
        "logs/kafka1.log",
        "history/events.parquet",
        "history/operations/producer-0.parquet",
        "analysis/lost.parquet",
    } <= addresses
    assert "logs/kafka1.log" not in pages[1][1].addresses


def test_the_page_says_whose_configuration_it_asks_and_where_each_setting_comes_from(pages):
    (one, page), (other, plain) = pages

    assert "yours: producer (my.properties), brokers (s.properties). All else is" in page.text
    assert "my.properties, line 3" in page.text
    assert "is shown and not judged: lost >= 1" in page.text
    assert {"lost": ">= 1"} == one["configuration"]["shown_demands"]
    assert "left out: listeners (the harness sets addresses)" in page.text
    assert "made to fit: 1 note in the report’s configuration." in page.text
    assert "yours" not in plain.text
    assert not {"shown_demands", "notes"} & other["configuration"].keys()
