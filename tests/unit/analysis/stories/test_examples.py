"""Examples in a report: who wrote each of two values, and which lost record vanished."""

from __future__ import annotations

from typing import Any

from tests.support.histories import fault, final_read, moved, read, sent, with_story
from tests.support.story_parts.kept_logs import followed, kept_log, led, truncated

# 2 is acked by kafka1, which is killed; kafka2 leads from log end 2, and 3 takes the place.
LOAD = (
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=200),
    sent(2, at=2, ms=300),
    sent(3, at=2, ms=2000),
    final_read(0, 1, 3),
)
KILLED = fault(ms=310, for_ms=2000, nodes=["kafka1"])
BEFORE = kept_log(1, 0, 1, 2, ms=2200)
BEGAN = (
    led(1, epoch=0, at=0, ms=-1000),
    followed(2, epoch=0, at=0, ms=-1000),
    followed(3, epoch=0, at=0, ms=-1000),
)
MOVED = (
    *moved(ms=1000),
    led(2, epoch=1, at=2, ms=990),
    followed(3, epoch=1, at=2, ms=995),
    followed(1, epoch=1, at=3, ms=2300),
    truncated(1, at=2, ms=2310),
)
EPOCHS = {0: 0, 1: 2}
NOW = tuple(kept_log(broker, 0, 1, 3, epochs=EPOCHS) for broker in (1, 2, 3))
SETTINGS: dict[str, Any] = {"acks": "1", "plan": [{"step": 0, "verb": "kill", "target": "leader"}]}


@with_story(*LOAD, KILLED, BEFORE, *BEGAN, *MOVED, *NOW, **SETTINGS)
def test_of_two_values_at_one_offset_each_has_the_leader_that_wrote_it(report):
    [example] = report["anomalies"]["inconsistent-offset"]["examples"]

    wrote = {
        example["value"]: (example["leader"], example["epoch"]),
        example["other_value"]: (example["other_leader"], example["other_epoch"]),
    }
    assert wrote == {2: ("kafka1", 0), 3: ("kafka2", 1)}


@with_story(*LOAD, KILLED, *MOVED, **SETTINGS)
def test_without_kept_logs_the_one_that_is_there_now_has_none(report):
    [example] = report["anomalies"]["inconsistent-offset"]["examples"]

    assert example["leader"] == "kafka1"
    assert (example["other_leader"], example["other_epoch"]) == (None, None)


@with_story(*LOAD, KILLED, read(2, at=2, ms=306), *MOVED, *NOW, **SETTINGS)
def test_a_lost_record_that_a_reader_had_been_given_is_told_to_have_vanished(report):
    [story] = report["stories"]["told"]

    assert (story["anomaly"], story["vanished"], story["records"]) == ("lost", 1, 1)
    [example] = report["anomalies"]["vanished"]["examples"]
    assert example["story"] == story["number"]


@with_story(*LOAD, KILLED, *MOVED, *NOW, **SETTINGS)
def test_one_that_nobody_had_been_given_did_not_vanish(report):
    [story] = report["stories"]["told"]

    assert (story["vanished"], report["anomalies"]["vanished"]["count"]) == (0, 0)
