"""Samples log end and high watermark of every replica over time: history/watermarks.jsonl.

`check.watermarks` switches it on. Every 50 ms a thread reads, in this order,

    1. the high watermark that each broker checkpointed last
    2. leader and ISR, asked of ZooKeeper after a sync
    3. the log end of each broker

and writes a line for each partition. This order makes two comparisons sound although the three are
not read at one moment. A watermark that a broker had at 1 is not above the log end of any member of
the ISR at 2: the leader counts every such member, and one that joined in between had to reach the
watermark first. At 3 that log end can only be higher. And a record that was read before 1 lies
below the leader's watermark of then, so every member at 2 must hold it at 3
(analysis.checks.replicas.watermarks).

It cannot see what lies between two looks, or between two checkpoints of a broker: scenarios set
`replica.high.watermark.checkpoint.interval.ms` small (Kafka's default is 5 s). While ZooKeeper does
not answer, leader and ISR are null, and a look takes a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from harness.cluster.capabilities import Cluster, Disks
from harness.cluster.nodes import Node, brokers
from harness.cluster.view.log_files import LogEnd, high_watermarks
from harness.cluster.view.state import BLIND, ClusterView, PartitionState
from harness.history.recorder import Lines
from harness.waiting import Every

EVERY_S = 0.05


def follow(cluster: Cluster, view: ClusterView, history: Path) -> Callable[[], None]:
    """Begin to sample the replicas of the run's topic, and return what ends it; `prepare` has
    refused backends without disks."""
    write = Lines(history / "watermarks.jsonl").write
    nodes = brokers(cluster.nodes)
    sampler = Sampler(cast(Disks, cluster), nodes, view, view.partitions, write)
    sampler.start()
    return sampler.close


class Sampler:
    """The thread; `write(event, **fields)` appends a line."""

    def __init__(
        self,
        cluster: Disks,
        nodes: Sequence[Node],
        view: ClusterView,
        partitions: int,
        write: Callable[..., None],
    ) -> None:
        self._folders = {node.name: cluster.data_folder(node) for node in nodes}
        self._view, self._partitions, self._write = view, partitions, write
        self._ends = {
            (name, number): LogEnd(folder=folder / f"{view.topic}-{number}")
            for name, folder in self._folders.items()
            for number in range(partitions)
        }
        self._looks = Every(EVERY_S, self.look, name="sampler")

    def start(self) -> None:
        """Begin to look; returns at once."""
        self._looks.start()

    def close(self) -> None:
        """Look no more; safe to call twice."""
        self._looks.close()

    def look(self) -> None:
        """Look once."""
        begin_ns = time.monotonic_ns()
        marks = {
            name: high_watermarks(data, self._view.topic) for name, data in self._folders.items()
        }
        states = self._states()
        ends = {key: end.now() for key, end in self._ends.items()}
        end_ns = time.monotonic_ns()
        for number in range(self._partitions):
            state = states[number] if states else None
            self._write(
                "watermarks",
                time_ns=begin_ns,
                end_ns=end_ns,
                partition=number,
                leader=state.leader if state else None,
                isr=list(state.isr) if state else None,
                high_watermarks=_of(number, marks),
                log_ends={name: ends[name, number] for name in marks},
            )

    def _states(self) -> tuple[PartitionState, ...] | None:
        try:
            return self._view.agreed()
        except BLIND:
            return None


def _of(number: int, marks: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    return {name: by_partition.get(number) for name, by_partition in marks.items()}
