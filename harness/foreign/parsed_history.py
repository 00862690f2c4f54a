"""What the lines of several files say together: each send once, each reader's records in order.

    begin "7"    acked "7" at 0/41            =>  a send, ok, from its begin to its ack
    acked "7" at 0/41                         =>  a send, ok, begun with its process or later
    begin "7", and no more                    =>  a send whose end is not known
    record "7" at 0/41                        =>  a record read, of the value that was sent as "7"
    2 to 4 of partition 0                     =>  three records read, whose values are not known
    sought to the beginning, then 2@0 2@7     =>  the reader was led from the log's start past 7

A text is one value of the history, whoever sent it. A text that is sent twice is an error: nobody
could say which of the two was read. A send takes about 150 bytes of memory, a record read 28.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.foreign.formats.bounds import LineError
from harness.foreign.formats.lines import (
    ACKED,
    ASSIGNED,
    BEGIN,
    COUNTED,
    LOGGED,
    MOVED,
    RANGE,
    READ,
    READS,
    SENDS,
    SOUGHT,
    TO_END,
    Entry,
)
from harness.history.record_format import FAIL, INFO, OK, OPEN, HistoryError
from harness.model.runs.imported_history import MOST_PRODUCERS, shown

UNKNOWN: Final = -1
MOST_IN_A_RANGE: Final = 1_000_000
Reader = Callable[[Path], Iterator[tuple[int, bool, Entry]]]


@dataclass(kw_only=True)
class Sends:
    """The columns of all sends, in order of their first lines."""

    producer: array[int] = field(default_factory=lambda: array("i"))
    partition: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    type: array[int] = field(default_factory=lambda: array("b"))
    error: array[int] = field(default_factory=lambda: array("i"))

    def add(self, producer: int, partition: int, start_ns: int) -> None:
        """Add a send of which nothing else is known yet."""
        self.producer.append(producer)
        self.partition.append(partition)
        self.start_ns.append(start_ns)
        self.type.append(OPEN)
        for column in (self.offset, self.end_ns, self.error):
            column.append(UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadToEnd:
    """A line `read_to_end` of a partition."""

    start: int  # of the log
    end: int
    position: int  # the reader's
    time_ns: int
    records: int  # how many the reader had read before, in all partitions


@dataclass(slots=True, kw_only=True)
class Pass:
    """What a reader read of a partition since it sought its log's start."""

    records: int  # how many the reader had read before, in all partitions
    position: int = 0  # behind the last record up to which it was led by nothing else
    going_on: bool = True


@dataclass(kw_only=True)
class Reads:
    """The columns of the records that one reader read, in its order."""

    partition: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    text: array[int] = field(default_factory=lambda: array("q"))  # its place, or UNKNOWN
    time_ns: array[int] = field(default_factory=lambda: array("q"))
    positions: list[tuple[int, int, int]] = field(default_factory=list)  # time, partition, offset
    to_end: dict[int, ReadToEnd] = field(default_factory=dict)  # the last of each partition
    passes: dict[int, Pass] = field(default_factory=dict)  # the last of each partition
    assigned: set[int] = field(default_factory=set)  # partitions
    unread: set[int] = field(default_factory=set)  # assigned, and nothing read of it since
    uncounted: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # by no range yet
    without_value: list[int] = field(default_factory=list)  # places of such records
    ranges: bool = False  # it has ranges of offsets only

    def add(self, entry: Entry, offset: int, text: int) -> None:
        """Add a record."""
        time_ns = max(entry.time_ns, self.time_ns[-1] if self.time_ns else 1)
        partition = entry.partition or 0
        if partition in self.unread:
            self.unread.discard(partition)
            self.positions.append((time_ns, partition, offset))
        if (pass_ := self.passes.get(partition)) and pass_.going_on:
            pass_.position = offset + 1
        self.partition.append(partition)
        self.offset.append(offset)
        self.text.append(text)
        self.time_ns.append(time_ns)


@dataclass(kw_only=True)
class ParsedHistory:
    """What all lines say."""

    sends: Sends = field(default_factory=Sends)
    reads: dict[str, Reads] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)  # the text of a value -> its place
    sent: int = 0  # how many of these were sent: the first
    producers: dict[str, int] = field(default_factory=dict)  # process -> its number
    errors: dict[str, int] = field(default_factory=dict)
    span_ns: dict[str, tuple[int, int]] = field(default_factory=dict)  # of each process
    files: dict[str, set[str]] = field(default_factory=dict)  # file -> its processes
    acked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    # Texts of records that are of no send here, each at one place (harness.foreign.earlier_runs);
    # their places follow those of `texts`.
    strangers: list[str] = field(default_factory=list)
    once: set[str] = field(default_factory=set)  # processes whose tool sends nothing again
    logged: dict[str, int] = field(default_factory=dict)  # file -> its lines that are a logger's
    topic: str | None = None
    new_topic: bool = False  # whoever wrote the history had made it
    clock: str | None = None  # of harness.foreign.formats.line_times
    has_begins: bool = True
    last_ack_ns: int = 0

    def _add_time_and_topic(self, entry: Entry) -> None:
        if entry.clock != (self.clock or entry.clock):
            raise LineError(
                f"its time is {entry.clock}, and those of lines before are {self.clock}: nobody "
                "knows how far these are apart; give each line a `timestamp`"
            )
        self.clock = entry.clock
        first_ns, last_ns = self.span_ns.get(entry.process, (entry.time_ns, entry.time_ns))
        self.span_ns[entry.process] = min(first_ns, entry.time_ns), max(last_ns, entry.time_ns)
        if entry.topic is not None and entry.topic != self.topic:
            if self.topic is not None:
                raise LineError(
                    f"it is of topic {shown(entry.topic)}, and lines before of "
                    f"{shown(self.topic)}: import one topic at a time"
                )
            self.topic = entry.topic

    def add_send(self, entry: Entry) -> None:
        """Add what an entry says of a send."""
        self._add_time_and_topic(entry)
        if entry.kind == COUNTED:
            if entry.amount != self.acked[entry.process]:
                raise LineError(
                    f"its program counts {entry.amount:,} acks, and its lines tell "
                    f"{self.acked[entry.process]:,}: some are missing"
                )
            if entry.once:
                self.once.add(entry.process)
            return
        if entry.kind not in SENDS or entry.value is None:
            return
        number = self.producers.setdefault(entry.process, len(self.producers))
        if number >= MOST_PRODUCERS:
            raise LineError(
                f"it is of one producer more than {MOST_PRODUCERS:,}, and so many are judged"
            )
        place, sends = self.texts.get(entry.value), self.sends
        partition = UNKNOWN if entry.partition is None else entry.partition
        if place is None:
            place = self.texts[entry.value] = len(self.texts)
            begun = entry.kind == BEGIN
            self.has_begins &= begun
            sends.add(number, partition, entry.time_ns if begun else UNKNOWN)
            if begun:
                return
        elif entry.kind == BEGIN or sends.producer[place] != number or sends.type[place] != OPEN:
            raise LineError(
                f"the value {entry.value[:40]!r} is sent, or ends, a second time: each must be "
                "sent once in the whole history (VerifiableProducer has --value-prefix)"
            )
        self._end_send(entry, place, partition)

    def _end_send(self, entry: Entry, place: int, partition: int) -> None:
        sends = self.sends
        if partition != UNKNOWN:
            sends.partition[place] = partition
        sends.end_ns[place] = entry.time_ns
        if entry.kind == ACKED:
            sends.type[place] = OK
            sends.offset[place] = UNKNOWN if entry.offset is None else entry.offset
            self.acked[entry.process] += 1
            self.last_ack_ns = max(self.last_ack_ns, entry.time_ns)
            return
        sends.type[place] = FAIL if entry.certain else INFO
        sends.error[place] = self.errors.setdefault(entry.error or "error", len(self.errors))

    def add_read(self, entry: Entry) -> None:
        """Add what an entry says of a reader, once all sends are known."""
        self._add_time_and_topic(entry)
        if entry.kind == MOVED and entry.process in self.reads:
            for pass_ in self.reads[entry.process].passes.values():
                pass_.going_on = False
        if entry.kind not in READS or entry.partition is None:
            return
        reads = self.reads.setdefault(entry.process, Reads())
        partition = entry.partition
        if entry.kind == ASSIGNED:
            reads.assigned.add(partition)
            reads.unread.add(partition)
        elif entry.kind == SOUGHT:
            reads.passes[partition] = Pass(records=len(reads.offset))
        elif entry.kind == TO_END:
            reads.to_end[partition] = ReadToEnd(
                start=entry.offset or 0,
                end=entry.last or 0,
                position=entry.amount or 0,
                time_ns=entry.time_ns,
                records=len(reads.offset),
            )
        elif entry.kind == READ and entry.offset is not None:
            reads.uncounted[partition] += 1
            if entry.value is None:
                reads.without_value.append(len(reads.offset))
                reads.add(entry, entry.offset, UNKNOWN)
                return
            reads.add(entry, entry.offset, self.texts.setdefault(entry.value, len(self.texts)))
        elif entry.kind == RANGE:
            self._add_range(entry, reads)

    def _add_range(self, entry: Entry, reads: Reads) -> None:
        partition, count = entry.partition or 0, entry.amount or 0  # 0: it is not told
        if reads.uncounted and not reads.ranges:
            listed = reads.uncounted.pop(partition, 0)
            reads.uncounted[-1] = 0  # from now on each record is known to have its line
            if listed < count:  # librdkafka's clients count no more than they were asked to read
                raise LineError(
                    f"it sums up {count:,} records of partition {partition}, and the lines before "
                    f"it tell {listed:,}: some are missing"
                )
            return
        reads.ranges = True
        first, last = entry.offset or 0, entry.last or 0
        if count > MOST_IN_A_RANGE:
            raise LineError(f"it tells of {count:,} records at once, more than any poll returns")
        # It is not known where the gaps of a range are.
        whole = count == last - first + 1
        for offset in range(first, last + 1) if whole else dict.fromkeys((first, last)):
            reads.add(entry, offset, UNKNOWN)


def parse_files(files: Iterable[tuple[Path, Reader]]) -> ParsedHistory:
    """The history in these files; each has its reader. Raises HistoryError."""
    history, with_reads = ParsedHistory(), []
    for path, reader in files:
        if _add_sends(history, path, reader):
            with_reads.append((path, reader))
    history.sent = len(history.texts)
    for path, reader in with_reads:
        for number, _, entry in _without_logged(history, path, reader(path)):
            _add(history.add_read, path, number, entry)
    if not history.sends.type and not any(reads.offset for reads in history.reads.values()):
        names = ", ".join(history.files)
        raise HistoryError(f"{names}: nothing was sent or read: expected are lines that tell so")
    return history


def _add_sends(history: ParsedHistory, path: Path, reader: Reader) -> bool:
    """Add the sends of a file; whether it has reads, too. A file whose lines name no process has
    sends or reads, not both."""
    processes, has_reads = history.files.setdefault(str(path), set()), False
    for number, names_process, entry in _without_logged(history, path, reader(path)):
        processes.add(entry.process)
        has_reads |= entry.kind in READS
        if has_reads and not names_process:
            return True
        _add(history.add_send, path, number, entry)
    return has_reads


def _without_logged(
    history: ParsedHistory, path: Path, entries: Iterator[tuple[int, bool, Entry]]
) -> Iterator[tuple[int, bool, Entry]]:
    """The entries that are of no logger, which are counted."""
    logged = 0
    for number, names_process, entry in entries:
        if entry.kind == LOGGED:
            logged += 1
        else:
            yield number, names_process, entry
    if logged:
        history.logged[str(path)] = logged


def _add(add: Callable[[Entry], None], path: Path, number: int, entry: Entry) -> None:
    try:
        add(entry)
    except LineError as error:
        raise HistoryError(f"{path}: line {number}: {error}") from None
