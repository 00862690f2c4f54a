"""The export for Jepsen: well formed by its rules, and no more or less than what was recorded."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.checkout import ROOT
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
    HistoryError,
)
from harness.history.recorder import Recorder
from harness.history.sealing import seal
from harness.model.run_folder import RunFolder
from tests.support import told_runs
from tests.support.jepsen_histories import Op, counts, polled, read, recorded_counts, wrong
from tests.support.recorded_runs import record

GOLDEN = sorted((ROOT / "tests" / "golden").iterdir())


def exported(run: Path) -> tuple[list[Op], Counter[str]]:
    left_out: Counter[str] = Counter()
    return read(jepsen.export(run, left_out)), left_out


def of(run: Path, *partitions: int, transactions: bool = False) -> Path:
    """A run with so many partitions, and perhaps a transactional producer."""
    folder = RunFolder(path=run)
    scenario = folder.read().scenario
    producer = {"transactional.id": "t"} if transactions else {}
    topic = scenario.topic.model_copy(update={"partitions": len(partitions)})
    workload = scenario.workload.model_copy(update={"producer": producer})
    folder.update(scenario=scenario.model_copy(update={"topic": topic, "workload": workload}))
    return run


def send(
    recorder: Recorder, value: int, start: int, end: int | None, *, to: int = 0, at: int = NOTHING
) -> int:
    """A send that is acked at an offset (or without one), or never ends."""
    operation = recorder.invoke(SEND, to, value, start, start)
    if end is not None:
        recorder.complete(operation, OK, at, end, NOTHING, 0)
    return operation


def told(ops: list[Op], *fs: str) -> list[tuple[int, str, int, object]]:
    """Time, type, process and value of the operations of these kinds."""
    return [(op.time, op.type, op.process, op.value) for op in ops if op.f in fs]


# --- whole runs


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_a_recorded_run_is_well_formed_and_holds_all_sends_acks_and_reads(
    golden: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(golden, tmp_path / golden.name))

    ops, left_out = exported(run)

    assert [] == wrong(ops)
    assert recorded_counts(run) == counts(ops)
    assert {*left_out} <= {"look-ups"}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[Op]:
    """A recorded history with overlapping sends, one poll after another, and a final read."""
    folder = tmp_path_factory.mktemp("good") / "leader-stopped"
    return exported(Path(shutil.copytree(ROOT / "tests/golden/leader-stopped", folder)))[0]


def _first(ops: list[Op], f: str, type_: str) -> int:
    return next(n for n, op in enumerate(ops) if (op.f, op.type) == (f, type_))


def _without(f: str, type_: str) -> Callable[[list[Op]], list[Op]]:
    """The first of a kind is not there, and the indexes are dense all the same."""

    def spoiled(ops: list[Op]) -> list[Op]:
        at = _first(ops, f, type_)
        return [replace(op, index=n) for n, op in enumerate([*ops[:at], *ops[at + 1 :]])]

    return spoiled


def _with(kind: str, end: str, **changes: object) -> Callable[[list[Op]], list[Op]]:
    """The first of a kind is another."""

    def spoiled(ops: list[Op]) -> list[Op]:
        at = _first(ops, kind, end)
        return [*ops[:at], replace(ops[at], **changes), *ops[at + 1 :]]  # type: ignore[arg-type]

    return spoiled


@pytest.mark.parametrize(
    ("spoiled", "complaint"),
    [
        (lambda ops: [ops[0], *ops[2:]], "index 2 at 1"),
        (_with("poll", "invoke", time=0), "time goes back"),
        (lambda ops: [replace(op, time=op.time + 1) for op in ops], "time begins later"),
        (lambda ops: [replace(op, process=0) for op in ops], "begins while it is busy"),
        (_without("send", "ok"), "begins while it is busy"),
        (_without("send", "invoke"), "ends nothing"),
        (lambda ops: ops[:-1], "never ends"),
        (_with("send", "ok", type="info"), "used after :info"),
        (_with("send", "ok", f="txn"), "send ends as txn"),
        (_with("send", "ok", value=[["send", 0, 1]]), "ends with another value"),
        (_with("send", "ok", type="lost"), "type lost"),
        (_with("poll", "ok", value=[["poll", {0: []}]]), "key 0 without records"),
        (_with("poll", "ok", value=[["poll", {0: [[0, -5]]}]]), "nobody sent -5 to 0"),
        (_with("assign", "ok", f="crash"), "without an assignment"),
        (_with("assign", "ok", value=[1]), "what it was not assigned"),
    ],
)
def test_whoever_looks_at_histories_sees_what_is_wrong(
    good: list[Op], spoiled: Callable[[list[Op]], list[Op]], complaint: str
) -> None:
    assert any(complaint in each for each in wrong(spoiled(good)))


def test_counting_sees_a_send_an_ack_and_a_read_that_are_missing(good: list[Op]) -> None:
    whole = counts(good)

    for f, type_ in (("send", "invoke"), ("send", "ok"), ("poll", "ok")):
        assert whole != counts(_without(f, type_)(good))


@pytest.mark.parametrize("seed", range(12))
def test_any_history_is_well_formed(seed: int, run: Path) -> None:
    """Sends and polls of any length, beginning and ending in any order, in transactions or not."""
    dice = random.Random(seed)
    of(run, 0, 1, transactions=seed % 2 == 0)
    values = [*range(60)]

    def sending(recorder: Recorder) -> None:
        start = 1
        for value in values:
            start += dice.randrange(3)
            operation = recorder.invoke(SEND, value % 2, value, start, start)
            if dice.random() < 0.9:
                end = start + dice.randrange(20)
                recorder.complete(operation, dice.choice([OK, FAIL, INFO]), 7, end, NOTHING, 0)

    def reading(f: int, base: int) -> Callable[[Recorder], None]:
        def read_some(recorder: Recorder) -> None:
            start = base
            for _ in range(40):
                start += dice.randrange(4)
                value, partition = dice.randrange(-1, 70), dice.randrange(3)
                recorder.record(f, partition, value, start, 3, start + dice.randrange(9), 1)

        return read_some

    record(run, "producer-0", then=sending)
    record(run, "consumer-0", then=reading(READ, 5))
    record(run, "group-consumer-0", then=reading(POLL, 5))
    record(run, "final-read-0", then=reading(FINAL_READ, 30))

    ops, _ = exported(run)

    assert [] == wrong(ops)
    assert 60 == counts(ops).sends


# --- sends


def test_overlapping_sends_are_dealt_to_processes_and_free_ones_are_used_again(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, 30, at=5)
        send(recorder, 1, 20, 25)
        send(recorder, 2, 26, 40, at=6)

    record(run, then=sending)

    assert [
        (0, "invoke", 0, [["send", 0, 0]]),
        (10, "invoke", 1, [["send", 0, 1]]),
        (15, "ok", 1, [["send", 0, [None, 1]]]),
        (16, "invoke", 1, [["send", 0, 2]]),
        (20, "ok", 0, [["send", 0, [5, 0]]]),
        (30, "ok", 1, [["send", 0, [6, 2]]]),
    ] == told(exported(run)[0], "send")


def test_a_send_in_doubt_uses_its_process_up_and_one_that_failed_does_not(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        for value, ended in enumerate((INFO, FAIL, OK)):
            at = 10 * (value + 1)
            operation = recorder.invoke(SEND, 0, value, at, at)
            recorder.complete(operation, ended, NOTHING, at + 5, NOTHING, 1)

    record(run, then=sending)

    assert [
        (0, "invoke", 0, [["send", 0, 0]]),
        (5, "info", 0, [["send", 0, 0]]),
        (10, "invoke", 1, [["send", 0, 1]]),
        (15, "fail", 1, [["send", 0, 1]]),
        (20, "invoke", 1, [["send", 0, 2]]),
        (25, "ok", 1, [["send", 0, [None, 2]]]),
    ] == told(exported(run)[0], "send")


def test_a_send_that_never_ended_is_in_doubt_when_the_load_ends(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, None)
        send(recorder, 1, 20, 90)

    record(run, then=sending)

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

    record(of(run, 0, 1, transactions=True), then=sending)
    ops, left_out = exported(run)

    assert [
        (0, "invoke", 0, [["send", 0, 0], ["send", 1, 1]]),
        (31, "ok", 0, [["send", 0, [5, 0]], ["send", 1, [6, 1]]]),
        (31, "invoke", 0, [["send", 0, 2], ["send", 1, 3]]),
        (50, "fail", 0, [["send", 0, 2], ["send", 1, 3]]),
        (50, "invoke", 0, [["send", 0, 4]]),
        (70, "ok", 0, [["send", 0, [9, 4]]]),
    ] == told(ops, "txn")
    assert (recorded_counts(run), Counter()) == (counts(ops), left_out)


def test_without_transactions_the_same_sends_are_many(run: Path) -> None:
    record(run, sends=3)

    assert ["send"] * 6 == [op.f for op in exported(run)[0]]


def test_a_transaction_of_mixed_ends_is_in_doubt_and_its_acks_are_counted(run: Path) -> None:
    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, 40, at=5)
        refused = recorder.invoke(SEND, 0, 1, 20, 20)
        recorder.complete(refused, FAIL, NOTHING, 20, NOTHING, -184)

    record(of(run, 0, transactions=True), then=sending)
    ops, left_out = exported(run)

    assert [
        (0, "invoke", 0, [["send", 0, 0], ["send", 0, 1]]),
        (30, "info", 0, [["send", 0, 0], ["send", 0, 1]]),
    ] == told(ops, "txn")
    assert {jepsen.MIXED_ACKS: 1} == left_out


def test_a_send_that_never_ended_holds_no_transaction_open(run: Path) -> None:
    """A client that was replaced may never report a record; its successor's commits are acks."""

    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, None)
        send(recorder, 1, 15, None)
        send(recorder, 2, 20, 30, at=5)
        send(recorder, 3, 25, None)
        send(recorder, 4, 40, 50, at=7)

    record(of(run, 0, transactions=True), then=sending)

    assert [
        (0, "invoke", 0, [["send", 0, 0], ["send", 0, 1]]),
        (10, "invoke", 1, [["send", 0, 2], ["send", 0, 3]]),
        (20, "info", 1, [["send", 0, 2], ["send", 0, 3]]),
        (30, "invoke", 2, [["send", 0, 4]]),
        (40, "info", 0, [["send", 0, 0], ["send", 0, 1]]),
        (40, "ok", 2, [["send", 0, [7, 4]]]),
    ] == told(exported(run)[0], "txn")


# --- reads


def test_what_one_call_returned_is_one_poll(run: Path) -> None:
    def reading(recorder: Recorder) -> None:
        for n, (partition, start, end) in enumerate(((0, 20, 29), (1, 20, 30), (0, 31, 40))):
            recorder.record(READ, partition, n, start, n, end, 1)

    def sending(recorder: Recorder) -> None:
        for value in range(3):
            send(recorder, value, 10, 15, to=value % 2)

    record(of(run, 0, 1), "producer-0", then=sending)
    record(run, "consumer-0", then=reading)

    assert [
        (10, "invoke", 0, [0, 1]),
        (10, "ok", 0, [0, 1]),
        (10, "invoke", 0, [["poll"]]),
        (20, "ok", 0, [["poll", {0: [[0, 0]], 1: [[1, 1]]}]]),
        (21, "invoke", 0, [["poll"]]),
        (30, "ok", 0, [["poll", {0: [[2, 2]]}]]),
    ] == told(exported(run)[0], "assign", "poll")


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

    record(of(run, 0, 1), then=working)
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

    record(of(run, 0, 1), "producer-0", then=sending)
    record(run, "group-consumer-0", then=member)

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

    record(run, "producer-0", then=working)
    record(run, "final-read-0", then=final)
    record(run, "final-read-1", then=final)
    ops, _ = exported(run)

    assert [] == wrong(ops)
    assert {2, 3} == {op.process for op in ops[-8:]}
    assert {"assign", "poll"} == {op.f for op in ops[-8:]}
    assert {80} == {op.time for op in ops[-8:]}


# --- files


def row(**changes: object) -> dict[str, object]:
    """An acked send, or what else it is changed to."""
    number: dict[str, object] = {"value": 5, "partition": 0, "offset": 0}
    times = {"intended_ns": 10, "start_ns": 10, "end_ns": 20}
    return {"process": "p", "id": 0, "f": "send", "type": "ok", **number, **times, **changes}


@pytest.mark.parametrize(
    "bad",
    [
        row(partition=None),
        row(partition=-1),
        row(f="lost"),
        row(f=None),
        row(type="lost"),
        row(value=None),
        row(start_ns=None),
        row(start_ns=0),
        row(end_ns=9),
        row(end_ns=None),
        row(f="read", offset=None),
        row(f="read", offset=-1),
        row(f="read", end_ns=None, type="info"),
        row(f="read", type="fail"),
    ],
)
def test_a_row_that_no_recorder_writes_is_left_out_and_counted(
    run: Path, bad: dict[str, object]
) -> None:
    record(run)
    seal(run)
    table = run / "history/operations/p.parquet"
    told_runs.write_rows(table, [row(value=1), bad])
    ops, left_out = exported(run)

    assert {jepsen.BAD_ROWS: 1} == left_out
    assert [(0, "invoke"), (10, "ok")] == [(op.time, op.type) for op in ops]


@pytest.mark.parametrize("sends", [[], [4], [6], [4, 6]])
def test_a_record_that_nobody_sent_is_left_out_whatever_else_was_sent(
    run: Path, sends: list[int]
) -> None:
    def working(recorder: Recorder) -> None:
        for value in sends:
            send(recorder, value, 10, 15)
        recorder.record(READ, 0, 5, 20, 0, 21, 1)

    record(run, then=working)
    ops, left_out = exported(run)

    assert {jepsen.NEVER_SENT: 1} == left_out
    assert {"send"} >= {op.f for op in ops}


def test_a_table_that_is_none_is_one_sentence(run: Path) -> None:
    record(run, sends=1)
    exported(run)
    table = run / "history/operations/p.parquet"
    table.write_bytes(b"PAR1 it is not")

    with pytest.raises(HistoryError, match=r"p\.parquet: cannot be read as a table") as caught:
        exported(run)

    assert "\n" not in str(caught.value)
