"""What a record has beside its value: its key, its length, and the partition that it goes to.

    keys = 3, value 7             =>  b"0", b"1" or b"2", the first as often as the others together
    keys = "per-record", value 7  =>  b"7"
    value_bytes = "100..200"      =>  100 to 200 bytes, each length as likely

Key and length are drawn by value and seed (`drawn` of harness.history.record_format), so that
whoever knows these knows both.

Partitioners decide as the clients do:

    ours          record n to partition n modulo their number, whatever its key
    java          murmur2 of the key; without one, a random partition until batch.size bytes went
                  there (KIP-794)
    librdkafka    CRC-32 of the key; without one, a random partition for
                  sticky.partitioning.linger.ms (its `consistent_random`)

Cannot see: which partitions have a leader, and which brokers are slow: for records without a key
both clients avoid the former, and Java's the latter.
"""

from __future__ import annotations

import time
import zlib
from bisect import bisect_right
from collections.abc import Callable
from random import Random

from harness.history.record_format import drawn, value_of, zipf_ends
from workloads.worker import Spec

BATCH_BYTES = 16384  # batch.size, Java's default
STICKY_MS = 10  # sticky.partitioning.linger.ms, librdkafka's default
OVERHEAD_BYTES = 70  # of a record in Java's accounts, at most, beside key and value
_KEYLESS = "none"


def key_of(spec: Spec) -> Callable[[int], bytes] | None:
    """The key of each value; None: no record has one."""
    if spec.keys == _KEYLESS:
        return None
    if isinstance(spec.keys, str):
        return lambda value: b"%d" % value
    ends, seed = zipf_ends(spec.keys), spec.seed
    return lambda value: b"%d" % bisect_right(ends, drawn(value, seed))


def length_of(spec: Spec) -> Callable[[int], int]:
    """The length of each value's record, in bytes, at least."""
    sizes, seed = spec.sizes, spec.seed
    if len(sizes) == 1 and sizes[0][0] == sizes[0][1]:
        alike = sizes[0][0]
        return lambda _: alike

    def length(value: int) -> int:
        drawn_number: int = drawn(value, seed)
        number, which = divmod(drawn_number, len(sizes))
        low, high = sizes[which]
        return low + number % (high - low + 1)

    return length


def partition_of(spec: Spec) -> Callable[[int], int]:
    """The partition of the worker's n-th send, from 0 on; call it once a send, in order."""
    partitions, first = spec.partitions, value_of(spec.index, 0)
    if spec.partitioner == "ours":
        return lambda n: n % partitions
    key = key_of(spec)
    if key is None:
        return _Sticky(spec).partition
    if spec.partitioner == "java":
        return lambda n: (murmur2(key(first + n)) & 0x7FFFFFFF) % partitions
    return lambda n: zlib.crc32(key(first + n)) % partitions


class _Sticky:
    """Partitions of records without a key: random ones, each for a while."""

    def __init__(self, spec: Spec) -> None:
        self._random = Random(f"partitions/{spec.seed}/{spec.process}")  # noqa: S311  reproducible
        self._partitions, self._first = spec.partitions, value_of(spec.index, 0)
        self._by_size = spec.partitioner == "java"
        self._length = length_of(spec)
        batch = int(spec.config.get("batch.size", BATCH_BYTES))
        sticky_ms = float(spec.config.get("sticky.partitioning.linger.ms", STICKY_MS))
        self._most = batch if self._by_size else int(sticky_ms * 1e6)
        self._partition, self._left, self._until_ns = 0, 0, 0

    def partition(self, n: int) -> int:
        """That of the n-th send."""
        if self._by_size:
            if self._left <= 0:
                self._choose()
                self._left = self._most
            self._left -= self._length(self._first + n) + OVERHEAD_BYTES
        elif (now_ns := time.monotonic_ns()) >= self._until_ns:
            self._choose()
            self._until_ns = now_ns + self._most
        return self._partition

    def _choose(self) -> None:
        self._partition = self._random.randrange(self._partitions)


def murmur2(key: bytes) -> int:
    """Kafka's hash of a key (org.apache.kafka.common.utils.Utils.murmur2), unsigned."""
    factor, bits = 0x5BD1E995, 0xFFFFFFFF
    hashed = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * factor & bits
        hashed = hashed * factor & bits ^ (word ^ word >> 24) * factor & bits
    if whole < len(key):
        hashed = (hashed ^ int.from_bytes(key[whole:], "little")) * factor & bits
    hashed = (hashed ^ hashed >> 13) * factor & bits
    return hashed ^ hashed >> 15
