"""Decodes the records of Kafka's own topics to JSON (Kafka 3.9: OffsetCommitKey.json and the like).

    __consumer_offsets     {"group": "g", "topic": "t", "partition": 0, "offset": 42,
                            "leader_epoch": 3}
                           {"group": "g"}                       who its members are: not decoded
    __transaction_state    {"transactional_id": "x", "producer_id": 7, "producer_epoch": 0,
                            "state": "PrepareCommit"}

A tombstone, which removes a key, gives the key and "removed". All numbers are big endian; a text is
an i16 length and its bytes. Any other record is None.
"""

from __future__ import annotations

import json
import struct
from typing import Any

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
INTERNAL = (OFFSETS, TRANSACTIONS)
_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_OFFSET_KEYS = (0, 1)
_WITH_LEADER_EPOCH = 3  # the first version of a committed offset that has one


def record_json(topic: str, key: bytes | None, value: bytes | None) -> str | None:
    """What a record says; None where it cannot be decoded."""
    try:
        fields = _record_fields(topic, key or b"", value)
    except (struct.error, ValueError, IndexError):
        return None
    return json.dumps(fields)


def _record_fields(topic: str, key: bytes, value: bytes | None) -> dict[str, Any]:
    (version,) = struct.unpack_from(">h", key)
    name, at = _string(key, 2)
    if topic == TRANSACTIONS:
        return {"transactional_id": name} | _state(value)
    if version not in _OFFSET_KEYS:
        return {"group": name}
    of, at = _string(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    return {"group": name, "topic": of, "partition": partition} | _offset(value)


def _offset(value: bytes | None) -> dict[str, Any]:
    if value is None:
        return {"removed": True}
    version, offset = struct.unpack_from(">hq", value)
    epoch = struct.unpack_from(">i", value, 10)[0] if version >= _WITH_LEADER_EPOCH else None
    return {"offset": offset, "leader_epoch": epoch}


def _state(value: bytes | None) -> dict[str, Any]:
    if value is None:
        return {"removed": True}
    _, producer, epoch, _, state = struct.unpack_from(">hqhib", value)
    return {"producer_id": producer, "producer_epoch": epoch, "state": _STATES[state]}


def _string(data: bytes, at: int) -> tuple[str, int]:
    """A text, and where it ends."""
    (length,) = struct.unpack_from(">h", data, at)
    end = at + 2 + length
    if length < 0 or end > len(data):
        raise ValueError("cut short")
    return data[at + 2 : end].decode(), end
