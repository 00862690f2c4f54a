"""Keeps what the brokers have on disk and have logged: history/kept.jsonl.

A broker that comes back truncates what the new leader does not have; afterwards nothing shows that
it had it. So before a fault is healed and before a broker's process is started again, the keeper
copies the tail of each replica on the brokers that were hit, and their leader epochs; at the end of
the run it copies those of every broker. It copies bytes as they are. It decodes them, and reads the
brokers' logs, when the cluster is closed and nothing is measured any more.

    kafka1 had 0..502 when it was started again     kept-tail, and a kept-batch for each batch
    kafka2 had led from 502 on                      led, and the kept-epochs at the end
    kafka1 truncated to 502                         truncated: 502 is kept, and gone

A tail begins at the lowest high watermark that any broker had checkpointed for the partition: every
replica in the ISR has what lies below. Of Kafka's own topics, where the run has a group or
transactions, the whole log is the tail, at the end only. A batch is written once for each broker
before it returns, and again at the end. A log that has not changed since it was last kept is not
kept again.

Bounds: MOST_TAIL_BYTES of a log at a time, MOST_BYTES and MOST_RECORDS in a run. What is left out
is reported (`not-kept`, with the reason), here and on the screen; it never fails a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from harness.cluster.backends import BACKENDS
from harness.cluster.capabilities import Cluster, Disks
from harness.cluster.nodes import Node, brokers
from harness.cluster.view import log_tails
from harness.cluster.view.log_files import high_watermarks
from harness.cluster.view.log_tails import LogTail
from harness.history.recorder import Lines
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario
from harness.model.worker_kinds import has_group
from harness.run.evidence.batches import batches
from harness.run.evidence.broker_words import RunClock, logged_events
from harness.run.evidence.internal_topics import INTERNAL, OFFSETS, TRANSACTIONS

MOST_TAIL_BYTES = 4 * 2**20
MOST_BYTES = 64 * 2**20
MOST_RECORDS = 100_000
BEFORE, END = "before-return", "end"  # the moments at which tails are kept
Where = tuple[str, str, int]  # broker, topic, partition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """One log as it was at a moment."""

    where: Where
    moment: str
    time_ns: int
    tail: LogTail
    lowest: int  # watermark of any replica; the tail begins here
    watermark: int | None  # its own
    epochs: list[tuple[int, int]]


@dataclass(kw_only=True)
class Keeper:
    """Keeps the evidence of one run. `write(event, **fields)` appends a line; `tell(line)` prints
    for the user. Safe from any thread; raises nothing."""

    cluster: Cluster
    topic: str
    internal: tuple[str, ...]  # topics of Kafka that the run makes use of
    write: Callable[..., None]
    tell: Callable[[str], None]
    _copies: list[_Copy] = field(default_factory=list)
    _states: dict[Where, object] = field(default_factory=dict)  # as they were kept last
    _missing: list[dict[str, Any]] = field(default_factory=list)
    _bytes: int = 0
    _copying_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def before_return(self, nodes: Sequence[Node]) -> None:
        """Keep the tails of the brokers among the nodes, before they come back."""
        if isinstance(self.cluster, Disks):
            self._keep(brokers(nodes), BEFORE)

    def at_end(self) -> None:
        """Keep the tails of all brokers, once nothing is written any more."""
        if isinstance(self.cluster, Disks):
            self._keep(brokers(self.cluster.nodes), END)
        else:
            self._not_kept("the brokers' disks cannot be seen on this backend")

    def finish(self, logs: Path, clock: RunClock) -> None:
        """Decode and write all copies, and the brokers' log lines; call it once the cluster is
        closed."""
        begin_s, counts = time.monotonic(), {"records": 0, "truncations": 0}
        with self._lock:
            try:
                counts["records"] = self._write_tails()
                counts["truncations"] = self._write_words(logs, clock)
                for missing in self._missing:
                    self.write("not-kept", **missing)
            except Exception as error:  # missing evidence never fails a run
                self.tell(f"evidence: not kept: {error}")
                return
        for text in sorted({str(missing["text"]) for missing in self._missing}):
            self.tell(f"evidence: not kept: {text}")
        self.tell(
            f"evidence: {len(self._copies)} tails of replicas with {counts['records']:,} records, "
            f"{counts['truncations']} truncations logged (copied in {self._copying_s:.2f} s, "
            f"decoded in {time.monotonic() - begin_s:.2f} s)"
        )

    def _keep(self, nodes: Sequence[Node], moment: str) -> None:
        with self._lock:
            begin_s = time.monotonic()
            try:
                lowest = self._lowest_watermarks()
            except Exception as error:
                self._not_kept(f"the brokers' watermarks: {error}")
                return
            for node in nodes:
                try:
                    self._keep_broker(node, moment, lowest)
                except Exception as error:
                    self._not_kept(str(error), broker=node.name)
            self._copying_s += time.monotonic() - begin_s

    def _lowest_watermarks(self) -> dict[int, int]:
        """The lowest of all replicas, by partition; 0 where a broker has checkpointed none."""
        lowest: dict[int, int] = {}
        for node in brokers(self.cluster.nodes):
            data = self._data(node)
            marks = high_watermarks(data, self.topic)
            for partition in _partitions(data, self.topic):
                mark = marks.get(partition, 0)
                lowest[partition] = min(mark, lowest.get(partition, mark))
        return lowest

    def _keep_broker(self, node: Node, moment: str, lowest: Mapping[int, int]) -> None:
        self._keep_topic(node, self.topic, moment, lowest)
        for topic in self.internal if moment == END else ():
            self._keep_topic(node, topic, moment, {})

    def _keep_topic(self, node: Node, topic: str, moment: str, lowest: Mapping[int, int]) -> None:
        data = self._data(node)
        marks = high_watermarks(data, topic)
        for partition in _partitions(data, topic):
            folder, where = data / f"{topic}-{partition}", (node.name, topic, partition)
            state, time_ns = log_tails.state(folder), time.monotonic_ns()
            if moment != END and self._states.get(where) == state:
                continue
            most = min(MOST_TAIL_BYTES, MOST_BYTES - self._bytes)
            tail = log_tails.tail(folder, lowest.get(partition, 0), most)
            if tail is None:
                continue
            self._states[where] = state
            self._bytes += tail.size_bytes
            self._copies.append(
                _Copy(
                    where=where,
                    moment=moment,
                    time_ns=time_ns,
                    tail=tail,
                    lowest=lowest.get(partition, 0),
                    watermark=marks.get(partition),
                    epochs=self._epochs(folder, where),
                )
            )

    def _epochs(self, folder: Path, where: Where) -> list[tuple[int, int]]:
        try:
            return log_tails.leader_epochs(folder)
        except FileNotFoundError:  # formats before magic 2 have no epochs
            return []
        except (OSError, ValueError) as error:
            self._not_kept(f"its leader epochs: {error}", broker=where[0], partition=where[2])
            return []

    def _data(self, node: Node) -> Path:
        assert isinstance(self.cluster, Disks)
        return self.cluster.data_folder(node)

    def _not_kept(self, text: str, **fields: Any) -> None:
        self._missing.append({"time_ns": time.monotonic_ns(), "text": text, **fields})

    def _write_tails(self) -> int:
        """Write the copies in order of time. Earlier copies come first because later ones may have
        lost the records, and the final read shows the end as well."""
        room, seen, written = MOST_RECORDS, set[tuple[Where, int, int]](), 0
        for copy in sorted(self._copies, key=attrgetter("time_ns")):
            count = self._write_tail(copy, seen, room - written)
            written += count
        return written

    def _write_tail(self, copy: _Copy, seen: set[tuple[Where, int, int]], room: int) -> int:
        broker, topic, partition = copy.where
        at: dict[str, Any] = {"time_ns": copy.time_ns, "moment": copy.moment}
        at |= {"broker": broker, "topic": topic, "partition": partition}
        event = "kept-entries" if topic in INTERNAL else "kept-batch"
        begin, end, written, left_out = copy.tail.parts[0][0], copy.tail.parts[-1][0], 0, None
        for batch in (batch for _, data in copy.tail.parts for batch in batches(data, topic)):
            end, key = batch.last_offset + 1, (copy.where, batch.base_offset, batch.checksum)
            if copy.moment != END and key in seen:
                continue
            if left_out is not None or written + len(batch.fields["records"]) > room:
                left_out = batch.base_offset if left_out is None else left_out
                continue
            if copy.moment != END:
                seen.add(key)
            self.write(event, **at, **batch.fields)
            written += len(batch.fields["records"])
        if left_out is not None:
            text = f"records beyond {MOST_RECORDS:,} of a run, from offset {left_out} on"
            self._not_kept(text, broker=broker, partition=partition)
        self.write(
            "kept-tail",
            **at,
            log_start=copy.tail.log_start,
            begin=begin,
            log_end=end,
            watermark=copy.watermark,
            lowest=copy.lowest,
            cut_short=copy.tail.cut_short or left_out is not None,
        )
        self.write("kept-epochs", **at, epochs=copy.epochs)
        return written

    def _write_words(self, logs: Path, clock: RunClock) -> int:
        truncations = 0
        for node in brokers(self.cluster.nodes):
            file = logs / f"{node.name}.log"
            if not file.exists():
                self._not_kept("its log is not among the run's logs", broker=node.name)
                continue
            with file.open(errors="replace") as lines:
                for line in logged_events(lines, (self.topic, *self.internal), clock):
                    truncations += line["event"] == "truncated"
                    self.write(**{"broker": node.name, **line})
        return truncations


def _partitions(data: Path, topic: str) -> list[int]:
    """The topic's partitions that have a replica in a broker's data folder."""
    prefix = f"{topic}-"
    numbers = (path.name.removeprefix(prefix) for path in data.glob(f"{prefix}*"))
    return sorted(int(number) for number in numbers if number.isdigit())


def keeper_of(
    folder: RunFolder,
    scenario: Scenario,
    cluster: Cluster,
    tell: Callable[[str], None],
    closed: ExitStack,
) -> Keeper | None:
    """The keeper of a run, or None if the scenario wants no evidence. `closed` is left once the
    cluster is closed and all its brokers' logs are there."""
    if not scenario.check.evidence:
        return None
    keeper = Keeper(
        cluster=cluster,
        topic=scenario.topic.name,
        internal=_internal(scenario),
        write=Lines(folder.history / "kept.jsonl").write,
        tell=tell,
    )
    closed.callback(partial(keeper.finish, folder.logs, clock_of(folder.read())))
    return keeper


def _internal(scenario: Scenario) -> tuple[str, ...]:
    transactional = "transactional.id" in scenario.workload.producer
    offsets = (OFFSETS,) if has_group(scenario.workload) else ()
    return (*offsets, TRANSACTIONS) if transactional else offsets


def clock_of(record: RunRecord) -> RunClock:
    """The run's clock. Local brokers write times of this host's zone, those in containers UTC."""
    assert record.clock is not None, "it is on record before anything starts"
    return RunClock(
        monotonic_ns=record.clock.monotonic_ns,
        utc=datetime.fromisoformat(record.clock.utc),
        zone=None if BACKENDS[record.backend].enclosed else UTC,
    )
