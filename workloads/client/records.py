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

With `use_added_partitions` those that are added during the run are used too, within about a second
(`Partitions`). A thread asks, because the answer may wait for a broker that is gone, and sends are
due meanwhile. A producer is asked itself, so that it learns of the partitions by the same answer:
before, a send to one of them would fail. A consumer is not: `list_topics` of one that is polled
meanwhile was seen to return after 15 s, whatever its timeout (librdkafka 2.16).

Cannot see: which partitions have a leader, and which brokers are slow: for records without a key
both clients avoid the former, and Java's the latter.
"""

from __future__ import annotations

import threading
import time
import zlib
from bisect import bisect_right
from collections.abc import Callable
from random import Random
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.history.record_format import drawn, value_of, zipf_ends
from workloads.client.texts import Texts
from workloads.worker import Spec

ASK_EVERY_S = 1.0
ANSWER_LIMIT_S = 1.0
BATCH_BYTES = 16384  # batch.size, Java's default
STICKY_MS = 10  # sticky.partitioning.linger.ms, librdkafka's default
OVERHEAD_BYTES = 70  # of a record in Java's accounts, at most, beside key and value
_KEYLESS = "none"


class Partitions:
    """The topic's partitions; `producer` gives the one that is asked, None: a client of its own.
    Asks as long as it is entered."""

    def __init__(self, spec: Spec, producer: Callable[[], Any] | None = None) -> None:
        self.count = spec.partitions
        self._spec, self._producer, self._over = spec, producer, threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> Self:
        if self._spec.use_added_partitions:
            self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _ask(self) -> None:
        client = self._producer or self._of_its_own()
        while not self._over.wait(ASK_EVERY_S):
            try:
                topics = client().list_topics(self._spec.topic, timeout=ANSWER_LIMIT_S).topics
            except KafkaException:
                continue  # asked again; what it means is recorded by the sends and reads
            partitions = topics[self._spec.topic].partitions
            led = [n for n in sorted(partitions) if partitions[n].leader >= 0]
            if led == list(range(len(led))):  # a partition without a leader is used once it has one
                self.count = max(self.count, len(led))

    def _of_its_own(self) -> Callable[[], AdminClient]:
        # It knows the consumer's keys, and warns that they do nothing: spare the log.
        admin = AdminClient({**self._spec.config, "log_level": 0})
        return lambda: admin


def key_of(spec: Spec) -> Callable[[int], bytes] | None:
    """The key of each value; None: no record has one."""
    if spec.has_texts:
        return Texts(spec).key
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


def partition_of(spec: Spec, partitions: Partitions) -> Callable[[int], int]:
    """The partition of the worker's n-th send, from 0 on; call it once a send, in order."""
    first = value_of(spec.index, 0)
    if spec.partitioner == "ours":
        return lambda n: n % partitions.count
    key = key_of(spec)
    if key is None:
        return _Sticky(spec, partitions).partition
    if spec.partitioner == "java":
        return lambda n: (murmur2(key(first + n)) & 0x7FFFFFFF) % partitions.count
    return lambda n: zlib.crc32(key(first + n)) % partitions.count


class _Sticky:
    """Partitions of records without a key: random ones, each for a while."""

    def __init__(self, spec: Spec, partitions: Partitions) -> None:
        self._random = Random(f"partitions/{spec.seed}/{spec.process}")  # noqa: S311  reproducible
        self._partitions, self._first = partitions, value_of(spec.index, 0)
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
        self._partition = self._random.randrange(self._partitions.count)


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
