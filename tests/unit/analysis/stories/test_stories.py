"""Stories of made histories: who had a record, who led, why it is gone; and what is not known."""

from __future__ import annotations

from typing import Any

from tests.support.histories import fault, final_read, moved, sent, stayed, with_story
from tests.support.story_parts.kept_logs import (
    followed,
    kept_log,
    known,
    led,
    not_kept,
    stories,
    truncated,
)

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
def test_a_lost_record_s_story_says_who_had_it_who_led_and_why_it_is_gone(report):
    [story] = stories(report)

    assert (story["anomaly"], story["also"], story["records"]) == (
        "lost",
        ["inconsistent-offset"],
        1,
    )
    assert story["sentence"] == (
        "Offset 2 of partition 0 was acknowledged by kafka1 at 0.305 s, written with epoch 0; "
        "no consumer was given it; "
        "kafka2 and kafka3 did not have it (their logs ended at 2); "
        "kafka1 was killed between 0.310 s and 0.311 s; "
        "kafka2 led with epoch 1 from log end 2 at 0.990 s; "
        "kafka1 cut its log off from 2 on at 2.310 s; no replica has it now; "
        "value 3 lies there instead, written with epoch 1 by kafka2."
    )
    assert known(story, "had") == {"kafka1": "yes", "kafka2": "no", "kafka3": "no"}
    assert known(story, "now") == {"kafka1": "no", "kafka2": "no", "kafka3": "no"}
    assert [row["who"] for row in story["life"]] == [
        *("ZooKeeper", "producer 0", "kafka1", "kafka1", "kafka2", "kafka3", "kafka1", "kafka1"),
        *("kafka1", "kafka1, kafka2, kafka3", "final read"),
    ]
    assert story["replicas"][0]["states"] == [
        {"from_s": 0.3, "to_s": 2.31, "has": "yes"},
        {"from_s": 2.31, "to_s": None, "has": "no"},
    ]
    assert report["stories"]["missing"] == []
    for name in ("lost", "inconsistent-offset"):
        assert [row["story"] for row in report["anomalies"][name]["examples"]] == [1]


@with_story(
    *LOAD,
    KILLED,
    BEFORE,
    *BEGAN,
    *moved(ms=1000),
    led(2, epoch=1, at=2, ms=990),
    followed(3, epoch=1, at=3, ms=995),
    truncated(3, at=2, ms=996),
    *NOW,
    **SETTINGS,
)
def test_a_follower_that_had_it_and_was_never_hit_is_known_by_its_log_end(report):
    [story] = stories(report)

    assert known(story, "had") == {"kafka1": "yes", "kafka2": "no", "kafka3": "yes"}
    assert "kafka3 had it too; kafka2 did not have it (its log ended at 2)" in story["sentence"]
    assert "kafka3 cut its log off from 2 on at 0.996 s" in story["sentence"]


@with_story(
    *LOAD,
    KILLED,
    BEFORE,
    led(1, epoch=0, at=0, ms=-1000),
    followed(3, epoch=0, at=4, ms=-1000),
    *moved(ms=1000),
    led(2, epoch=1, at=2, ms=990),
    followed(3, epoch=1, at=4, ms=995),
    **SETTINGS,
)
def test_a_log_that_was_longer_before_the_record_came_proves_nothing(report):
    """kafka3's log had ended at 4 when it began to follow: what it has at 2 may be older."""
    [story] = stories(report)

    assert known(story, "had")["kafka3"] == "unknown"
    assert "whether kafka3 had it is not known" in story["sentence"]


@with_story(
    *LOAD,
    KILLED,
    BEFORE,
    *BEGAN,
    *moved(ms=1000),
    led(2, epoch=1, at=2, ms=990),
    truncated(3, at=1, ms=600),
    followed(3, epoch=1, at=1, ms=995),
    **SETTINGS,
)
def test_a_log_that_was_cut_since_the_record_was_sent_does_not_say_that_it_lacked_it(report):
    [story] = stories(report)

    assert known(story, "had") == {"kafka1": "yes", "kafka2": "no", "kafka3": "unknown"}


@with_story(*LOAD, KILLED, *moved(ms=1000), **SETTINGS)
def test_where_nothing_was_kept_the_story_says_what_is_not_known(report):
    [story] = stories(report)

    assert report["stories"]["missing"] == [
        "nothing of the brokers' own logs was kept with this run"
    ]
    assert story["sentence"] == (
        "Offset 2 of partition 0 was acknowledged at 0.305 s, when ZooKeeper showed kafka1 with "
        "epoch 0 leading; by whom is not known for certain; no consumer was given it; "
        "in whose logs it was is not known; "
        "kafka1 was killed between 0.310 s and 0.311 s; "
        "kafka2 led with epoch 1, as ZooKeeper showed at "
        "1.000 s; where its log ended then is not known; which replica has it now is not known, "
        "and the final read did not find it; value 3 lies there instead."
    )
    assert set(known(story, "had").values()) == {"unknown"} == set(known(story, "now").values())


@with_story(
    *LOAD, KILLED, *moved(ms=1000), cluster={"kafka": "4.4.0", "metadata": "kraft"}, **SETTINGS
)
def test_without_zookeeper_nobody_says_what_it_showed(report):
    [story] = stories(report)

    assert "when KRaft showed kafka1 with epoch 0 leading" in story["sentence"]
    assert "kafka2 led with epoch 1, as KRaft showed at 1.000 s" in story["sentence"]
    assert "ZooKeeper" not in str(story)


@with_story(*LOAD, KILLED, *moved(ms=1000), not_kept("its log is not among the run's logs", 2))
def test_what_could_not_be_kept_is_said_with_its_reason(report):
    missing = report["stories"]["missing"]

    assert "kafka2: its log is not among the run's logs" in missing


@with_story(
    *LOAD,
    KILLED,
    BEFORE,
    *BEGAN,
    *MOVED,
    kept_log(1, 5, begin=3, lowest=3, epochs=EPOCHS),
    kept_log(2, 5, begin=3, lowest=1, epochs=EPOCHS, cut_short=True),
    kept_log(3, 3, None, begin=2, lowest=1, epochs=EPOCHS, text="codec not installed"),
    **SETTINGS,
)
def test_below_the_watermarks_the_final_read_tells_and_in_a_tail_cut_short_nobody(report):
    [story] = stories(report)

    assert known(story, "now") == {"kafka1": "no", "kafka2": "unknown", "kafka3": "unknown"}
    assert story["replicas"][0]["now_why"].startswith("every replica was past this offset")
    assert "whether kafka2 and kafka3 have it now is not known" in story["sentence"]


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=1500),
    final_read(0),
    fault("cut", ms=300, for_ms=3000, nodes=["kafka1"]),
    *moved(ms=1000),
    led(1, epoch=0, at=0, ms=-1000),
    led(2, epoch=1, at=1, ms=990),
    acks="1",
)
def test_who_acknowledged_it_is_not_said_where_a_stale_leader_may_have(report):
    """kafka2 led in ZooKeeper at the ack; no kept log tells in which epoch it was written."""
    [story] = stories(report)

    assert not story["certain"]
    assert "ZooKeeper showed kafka2 with epoch 1 leading; by whom is not known" in story["sentence"]
    assert "which leader came to lead without it is not known" in story["sentence"]


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=1500),
    final_read(0),
    fault("cut", ms=300, for_ms=3000, nodes=["kafka1"]),
    *moved(ms=1000),
    led(1, epoch=0, at=0, ms=-1000),
    led(2, epoch=1, at=1, ms=990),
    kept_log(1, 0, 1, ms=3200),
    acks="1",
)
def test_and_a_kept_log_tells_that_the_stale_leader_did(report):
    [story] = stories(report)

    assert "acknowledged by kafka1 at 1.505 s, written with epoch 0" in story["sentence"]
    assert "kafka2 led with epoch 1 from log end 1 at 0.990 s" in story["sentence"]


@with_story(
    *(sent(value, at=value, ms=100 + value) for value in range(8)),
    final_read(0, 1),
    fault(ms=310, for_ms=2000, nodes=["kafka1"]),
    kept_log(1, 0, 1, 2, 3, 4, 5, 6, 7, ms=2200),
    *BEGAN,
    *MOVED,
    kept_log(3, 0, 1, 2, 3, ms=2200),
    **SETTINGS,
)
def test_neighbours_with_one_story_share_it_and_others_have_their_own(report):
    """kafka3 had 2 and 3 as well."""
    both, alone = stories(report)

    assert (both["records"], both["first_offset"], both["last_offset"]) == (2, 2, 3)
    assert (alone["records"], alone["first_offset"], alone["last_offset"]) == (4, 4, 7)
    assert both["sentence"].startswith("Offsets 2–3 (2 records) of partition 0 were acknowledged")
    assert "kafka3 had them too" in both["sentence"]
    examples = report["anomalies"]["lost"]["examples"]
    assert [row["story"] for row in examples] == [1, 1, 2, 2, 2, 2]


@with_story(
    *(sent(value, at=value, ms=100 + value) for value in range(4)),
    final_read({0: 0, 2: 2, 3: 3, 1: 1}),
)
def test_a_run_without_such_findings_has_no_stories(report):
    assert report["stories"] == {"told": [], "more": 0, "more_records": 0, "missing": []}
    assert "story" not in str(report["anomalies"])


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=300, took=2000),
    final_read(0, 1, 1),
    KILLED,
    *BEGAN,
    *MOVED,
    *(kept_log(broker, 0, 1, 1, epochs=EPOCHS) for broker in (1, 2)),
    acks="all",
    retries=3,
)
def test_a_duplicate_s_story_names_both_places_their_epochs_and_their_leaders(report):
    [story] = stories(report)

    assert story["sentence"] == (
        "One record of partition 0 is in the log twice: at offset 1, written with epoch 0 by "
        "kafka1, and at offset 2, written with epoch 1 by kafka2; sent at 0.300 s, acknowledged "
        "at 2.300 s; kafka1 was killed between 0.310 s and 0.311 s; "
        "kafka2 led with epoch 1 from log end 2 at "
        "0.990 s; kafka1 and kafka2 have both; what kafka3 has now is not known."
    )


@with_story(
    sent(1, at=1, ms=100, took=500),
    sent(2, at=0, ms=110, took=100),
    final_read(2, 1),
    kept_log(1, 2, 1),
    led(1, epoch=0, at=0, ms=-1000),
    retries=3,
    in_flight=5,
    history_format=2,
)
def test_a_reordered_record_s_story_names_the_one_before_it(report):
    [story] = stories(report)

    assert story["sentence"].startswith(
        "One record of partition 0 lies behind one that its client sent later: at offset 1, "
        "written with epoch 0 by kafka1, the other one at offset 0, written with epoch 0 by kafka1"
    )
    assert known(story, "now")["kafka1"] == "yes"


POWER = fault("power-loss", ms=310, for_ms=2000, nodes=["kafka1", "kafka3"])


@with_story(*LOAD, POWER, *moved(ms=1000), *NOW, acks="1", loaded=False)
def test_that_another_record_lies_there_at_the_end_does_not_say_that_it_never_had_it(report):
    [story] = stories(report)

    assert set(known(story, "had").values()) == {"unknown"}
    assert set(known(story, "now").values()) == {"no"}


@with_story(
    *LOAD,
    POWER,
    BEFORE,
    *BEGAN,
    *moved(ms=1000),
    led(2, epoch=1, at=2, ms=990),
    followed(3, epoch=1, at=2, ms=2400),
    acks="1",
    plan=[{"step": 0, "verb": "power-loss", "target": "leader", "effects": None}],
)
def test_a_short_log_proves_nothing_where_a_fault_may_have_taken_the_disk(report):
    [story] = stories(report)

    assert known(story, "had") == {"kafka1": "yes", "kafka2": "no", "kafka3": "unknown"}


@with_story(
    *LOAD[:3],
    final_read(0, 1),
    fault("power-loss", ms=400, for_ms=2000, nodes=["kafka1"]),
    *BEGAN,
    led(1, epoch=0, at=2, ms=2300),
    stayed(),
    acks="1",
)
def test_a_leader_that_came_back_in_its_own_epoch_with_less_is_named(report):
    [story] = stories(report)

    assert "kafka1 led again with epoch 0 from log end 2 at 2.300 s" in story["sentence"]
    assert known(story, "had")["kafka1"] == "yes"


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=1500),
    final_read(0),
    *moved(ms=1000),
    led(1, epoch=0, at=0, ms=-1000),
    led(2, epoch=1, at=1, ms=990 + 3_600_000),
    kept_log(1, 0, 1, ms=3200),
    acks="1",
)
def test_the_time_of_a_broker_whose_clock_was_wrong_is_not_told(report):
    [story] = stories(report)

    assert "kafka2 led with epoch 1 from log end 1 at a time that is not known" in story["sentence"]


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=1500),
    final_read(0),
    *moved(ms=1000),
    followed(2, epoch=0, at=0, ms=6000),
    led(2, epoch=1, at=1, ms=990),
    kept_log(1, 0, 1, ms=3200),
    acks="1",
)
def test_that_of_one_whose_clock_was_set_back_by_some_seconds_is(report):
    [story] = stories(report)

    assert "kafka2 led with epoch 1 from log end 1 at 0.990 s" in story["sentence"]


@with_story(
    *(sent(value, at=0, ms=100 + value, partition=value) for value in range(3)),
    *(final_read(partition=partition) for partition in range(3)),
    acks="1",
    partitions=3,
)
def test_records_of_three_partitions_have_stories_of_their_own(report):
    assert sorted(story["partition"] for story in stories(report)) == [0, 1, 2]
