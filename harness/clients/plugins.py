"""Decides whether a key may belong to a class that is not Kafka's own and gets the whole
configuration.

    acme.reporter.host            may be
    acme.bootstrap.servers        may be: it ends in a key without effect in a file
    spring.kafka.producer.acks    may not: it ends in a key that a client knows
    lingr.ms, lingerms            may not: slips of one
    unclean.leader.election       may not: the beginning of one
    isolation, auto.commit        may not: most of the words of one
"""

from __future__ import annotations

from collections.abc import Collection

from harness.clients.java_keys import LEFT_OUT, clients_keys
from harness.model.spelling import known_end, most_of


def all_keys(others: Collection[str]) -> set[str]:
    """The keys of clients, those without effect in a file, and the `others`."""
    return {*clients_keys(), *LEFT_OUT, *others}


def may_be_a_plugins(key: str, others: Collection[str]) -> bool:
    """Whether no client knows a key, it is none of the `others`, it ends in no key of both, and it
    is not most of one."""
    known = all_keys(others)
    if most_of(key, known):
        return False
    end = known_end(key, known)
    return end is None or (end != key and end in LEFT_OUT)
