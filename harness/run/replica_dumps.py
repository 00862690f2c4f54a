"""Records what every replica's log holds at the end of a run, as `replica` rows of the history.

Consumers read from the leader; only the followers' disks show whether they have the same. So when
every ISR is full and nothing is written any more, Kafka's own DumpLogSegments reads each broker's
log of each partition (logs/replica-<broker>-<partition>.txt). Each record with a value of ours
becomes a row: partition, offset, value, broker. The event `dumped` says where a log begins and
ends, also of an empty one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from harness.cluster.capabilities import Dump, Dumps
from harness.cluster.nodes import Node
from harness.history.record_format import REPLICA
from harness.history.recorder import Recorder
from harness.nemesis.faults.admin.dump_log import log_of
from harness.waiting import wait_until

PROCESS = "replicas-0"
DUMP_LIMIT_S = 120.0


def record(
    cluster: Dumps, nodes: Sequence[Node], topic: str, partitions: int, history: Path
) -> None:
    """Dump and record every log. Raises ClusterError when a log cannot be dumped."""
    recorder = Recorder(history, PROCESS)
    recorder.event("start", role="replicas")
    read_records = 0
    for partition in range(partitions):
        begun_ns = time.monotonic_ns()
        dumps = {
            node: cluster.start_dump(
                node, f"{topic}-{partition}", f"replica-{node.name}-{partition}.txt"
            )
            for node in nodes
        }
        wait_until(
            partial(_ended, list(dumps.values())),
            timeout_s=DUMP_LIMIT_S,
            what="the replicas' logs to be dumped",
        )
        for node, dump in dumps.items():
            read_records += _record(recorder, node, partition, dump, begun_ns)
    recorder.event("end", reason="done", reads=read_records)
    recorder.close()


def _ended(dumps: Sequence[Dump]) -> bool:
    return all(dump.process.poll() is not None for dump in dumps)


def _record(recorder: Recorder, node: Node, partition: int, dump: Dump, begun_ns: int) -> int:
    log = log_of(node, dump)
    now = time.monotonic_ns()
    for offset, value in log.records.items():
        recorder.record(REPLICA, partition, value, begun_ns, offset, now, node.id)
    recorder.event(
        "dumped",
        partition=partition,
        name=node.name,
        log_start=log.log_start,
        uncommitted_end=log.log_end,
    )
    return len(log.records)
