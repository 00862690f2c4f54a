"""How many partitions the topic has: with `use_added_partitions`, those too that are added during
the run, within about a second.

A thread asks, because the answer may wait for a broker that is gone, and sends are due meanwhile. A
producer is asked itself, so that it learns of the partitions by the same answer: before, a send to
one of them would fail. A consumer is not: `list_topics` of one that is polled meanwhile was seen to
return after 15 s, whatever its timeout (librdkafka 2.16).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from workloads.worker import Spec

ASK_EVERY_S = 1.0
ANSWER_LIMIT_S = 1.0


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
