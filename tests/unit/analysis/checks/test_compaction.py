"""Compacted logs: of each key the last acknowledged record must be there, and older ones may."""

from __future__ import annotations

import random
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.stored.superseded import superseded
from harness.history import tables
from harness.history.record_format import drawn, zipf_ends
from tests.support.histories import (
    aborted,
    committed,
    doubtful,
    failed,
    fault,
    final_read,
    found,
    polled,
    processed,
    read,
    sent,
    with_story,
)
from tests.support.stored_runs import bare_run
from tests.support.story_runs import story_record

Report = dict[str, Any]
COMPACTED: dict[str, Any] = {"topic": {"cleanup.policy": "compact"}, "keys": 1}
TWO = (sent(1, at=0), sent(2, at=1))


def nothing(report: Report, *names: str) -> bool:
    return not any(report["anomalies"][name]["count"] for name in names)


@with_story(*TWO, read(1, at=0), final_read({1: 2}), **COMPACTED)
def test_an_older_record_of_a_key_need_not_be_there(report: Report) -> None:
    assert nothing(report, "lost", "vanished")
    assert report["verdict"] == "valid"
    assert report["counts"]["superseded"] == 1
    assert "No data was lost: 1 of 2 acknowledged records was read back, and " in report["sentence"]
    assert (
        "1 acknowledged record has a later one of the same key, and compaction deleted it"
        in (report["sentence"])
    )


@with_story(*TWO, final_read({0: 1, 1: 2}), **COMPACTED)
def test_it_may_be_there_all_the_same(report: Report) -> None:
    assert nothing(report, "lost")


@with_story(*TWO, read(2, at=1), final_read({0: 1}), **COMPACTED)
def test_the_last_record_of_a_key_must_be_there(report: Report) -> None:
    assert found(report, "lost") == found(report, "vanished") == [2]


@with_story(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    final_read(partition=0),
    final_read(2, partition=1),
    partitions=2,
    **COMPACTED,
)
def test_a_later_record_of_another_partition_supersedes_nothing(report: Report) -> None:
    assert found(report, "lost") == [1]


# With the seed of stories 1 has a value, and 2 and 3 are tombstones.
TOMBSTONES: dict[str, Any] = {**COMPACTED, "tombstones": 0.5}


@with_story(*TWO, read(2, at=1), final_read(), **TOMBSTONES)
def test_a_tombstone_may_go_with_all_that_its_key_had(report: Report) -> None:
    assert nothing(report, "lost", "vanished")
    assert report["counts"]["superseded"] == 2
    assert (
        "2 acknowledged records have a later one of the same key, or delete it, and"
        in (report["sentence"])
    )


@with_story(*TWO, read(2, at=1), final_read({0: 1}), **TOMBSTONES)
def test_a_deleted_key_that_is_back_lacks_its_tombstone(report: Report) -> None:
    assert found(report, "lost") == found(report, "vanished") == [2]


@with_story(sent(2, at=0), sent(3, at=1), final_read({0: 2}), **TOMBSTONES)
def test_a_key_that_an_older_tombstone_deletes_is_not_back(report: Report) -> None:
    assert nothing(report, "lost")


@with_story(
    *TWO,
    final_read({0: 1}),
    topic={**COMPACTED["topic"], "delete.retention.ms": 100},
    keys=1,
    tombstones=0.5,
)
def test_once_its_retention_has_passed_a_tombstone_may_go_alone(report: Report) -> None:
    assert nothing(report, "lost")


@with_story(*TWO, final_read({0: 1}), fault("skew-clock", ms=500), **TOMBSTONES)
def test_where_a_clock_was_set_nobody_knows_when_that_is(report: Report) -> None:
    assert nothing(report, "lost")


@with_story(*TWO, final_read({0: 1}, position=1, complete=False), **TOMBSTONES)
def test_a_tombstone_that_was_not_read_may_be_there(report: Report) -> None:
    assert found(report, "unseen") == [2]


@with_story(*TWO, final_read({1: 2}), topic=COMPACTED["topic"], keys="per-record")
def test_a_record_with_a_key_of_its_own_is_superseded_by_none(report: Report) -> None:
    assert found(report, "lost") == [1]


@with_story(*TWO, final_read({1: 2}), keys=1)
def test_where_nothing_compacts_nothing_is_superseded(report: Report) -> None:
    assert found(report, "lost") == [1]


@with_story(
    *TWO,
    final_read({1: 2}),
    topic={"cleanup.policy": "delete"},
    server={"log.cleanup.policy": "compact"},
    keys=1,
)
def test_a_topic_s_own_policy_goes_before_the_brokers(report: Report) -> None:
    assert found(report, "lost") == [1]


@with_story(sent(1, at=0), doubtful(2), final_read(), **COMPACTED)
def test_a_record_that_may_have_landed_may_supersede(report: Report) -> None:
    assert nothing(report, "lost")


@with_story(sent(1, at=1), doubtful(2), read(2, at=0), final_read(), **COMPACTED)
def test_one_that_is_known_to_lie_before_does_not(report: Report) -> None:
    assert found(report, "lost") == [1]


@with_story(sent(1, at=0), failed(2), aborted(3), final_read({1: 3}), **COMPACTED)
def test_failed_and_aborted_records_supersede_nothing(report: Report) -> None:
    assert found(report, "lost") == [1]


@with_story(*TWO, final_read({1: 2}, position=1, complete=False), **COMPACTED)
def test_what_an_incomplete_final_read_lacks_is_not_unseen_if_it_is_superseded(
    report: Report,
) -> None:
    assert nothing(report, "lost", "unseen", "inconsistent-offset")


@with_story(
    *TWO,
    polled(2, at=1),
    processed(2, at=1),
    committed(2),
    final_read(1, 2),
    commit="after",
    **COMPACTED,
)
def test_a_group_may_pass_over_what_is_superseded(report: Report) -> None:
    """It was given a log that was compacted; the leader at the end had not got so far."""
    assert nothing(report, "skipped")


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    sent(3, at=2),
    read(1, at=0),
    read(3, at=2),
    final_read(1, 2, 3),
    consumers=1,
    **COMPACTED,
)
def test_a_reader_may_pass_over_what_is_superseded(report: Report) -> None:
    assert nothing(report, "poll-skip")


@with_story(*TWO, sent(3, at=2), read(1, at=0), read(3, at=2), final_read(1, 2, 3), consumers=1)
def test_the_same_of_other_records_is_a_skip(report: Report) -> None:
    assert found(report, "poll-skip") == [2]


@with_story(
    *TWO,
    polled(2, at=1),
    processed(2, at=1),
    committed(2),
    final_read(1, 2),
    commit="after",
    consumer={"auto.offset.reset": "earliest"},
)
def test_and_by_a_group_it_is_skipped(report: Report) -> None:
    assert found(report, "skipped") == [1]


def test_of_many_keys_each_has_a_last_record_in_each_partition(tmp_path: Path) -> None:
    """By a plain loop over the records of a file, some acknowledged, some in doubt."""
    draw = random.Random(3)
    rows = [row(n, draw) for n in range(400)]
    pq.write_table(
        pa.Table.from_pylist(rows, tables.schema(tables.OPERATION_COLUMNS)), tmp_path / "a.parquet"
    )
    record = story_record("told/1", {"keys": 30, "topic": COMPACTED["topic"], "partitions": 2})
    run = bare_run(record.model_dump(mode="json"), tables=(tmp_path / "a.parquet",))
    ends, seed = zipf_ends(30), run.record["seed"]

    def at(record: dict[str, Any]) -> int:
        return -1 if record["offset"] is None else int(record["offset"])

    def log_of(record: dict[str, Any]) -> tuple[int, int]:
        return record["partition"], bisect_right(ends, drawn(record["value"], seed))

    there = [each for each in rows if each["type"] != "fail"]
    expected = {
        each["value"]
        for each in there
        for other in there
        if other is not each and log_of(other) == log_of(each)
        if other["offset"] is None or at(other) > at(each)
    }

    assert expected == set(superseded(run))
    assert 20 < len(expected) < 380


def row(n: int, draw: random.Random) -> dict[str, Any]:
    type_ = draw.choice(["ok"] * 30 + ["fail", "info"])
    return {
        "run_id": "told/1",
        "process": "producer-0",
        "id": n,
        "f": "send",
        "type": type_,
        "partition": n % 2,
        "value": n,
        "offset": n // 2 if type_ == "ok" else None,
        **dict.fromkeys(("intended_ns", "start_ns", "end_ns"), n + 1),
    }
