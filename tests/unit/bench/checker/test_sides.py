"""Our check and DuckDB's, of made-up histories of each shape: what was planted, and each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.measures.consumer_lag import lag
from analysis.report.results import Results, results_of
from analysis.stored.stored_run import Run, open_run
from bench.checker import duckdb_side, histories
from tests.support import story_runs
from tests.support.histories import (
    committed,
    event,
    fault,
    final_read,
    polled,
    processed,
    sent,
    story,
)

OPERATIONS = 20_000


@dataclass(frozen=True, kw_only=True)
class Both:
    """A history, and what each side says of it."""

    made: histories.Made
    report: Mapping[str, Any]
    ours: Results
    theirs: duckdb_side.Answers
    evidence: Path


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Both]:
    """All shapes in one Spark job."""
    folder = tmp_path_factory.mktemp("bench")
    made = [histories.write(folder / shape, OPERATIONS, shape) for shape in histories.SHAPES]
    theirs = [
        duckdb_side.ask(
            each.folder, duckdb_side.facts_of(each.folder), folder / f"{each.folder.name}-evidence"
        )
        for each in made
    ]
    seen: dict[str, Results] = {}

    def known(run: Run, *given: Any, **more: Any) -> Results:
        seen[run.run_id] = results_of(run, *given, **more)
        return seen[run.run_id]

    with mock.patch("analysis.report.results.results_of", known):
        reports = story_runs.checked([each.folder for each in made], started=spark)
    return {
        each.folder.name: Both(
            made=each,
            report=report,
            ours=seen[report["run_id"]],
            theirs=answers,
            evidence=folder / f"{each.folder.name}-evidence",
        )
        for each, report, answers in zip(made, reports, theirs, strict=True)
    }


@pytest.fixture(params=histories.SHAPES)
def both(request: pytest.FixtureRequest, checked: dict[str, Both]) -> Both:
    return checked[request.param]


def test_our_check_finds_what_was_planted_and_nothing_else(both):
    found = {name: each["count"] for name, each in both.report["anomalies"].items()}

    assert both.made.expected == {name: count for name, count in found.items() if count}


def test_a_clean_history_is_valid_and_whole(checked):
    assert checked["clean"].report["verdict"] == "valid"
    assert checked["clean"].made.expected == {}


def test_duckdb_finds_what_was_planted_and_nothing_else(both):
    assert both.made.expected == both.theirs.counts


def test_both_write_the_same_rows_of_evidence(both):
    for name, count in both.made.expected.items():
        ours = pq.read_table(both.made.folder / "analysis" / f"{name}.parquet")
        theirs = ds.dataset(both.evidence / f"anomaly={name}").to_table()

        assert theirs.num_rows == count
        assert rows_of(ours) == rows_of(theirs), name


def test_both_count_and_time_the_same(both):
    by_bucket = {row["bucket"]: row for row in both.theirs.tables["counts"]}
    whole = by_bucket.pop(None)
    landings = both.theirs.tables["landings"][0]
    told = {**landings, **both.theirs.tables["redeliveries"][0], **whole}
    told |= both.theirs.tables["acked_isr_alone"][0]

    ours = both.ours.found
    assert {name: told[name] for name in ours.counts if name in told} == {
        name: count for name, count in ours.counts.items() if name in told
    }
    assert set(ours.counts) <= set(told)
    assert close(ours.ack_ms, whole["latency_ms"])
    assert close(ours.delivery_ms, landings["latency_ms"])
    for number, row in enumerate(both.ours.timeline):
        theirs = by_bucket.get(number, {})
        assert row["acks"] == theirs.get("acked", 0)
        assert row["reads"] == theirs.get("deliveries", 0)
        if row["ack_p99_ms"] is not None:
            assert close([row["ack_p50_ms"], row["ack_p99_ms"]], theirs["latency_ms"][0:3:2])


def test_both_find_the_same_windows_acks_work_and_lag(both):
    tables, found = both.theirs.tables, both.ours.found

    assert same(found.windows, tables["windows"])
    assert same(found.acks, tables["acks"])
    assert same([plain(row) for row in found.work.rows], map(plain, tables["work"]))
    assert found.lag == lag(open_run(both.made.folder), tables["positions"])


def test_both_draw_about_as_many_sends(both):
    assert math.isclose(len(both.ours.sends), len(both.theirs.tables["drawn"]), rel_tol=0.15)


def test_both_find_what_a_reset_passed_over_and_what_was_deleted_before(spark, tmp_path):
    """These histories have neither: of 1 to 4, 3 and 4 were in the log at the reset."""
    text = "offset reset (at offset 1) to offset END"
    told = {"partition": 0, "position": 1, "log_start": 3, "text": text}
    passed = story(
        *(sent(value, at=value, ms=10 * value) for value in range(6)),
        *(polled(0, 0, ms=300), processed(0, 0, ms=310), committed(1, ms=320)),
        fault("pause", "group-consumer", ms=200, for_ms=150, nodes=("group-consumer-0",)),
        event("reset", process="group-consumer-0", ms=400, **told),
        *(polled(5, 5, ms=500), processed(5, 5, ms=510), committed(6, ms=520)),
        final_read(5, log_start=5),
        commit="after",
        history_format=2,
        consumer={"auto.offset.reset": "latest"},
    )
    folder = story_runs.write_story(passed, tmp_path / "run", "told/passed")
    (report,) = story_runs.checked([folder], started=spark)
    facts = duckdb_side.facts_of(folder)

    answers = duckdb_side.ask(folder, facts, tmp_path / "evidence")

    assert report["anomalies"]["skipped"]["count"] == answers.counts["skipped"] == 2
    landings = answers.tables["landings"][0]
    assert report["counts"]["expired_unread"] == landings["expired_unread"] == 2
    ours = pq.read_table(folder / "analysis" / "skipped.parquet")
    assert rows_of(ours) == rows_of(ds.dataset(tmp_path / "evidence/anomaly=skipped").to_table())


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    """The rows, in no order; the anomaly is the folder's name."""
    rows = table.drop_columns(
        [name for name in ("anomaly", "run_id") if name in table.column_names]
    ).to_pylist()
    return Counter(tuple(str(row[name]) for name in sorted(row)) for row in rows)


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """With faults in order."""
    return {name: sorted(n) if isinstance(n, list) else n for name, n in row.items()}


def same(ours: Any, theirs: Any) -> bool:
    """Whether two tables have the same rows, in any order."""

    def told(rows: Any) -> Counter[str]:
        without = [{k: v for k, v in row.items() if k != "run_id"} for row in rows]
        return Counter(str(sorted(row.items())) for row in without)

    return told(ours) == told(theirs)


def close(ours: Any, theirs: Any) -> bool:
    """Ours are rounded to four digits, theirs to hundredths; two roundings may differ by one."""
    return all(
        math.isclose(a, b, rel_tol=0.0005, abs_tol=0.011) for a, b in zip(ours, theirs, strict=True)
    )
