"""The export for Jepsen: well formed by its rules, and no more or less than what was recorded."""

from __future__ import annotations

import random
import shutil
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
    NOTHING,
    OK,
    POLL,
    READ,
    SEND,
    HistoryError,
)
from harness.history.recorder import Recorder
from harness.history.seal_record import SEALED
from harness.history.sealing import seal
from tests.support import story_runs
from tests.support.jepsen.exports import exported, send, with_partitions
from tests.support.jepsen.histories import Op, counts, recorded_counts, wrong
from tests.support.recorded_runs import RUN_ID, record_sends

GOLDEN = sorted((ROOT / "tests" / "golden").iterdir())


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
    with_partitions(run, 0, 1, transactions=seed % 2 == 0)
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

    record_sends(run, "producer-0", then=sending)
    record_sends(run, "consumer-0", then=reading(READ, 5))
    record_sends(run, "group-consumer-0", then=reading(POLL, 5))
    record_sends(run, "final-read-0", then=reading(FINAL_READ, 30))

    ops, _ = exported(run)

    assert [] == wrong(ops)
    assert 60 == counts(ops).sends


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
    record_sends(run)
    seal(run)
    table = run / "history/operations/p.parquet"
    story_runs.write_rows(table, [{**each, "run_id": RUN_ID} for each in (row(value=1), bad)])
    (run / "history" / SEALED).unlink()
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

    record_sends(run, then=working)
    ops, left_out = exported(run)

    assert {jepsen.NEVER_SENT: 1} == left_out
    assert {"send"} >= {op.f for op in ops}


def test_a_table_that_is_none_is_one_sentence(run: Path) -> None:
    record_sends(run, sends=1)
    exported(run)
    table = run / "history/operations/p.parquet"
    table.write_bytes(b"PAR1 it is not")

    with pytest.raises(HistoryError, match=r"p\.parquet: it is not the file") as caught:
        exported(run)

    assert "\n" not in str(caught.value)
