"""The export for Jepsen: what each send, transaction, poll and assignment becomes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from harness.history import jepsen
from harness.history.record_format import (
    FAIL,
    FINAL_READ,
    INFO,
    LOOKUP,
    NOTHING,
    OK,
    POLL,
    READ,
    SEND,
)
from harness.history.recorder import Recorder
from tests.support.jepsen.exports import exported, of_kinds, send, with_partitions
from tests.support.jepsen.histories import counts, polled, recorded_counts, wrong
from tests.support.recorded_runs import record_sends

# --- sends


def test_overlapping_sends_are_dealt_to_processes_and_free_ones_are_used_again(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, 30, at=5)
        send(recorder, 1, 20, 25)
        send(recorder, 2, 26, 40, at=6)

    record_sends(run, then=sending)

    assert [
        (0, "invoke", 0, [["send", 0, 0]]),
        (10, "invoke", 1, [["send", 0, 1]]),
        (15, "ok", 1, [["send", 0, [None, 1]]]),
        (16, "invoke", 1, [["send", 0, 2]]),
        (20, "ok", 0, [["send", 0, [5, 0]]]),
        (30, "ok", 1, [["send", 0, [6, 2]]]),
    ] == of_kinds(exported(run)[0], "send")


def test_a_send_in_doubt_uses_its_process_up_and_one_that_failed_does_not(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        for value, ended in enumerate((INFO, FAIL, OK)):
            at = 10 * (value + 1)
            operation = recorder.invoke(SEND, 0, value, at, at)
            recorder.complete(operation, ended, NOTHING, at + 5, NOTHING, 1)

    record_sends(run, then=sending)

    assert [
        (0, "invoke", 0, [["send", 0, 0]]),
        (5, "info", 0, [["send", 0, 0]]),
        (10, "invoke", 1, [["send", 0, 1]]),
        (15, "fail", 1, [["send", 0, 1]]),
        (20, "invoke", 1, [["send", 0, 2]]),
        (25, "ok", 1, [["send", 0, [None, 2]]]),
    ] == of_kinds(exported(run)[0], "send")


def test_a_send_that_never_ended_is_in_doubt_when_the_load_ends(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, None)
        send(recorder, 1, 20, 90)

    record_sends(run, then=sending)

    assert [(0, "invoke"), (10, "invoke"), (80, "info"), (80, "ok")] == [
        (op.time, op.type) for op in exported(run)[0]
    ]


# --- transactions


def test_the_sends_of_a_transaction_are_one(run: Path) -> None:
    """Committed, aborted, and committed again, without a pause between them."""

    def sending(recorder: Recorder) -> None:
        for value, start, end, ended in (
            (0, 10, 40, OK),
            (1, 20, 41, OK),
            (2, 41, 60, FAIL),
            (3, 50, 60, FAIL),
            (4, 60, 80, OK),
        ):
            operation = recorder.invoke(SEND, value % 2, value, start, start)
            at = value + 5 if ended == OK else NOTHING
            recorder.complete(operation, ended, at, end, NOTHING, 0)

    record_sends(with_partitions(run, 0, 1, transactions=True), then=sending)
    ops, left_out = exported(run)

    assert [
        (0, "invoke", 0, [["send", 0, 0], ["send", 1, 1]]),
        (31, "ok", 0, [["send", 0, [5, 0]], ["send", 1, [6, 1]]]),
        (31, "invoke", 0, [["send", 0, 2], ["send", 1, 3]]),
        (50, "fail", 0, [["send", 0, 2], ["send", 1, 3]]),
        (50, "invoke", 0, [["send", 0, 4]]),
        (70, "ok", 0, [["send", 0, [9, 4]]]),
    ] == of_kinds(ops, "txn")
    assert (recorded_counts(run), Counter()) == (counts(ops), left_out)


def test_without_transactions_the_same_sends_are_many(run: Path) -> None:
    record_sends(run, sends=3)

    assert ["send"] * 6 == [op.f for op in exported(run)[0]]


def test_a_transaction_of_mixed_ends_is_in_doubt_and_its_acks_are_counted(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, 40, at=5)
        refused = recorder.invoke(SEND, 0, 1, 20, 20)
        recorder.complete(refused, FAIL, NOTHING, 20, NOTHING, -184)

    record_sends(with_partitions(run, 0, transactions=True), then=sending)
    ops, left_out = exported(run)

    assert [
        (0, "invoke", 0, [["send", 0, 0], ["send", 0, 1]]),
        (30, "info", 0, [["send", 0, 0], ["send", 0, 1]]),
    ] == of_kinds(ops, "txn")
    assert {jepsen.MIXED_ACKS: 1} == left_out


def test_a_send_that_never_ended_holds_no_transaction_open(run: Path) -> None:
    """A client that was replaced may never report a record; its successor's commits are acks."""

    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, None)
        send(recorder, 1, 15, None)
        send(recorder, 2, 20, 30, at=5)
        send(recorder, 3, 25, None)
        send(recorder, 4, 40, 50, at=7)

    record_sends(with_partitions(run, 0, transactions=True), then=sending)

    assert [
        (0, "invoke", 0, [["send", 0, 0], ["send", 0, 1]]),
        (10, "invoke", 1, [["send", 0, 2], ["send", 0, 3]]),
        (20, "info", 1, [["send", 0, 2], ["send", 0, 3]]),
        (30, "invoke", 2, [["send", 0, 4]]),
        (40, "info", 0, [["send", 0, 0], ["send", 0, 1]]),
        (40, "ok", 2, [["send", 0, [7, 4]]]),
    ] == of_kinds(exported(run)[0], "txn")


# --- reads


def test_what_one_call_returned_is_one_poll(run: Path) -> None:
    def reading(recorder: Recorder) -> None:
        for n, (partition, start, end) in enumerate(((0, 20, 29), (1, 20, 30), (0, 31, 40))):
            recorder.record(READ, partition, n, start, n, end, 1)

    def sending(recorder: Recorder) -> None:
        for value in range(3):
            send(recorder, value, 10, 15, to=value % 2)

    record_sends(with_partitions(run, 0, 1), "producer-0", then=sending)
    record_sends(run, "consumer-0", then=reading)

    assert [
        (10, "invoke", 0, [0, 1]),
        (10, "ok", 0, [0, 1]),
        (10, "invoke", 0, [["poll"]]),
        (20, "ok", 0, [["poll", {0: [[0, 0]], 1: [[1, 1]]}]]),
        (21, "invoke", 0, [["poll"]]),
        (30, "ok", 0, [["poll", {0: [[2, 2]]}]]),
    ] == of_kinds(exported(run)[0], "assign", "poll")


def test_what_jepsen_cannot_judge_is_left_out_and_counted(run: Path) -> None:
    """Its checker throws on a value without a sender, and on a key without records."""

    def working(recorder: Recorder) -> None:
        send(recorder, 0, 10, 15, at=0)
        recorder.record(READ, 0, 0, 20, 0, 21, 1)
        recorder.record(READ, 0, NOTHING, 20, 1, 21, 1)
        recorder.record(READ, 0, 99, 20, 2, 21, 1)
        recorder.record(READ, 1, 0, 20, 0, 21, 1)
        recorder.record(READ, 0, 99, 30, 2, 31, 1)
        look = recorder.invoke(LOOKUP, 0, 0, 15, 15)
        recorder.complete(look, OK, 0, 21, NOTHING, 0)

    record_sends(with_partitions(run, 0, 1), then=working)
    ops, left_out = exported(run)

    assert [{}, {0: [[0, 0]]}] == [polled(op) for op in ops if op.f == "poll"]
    assert {jepsen.UNPARSABLE: 1, jepsen.NEVER_SENT: 3, "look-ups": 1} == left_out


def test_a_member_is_assigned_what_it_is_given_and_no_more_what_it_loses(run: Path) -> None:
    """What a poll returned in which it was given something came afterwards."""

    def sending(recorder: Recorder) -> None:
        for value in range(3):
            send(recorder, value, 10, 15, to=value % 2)

    def member(recorder: Recorder) -> None:
        recorder.event("assigned", text="0, 1", time_ns=22)
        recorder.record(POLL, 0, 0, 20, 0, 25, NOTHING)
        recorder.event("revoked", text="0, 1", time_ns=30)
        recorder.event("assigned", text="0", time_ns=35)
        recorder.record(POLL, 0, 2, 40, 1, 45, NOTHING)

    record_sends(with_partitions(run, 0, 1), "producer-0", then=sending)
    record_sends(run, "group-consumer-0", then=member)

    assert [
        ("assign", 12, [0, 1]),
        ("poll", 12, [["poll"]]),
        ("assign", 20, []),
        ("assign", 25, [0]),
        ("poll", 30, [["poll"]]),
    ] == [
        (op.f, op.time, op.value)
        for op in exported(run)[0]
        if op.f != "send" and op.type == "invoke"
    ]


def test_a_final_read_is_a_process_of_its_own_after_all_else(run: Path) -> None:
    def working(recorder: Recorder) -> None:
        send(recorder, 0, 10, 90, at=0)
        recorder.record(READ, 0, 0, 20, 0, 21, 1)

    def final(recorder: Recorder) -> None:
        recorder.record(FINAL_READ, 0, 0, 50, 0, 51, 1)

    record_sends(run, "producer-0", then=working)
    record_sends(run, "final-read-0", then=final)
    record_sends(run, "final-read-1", then=final)
    ops, _ = exported(run)

    assert [] == wrong(ops)
    assert {2, 3} == {op.process for op in ops[-8:]}
    assert {"assign", "poll"} == {op.f for op in ops[-8:]}
    assert {80} == {op.time for op in ops[-8:]}
