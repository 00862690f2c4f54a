"""The schemas of a check: the tables of a sealed history, and the tables of what is found in it.

Read (docs/history.md; `harness.history.record_format` has the same columns, a test compares them):
OPERATIONS and WATERMARKS, by Spark; the other tables are small and read beside it.

Made from them: RUNS, the facts about each run that the checks need, one row per run.
Found: EVIDENCE, one row per anomaly, the same columns for all of them; WINDOWS; TIMELINE.

Columns named `*_ns` are CLOCK_MONOTONIC of the run's host; `*_s` count from the start of its load.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    import pyarrow as pa

_STRING, _LONG, _INT, _BOOL, _DOUBLE = (
    StringType(),
    LongType(),
    IntegerType(),
    BooleanType(),
    DoubleType(),
)


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


OPERATIONS = _struct(
    run_id=_STRING,
    process=_STRING,
    id=_LONG,
    f=_STRING,  # one of harness.history.record_format.F_NAMES
    type=_STRING,  # ok | fail | info
    partition=_INT,
    value=_LONG,  # null: the payload could not be parsed
    offset=_LONG,
    error=_STRING,
    intended_ns=_LONG,
    start_ns=_LONG,
    end_ns=_LONG,  # null: it never ended
    broker=_INT,
    # Null in histories of format 1, and where it does not apply.
    instance=_INT,  # which client of the worker
    transaction=_INT,  # of a send: the number of the worker's transaction
    generation=_INT,  # of the group: of a poll, a process, a commit
    epoch=_INT,  # the leader's: of a record that was read
)
WATERMARKS = _struct(
    run_id=_STRING,
    time_ns=_LONG,
    end_ns=_LONG,
    partition=_INT,
    broker=_STRING,
    leads=_BOOL,  # null: nobody could be asked
    in_isr=_BOOL,
    high_watermark=_LONG,
    log_end=_LONG,
)
TRANSACTIONS = _struct(  # events of workers, those of transactions
    run_id=_STRING,
    process=_STRING,
    time_ns=_LONG,
    event=_STRING,
    name=_STRING,
    transaction=_INT,
)
END = _struct(
    complete=_BOOL,  # a final read got from log start to log end
    log_start=_LONG,
    position=_LONG,  # the furthest offset before which a pass with a whole table has read all
    committed_end=_LONG,  # the last stable offset, as the leader told
    uncommitted_end=_LONG,  # the high watermark
)
DUMP = _struct(partition=_INT, log_start=_LONG)
FAULT = _struct(
    fault=_INT,
    invoke_ns=_LONG,
    end_ns=_LONG,  # healed; null: never
    explains=_BOOL,  # that a send had no answer: it hit the cluster, or one that sends
)
LEADER = _struct(
    partition=_INT,
    leader=_STRING,  # null: nobody
    from_ns=_LONG,
    to_ns=_LONG,  # null: still
)
ALONE = _struct(
    partition=_INT,
    from_ns=_LONG,
    to_ns=_LONG,
)
ELECTION = _struct(
    partition=_INT,
    log_end=_LONG,  # of the broker that was elected, at the look before
    looked_ns=_LONG,  # when that look began
)
STATE = _struct(
    partition=_INT,
    leader=_STRING,
    epoch=_INT,
    from_ns=_LONG,
    to_ns=_LONG,  # null: still
    seen_to_ns=_LONG,  # until when nobody was blind to its end; null: still
)
SETTLED = _struct(  # transactions of a worker up to this one: analysis.stored.transactions.settled
    sender=_LONG,  # the CRC-32 of its name
    partition=_INT,  # null: in all of them
    transaction=_INT,
)
CAUSE = _struct(  # analysis.causes.cause: what is null does not limit
    number=_INT,
    anomalies=ArrayType(_STRING),  # those that it permits
    sure=_BOOL,  # false: it puts them in doubt
    partition=_INT,
    begun_before_ns=_LONG,
    known_from_ns=_LONG,
    known_until_ns=_LONG,
    shown_from_ns=_LONG,
    shown_until_ns=_LONG,
    settled=ArrayType(SETTLED),  # what it does not permit, being settled before
    brokers=ArrayType(_STRING),
    outcomes=ArrayType(_STRING),
    acked_only=_BOOL,
    from_offset=_LONG,
    to_offset=_LONG,
    process=_STRING,
    at_ns=_LONG,
    words=_STRING,
)
DEATH = _struct(producer=_INT, died_ns=_LONG)
MOVE = _struct(
    process=_STRING,
    partition=_INT,  # null: all of them
    since_ns=_LONG,  # when it was done, at the earliest
    time_ns=_LONG,  # when it was written down
    position=_LONG,  # where the reader was put; null: not told
)
IN_LOG = _struct(  # what a member's reset to the log's end passed over while it was in the log
    partition=_INT,
    from_offset=_LONG,
    to_offset=_LONG,  # the last one is the one before
)
HANGING = _struct(
    partition=_INT,
    offset=_LONG,  # the last stable one
    time_ns=_LONG,  # when that was asked for
)
CIRCULAR = _struct(  # a transaction in a cycle of readings: the first record that it read in it
    value=_LONG,
    partition=_INT,
    offset=_LONG,
    time_ns=_LONG,  # when it read it
    other_value=_LONG,  # the first of its own that was read in the cycle, and where
    other_partition=_INT,
    other_offset=_LONG,
    reader=_STRING,  # the transaction, and the one that it read from
)
OUTDATED = _struct(  # a member that kept a generation when a newer one had been given out
    process=_STRING,
    generation=_INT,
    since_ns=_LONG,
    until_ns=_LONG,  # when it learned of another; null: it told of none
)
SHARED = _struct(  # two members that owned a partition in one generation
    partition=_INT,
    owners=_STRING,
    from_ns=_LONG,
    until_ns=_LONG,  # null: nobody said that it let it go
)
METADATA_BACK = _struct(  # a partition whose committed metadata went back, between two looks
    partition=_INT,
    from_ns=_LONG,
    until_ns=_LONG,
)
UNOWNED = _struct(  # a partition that no member had in a generation that lasted
    partition=_INT,
    from_ns=_LONG,
    until_ns=_LONG,
)
LIFE = _struct(  # of a process of a program
    process=_STRING,
    from_ns=_LONG,
    to_ns=_LONG,  # null: nobody saw its end
)
OUTPUTS = _struct(  # of programs: analysis.stored.groups.programs
    least=_INT,  # that each input has
    most=_INT,  # null: any number
    complete=_BOOL,  # whether all of them were read
    passed=ArrayType(_LONG),  # up to where the programs' group got, by partition; null: not told
    followed=_BOOL,  # whether outputs were read as they came: not those that a command prints
    lives=ArrayType(LIFE),
)
RUNS = _struct(
    run_id=_STRING,
    load_start_ns=_LONG,
    load_end_ns=_LONG,
    threshold_ns=_LONG,  # of unavailability
    bucket_ns=_LONG,  # of the timeline
    tailing=_BOOL,  # whether a consumer follows the log during the load
    grouped=_BOOL,  # whether a consumer group shares it
    ends=ArrayType(END),  # what the final read reached, by partition
    transforms=_BOOL,  # whether the group's members send what they make of what they are given
    outputs=OUTPUTS,  # null: the scenario names none
    transactional=_BOOL,
    dirty=_BOOL,  # and readers, the final read among them, ask for what is not committed
    one_copy=_BOOL,  # a send leaves one record at most: idempotent, or without retries
    acks_of_leader=_BOOL,  # acks=1: an ack says that the leader has the record, and no more
    dumps=ArrayType(DUMP),  # the replicas that were dumped; none where no start is known
    deaths=ArrayType(DEATH),  # of producers that left no end
    faults=ArrayType(FAULT),  # those that hit somebody, in order of injection
    leaders=ArrayType(LEADER),
    states=ArrayType(STATE),  # leaders with their epochs
    checkpoint_ns=_LONG,  # between a broker's checkpoints of its high watermarks
    causes=ArrayType(CAUSE),  # sure ones first
    alone=ArrayType(ALONE),  # when a leader certainly was the only member of its ISR
    elections=ArrayType(ELECTION),  # where the replicas were followed
    moves=ArrayType(MOVE),  # when readers were put elsewhere, or partitions given and taken away
    passed_over=ArrayType(IN_LOG),
    outdated=ArrayType(OUTDATED),
    shared=ArrayType(SHARED),
    unowned=ArrayType(UNOWNED),
    metadata_back=ArrayType(METADATA_BACK),
    from_start=_BOOL,  # a new group begins at the log's start, for all that is known
    to_end=_BOOL,  # a reader whose place is not in the log goes on at its end: auto.offset.reset
    dense=_BOOL,  # each offset is a record's: no transactions, no compaction
    hanging=ArrayType(HANGING),  # where the last stable offset stands
    circular=ArrayType(CIRCULAR),
    corrupt=ArrayType(_LONG),  # the places of payloads whose checksum is wrong
    superseded=ArrayType(_LONG),  # the values that a compacted log need not have any more
    in_use=_BOOL,  # what sends in doubt left below the first ack may be an earlier run's
)
EVIDENCE = _struct(
    run_id=_STRING,
    anomaly=_STRING,
    value=_LONG,
    producer=_INT,
    sequence=_LONG,
    sent=_STRING,  # how the send ended: acked | info | no-ack | fail; null: never sent
    partition=_INT,
    offset=_LONG,  # as acked, or where it was read when it was not
    other_partition=_INT,  # where it was found as well, or instead
    other_offset=_LONG,
    other_value=_LONG,  # what else was read at this offset
    copies=_INT,  # distinct places in the final read
    outcome=_STRING,  # the split: delivered_before, never_delivered, appeared, …
    time_ns=_LONG,  # the moment of the anomaly, for the faults and the leader then
    sent_ns=_LONG,
    acked_ns=_LONG,
    delivered_ns=_LONG,  # first read by a consumer
    time_s=_DOUBLE,
    sent_s=_DOUBLE,
    acked_s=_DOUBLE,
    delivered_s=_DOUBLE,
    lasted_s=_DOUBLE,  # of what passes: how long; null: to the end, or it is none of these
    leader=_STRING,  # at that moment
    epoch=_INT,  # that leader's
    faults=ArrayType(_INT),  # in force between the send and that moment
    next_fault=_INT,  # the first injected after it
    judged=_STRING,  # permitted | forbidden | in-doubt
    cause=_INT,  # what permits it, or puts it in doubt: a number in report.json's `causes`
    permitted_by=_STRING,  # the same in words; null unless it is permitted
    reader=_STRING,  # who read it, committed it, or owned it, where that matters
)
# As the report has them, so that the table and report.json say the same.
WINDOWS = _struct(
    run_id=_STRING,
    kind=_STRING,  # produce | consume | process
    partition=_INT,
    start_s=_DOUBLE,
    end_s=_DOUBLE,  # null: nothing succeeded any more until the load ended
    length_s=_DOUBLE,
    attempts=_LONG,
    leader_s=_DOUBLE,  # when who leads at its end began to; null: before it, or nobody does
    faults=ArrayType(_INT),
    injection_to_first_ack_s=_DOUBLE,
    heal_to_first_ack_s=_DOUBLE,
)
TIMELINE = _struct(
    run_id=_STRING,
    t_s=_DOUBLE,  # where the bucket begins
    acks=_LONG,
    fails=_LONG,
    infos=_LONG,
    reads=_LONG,
    lost=_LONG,  # by the time of their acks
    ack_p50_ms=_DOUBLE,
    ack_p99_ms=_DOUBLE,
)

_OF_KIND: dict[str, DataType] = {
    "string": _STRING,
    "int64": _LONG,
    "int32": _INT,
    "bool": _BOOL,
    "double": _DOUBLE,
    "list<string>": ArrayType(_STRING),
}


def of_columns(columns: Iterable[tuple[str, str]]) -> StructType:
    """A table by its columns' names and kinds, as harness.history.tables tells them."""
    return _struct(**{name: _OF_KIND[kind] for name, kind in columns})


def arrow(table: StructType) -> pa.Schema:
    """The same table for pyarrow."""
    import pyarrow as pa  # noqa: PLC0415  the one-file job (docs/tables.md) has PySpark alone

    kinds = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "boolean": pa.bool_(),
        "double": pa.float64(),
        "array<int>": pa.list_(pa.int32()),
    }
    return pa.schema([(f.name, kinds[f.dataType.simpleString()]) for f in table.fields])
