"""The demand `misplaced-replicas`: met and broken by where run.json says the replicas were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from analysis.job import job
from analysis.job.job import CheckError
from tests.support.histories import final_read, sent, story, with_story
from tests.support.story_runs import write_story

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

Report = dict[str, Any]
DEMAND = {"misplaced-replicas": "0"}
IN_TURN = [["kafka2", "kafka3", "kafka1"], ["kafka3", "kafka1", "kafka2"]]
TWICE = [["kafka2", "kafka3", "kafka1"], ["kafka2", "kafka3", "kafka1"]]


@with_story(sent(1, at=0, ms=1000), final_read(1), expect=DEMAND, placed=IN_TURN)
def test_replicas_in_turn_meet_it(report: Report) -> None:
    assert report["verdict"] == "valid", report["reasons"]


@with_story(sent(1, at=0, ms=1000), final_read(1), expect=DEMAND, placed=TWICE)
def test_two_partitions_led_by_one_broker_break_it(report: Report) -> None:
    assert report["verdict"] == "invalid"
    assert report["reasons"] == ["misplaced-replicas: 0 demanded, 3 were seen"]


def test_where_nobody_knows_where_they_were_it_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = write_story(
        story(sent(1, at=0, ms=1000), final_read(1), expect=DEMAND), tmp_path, "told/1-42"
    )

    with pytest.raises(CheckError, match=r"misplaced-replicas: judged only where Kafka places"):
        job.check([run], started=spark)


def test_replicas_that_no_topic_can_have_are_no_record(spark: SparkSession, tmp_path: Path) -> None:
    run = write_story(story(sent(1, at=0, ms=1000), final_read(1)), tmp_path, "told/1-42")
    record = json.loads((run / "run.json").read_text())
    impossible: list[list[list[str]]] = [[["kafka1", "kafka1"]], [[]]]
    for placed in impossible:
        (run / "run.json").write_text(json.dumps({**record, "replicas": placed}))

        with pytest.raises(CheckError, match=r"replicas\.0"):
            job.check([run], started=spark)
