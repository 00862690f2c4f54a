"""The reports of imported histories: nothing that nobody told stands there as a fact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from harness.foreign.about import About
from harness.model.runs.run_folder import RunFolder
from tests.support.foreign_lines import (
    acked,
    assigned,
    began,
    ended,
    imported,
    imported_pair,
    read,
    summed,
    write_lines,
)
from tests.support.pages.page_reader import Reader, reading, script
from tests.support.story_runs import checked
from tests.support.two_tables import TwoTables, at_the_end, run_of_tables, sent, was_read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Told = dict[str, tuple[RunFolder, dict[str, Any], Reader]]

KNOWN = About(
    defaults=True, faults="none", producer={"acks": "1"}, topic={"min.insync.replicas": 2}
)
SENDS = [acked(10, "order 7", 0), acked(20, "order 8", 1), acked(30, "order 9", 1)]
READS = [assigned(1000, 0), read(1100, "order 7", 0), read(1100, "order 9", 1), ended(1200)]
BEGUN = [began(0, "order 7"), began(12, "order 8"), began(22, "order 9")]
TAIL = [assigned(5, 0), read(40, "order 7", 0), read(41, "order 9", 1)]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One job for all: its run, its report and its page."""
    runs: dict[str, RunFolder] = {}

    def folder(name: str) -> Path:
        return tmp_path_factory.mktemp(name)

    begun = sorted([*BEGUN, *SENDS], key=lambda line: line["timestamp"])
    runs["no begins"] = imported_pair(folder("unbegun"), SENDS, READS)
    runs["begins"] = imported_pair(folder("begun"), begun, READS)
    runs["all known"] = imported_pair(folder("known"), begun, READS, KNOWN)
    runs["ranges"] = imported_pair(
        folder("ranges"), SENDS, [assigned(100, 0), summed(110, 0, 2), ended(120)]
    )
    files = [
        write_lines(place / "lines.jsonl", lines)
        for place, lines in ((folder("p"), begun), (folder("c"), TAIL), (folder("f"), READS))
    ]
    named = [file.rename(file.parent / f"{n}.jsonl") for n, file in zip("pcf", files, strict=True)]
    place = folder("followed") / "results"
    runs["followed"] = imported(place, *named, final=[str(named[2])])
    timeless = TwoTables(
        sends=[sent("a", 0), sent("b", 1), sent("c", 2)],
        reads=[at_the_end("a", 0), at_the_end("c", 2), was_read("a", 0, f="read")],
        complete=True,
    )
    runs["no times"] = run_of_tables(spark, folder("timeless"), timeless)
    reports = checked([run.path for run in runs.values()])
    return {
        name: (run, report, reading((run.path / "report.html").read_text()))
        for (name, run), report in zip(runs.items(), reports, strict=True)
    }


def timeline(run: RunFolder) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(run.path / "analysis/timeline.parquet").to_pylist()
    return rows


def has_close_up(page: Reader) -> bool:
    return any(attributes.get("id") == "close-up-figure" for attributes, _ in page.scripts)


@pytest.mark.parametrize("name", ["no begins", "no times"])
def test_without_begins_no_outage_and_no_latency_is_told(told: Told, name: str) -> None:
    run, report, page = told[name]

    assert report["longest_window_s"] == {"produce": None, "consume": None, "process": None}
    assert not any(row["ack_p50_ms"] or row["ack_p99_ms"] for row in timeline(run))
    assert page.text.count("not known the history does not tell when sends began") == 3
    assert "Not known: the history does not tell when sends began." in page.text
    assert "Time to ack, p50 not known" in page.text
    assert "stretch of 500 ms" not in page.text
    assert not has_close_up(page)
    lost = report["anomalies"]["lost"]["examples"]
    assert [(row["sent_ns"], row["sent_s"]) for row in lost] == [(None, None)]


def test_its_twin_with_begins_has_all_of_writes(told: Told) -> None:
    run, report, page = told["begins"]

    assert report["longest_window_s"] == {"produce": 0.0, "consume": None, "process": None}
    assert [row["ack_p50_ms"] for row in timeline(run)[:1]] == [8.0]
    assert has_close_up(page)
    assert "Of writes none: no stretch of 500 ms" in page.text
    assert report["anomalies"]["lost"]["examples"][0]["sent_s"] == 0.012


def test_where_somebody_reads_nobody_says_that_reads_never_stopped(told: Told) -> None:
    _, report, page = told["followed"]

    assert report["counts"]["reads"] == 2
    assert report["longest_window_s"]["consume"] is None
    assert "Longest read outage not known the history does not tell who follows" in page.text


def test_without_any_time_there_is_no_timeline(told: Told) -> None:
    run, report, page = told["no times"]

    assert timeline(run) == []
    assert "does not tell when anything happened, so there is no timeline" in page.text
    assert report["anomalies"]["lost"]["examples"][0]["acked_s"] is None


def test_a_timeline_of_acks_alone_draws_no_latency(told: Told) -> None:
    for name, drawn in (("no begins", False), ("begins", True)):
        figure = script(told[name][2], "figure")

        assert ("Time to ack" in figure) is drawn


def test_settings_and_faults_that_nobody_told_are_no_facts(told: Told) -> None:
    run, report, page = told["no begins"]
    junit = (run.path / "junit.xml").read_text()
    words = "not told: acks, idempotence, replicas, min.insync.replicas"

    assert "whether Kafka allows this is unknown" in report["sentence"]
    assert f"With {words} Against not told, in" in page.text
    assert "Not known: the history does not tell what happened to the cluster." in page.text
    assert f'name="configuration" value="{words}"' in junit
    assert 'name="faults" value="not told"' in junit
    assert report["configuration"]["topic"]["replication_factor"] is None
    assert "acks=all" not in report["sentence"] + junit
    assert "acks=all (" not in page.text


def test_what_somebody_told_is(told: Told) -> None:
    run, report, page = told["all known"]
    junit = (run.path / "junit.xml").read_text()

    assert "whether Kafka allows this with acks=1 is unknown" in report["sentence"]
    assert "idempotence off, 3 replicas, min.insync.replicas=2 Against no fault" in page.text
    assert 'name="faults" value="no fault"' in junit


def test_without_values_duplicates_are_not_judged(told: Told) -> None:
    _, report, page = told["ranges"]

    assert "duplicate" not in report["anomalies"]
    assert any(
        "which values were read: " in why and "duplicate" in why for why in report["reasons"]
    )
    assert "Duplicates – not checked" in page.text


def test_a_value_is_told_with_its_text(told: Told) -> None:
    _, report, page = told["begins"]
    row = report["anomalies"]["lost"]["examples"][0]

    assert (row["value"], row["text"], row["other_text"]) == (1, "order 8", "order 9")
    assert report["stories"]["told"][0]["text"] == "order 8"
    assert "Its value: “order 8”." in page.text
    assert page.text.count("“order 8”") > 1
    assert "lost: value 1 (order 8), offset 1" in script(page, "figure")
