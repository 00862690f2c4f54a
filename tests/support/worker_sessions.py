"""A worker's session in the test's own process: what it is given, and what it records of that,
without a client or a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError

from harness.history.progress_page import Progress
from harness.history.record_format import Operation
from tests.support import recorded_runs
from tests.support.log_segments import of_ours
from tests.support.mock_kafka import TOPIC
from workloads.worker import Session, Spec

PROCESS = "worker-0"


class FakeMessage:
    """What a consumer is given: a record, with its offset as value unless told, or an error."""

    def __init__(
        self,
        offset: int,
        error: int | None = None,
        *,
        partition: int = 0,
        value: bytes | None = None,
    ) -> None:
        self._partition, self._offset, self._error = partition, offset, error
        self._value = of_ours(offset, 20) if value is None else value

    def error(self) -> KafkaError | None:
        return None if self._error is None else KafkaError(self._error)

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return self._value

    def key(self) -> None:
        return None

    def leader_epoch(self) -> int:
        return 0


def session(folder: Path, kind: type[Spec] = Spec, **told: Any) -> Session:
    """A session that records into `folder`; keywords are keys of its SPEC."""
    Progress.create(folder, PROCESS)
    usual = {"run_id": "test/1", "topic": TOPIC, "partitions": 1, "config": {}, "limit_s": 60.0}
    return Session("worker", kind(process=PROCESS, history=folder, **{**usual, **told}))


def recorded_operations(folder: Path) -> list[Operation]:
    """The operations of the session."""
    entries = recorded_runs.recorded_operations(folder, PROCESS)
    return [each for each in entries if isinstance(each, Operation)]


def events(folder: Path, name: str) -> list[dict[str, Any]]:
    """Its events of one kind."""
    lines = map(json.loads, (folder / f"{PROCESS}.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == name]
