"""Keys that may be those of a class that is not Kafka's own, which gets the whole configuration.

acme.reporter.host            may be
acme.bootstrap.servers        may be: files have that key in vain anyhow
spring.kafka.producer.acks    may not: it ends in a key that a client knows
lingr.ms                      may not: a slip of one
"""

from __future__ import annotations

from collections.abc import Collection

from harness.clients.java_keys import LEFT_OUT, clients_keys
from harness.model.spelling import known_end


def everyones(others: Collection[str]) -> set[str]:
    """The keys of clients, those that files have in vain too, and the `others`."""
    return {*clients_keys(), *LEFT_OUT, *others}


def may_be_a_plugins(key: str, others: Collection[str]) -> bool:
    """Whether no client knows a key, none of the `others` is it, and it ends in nothing of both."""
    end = known_end(key, everyones(others))
    return end is None or (end != key and end in LEFT_OUT)
