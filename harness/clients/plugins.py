"""Keys that may be those of a class that is not Kafka's own, which gets the whole configuration.

acme.reporter.host            may be
acme.bootstrap.servers        may be: files have that key in vain anyhow
spring.kafka.producer.acks    may not: it ends in a key that a client knows
lingr.ms, lingerms            may not: slips of one
unclean.leader.election       may not: the beginning of one
isolation, auto.commit        may not: most of the words of one
"""

from __future__ import annotations

from collections.abc import Collection

from harness.clients.java_keys import LEFT_OUT, clients_keys
from harness.model.spelling import known_end, most_of


def everyones(others: Collection[str]) -> set[str]:
    """The keys of clients, those that files have in vain too, and the `others`."""
    return {*clients_keys(), *LEFT_OUT, *others}


def may_be_a_plugins(key: str, others: Collection[str]) -> bool:
    """Whether no client knows a key, none of the `others` is it, and it ends in nothing of both,
    nor is most of one."""
    all_of = everyones(others)
    if most_of(key, all_of):
        return False
    end = known_end(key, all_of)
    return end is None or (end != key and end in LEFT_OUT)
