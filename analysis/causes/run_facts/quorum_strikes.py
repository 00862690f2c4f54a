"""Faults that may make a KRaft quorum lose committed metadata: controllers that lost their disks.

    static voters; the disk of controller1 is lost            =>  it votes without what it had
    dynamic voters, one disk lost and two of three kept       =>  nothing: its vote does not count
    power of controller1 lost                                 =>  perhaps

Committed metadata is on the disks of a majority. Kafka knows a static voter by its id alone, so one
with an empty disk may elect another one that lacks the rest (KIP-595). It knows a dynamic voter by
the id of its disk too, so the others decide, and a majority of all voters has all committed
metadata (KIP-853). A loss of power is in doubt: a leader counts its own copy before it has synced
it (KafkaRaftClient.flushLeaderLog), followers sync first.

With static voters the strike is over once it is healed: the proof is that every voter has what is
committed, and metadata that goes back later has another cause.

The strike alone permits nothing (analysis.causes.leaders.set_back). A cluster with ZooKeeper has
none: its ensemble loses nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.causes.run_facts.faults import Happened, Row
from analysis.causes.run_facts.kafka import Kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumStrike:
    """A fault that may have taken committed metadata, and why that is not sure."""

    fault: int
    words: str
    invoke_ns: int
    over_ns: int | None  # None: never
    why: str | None = None


def quorum_strikes(
    happened: Happened, kafka: Kafka, *, with_unknown: bool = True
) -> list[QuorumStrike]:
    """All of a run, in order of time; `with_unknown`: also the faults of unknown effects."""
    if kafka.zookeeper:
        return []
    strikes = [*_known(happened, kafka), *(_unknown(happened, kafka) if with_unknown else ())]
    return sorted(strikes, key=lambda strike: strike.invoke_ns)


def _known(happened: Happened, kafka: Kafka) -> Iterator[QuorumStrike]:
    emptied: set[str] = set()
    for fault, effects in sorted(happened.known(), key=lambda pair: int(pair[0]["invoke_ns"])):
        hit = happened.quorum & set(fault["nodes"])
        if not hit or effects.takes == "nothing":
            continue
        named = f"step {fault['step']}, {fault['verb']} {fault['target']}"
        unproved = f"{named}: it was never proved" if fault["ok_ns"] is None else None
        if effects.takes == "unsynced":
            why = "whether the quorum's leader had synced what it counted is not known"
            yield _strike(fault, hit, why, dynamic=kafka.dynamic)
            continue
        emptied |= hit
        kept = len(happened.quorum - emptied)
        if not (kafka.dynamic and 2 * kept > len(happened.quorum)):
            yield _strike(fault, hit, unproved, dynamic=kafka.dynamic)


def _unknown(happened: Happened, kafka: Kafka) -> Iterator[QuorumStrike]:
    for fault in happened.unknown():
        named = f"step {fault['step']}, {fault['verb']} {fault['target']}"
        why = f"{named}: what it can do is not known"
        yield _strike(fault, set(fault["nodes"]), why, dynamic=kafka.dynamic)


def _strike(
    fault: Row, hit: set[str] | frozenset[str], why: str | None, *, dynamic: bool
) -> QuorumStrike:
    return QuorumStrike(
        fault=fault["fault"],
        words=f"{fault['verb']} took what {', '.join(sorted(hit))} had written",
        invoke_ns=fault["invoke_ns"],
        over_ns=None if dynamic else fault["heal_ok_ns"],
        why=why,
    )
