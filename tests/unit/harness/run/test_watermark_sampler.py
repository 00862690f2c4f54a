"""Looks at the replicas: in the order that conclusions need, and what becomes of their lines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from kazoo.exceptions import ConnectionLoss

from harness.cluster.backends import BACKENDS
from harness.cluster.capabilities import Disks
from harness.cluster.nodes import Node
from harness.cluster.view.log_files import CHECKPOINT
from harness.cluster.view.state import ClusterView, PartitionState
from harness.history import side_files
from harness.model.scenario import ScenarioError
from harness.run.watermark_sampler import Sampler
from harness.scenario import prepare
from tests.support.log_segments import batch, segment

NODES = [
    Node(name=f"kafka{n}", role="broker", id=n, address="127.0.0.1", port=9092) for n in (1, 2)
]


class Places:
    """Disks in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def data_folder(self, node: Node) -> Path:
        return self._folder / node.name


class Asked:
    """A ZooKeeper that lets the brokers go on while it is asked, or does not answer."""

    topic = "t"

    def __init__(self, folder: Path, *, answers: bool = True) -> None:
        self._folder, self._answers = folder, answers

    def agreed(self) -> tuple[PartitionState, ...]:
        has(self._folder / "kafka1", records=5, watermark=4)
        if not self._answers:
            raise ConnectionLoss
        return (PartitionState(leader="kafka1", isr=("kafka1",), leader_epoch=0),)


def has(data: Path, *, records: int, watermark: int) -> None:
    (data / "t-0").mkdir(parents=True, exist_ok=True)
    segment(data / "t-0", 0, *(batch(n) for n in range(records)))
    (data / CHECKPOINT).write_text(f"0\n1\nt 0 {watermark}\n")


def look(folder: Path, view: Asked) -> dict[str, Any]:
    lines: list[dict[str, Any]] = []
    has(folder / "kafka1", records=3, watermark=2)
    disks, zookeeper = cast(Disks, Places(folder)), cast(ClusterView, view)
    Sampler(disks, NODES, zookeeper, 1, lambda _, **fields: lines.append(fields)).look()
    (line,) = lines
    return line


def test_watermarks_are_read_before_the_isr_and_log_ends_after_it(tmp_path):
    """While the ISR was asked for, the broker went from 3 records to 5."""
    line = look(tmp_path, Asked(tmp_path))

    assert line["high_watermarks"] == {"kafka1": 2, "kafka2": None}
    assert line["log_ends"] == {"kafka1": 5, "kafka2": None}
    assert (line["leader"], line["isr"]) == ("kafka1", ["kafka1"])
    assert line["time_ns"] < line["end_ns"]


def test_when_zookeeper_does_not_answer_there_is_no_isr(tmp_path):
    line = look(tmp_path, Asked(tmp_path, answers=False))

    assert (line["leader"], line["isr"]) == (None, None)
    assert line["log_ends"]["kafka1"] == 5


def sealed(tmp_path: Path, *lines: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    file = tmp_path / "watermarks.jsonl"
    known = {"event": "watermarks", "time_ns": 7, "end_ns": 9, "partition": 0}
    file.write_text("".join(json.dumps({**known, **line}) + "\n" for line in lines))
    side = side_files.read(file)
    return side_files.watermarks(side, "r"), side.bad


def test_a_line_becomes_a_row_for_each_broker(tmp_path):
    marks, ends = {"kafka1": 4, "kafka2": None}, {"kafka1": 5, "kafka2": 3}
    told = {"high_watermarks": marks, "log_ends": ends, "leader": "kafka1", "isr": ["kafka1"]}
    blind = {**told, "leader": None, "isr": None}

    rows, bad = sealed(tmp_path, told, blind)

    assert bad == []
    keys = ("broker", "leads", "in_isr", "high_watermark", "log_end")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("kafka1", True, True, 4, 5),
        ("kafka2", False, False, None, 3),
        ("kafka1", None, None, 4, 5),
        ("kafka2", None, None, None, 3),
    ]


def test_a_line_that_is_no_look_is_a_finding(tmp_path):
    rows, bad = sealed(
        tmp_path,
        {"isr": "kafka1"},
        {"high_watermarks": {}, "log_ends": {}, "isr": 3},
        {"high_watermarks": {}, "log_ends": {"kafka1": "many"}, "isr": []},
    )

    assert rows == []
    assert bad == [
        "line 1 is not a sample of the replicas",
        "line 2 is not a sample of the replicas",
        "line 3: log_end is 'many', int64 expected",
    ]


def test_a_backend_that_cannot_reach_the_disks_refuses_to_follow_the_replicas(monkeypatch):
    blind = replace(BACKENDS["local"], capabilities=lambda _: frozenset())
    monkeypatch.setitem(BACKENDS, "local", blind)

    with pytest.raises(ScenarioError, match=r"check\.watermarks is not available on the backend"):
        prepare.prepare(prepare.Request(scenario="high-watermark", seed=1))
