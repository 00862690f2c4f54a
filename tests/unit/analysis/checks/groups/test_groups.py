"""Skipped and reprocessed: the smallest history of each, and its twins without it."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    committed,
    final_read,
    found,
    polled,
    processed,
    sent,
    split,
    stopped,
    with_story,
)

Report = dict[str, Any]
NEVER = dict.fromkeys(("polled", "never_polled", "failed", "before_first"), 0)
TWO = (sent(1, at=0), sent(2, at=1), polled(1, at=0), polled(2, at=1))
DEAD = {
    "process": "group-consumer-0",
    "role": "group-consumer",
    "exit": -9,
    "dies": "before-process",
}
DEAD_BEFORE_COMMIT = {**DEAD, "dies": "before-commit"}
LIVES = {"process": "group-consumer-1", "role": "group-consumer", "exit": 0}


# --- skipped


DIED = stopped("dies", ms=900)


@with_story(
    *TWO, committed(2), processed(1, at=0), DIED, final_read(1, 2), commit="auto", workers=[DEAD]
)
def test_a_record_committed_and_processed_by_nobody_is_skipped(report: Report) -> None:
    """The group went on at 2; of 0 and 1 only the first was processed."""
    assert found(report, "skipped") == [2]
    assert split(report, "skipped") == {**NEVER, "polled": 1}
    assert report["anomalies"]["skipped"]["forbidden"] is False
    row = report["anomalies"]["skipped"]["examples"][0]
    assert (row["partition"], row["offset"], row["sent"]) == (0, 1, "acked")
    assert (
        "1 record was committed by the consumer group and never processed, which this "
        "configuration allows." in report["sentence"]
    )


SKIPS = (
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    sent(3, at=2, ms=20),
    polled(1, at=0, ms=100),
    polled(2, at=1, ms=100),
    polled(3, at=2, ms=200),
    committed(3, ms=210),
    processed(1, at=0, ms=220),
    processed(3, at=2, ms=300),
    final_read(1, 2, 3),
)


@with_story(*SKIPS, stopped("revoked", ms=250), commit="before")
def test_what_a_member_had_when_it_was_revoked_may_be_skipped(report: Report) -> None:
    assert found(report, "skipped") == [2]
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 1
    cause = report["causes"][-1]
    assert (cause["kind"], cause["permitted"]) == ("member-stopped", {"skipped": 1})


@with_story(*SKIPS, stopped("revoked", ms=99), commit="before")
def test_a_revocation_before_it_was_given_the_record_explains_nothing(report: Report) -> None:
    assert report["anomalies"]["skipped"]["convicts"]


@with_story(*SKIPS, stopped("dies", ms=301), commit="before")
def test_a_death_after_a_later_record_was_processed_explains_nothing(report: Report) -> None:
    assert report["anomalies"]["skipped"]["convicts"]


@with_story(*SKIPS, stopped("dies", ms=250, process="group-consumer-1"), commit="before")
def test_another_member_s_death_explains_nothing(report: Report) -> None:
    assert report["anomalies"]["skipped"]["convicts"]


@with_story(*SKIPS, committed(3, ms=240, ended="info"), commit="before")
def test_a_commit_without_an_answer_explains_what_came_after_it(report: Report) -> None:
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 1


@with_story(*SKIPS, committed(3, ms=240, ended="info", partition=1), commit="before", partitions=2)
def test_a_commit_of_another_partition_explains_nothing(report: Report) -> None:
    assert report["anomalies"]["skipped"]["convicts"]


@with_story(*SKIPS, stopped("revoked", ms=250), commit="after")
def test_at_least_once_no_stop_explains_it(report: Report) -> None:
    assert report["anomalies"]["skipped"]["convicts"]


@with_story(
    *TWO, committed(2), processed(1, at=0), processed(2, at=1), final_read(1, 2), commit="auto"
)
def test_what_was_processed_in_the_end_is_not_skipped(report: Report) -> None:
    """The twin: both were."""
    assert found(report, "skipped") == []
    assert report["counts"]["processed"] == 2
    assert report["counts"]["commits"] == 1


@with_story(*TWO, committed(1), processed(1, at=0), final_read(1, 2), commit="after")
def test_what_is_not_committed_is_still_to_come(report: Report) -> None:
    """2 is at offset 1, where the group goes on."""
    assert found(report, "skipped") == []
    assert report["verdict"] == "valid"


@with_story(*TWO, committed(2, ended="info"), processed(1, at=0), final_read(1, 2), commit="after")
def test_a_commit_without_answer_proves_nothing(report: Report) -> None:
    """It may not have arrived."""
    assert found(report, "skipped") == []


@with_story(
    *TWO,
    committed(2, ended="info"),
    committed(2, found=True, process="group-consumer-1"),
    processed(1, at=0),
    final_read(1, 2),
    commit="after",
    workers=[DEAD_BEFORE_COMMIT, LIVES],
)
def test_a_commit_without_answer_that_the_next_member_found_counts(report: Report) -> None:
    """The twin: the coordinator let it begin at 2. After processing, that is forbidden."""
    assert found(report, "skipped") == [2]
    assert report["anomalies"]["skipped"]["convicts"] is True
    assert report["verdict"] == "invalid"


@with_story(
    *TWO,
    committed(2),
    committed(1, found=True),
    processed(1, at=0),
    final_read(1, 2),
    commit="after",
)
def test_what_is_known_last_counts(report: Report) -> None:
    """The group was set back to 1: 2 will be given again."""
    assert found(report, "skipped") == []


@with_story(
    *TWO, committed(2), processed(1, at=0), processed(2, at=None), final_read(1, 2), commit="before"
)
def test_processing_that_did_not_end_is_doubt(report: Report) -> None:
    """Its effect may be there."""
    assert found(report, "skipped") == []


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    polled(2, at=1),
    committed(2),
    processed(2, at=1),
    final_read(1, 2),
    commit="after",
    consumer={"auto.offset.reset": "latest"},
)
def test_records_before_a_group_that_began_at_the_log_s_end(report: Report) -> None:
    assert found(report, "skipped") == []


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    polled(1, at=0),
    processed(1, at=0),
    committed(2),
    final_read(1, 2),
    commit="before",
    workers=[DEAD],
)
def test_a_skipped_record_that_no_member_ever_had_is_told_apart(report: Report) -> None:
    """A death between the commit and the poll of what it covers cannot be; a seek can."""
    assert split(report, "skipped") == {**NEVER, "never_polled": 1}


@with_story(
    *TWO, committed(2), processed(1, at=0), final_read(1), commit="auto", acks="1", workers=[DEAD]
)
def test_a_record_that_is_gone_is_lost_and_not_skipped(report: Report) -> None:
    """Nobody can process it any more."""
    assert found(report, "skipped") == []
    assert found(report, "lost") == [2]


@with_story(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    polled(1, at=0),
    polled(2, at=0, partition=1),
    processed(1, at=0),
    committed(1),
    processed(2, at=0, partition=1),
    final_read(1),
    final_read(2, partition=1),
    commit="after",
    partitions=2,
)
def test_each_partition_has_its_own_committed_offset(report: Report) -> None:
    """Of partition 1 nothing was committed, so nothing of it is skipped or to be doubted."""
    assert found(report, "skipped") == []
    assert report["verdict"] == "valid"


# --- reprocessed


@with_story(
    *TWO,
    processed(1, at=0),
    processed(2, at=1),
    committed(1),
    polled(2, at=1, process="group-consumer-1"),
    processed(2, at=1, process="group-consumer-1"),
    committed(2, process="group-consumer-1"),
    final_read(1, 2),
    commit="after",
    workers=[DEAD_BEFORE_COMMIT, LIVES],
)
def test_a_record_processed_by_two_members_is_reprocessed(report: Report) -> None:
    """The first died before it committed; at least once allows it."""
    assert found(report, "reprocessed") == [2]
    assert split(report, "reprocessed") == {"by_another": 1, "by_the_same": 0}
    assert report["verdict"] == "valid"
    assert "1 record was processed more than once by the consumer group" in report["sentence"]


@with_story(
    *TWO,
    processed(1, at=0),
    processed(2, at=1),
    processed(2, at=1),
    committed(2),
    final_read(1),
    commit="after",
    acks="1",
)
def test_a_record_that_was_lost_later_was_reprocessed_all_the_same(report: Report) -> None:
    """What the group did with it, it did."""
    assert found(report, "reprocessed") == [2]
    assert found(report, "lost") == [2]


@with_story(
    *TWO,
    processed(1, at=0),
    processed(2, at=1),
    processed(2, at=1),
    committed(2),
    final_read(1, 2),
    commit="before",
)
def test_a_record_processed_twice_by_one_member_is_told_apart(report: Report) -> None:
    """And what is committed before it is processed is given to nobody again."""
    assert split(report, "reprocessed") == {"by_another": 0, "by_the_same": 1}
    assert report["anomalies"]["reprocessed"]["convicts"] is True


@with_story(
    *TWO,
    processed(1, at=0),
    processed(2, at=None),
    processed(2, at=1, process="group-consumer-1"),
    committed(2),
    final_read(1, 2),
    commit="before",
)
def test_a_second_processing_after_one_that_did_not_end_is_doubt(report: Report) -> None:
    """The first may have had no effect."""
    assert found(report, "reprocessed") == []


@with_story(
    sent(1, at=0),
    polled(1, at=0),
    processed(1, at=0),
    polled(1, at=1),
    processed(1, at=1),
    committed(2),
    final_read(1, 1),
    commit="before",
    retries=1,
)
def test_a_duplicate_in_the_log_is_not_reprocessed(report: Report) -> None:
    """Two records with one value: the producer's doing, not the group's."""
    assert found(report, "reprocessed") == []
    assert found(report, "duplicate") == [1]


# --- runs, with and without a group


@with_story(sent(1, at=0), final_read(1))
def test_a_run_without_a_group_has_no_anomalies_of_one(report: Report) -> None:
    """Neither as found nor as looked for."""
    assert {"skipped", "reprocessed"}.isdisjoint(report["anomalies"])
    assert "group" not in report["sentence"]


@with_story(sent(1, at=0), final_read(1), commit="after")
def test_a_group_that_processed_nothing_proves_nothing(report: Report) -> None:
    """It may never have joined."""
    assert report["reasons"] == ["the consumer group processed nothing"]


@with_story(
    *TWO,
    processed(1, at=0),
    processed(2, at=1),
    committed(2),
    final_read(1, 2),
    commit="after",
    workers=[{**DEAD, "exit": 0}],
)
def test_a_planned_death_that_did_not_come_makes_unknown(report: Report) -> None:
    """What the run was made for did not happen."""
    assert report["reasons"] == [
        "worker group-consumer-0 should have died before-process but did not"
    ]


@with_story(*TWO, polled(3, at=0), final_read(1, 2), commit="after")
def test_what_a_member_was_given_is_read(report: Report) -> None:
    """A member's poll of a value that was never sent is a phantom like any other read."""
    assert found(report, "phantom") == [3]
