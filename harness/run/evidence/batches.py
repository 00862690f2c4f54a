"""Decodes the bytes of a log into one line for each record batch (with kafka-python).

    {"epoch": 3, "producer_id": 7, "producer_epoch": 0, "sequence": 40, "marker": null,
     "records": [[4711, 12], [4712, 13]]}                  offset and value of each record

`marker` is "commit" or "abort" where the batch ends a transaction; its record has no value. Batches
of older formats (magic 0 and 1) have neither epoch nor producer. A batch with unreadable records,
damaged or of a codec that is not installed here, keeps its offsets: each has the value null, and
`text` says why. A batch that is cut short is left out.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafka.record import MemoryRecords

from harness.history.record_format import TOMBSTONE
from harness.run.evidence.internal_topics import INTERNAL, record_json

_HEAD_BYTES, _LENGTH_AT, _LENGTH_END = 61, 8, 12
_DIGITS = re.compile(rb"\s*(\d{1,19})\b")
_TOO_LARGE = 2**63
_MOST_RECORDS = 1_000_000  # no batch of ours has as many


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch: which it is, the offsets it takes, and its line."""

    base_offset: int
    last_offset: int
    checksum: int  # of all its bytes
    fields: dict[str, Any]


def batches(data: bytes, topic: str = "") -> Iterator[Batch]:
    """Yield every whole batch in a part of a segment, in order. For Kafka's own topics
    `record_json` of each record replaces its value."""
    start = 0
    while (end := _end(data, start)) is not None:
        yield _batch(data[start:end], topic)
        start = end


def _end(data: bytes, start: int) -> int | None:
    length = int.from_bytes(data[start + _LENGTH_AT : start + _LENGTH_END], "big", signed=True)
    end = start + _LENGTH_END + length
    return end if length > 0 and end <= len(data) else None


def _batch(data: bytes, topic: str) -> Batch:
    base = int.from_bytes(data[:_LENGTH_AT], "big", signed=True)
    fields: dict[str, Any] = {}
    last = base
    try:
        batch = MemoryRecords(data).next_batch()
        if batch.magic >= 2:
            last = batch.last_offset
            fields = _of_producer(batch)
        records = list(batch)
        if topic in INTERNAL:
            fields["records"] = [[r.offset, record_json(topic, r.key, r.value)] for r in records]
        else:
            fields["records"] = [[record.offset, _value(_carried_by(record))] for record in records]
        last = max([last, *(record.offset for record in records)])
        base = min([base, *(record.offset for record in records)])
        if fields.get("marker"):
            fields["marker"] = "commit" if records[0].commit else "abort"
            fields["records"] = [[record.offset, None] for record in records]
    except Exception as error:  # of damaged bytes it may raise anything
        count = min(max(last - base + 1, 1), _MOST_RECORDS)
        fields["records"] = [[base + number, None] for number in range(count)]
        fields["text"] = f"its records cannot be read: {error}"
    return Batch(base_offset=base, last_offset=last, checksum=zlib.crc32(data), fields=fields)


def _of_producer(batch: Any) -> dict[str, Any]:
    """What the head of a batch says of its writer, without the fields that it does not have."""
    fields: dict[str, Any] = {"epoch": batch.leader_epoch}
    if batch.has_producer_id():
        fields |= {"producer_id": batch.producer_id, "producer_epoch": batch.producer_epoch}
    if batch.has_sequence:
        fields["sequence"] = batch.base_sequence
    if batch.is_transactional:
        fields["transactional"] = True
    if batch.is_control_batch:
        fields["marker"] = "unknown"
    return fields


def _carried_by(record: Any) -> bytes | None:
    """What a record says of its send (workloads/client/payload.py)."""
    value: bytes | None = record.value
    return dict(getattr(record, "headers", ())).get(TOMBSTONE) if value is None else value


def _value(payload: bytes | None) -> int | None:
    """The value at the beginning of a payload; None where the payload is not ours."""
    digits = _DIGITS.match(payload or b"")
    value = int(digits[1]) if digits else _TOO_LARGE
    return value if value < _TOO_LARGE else None
