"""The story of a record that is missing from a transaction of which others are there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import Part, doubtful, fault, final_read, sent, with_story
from tests.support.story_parts.kept_logs import followed, kept_log, led
from tests.support.story_parts.transactions import noted

COMMITTED: dict[str, Any] = {
    "isolation": "read_committed",
    "idempotent": True,
    "history_format": 2,
    "partitions": 2,
    "plan": [{"step": 0, "verb": "kill", "target": "leader"}],
}
HALF = (final_read({0: 1}, position=2), final_read(partition=1))
KILLED = fault(ms=205, for_ms=2000, nodes=["kafka1"])


def pair(make: Any, **more: Any) -> tuple[Part, Part]:
    """1 to partition 0 and 2 to partition 1, in one transaction."""
    parts = make(1, ms=100, took=200, **more), make(2, ms=110, took=190, partition=1, **more)
    one, two = (
        replace(part, rows=tuple({**row, "transaction": 0} for row in part.rows)) for part in parts
    )
    return one, two


def stories(report: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report["stories"]["told"]
    return found


@with_story(
    *pair(doubtful),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("unknown", 300),
    KILLED,
    led(1, epoch=0, at=0, ms=-1000, partition=1),
    followed(2, epoch=0, at=0, ms=-1000, partition=1),
    kept_log(1, 2, ms=1500, partition=1),
    *(kept_log(broker, partition=1) for broker in (1, 2, 3)),
    *HALF,
    **COMMITTED,
)
def test_a_doubtful_one_has_its_story(report):
    [story] = stories(report)

    assert (story["anomaly"], story["outcome"], story["records"]) == ("torn", "doubtful", 1)
    assert story["sentence"].startswith(
        "One record of partition 1, sent at 0.110 s, was never acknowledged, since the commit that "
        "was asked for had no answer; but other records of its transaction are in the log, so it "
        "was carried out; kafka1 had it"
    )
    assert "kafka1 was killed between 0.205 s and 0.206 s" in story["sentence"]
    assert "the final read did not find it" in story["sentence"]
    assert report["anomalies"]["torn"]["examples"][0]["story"] == 1


@with_story(
    *pair(sent, at=0),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("committed", 300),
    *HALF,
    **COMMITTED,
)
def test_a_committed_one_is_lost_and_has_that_story(report):
    [story] = stories(report)

    assert story["anomaly"] == "lost"
    assert report["anomalies"]["torn"]["count"] == 1
