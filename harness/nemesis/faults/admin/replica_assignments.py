"""Assignments of replicas to brokers, as plain data.

    {("harness", 0): ("kafka1", "kafka2")}     a partition's replicas, the preferred leader first

All are pure functions of an assignment and the brokers there are; brokers stand in a ring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Partition = tuple[str, int]
Assignment = Mapping[Partition, tuple[str, ...]]


def of_topic(topic: str, replicas: Sequence[tuple[str, ...]]) -> dict[Partition, tuple[str, ...]]:
    """The assignment of a topic whose partition i has `replicas[i]`."""
    return {(topic, number): names for number, names in enumerate(replicas)}


def shifted(now: Assignment, brokers: Sequence[str]) -> Assignment:
    """Every replica goes to the next broker; data move where a broker has none of the partition."""
    return {
        partition: tuple(brokers[(brokers.index(name) + 1) % len(brokers)] for name in replicas)
        for partition, replicas in now.items()
    }


def raised(now: Assignment, brokers: Sequence[str]) -> Assignment:
    """Every partition gets one more replica, on the next broker that has none of it."""
    return {
        partition: (*replicas, *_spare(replicas, replicas[-1], brokers)[:1])
        for partition, replicas in now.items()
    }


def without(now: Assignment, gone: str, brokers: Sequence[str]) -> Assignment:
    """Replicas of `gone` go to the next broker without one; where every broker has one, they stay.

    Partitions of which `gone` has no replica are left out.
    """
    moved = {}
    for partition, replicas in now.items():
        successors = _spare(replicas, gone, brokers)
        if gone in replicas and successors:
            moved[partition] = tuple(successors[0] if name == gone else name for name in replicas)
    return moved


def led_by(now: Assignment, leaders: Mapping[Partition, str]) -> Assignment:
    """The same replicas, `leaders` first: whom a preferred election would choose."""
    return {
        partition: (leaders[partition], *(n for n in replicas if n != leaders[partition]))
        for partition, replicas in now.items()
        if partition in leaders
    }


def _spare(replicas: Sequence[str], after: str, brokers: Sequence[str]) -> list[str]:
    """The brokers that have no replica, in the ring's order beginning after `after`."""
    at = brokers.index(after) + 1
    return [name for name in (*brokers[at:], *brokers[:at]) if name not in replicas]
