"""Demands that a run did not put to the test, each with the twin that did."""

from __future__ import annotations

from typing import Any

from analysis.checks.anomaly import Anomaly
from analysis.checks.groups import commits, handling, outputs, owners
from analysis.verdict.untested import GROUPS
from harness.model.sections.expect import OF_GROUPS
from tests.support.histories import (
    client_error,
    committed,
    doubtful,
    event,
    failed,
    fault,
    final_read,
    planned,
    polled,
    processed,
    sent,
    with_story,
)

Report = dict[str, Any]
NOTHING_SKIPPED = {"commit": "after", "partitions": 2, "expect": {"skipped": "0"}}
GROUP = (sent(1, at=0), polled(1, 0), processed(1, 0), committed(1))
TWO = {"workers": [{"process": f"group-consumer-{n}", "role": "group-consumer"} for n in range(2)]}


def why(report: Report) -> list[str]:
    """The reasons that are of one demand."""
    return [each for each in report["reasons"] if each.startswith("skipped")]


def assigned(member: int, partition: int) -> Any:
    return event("assigned", ms=1, process=f"group-consumer-{member}", text=str(partition))


ADDED = (*GROUP, fault("add-partitions", ms=50), final_read(1), final_read(partition=1))


MORE = {"step": 0, "verb": "add-partitions", "target": "leader", "effects": {"adds_partitions": 1}}


@with_story(*ADDED, plan=[MORE], **NOTHING_SKIPPED)
def test_added_partitions_that_nobody_uses_test_nothing(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [
        "skipped: partitions were added and no worker used them: set "
        "workload.use_added_partitions = true"
    ]
    assert report["anomalies"]["skipped"]["demand_met"] is None


@with_story(*ADDED, plan=[MORE], commit="after", partitions=2)
def test_without_such_a_demand_the_run_is_as_valid_as_ever(report: Report) -> None:
    assert (report["verdict"], report["reasons"]) == ("valid", [])


MEMBERS = (assigned(0, 0), *GROUP, final_read(1), final_read(partition=1))
NEVER_HAD = (
    "skipped: worker group-consumer-1 never had a partition, though there were enough for all "
    "members"
)


@with_story(*MEMBERS, **NOTHING_SKIPPED, **TWO)
def test_a_member_that_never_had_a_partition_tested_nothing(report: Report) -> None:
    assert why(report) == [NEVER_HAD]


@with_story(*MEMBERS, assigned(1, 1), **NOTHING_SKIPPED, **TWO)
def test_two_members_that_had_one_each_tested_it(report: Report) -> None:
    assert why(report) == []


@with_story(*GROUP, assigned(0, 0), final_read(1), commit="after", expect={"skipped": "0"}, **TWO)
def test_of_one_partition_a_second_member_can_have_none(report: Report) -> None:
    assert why(report) == []


FENCED = client_error("FENCED_INSTANCE_ID", "group-consumer-1")


@with_story(*MEMBERS, assigned(1, 1), FENCED, **NOTHING_SKIPPED, **TWO)
def test_a_fenced_member_tested_nothing(report: Report) -> None:
    assert why(report) == ["skipped: worker group-consumer-1 was fenced (FENCED_INSTANCE_ID)"]


AFTER = (*GROUP, fault("kill", ms=50), sent(2, at=1, ms=3000), final_read(1, 2))
KILLED = {"plan": planned("kill"), "commit": "after"}


@with_story(*AFTER, **KILLED, expect={"skipped": "0", "reprocessed": "0"})
def test_a_group_that_got_to_nothing_after_the_last_fault_tested_nothing(report: Report) -> None:
    assert why(report) == [
        "skipped: the consumer group processed nothing that was acknowledged after the last "
        "fault, and committed past none of it"
    ]


@with_story(*AFTER, processed(2, 1, ms=3100), **KILLED, expect={"skipped": "0"})
def test_one_that_processed_one_of_them_did(report: Report) -> None:
    assert why(report) == []


@with_story(*AFTER, committed(2, ms=3100), **KILLED, expect={"skipped": "0"})
def test_what_it_committed_past_decides_by_itself(report: Report) -> None:
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["skipped"]["count"] == 1


def test_each_anomaly_of_a_group_is_a_demand_on_the_group() -> None:
    of_groups = (commits, handling, outputs, owners)
    found = {
        each.name
        for module in of_groups
        for each in vars(module).values()
        if isinstance(each, Anomaly)
    }

    assert found == {*GROUPS} - {*OF_GROUPS}


@with_story(failed(1), doubtful(2), sent(3, at=3), final_read({3: 3}, log_start=3))
def test_whether_a_send_in_doubt_lies_below_the_log_s_start_is_not_known(report: Report) -> None:
    """The failed one certainly was not written."""
    assert (report["counts"]["undelivered"], report["outcome"]["data"]) == (1, "unknown")
    assert report["outcome"]["words"].startswith(
        "1 of 3 sends acknowledged; 2 failed (1 the client's queue was full, 1 timed out), 0 of "
        "these are in the log and of 1 that is not known; "
    )


@with_story(
    failed(1),
    doubtful(2),
    *(sent(3 + n, at=n) for n in range(4)),
    final_read(3, 4, 5, 6),
    expect={"undelivered": "2"},
)
def test_what_is_not_in_a_complete_log_is_undelivered(report: Report) -> None:
    assert (report["verdict"], report["outcome"]["data"]) == ("valid", "undelivered")
    assert report["sentence"].startswith("4 of 6 sends acknowledged; 2 failed (")
    assert [(row["error"], row["share"]) for row in report["errors"]] == [
        ("_QUEUE_FULL", 0.1667),
        ("_MSG_TIMED_OUT", 0.1667),
    ]


@with_story(doubtful(2), sent(3, at=0), final_read(3, 2), expect={"undelivered": "0"})
def test_a_send_in_doubt_that_landed_was_delivered(report: Report) -> None:
    assert (report["verdict"], report["outcome"]["data"]) == ("valid", "kept")
