"""Whether a topic's replicas are where Kafka's rule puts them: the demand `misplaced-replicas`.

The rule orders the brokers in a ring in which racks alternate. The broker at i + start leads
partition i; the other replicas follow at a distance given by a shift, which grows by one with each
round of the ring. Start and shift are random, once per topic. The rule skips a broker whose rack
already has a replica while other racks have none.

    5 brokers, 3 replicas, start 0, shift 0    0: 1 2 3    1: 2 3 4   …   5: 1 3 4 (second round)

With a shift of 0, replica j of partition i is on broker (i + j) mod n in the first round. Misplaced
replicas are counted against the start and the shift that fit best: 0 says that one choice of
Kafka's explains all of them.

KRaft's controller stripes over racks: partition i begins at rack i + start, its other replicas are
in the next racks, and each rack gives its brokers in turn, from one of them on. Racks are ordered
by name and brokers by id for as many partitions as there are brokers; then KRaft shuffles both, and
later partitions are not checked.

    5 brokers, 3 replicas, start 0    0: 1 2 3    1: 2 3 4   …   4: 5 1 2    5: any

Source: Kafka 3.9, placement by the controller in ZooKeeper mode (KIP-36 for racks), and its
StripedReplicaPlacer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, product
from typing import Any

from analysis.causes.run_facts.kafka import kafka_of

Replicas = Sequence[str]
MOST_BROKERS, MOST_PARTITIONS = 9, 1000  # of a scenario; a record may have more


def misplaced_count(record: Mapping[str, Any]) -> int | None:
    """The number of misplaced replicas; None if run.json does not have the placement, or Kafka did
    not place them in a cluster of the harness."""
    placed: Sequence[Replicas] = record.get("replicas") or ()
    if not placed_by_kafka(record):
        return None
    nodes: Mapping[str, Mapping[str, Any]] = record.get("nodes") or {}
    racks = {
        name: str(node.get("rack") or name)
        for name, node in sorted(nodes.items(), key=lambda item: int(item[1]["id"]))
        if node["role"] == "broker"
    }
    of_brokers = {name for replicas in placed for name in replicas} <= racks.keys()
    small = placed and len(racks) <= MOST_BROKERS and len(placed) <= MOST_PARTITIONS
    rule = fewest_misplaced if kafka_of(record).zookeeper else fewest_off_stripes
    return rule(placed, racks) if small and of_brokers else None


def placed_by_kafka(record: Mapping[str, Any]) -> bool:
    """Whether Kafka placed the replicas in a cluster of the harness: run.json does not have the
    racks of others."""
    scenario: Mapping[str, Any] = record.get("scenario") or {}
    kubernetes = (scenario.get("backend") or {}).get("kubernetes") or {}
    attached = (kubernetes.get("attach") or {}).get("namespace")
    by_kafka = (scenario.get("topic") or {}).get("placement") == "kafka"
    return by_kafka and record.get("backend") != "external" and not attached


def fewest_misplaced(placed: Sequence[Replicas], racks: Mapping[str, str]) -> int:
    """How many replicas differ from the rule for the start and the shift that fit best; `racks`:
    broker -> rack, in order of ids."""
    ring = _alternating(racks)
    choices = product(range(len(ring)), range(max(len(ring) - 1, 1)))
    return min(_differ(placed, ring, racks, start, shift) for start, shift in choices)


def _differ(
    placed: Sequence[Replicas], ring: Replicas, racks: Mapping[str, str], start: int, shift: int
) -> int:
    differ = 0
    for number, replicas in enumerate(placed):
        first = (number + start) % len(ring)
        wanted = _from(first, shift + number // len(ring), ring, racks, len(replicas))
        differ += sum(one != other for one, other in zip(replicas, wanted, strict=True))
    return differ


def _from(
    first: int, shift: int, ring: Replicas, racks: Mapping[str, str], replicas: int
) -> Replicas:
    """The rule's replicas of a partition that the broker at `first` leads."""
    chosen, rack_count = [ring[first]], len(set(racks.values()))
    steps = count()
    while len(chosen) < min(replicas, len(ring)):
        away = 1 + (shift * rack_count + next(steps)) % (len(ring) - 1)
        name = ring[(first + away) % len(ring)]
        used = {racks[broker] for broker in chosen}
        if name not in chosen and (racks[name] not in used or len(used) == rack_count):
            chosen.append(name)
    return chosen


def _alternating(racks: Mapping[str, str]) -> Replicas:
    """The brokers, one of each rack, then the next of each; racks by name, brokers by id."""
    shelves = {rack: [n for n in racks if racks[n] == rack] for rack in sorted(set(racks.values()))}
    longest = max(map(len, shelves.values()))
    return [shelf[i] for i in range(longest) for shelf in shelves.values() if i < len(shelf)]


# KRaft's stripes


def fewest_off_stripes(placed: Sequence[Replicas], racks: Mapping[str, str]) -> int:
    """How many replicas, of as many partitions as there are brokers, differ from KRaft's rule for
    the starts that fit best: that of the racks, and that in each rack."""
    ring = sorted(set(racks.values()))
    turns = [_turns([name for name in racks if racks[name] == rack]) for rack in ring]
    choices = product(_turns(ring), product(*turns))
    checked = placed[: len(racks)]
    return min(_off(checked, of, dict(zip(ring, own, strict=True))) for of, own in choices)


def _turns(names: Replicas) -> list[Replicas]:
    """The rotations of a list of names."""
    return [[*names[at:], *names[:at]] for at in range(len(names))]


def _off(placed: Sequence[Replicas], ring: Replicas, brokers: Mapping[str, Replicas]) -> int:
    """How many replicas are not where these orders put them."""
    turn = dict.fromkeys(ring, -1)  # of each rack, counted by the partitions that it had part in
    off = 0
    for number, replicas in enumerate(placed):
        given = dict.fromkeys(ring, 0)
        wanted: list[str] = []
        at = number
        while len(wanted) < min(len(replicas), sum(map(len, brokers.values()))):
            rack, own = ring[at % len(ring)], brokers[ring[at % len(ring)]]
            turn[rack] += not given[rack]
            wanted += [own[(turn[rack] + given[rack]) % len(own)]] if given[rack] < len(own) else []
            given[rack] += 1
            at += 1
        off += sum(one != other for one, other in zip(replicas, wanted, strict=False))
    return off
