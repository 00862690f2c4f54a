"""What the tests of the export for Jepsen share: a run's lines as operations, and small records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from harness.history import jepsen
from harness.history.record_format import NOTHING, OK, SEND
from harness.history.recorder import Recorder
from harness.model.runs.run_folder import RunFolder
from tests.support.jepsen.histories import Op, read


def exported(run: Path) -> tuple[list[Op], Counter[str]]:
    """The operations, and what was left out."""
    left_out: Counter[str] = Counter()
    return read(jepsen.export(run, left_out)), left_out


def with_partitions(run: Path, *partitions: int, transactions: bool = False) -> Path:
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


def of_kinds(ops: list[Op], *fs: str) -> list[tuple[int, str, int, object]]:
    """Time, type, process and value of the operations of these kinds."""
    return [(op.time, op.type, op.process, op.value) for op in ops if op.f in fs]
