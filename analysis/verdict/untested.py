"""Demands that a run did not put to the test: what was asked of Kafka did not come about there.

    partitions were added, and no worker uses them          demands on the consumer group
    a member was fenced, or never had a partition though
    there were enough for all                               the same
    records were acknowledged after the last fault, and
    the group neither processed one of them nor committed
    past one                                                skipped, no-output, expired-unread
    nobody saw who was in the ISR when records were acked   acked-isr-alone
    sends in doubt may be in a part of the log that was
    deleted                                                 undelivered
    programs had not passed an input                        no-output

The list is closed. Each makes its demands unknown where what was seen does not decide them already,
and touches nothing else: neither a count nor a promise.

    skipped = "0", 3 skipped      =>  broken all the same
    skipped = "0", 0 skipped      =>  unknown
    skipped = ">= 1", 0 skipped   =>  unknown

Pure functions of the run and of what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from analysis.measures.consumer_lag import AfterFaultsRow
from analysis.measures.work_done import Work
from analysis.stored.stored_run import Run, added_partitions, is_fenced
from analysis.verdict.own_time import line_of
from harness.history.tables import partitions_named
from harness.model.sections.expect import ALONE, OF_GROUPS
from harness.model.worker_kinds import kind_named

GROUPS: Final = (  # demands on the group
    *("skipped", "reprocessed", "no-output", "two-outputs", "commit-back", "zombie-commit"),
    *("two-owners", "unowned-partition", *OF_GROUPS),
)
HANDLED: Final = ("skipped", "no-output", "expired-unread")


def untested(
    run: Run, counts: Mapping[str, int], after: Sequence[AfterFaultsRow], work: Work, unseen: int
) -> dict[str, str]:
    """By demand, why it was not put to the test. `after`: of the group after the last fault;
    `unseen`: of how many acks nobody saw who was in the ISR."""
    found = dict[str, str]()
    for whose, why in _reasons(run, counts, after, work, unseen):
        for demand in whose:
            found.setdefault(demand, why)
    return found


def _reasons(
    run: Run, counts: Mapping[str, int], after: Sequence[AfterFaultsRow], work: Work, unseen: int
) -> Iterator[tuple[Sequence[str], str]]:
    if unseen:
        records = "1 record was" if unseen == 1 else f"{unseen:,} records were"
        yield (ALONE,), f"{records} acknowledged while nobody saw who was in the ISR"
    if unknown := sends_unknown(counts):
        yield (
            ("undelivered",),
            f"of {unknown:,} {'send' if unknown == 1 else 'sends'} nobody knows whether they "
            "were written",
        )
    if waiting := counts.get("not_passed", 0):
        inputs = "1 input" if waiting == 1 else f"{waiting:,} inputs"
        yield ("no-output",), f"the programs had not passed {inputs} when the drain ended"
    if not run.grouped:
        return
    if why := _unused_partitions(run) or _idle_member(run, work):
        yield GROUPS, why
    if after and not any(row["done_to"] >= row["acked_from"] for row in after):
        yield (
            HANDLED,
            "the consumer group processed nothing that was acknowledged after the last fault, and "
            "committed past none of it",
        )


def sends_unknown(counts: Mapping[str, int]) -> int:
    """How many sends failed or are in doubt, and are neither known to be in the log nor known not
    to be there. Sends that their client aborted do not count."""
    tried = counts["failed"] - counts["aborted"] + counts["indeterminate"]
    known = counts["failed_landed"] + counts["indeterminate_landed"] + counts["undelivered"]
    return max(0, tried - known)


def _unused_partitions(run: Run) -> str:
    used = run.scenario["workload"].get("use_added_partitions")
    if used or not added_partitions(run.record, run.faults):
        return ""
    return "partitions were added and no worker used them: set workload.use_added_partitions = true"


def _idle_member(run: Run, work: Work) -> str:
    """Of a member that was fenced, or that never had a partition though there were enough."""
    for event in run.events:
        if is_fenced(event):
            return f"worker {event['process']} was fenced ({event['name']})"
    workers = [str(worker["process"]) for worker in run.record.get("workers") or []]
    members = [each for each in workers if (kind := kind_named(each)) and kind.member]
    lines = {line_of(each) for each in members}
    had = {
        line_of(event["process"])
        for event in run.events
        if event["event"] == "assigned" and partitions_named(event["text"])
    }
    had |= {line_of(each) for each in members if work.count(each, "poll")}
    idle = sorted(lines - had)
    if not had or not idle or int(run.scenario["topic"]["partitions"]) < len(lines):
        return ""
    return f"worker {idle[0]} never had a partition, though there were enough for all members"
