"""The coordinator of a group or a transactional id: the leader of one internal partition.

    partition of __consumer_offsets    = |hash(group.id)|         modulo its partitions
    partition of __transaction_state   = |hash(transactional.id)| modulo its partitions

The hash is Java's String.hashCode. Source: Kafka 3.9, GroupMetadataManager.partitionFor,
TransactionStateManager.partitionFor, and Utils.abs (the least integer counts as 0).
"""

from __future__ import annotations

from typing import Literal

Coordinated = Literal["group", "transaction"]
TOPICS: dict[Coordinated, str] = {
    "group": "__consumer_offsets",
    "transaction": "__transaction_state",
}
_LEAST = -(2**31)


def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, as a signed 32-bit number."""
    raw = text.encode("utf-16-be")
    value = 0
    for at in range(0, len(raw), 2):
        value = (31 * value + int.from_bytes(raw[at : at + 2])) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def partition_of(name: str, partitions: int) -> int:
    """The internal topic's partition that a group.id or transactional.id belongs to."""
    value = java_hash(name)
    return 0 if value == _LEAST else abs(value) % partitions
