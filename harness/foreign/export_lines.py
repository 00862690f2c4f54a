"""A sealed history as lines that can be imported again (harness.foreign.formats.lines).

    send 7, from 10 to 20, ok at 0/41    =>  producer_send_begin at 10, producer_send_success at 20
    a send that asked for no ack         =>  producer_send_success at offset -1
    a record read, polled or looked up   =>  record_data
    `ends` of the final read             =>  read_to_end

Lines are in order of time; each has its process and `time_ns`. Left out and counted is what lines
have no words for: look-ups that found nothing, what groups processed and committed, replicas.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from harness.foreign.line_tables import NO_ACK
from harness.history.seal_record import Seal, sealed_operations, sealed_table
from harness.history.sealing import seal
from harness.history.tables import EVENT_COLUMNS, VALUE_COLUMNS

Line = dict[str, Any]
_BATCH: Final = 10_000
_DELIVERED: Final = ("read", "poll", "final-read", "lookup")
_NOT_IN_LINES: Final = {
    "process": "processed records",
    "commit": "commits",
    "committed": "committed offsets that members were told",
    "replica": "records of replicas",
}


def export(run_dir: Path, left_out: Counter[str]) -> Iterator[str]:
    """The lines of a run's history, which is sealed first. Adds to `left_out` what they leave out:
    words -> how many. Raises HistoryError."""
    sealed, folder = seal(run_dir), run_dir / "history"
    texts = _texts(folder, sealed)
    streams: list[Iterator[Line]] = []
    for table in sealed_operations(folder, sealed).values():
        _count_left_out(table, left_out)
        sends = table.filter(pc.equal(table["f"], "send"))
        streams += [_begins(sends, texts), _completions(sends, texts), _reads(table, texts)]
    # Last, since of one time they come after what was read.
    streams.append(_ends(sealed_table(folder, "events.parquet", sealed, EVENT_COLUMNS)))
    for line in heapq.merge(*streams, key=lambda line: line["time_ns"]):
        yield json.dumps(line)


def _texts(folder: Path, sealed: Seal) -> dict[int, str]:
    """The texts of an imported history's values; of our own, a value is its text."""
    if "values.parquet" not in sealed.tables:
        return {}
    table = sealed_table(folder, "values.parquet", sealed, VALUE_COLUMNS)
    return dict(zip(table["value"].to_pylist(), table["text"].to_pylist(), strict=True))


def _count_left_out(table: pa.Table, left_out: Counter[str]) -> None:
    for f, words in _NOT_IN_LINES.items():
        if many := pc.sum(pc.equal(table["f"], f)).as_py():
            left_out[words] += many
    in_vain = pc.and_(pc.equal(table["f"], "lookup"), pc.not_equal(table["type"], "ok"))
    if many := pc.sum(in_vain).as_py():
        left_out["look-ups that found nothing"] += many


def _begins(sends: pa.Table, texts: dict[int, str]) -> Iterator[Line]:
    for row in _in_order(sends, "start_ns"):
        yield _line(row, "producer_send_begin", row["start_ns"], texts)


def _completions(sends: pa.Table, texts: dict[int, str]) -> Iterator[Line]:
    for row in _in_order(sends, "end_ns"):
        if row["type"] == "ok" or row["error"] == NO_ACK:
            offset = -1 if row["offset"] is None else row["offset"]
            line = _line(row, "producer_send_success", row["end_ns"], texts)
            yield {**line, "offset": offset}
        else:
            line = _line(row, "producer_send_error", row["end_ns"], texts)
            line["exception"] = row["error"]
            yield {**line, "certain": True} if row["type"] == "fail" else line


def _reads(table: pa.Table, texts: dict[int, str]) -> Iterator[Line]:
    delivered = pc.and_(pc.is_in(table["f"], pa.array(_DELIVERED)), pc.equal(table["type"], "ok"))
    for row in _in_order(table.filter(delivered), "end_ns"):
        line = _line(row, "record_data", row["end_ns"], texts)
        yield {**line, "offset": row["offset"]}


def _ends(events: pa.Table) -> Iterator[Line]:
    for row in _in_order(events.filter(pc.equal(events["event"], "ends")), "time_ns"):
        if None in (row["log_start"], row["uncommitted_end"]):
            continue
        position = row["uncommitted_end"] if row["complete"] else row["position"] or 0
        yield {
            "time_ns": row["time_ns"],
            "name": "read_to_end",
            "process": row["process"],
            "partition": row["partition"],
            "log_start": row["log_start"],
            "log_end": row["uncommitted_end"],
            "position": position,
        }


def _line(row: Line, name: str, time_ns: int, texts: dict[int, str]) -> Line:
    value = row["value"]
    return {
        "time_ns": time_ns,
        "name": name,
        "process": row["process"],
        "partition": row["partition"],
        "value": None if value is None else texts.get(value, str(value)),
    }


def _in_order(table: pa.Table, column: str) -> Iterator[Line]:
    """The rows that have a time, in its order; only one batch at a time is made into dicts."""
    ordered = table.filter(pc.is_valid(table[column])).sort_by(column)
    for batch in ordered.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()
