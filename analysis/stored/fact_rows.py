"""The facts of a run that the driver hands to the rules: a row of analysis.frames.schema.RUNS and
the rows inside it, as Python has them. schema.py tells what each field means; a test holds these to
it. What the driver may not know is null.
"""

from __future__ import annotations

from typing import TypedDict


class EndRow(TypedDict):
    """What the final read of a partition reached: schema.END."""

    complete: bool
    log_start: int | None
    position: int | None
    committed_end: int | None
    uncommitted_end: int | None


class DumpRow(TypedDict):
    """A replica whose log was dumped: schema.DUMP."""

    partition: int
    log_start: int | None


class FaultRow(TypedDict):
    """From when to when a fault was in force: schema.FAULT."""

    fault: int
    invoke_ns: int
    end_ns: int | None
    explains: bool


class LeaderRow(TypedDict):
    """A stretch of time in which one broker led a partition: schema.LEADER."""

    partition: int
    leader: str | None
    from_ns: int
    to_ns: int | None


class AloneRow(TypedDict):
    """A stretch in which a partition's leader certainly was its whole ISR: schema.ALONE."""

    partition: int
    from_ns: int
    to_ns: int


class ElectionRow(TypedDict):
    """An election, and the log end of the elected broker before it: schema.ELECTION."""

    partition: int
    log_end: int
    looked_ns: int


class StateRow(TypedDict):
    """A stretch with one leader and epoch: schema.STATE."""

    partition: int
    leader: str | None
    epoch: int | None
    from_ns: int
    to_ns: int | None
    seen_to_ns: int | None


class SettledRow(TypedDict):
    """A worker's transactions up to this one, settled: schema.SETTLED."""

    sender: int
    partition: int | None
    transaction: int


class CauseRow(TypedDict):
    """A cause, and what it permits: schema.CAUSE."""

    number: int
    anomalies: list[str]
    sure: bool
    partition: int | None
    begun_before_ns: int | None
    known_from_ns: int | None
    known_until_ns: int | None
    shown_from_ns: int | None
    shown_until_ns: int | None
    settled: list[SettledRow]
    brokers: list[str]
    outcomes: list[str]
    acked_only: bool
    from_offset: int | None
    to_offset: int | None
    process: str | None
    at_ns: int | None
    words: str


class DeathRow(TypedDict):
    """A producer that left no end: schema.DEATH."""

    producer: int
    died_ns: int


class MoveRow(TypedDict):
    """A reader that was put elsewhere, given a partition, or lost it: schema.MOVE."""

    process: str
    partition: int | None
    since_ns: int
    time_ns: int
    position: int | None


class InLogRow(TypedDict):
    """Offsets that a reset passed over while they were in the log: schema.IN_LOG."""

    partition: int
    from_offset: int
    to_offset: int


class HangingRow(TypedDict):
    """A last stable offset that stands: schema.HANGING."""

    partition: int
    offset: int
    time_ns: int


class CircularRow(TypedDict):
    """A transaction in a cycle of readings: schema.CIRCULAR."""

    value: int
    partition: int
    offset: int | None
    time_ns: int
    other_value: int
    other_partition: int
    other_offset: int | None
    reader: str


class OutdatedRow(TypedDict):
    """A member that kept an older generation: schema.OUTDATED."""

    process: str
    generation: int
    since_ns: int
    until_ns: int | None


class SharedRow(TypedDict):
    """Two owners of a partition in one generation: schema.SHARED."""

    partition: int | None
    owners: str
    from_ns: int
    until_ns: int | None


class MetadataBackRow(TypedDict):
    """A partition whose committed metadata went back: schema.METADATA_BACK."""

    partition: int
    from_ns: int | None
    until_ns: int


class UnownedRow(TypedDict):
    """A partition that nobody owned in a generation that lasted: schema.UNOWNED."""

    partition: int
    from_ns: int
    until_ns: int


class LifeRow(TypedDict):
    """A process of a program: schema.LIFE."""

    process: str
    from_ns: int
    to_ns: int | None


class OutputsRow(TypedDict):
    """What each input has of outputs, and how far they were read: schema.OUTPUTS."""

    least: int
    most: int | None
    complete: bool
    passed: list[int | None]
    followed: bool
    lives: list[LifeRow]


class RunRow(TypedDict):
    """All facts of one run: schema.RUNS."""

    run_id: str
    load_start_ns: int
    load_end_ns: int
    threshold_ns: int
    bucket_ns: int
    tailing: bool
    grouped: bool
    ends: list[EndRow]
    transforms: bool
    outputs: OutputsRow | None
    transactional: bool
    dirty: bool
    one_copy: bool
    acks_of_leader: bool
    dumps: list[DumpRow]
    deaths: list[DeathRow]
    faults: list[FaultRow]
    leaders: list[LeaderRow]
    states: list[StateRow]
    checkpoint_ns: int
    causes: list[CauseRow]
    alone: list[AloneRow]
    elections: list[ElectionRow]
    moves: list[MoveRow]
    passed_over: list[InLogRow]
    outdated: list[OutdatedRow]
    shared: list[SharedRow]
    unowned: list[UnownedRow]
    metadata_back: list[MetadataBackRow]
    from_start: bool
    to_end: bool
    dense: bool
    hanging: list[HangingRow]
    circular: list[CircularRow]
    corrupt: list[int]
    superseded: list[int]
    in_use: bool
