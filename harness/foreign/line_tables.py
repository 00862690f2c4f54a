"""What run.json and the tables of a run say of a parsed history (harness.foreign.imported_run).

A producer's sends are numbered in order of their begin, or of their lines if a begin is not known.
A value that was read and never sent has the number of no producer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.foreign.about import About
from harness.foreign.final_read import LastPass, Numbers, ended_ns, ends
from harness.foreign.formats.line_times import EPOCH
from harness.foreign.imported_run import HistoryFacts, HistoryRows, Row, end_events
from harness.foreign.parsed_history import UNKNOWN, ParsedHistory, Reads
from harness.history.record_format import OK, OPEN, SEQUENCE_BITS, TYPE_NAMES
from harness.model.runs.earlier_runs import Parted
from harness.model.runs.imported_history import FIRST_STRANGER, UNSENT, unplaced
from harness.model.untold import BEGINS, NEVER_TOLD, SENDS, VALUES

NO_ACK: Final = "_NO_ACK"  # how a send without acks ends, as our own workers record it


def facts_of(history: ParsedHistory, parted: Parted) -> HistoryFacts:
    """What run.json says of a history."""
    spans = history.span_ns.values()
    untold = {
        BEGINS: not history.has_begins,
        SENDS: not history.sends.type,
        VALUES: any(reads.ranges for reads in history.reads.values()),
    }
    return HistoryFacts(
        start_ns=min(start for start, _ in spans),
        end_ns=max(end for _, end in spans),
        topic=history.topic,
        partitions=_partitions(history),
        producers=len(history.producers),
        untold=(*(name for name, is_so in untold.items() if is_so), *parted.untold, *NEVER_TOLD),
        dated=history.clock == EPOCH,
        notes=(*_notes(history), *parted.notes),
    )


def _notes(history: ParsedHistory) -> Iterator[str]:
    for file, lines in history.logged.items():
        are = "line is no JSON and was" if lines == 1 else "lines are no JSON and were"
        yield f"{file}: {lines:,} {are} passed over."


def rows_of(history: ParsedHistory, final: LastPass, about: About) -> HistoryRows:
    """The rows of a run's tables, one batch of each process."""
    values = _values(history)
    in_partitions = list(ends(history, final, _partitions(history))) if final else []
    partitions = max(about.partitions or 1, _partitions(history))
    sends = _SendColumns(history, unplaced(partitions, in_partitions), about.without_acks)
    texts = pa.array([*history.texts, *history.strangers], pa.string())
    processes = {*history.producers, *history.reads}
    return HistoryRows(
        operations={name: _operations(name, history, sends, values, final) for name in processes},
        values=[pa.table({"value": values, "text": texts})],
        events=_events(history, final, in_partitions),
    )


def _partitions(history: ParsedHistory) -> int:
    columns = (history.sends.partition, *(reads.partition for reads in history.reads.values()))
    assigned = (reads.assigned for reads in history.reads.values())
    return 1 + max(0, *(max(column, default=0) for column in (*columns, *assigned)))


def _values(history: ParsedHistory) -> Numbers:
    """The value of each text, by its place."""
    texts, strangers = len(history.texts), len(history.strangers)
    values = np.empty(texts + strangers, dtype=np.int64)
    producer, start_ns = np.asarray(history.sends.producer), np.asarray(history.sends.start_ns)
    for number in history.producers.values():
        in_order = _sends_in_order(producer, start_ns, number)
        values[in_order] = (number << SEQUENCE_BITS) + np.arange(len(in_order))
    unsent = UNSENT << SEQUENCE_BITS
    values[history.sent : texts] = unsent + np.arange(texts - history.sent)
    values[texts:] = unsent + FIRST_STRANGER + np.arange(strangers)
    return values


def _sends_in_order(producer: Numbers, start_ns: Numbers, number: int) -> Numbers:
    """The places of a producer's sends, in order of their begin."""
    places = np.flatnonzero(producer == number)
    return places[np.argsort(start_ns[places], kind="stable")]


class _SendColumns:
    """The columns of all sends, as they are stored."""

    def __init__(self, history: ParsedHistory, unplaced: int, without_acks: bool | None) -> None:
        sends = history.sends
        self.producer, partition = np.asarray(sends.producer), np.asarray(sends.partition)
        self.partition = np.where(partition == UNKNOWN, unplaced, partition)
        self.start_ns = np.asarray(sends.start_ns)
        self.end_ns = np.asarray(sends.end_ns)
        offset, type_, error = (
            np.asarray(column) for column in (sends.offset, sends.type, sends.error)
        )
        # If acks are not known, an ack without an offset may be of a send that asked for none.
        unacked = type_ == OK
        unacked &= offset == UNKNOWN if without_acks is None else without_acks
        self.offset = np.where(unacked, UNKNOWN, offset)
        names = np.asarray([TYPE_NAMES.get(code, "info") for code in range(max(TYPE_NAMES) + 1)])
        self.type = np.where(unacked, "info", names[type_])
        errors = np.asarray([*history.errors, NO_ACK, ""], dtype=object)
        self.error = np.where(unacked, NO_ACK, errors[error])
        self.has_no_error = (error == UNKNOWN) & ~unacked
        self.is_open = type_ == OPEN


def _operations(
    process: str,
    history: ParsedHistory,
    sends: _SendColumns,
    values: Numbers,
    final: LastPass,
) -> Iterator[pa.Table]:
    """All operations of a process: what it sent, then what it read."""
    parts = []
    if process in history.producers:
        first_ns, _ = history.span_ns[process]
        parts.append(_sends(sends, values, history.producers[process], first_ns))
    if process in history.reads:
        parts.append(_reads(history.reads[process], values, final.get(process)))
    table = pa.concat_tables(parts)
    yield table.append_column("id", pa.array(np.arange(len(table))))


def _sends(columns: _SendColumns, values: Numbers, number: int, first_ns: int) -> pa.Table:
    places = _sends_in_order(columns.producer, columns.start_ns, number)
    start, end = columns.start_ns[places], columns.end_ns[places]
    start = np.maximum(np.where(start == UNKNOWN, first_ns, start), 1)
    offset = columns.offset[places]
    return pa.table(
        {
            "f": pa.repeat(pa.scalar("send"), len(places)),
            "type": pa.array(columns.type[places], pa.string()),
            "partition": pa.array(columns.partition[places], pa.int32()),
            "value": pa.array(values[places]),
            "offset": pa.array(offset, mask=offset == UNKNOWN),
            "error": pa.array(
                columns.error[places], pa.string(), mask=columns.has_no_error[places]
            ),
            "intended_ns": pa.array(start),
            "start_ns": pa.array(start),
            "end_ns": pa.array(np.maximum(end, start), mask=columns.is_open[places]),
        }
    )


def _reads(reads: Reads, values: Numbers, final: Numbers | None) -> pa.Table:
    text, time_ns = np.asarray(reads.text), np.asarray(reads.time_ns)
    value = values[np.maximum(text, 0)] if len(values) else np.zeros_like(text)
    length = len(text)
    is_final = pa.repeat(pa.scalar(False), length) if final is None else pa.array(final)
    return pa.table(
        {
            "f": pc.if_else(is_final, "final-read", "read"),
            "type": pa.repeat(pa.scalar("ok"), length),
            "partition": pa.array(np.asarray(reads.partition), pa.int32()),
            "value": pa.array(value, pa.int64(), mask=text == UNKNOWN),
            "offset": pa.array(np.asarray(reads.offset)),
            "error": pa.nulls(length, pa.string()),
            "intended_ns": pa.array(time_ns),
            "start_ns": pa.array(time_ns),
            "end_ns": pa.array(time_ns),
        }
    )


def _events(history: ParsedHistory, final: LastPass, in_partitions: Iterable[Row]) -> Iterator[Row]:
    for name, reads in history.reads.items():
        for time_ns, partition, offset in reads.positions:
            yield {
                "process": name,
                "time_ns": time_ns,
                "event": "position",
                "partition": partition,
                "position": offset,
                "text": "assigned",
            }
        for place in reads.without_value:
            yield {
                "process": name,
                "time_ns": reads.time_ns[place],
                "event": "unparsable",
                "partition": reads.partition[place],
                "text": f"offset {reads.offset[place]}",
            }
    if final:
        yield from end_events(next(iter(final)), ended_ns(history, final), in_partitions)
