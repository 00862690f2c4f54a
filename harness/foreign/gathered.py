"""What the lines of several files tell together: each send once, each reader's records in order.

    begin "7"    acked "7" at 0/41            =>  a send, ok, from its begin to its ack
    acked "7" at 0/41                         =>  a send, ok, begun with its process or later
    begin "7", and no more                    =>  a send of which nobody knows
    record "7" at 0/41                        =>  a record read, of the value that was sent as "7"
    2 to 4 of partition 0                     =>  three records read, whose values nobody told

A text is one value of the history, whoever sent it: sent twice, it is an error, since nobody could
tell which of the two was read. Sends take about 150 bytes each in memory, records read 28.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.foreign.bounds import Wrong, shown
from harness.foreign.lines import (
    ACKED,
    BEGIN,
    COUNTED,
    GIVEN,
    RANGE,
    READ,
    READS,
    SENDS,
    TO_END,
    Told,
)
from harness.history.record_format import FAIL, INFO, OK, OPEN, HistoryError
from harness.model.worker_kinds import FIRST_OUTPUT

UNKNOWN: Final = -1
MOST_SENDERS: Final = FIRST_OUTPUT - 1  # the next number is nobody's, of what nobody sent
MOST_IN_A_RANGE: Final = 1_000_000
Reader = Callable[[Path], Iterator[tuple[int, bool, Told]]]


@dataclass(kw_only=True)
class Sends:
    """All sends, a column each, in the order in which they were first told; grows line by line."""

    process: array[int] = field(default_factory=lambda: array("i"))
    partition: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    type: array[int] = field(default_factory=lambda: array("b"))
    error: array[int] = field(default_factory=lambda: array("i"))

    def add(self, process: int, partition: int, start_ns: int) -> None:
        """One more, of which nothing else is known yet."""
        self.process.append(process)
        self.partition.append(partition)
        self.start_ns.append(start_ns)
        self.type.append(OPEN)
        for column in (self.offset, self.end_ns, self.error):
            column.append(UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToEnd:
    """That a reader says it got to the end of a partition's log."""

    start: int  # of the log
    end: int
    position: int  # the reader's
    time_ns: int
    records: int  # how many it had been given till then, of all partitions


@dataclass(kw_only=True)
class Reads:
    """The records that one reader was given, in its order; grows line by line."""

    partition: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    value: array[int] = field(default_factory=lambda: array("q"))  # place of its text; or UNKNOWN
    time_ns: array[int] = field(default_factory=lambda: array("q"))
    positions: list[tuple[int, int, int]] = field(default_factory=list)  # time, partition, offset
    to_end: dict[int, ToEnd] = field(default_factory=dict)  # the last of each partition
    given: set[int] = field(default_factory=set)  # partitions
    moved: set[int] = field(default_factory=set)  # given, and nothing read of it since
    waiting: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # not summed up yet
    no_value: list[int] = field(default_factory=list)  # places of records without a text
    ranges: bool = False

    def add(self, told: Told, offset: int, value: int) -> None:
        """One more record."""
        time_ns = max(told.time_ns, self.time_ns[-1] if self.time_ns else 1)
        partition = told.partition or 0
        if partition in self.moved:
            self.moved.discard(partition)
            self.positions.append((time_ns, partition, offset))
        self.partition.append(partition)
        self.offset.append(offset)
        self.value.append(value)
        self.time_ns.append(time_ns)


@dataclass(kw_only=True)
class Gathered:
    """Everything that was told; grows line by line."""

    sends: Sends = field(default_factory=Sends)
    reads: dict[str, Reads] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)  # the text of a value -> its place
    sent: int = 0  # how many of these were sent: the first
    processes: dict[str, int] = field(default_factory=dict)  # those that send -> their numbers
    errors: dict[str, int] = field(default_factory=dict)
    span_ns: dict[str, tuple[int, int]] = field(default_factory=dict)  # of each process
    files: dict[str, set[str]] = field(default_factory=dict)  # file -> its processes
    acked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    topic: str | None = None
    begins_told: bool = True
    last_ack_ns: int = 0

    def _saw(self, told: Told) -> None:
        first_ns, last_ns = self.span_ns.get(told.process, (told.time_ns, told.time_ns))
        self.span_ns[told.process] = min(first_ns, told.time_ns), max(last_ns, told.time_ns)
        if told.topic is not None and told.topic != self.topic:
            if self.topic is not None:
                raise Wrong(
                    f"it is of topic {shown(told.topic)}, and lines before of "
                    f"{shown(self.topic)}: import one topic at a time"
                )
            self.topic = told.topic

    def send(self, told: Told) -> None:
        """What a line tells of a send."""
        self._saw(told)
        if told.what == COUNTED:
            if told.many != self.acked[told.process]:
                raise Wrong(
                    f"its program counts {told.many:,} acks, and its lines tell "
                    f"{self.acked[told.process]:,}: some are missing"
                )
            return
        if told.what not in SENDS or told.value is None:
            return
        number = self.processes.setdefault(told.process, len(self.processes))
        if number >= MOST_SENDERS:
            raise Wrong(f"it is of one producer more than {MOST_SENDERS:,}, and so many are judged")
        place, sends = self.texts.get(told.value), self.sends
        partition = UNKNOWN if told.partition is None else told.partition
        if place is None:
            place = self.texts[told.value] = len(self.texts)
            begun = told.what == BEGIN
            self.begins_told &= begun
            sends.add(number, partition, told.time_ns if begun else UNKNOWN)
            if begun:
                return
        elif told.what == BEGIN or sends.process[place] != number or sends.type[place] != OPEN:
            raise Wrong(
                f"the value {told.value[:40]!r} is sent, or ends, a second time: each must be sent "
                "once in the whole history (VerifiableProducer has --value-prefix)"
            )
        self._ended(told, place, partition)

    def _ended(self, told: Told, place: int, partition: int) -> None:
        sends = self.sends
        if partition != UNKNOWN:
            sends.partition[place] = partition
        sends.end_ns[place] = told.time_ns
        if told.what == ACKED:
            sends.type[place] = OK
            sends.offset[place] = UNKNOWN if told.offset is None else told.offset
            self.acked[told.process] += 1
            self.last_ack_ns = max(self.last_ack_ns, told.time_ns)
            return
        sends.type[place] = FAIL if told.certain else INFO
        sends.error[place] = self.errors.setdefault(told.error or "error", len(self.errors))

    def read(self, told: Told) -> None:
        """What a line tells of a reader, once all sends are known."""
        self._saw(told)
        if told.what not in READS or told.partition is None:
            return
        mine = self.reads.setdefault(told.process, Reads())
        partition = told.partition
        if told.what == GIVEN:
            mine.given.add(partition)
            mine.moved.add(partition)
        elif told.what == TO_END:
            mine.to_end[partition] = ToEnd(
                start=told.offset or 0,
                end=told.last or 0,
                position=told.many or 0,
                time_ns=told.time_ns,
                records=len(mine.offset),
            )
        elif told.what == READ and told.offset is not None:
            mine.waiting[partition] += 1
            if told.value is None:
                mine.no_value.append(len(mine.value))
                mine.add(told, told.offset, UNKNOWN)
                return
            place = self.texts.setdefault(told.value, len(self.texts))
            if place < self.sent and self.sends.partition[place] == UNKNOWN:
                self.sends.partition[place] = partition
            mine.add(told, told.offset, place)
        elif told.what == RANGE:
            self._range(told, mine)

    def _range(self, told: Told, mine: Reads) -> None:
        partition, count = told.partition or 0, told.many or 0
        if mine.waiting and not mine.ranges:
            listed = mine.waiting.pop(partition, 0)
            mine.waiting[-1] = 0  # from now on it is known to tell each record
            if listed != count:
                raise Wrong(
                    f"it sums up {count:,} records of partition {partition}, and the lines before "
                    f"it tell {listed:,}: some are missing"
                )
            return
        mine.ranges = True
        first, last = told.offset or 0, told.last or 0
        if count > MOST_IN_A_RANGE:
            raise Wrong(f"it tells of {count:,} records at once, more than any poll returns")
        # Of a range with gaps it is not known where these are.
        for offset in range(first, last + 1) if count == last - first + 1 else (first, last):
            mine.add(told, offset, UNKNOWN)


def gathered(files: Iterable[tuple[Path, Reader]]) -> Gathered:
    """Everything that these files tell; each is read by its reader. Raises HistoryError."""
    found, with_reads = Gathered(), []
    for path, reader in files:
        if _sends_of(found, path, reader):
            with_reads.append((path, reader))
    found.sent = len(found.texts)
    for path, reader in with_reads:
        for number, _, told in reader(path):
            _take(found.read, path, number, told)
    if not found.sends.type and not any(each.offset for each in found.reads.values()):
        named = ", ".join(found.files)
        raise HistoryError(f"{named}: nothing was sent or read: expected are lines that tell so")
    return found


def _sends_of(found: Gathered, path: Path, reader: Reader) -> bool:
    """Take the sends that a file tells; whether it tells of readers, too. A program's own file that
    does so has no sends."""
    processes, reads = found.files.setdefault(str(path), set()), False
    for number, named, told in reader(path):
        processes.add(told.process)
        reads |= told.what in READS
        if reads and not named:
            return True
        _take(found.send, path, number, told)
    return reads


def _take(take: Callable[[Told], None], path: Path, number: int, told: Told) -> None:
    try:
        take(told)
    except Wrong as error:
        raise HistoryError(f"{path}: line {number}: {error}") from None
