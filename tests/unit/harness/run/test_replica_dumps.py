"""The replicas' dumps in the history: their records, and an event that says where each log ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cluster.capabilities import Dump
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError, Node
from harness.history.record_format import read_operations
from harness.run.replica_dumps import PROCESS, record
from tests.support.log_segments import in_a_dump

HEAD = "Log starting offset: 0\n"
RECORD = "baseOffset: 0 lastOffset: 0 count: 1\n"
RECORD += f"| offset: 0 keySize: -1 payload: {in_a_dump(7)} \n"
NODES = [node for node in local_nodes(1, 2) if node.role == "broker"]


class Cluster:
    """Its dumps are those of real processes, which print what they are told."""

    def __init__(self, folder: Path, logs: dict[str, str]) -> None:
        self._folder, self._logs = folder, logs

    def start_dump(self, node: Node, log: str, name: str) -> Dump:
        file = self._folder / name
        text = self._logs[node.name]
        argv = [sys.executable, "-c", f"print({text!r}, end=''); raise SystemExit({not text})"]
        with file.open("wb") as output:
            return Dump(process=subprocess.Popen(argv, stdout=output), file=file)


def test_every_dumped_log_is_an_event_with_its_ends_also_an_empty_one(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"kafka1": HEAD + RECORD, "kafka2": HEAD})

    record(cluster, NODES, "harness", 1, tmp_path)

    lines = [json.loads(line) for line in (tmp_path / f"{PROCESS}.jsonl").read_text().splitlines()]
    keys = ("partition", "name", "log_start", "uncommitted_end")
    dumped = [[line[key] for key in keys] for line in lines if line["event"] == "dumped"]
    (operation,) = read_operations((tmp_path / f"{PROCESS}.0000.seg").read_bytes())

    assert dumped == [[0, "kafka1", 0, 1], [0, "kafka2", 0, 0]]
    assert not isinstance(operation, str)
    assert (operation.value, operation.offset, operation.broker) == (7, 0, 1)


def test_a_log_that_cannot_be_dumped_ends_the_run(tmp_path: Path) -> None:
    """The twin: what nobody could read is no empty log."""
    cluster = Cluster(tmp_path, {"kafka1": HEAD + RECORD, "kafka2": ""})

    with pytest.raises(ClusterError, match="the log of kafka2 could not be dumped"):
        record(cluster, NODES, "harness", 1, tmp_path)
