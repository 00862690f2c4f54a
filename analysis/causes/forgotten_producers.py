"""Producers whose state a broker expired by a wrong clock, so that it appends their retries again.

    kafka1's clock a day and a minute ahead from 5 s on; started anew at 7 s; it leads
    =>  a send that ended after 7 s may be in the log twice
    the same, and not started: it looks every 10 minutes    =>  from 5 s on that is not known

A leader drops duplicates by its state of the producer (KIP-98). It expires the state of a producer
whose last record is older than `producer.id.expiration.ms` by its own wall clock, when it starts
and each `producer.id.expiration.check.interval.ms` (ProducerStateManager). A clock that is behind
expires none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.causes.cause import Cause
from analysis.causes.kinds import PRODUCER_FORGOTTEN
from analysis.causes.run_facts.faults import meets
from analysis.causes.seen import Seen
from analysis.causes.states import Partition
from analysis.stored.table_rows import Fault

EXPIRES, EXPIRES_MS = "producer.id.expiration.ms", 86_400_000
LOOKS, LOOKS_MS = "producer.id.expiration.check.interval.ms", 600_000
Forgets = tuple[int, str | None]  # from when on, and why it is not sure


def forgotten_causes(seen: Seen) -> Iterator[Cause]:
    """One cause per partition and broker that leads it after it may have forgotten producers."""
    for fault, effects in seen.happened.known():
        if effects.skews_clock_s * 1000 < float(seen.server.get(EXPIRES, EXPIRES_MS)):
            continue
        for broker in sorted(set(fault["nodes"]) & set(seen.brokers)):
            for moment in _moments(fault, broker, seen):
                for partition in seen.partitions:
                    yield from _led(_cause(fault, broker, moment), moment[0], broker, partition)
    for fault in seen.happened.unknown():
        moment = fault["invoke_ns"], seen.why_unknown()
        yield _cause(fault, ", ".join(fault["nodes"]), moment)


def _cause(fault: Fault, broker: str, moment: Forgets) -> Cause:
    since_ns, why = moment
    return Cause(
        kind=PRODUCER_FORGOTTEN,
        words=f"{fault['verb']} made {broker} forget producers",
        at_ns=since_ns,
        fault=fault["fault"],
        sure=why is None,
        why=why,
        known_from_ns=since_ns,
    )


def _moments(skew: Fault, broker: str, seen: Seen) -> Iterator[Forgets]:
    """When it started under that clock, and when it may have looked."""
    for fault, effects in seen.happened.known():
        if not effects.ends_processes or broker not in fault["nodes"]:
            continue
        begun_ns, over_ns = fault["heal_invoke_ns"], fault["heal_invoke_ns"]
        if effects.starts_again:
            begun_ns, over_ns = fault["invoke_ns"], fault["heal_ok_ns"]
        if begun_ns is not None and _while(skew, begun_ns, over_ns):
            yield begun_ns, None
        elif meets(skew, begun_ns or 0, over_ns):
            named = f"step {fault['step']}, {fault['verb']} {fault['target']}"
            yield max(begun_ns or 0, skew["invoke_ns"]), f"{named}: when it started is not known"
    every_ns = int(float(seen.server.get(LOOKS, LOOKS_MS)) * 1e6)
    sure_ns = None if skew["ok_ns"] is None else skew["ok_ns"] + every_ns
    if sure_ns is not None and _while(skew, sure_ns, sure_ns):
        yield sure_ns, None
    yield skew["invoke_ns"], f"whether {broker} looked for old producers is not known"


def _while(skew: Fault, from_ns: int, to_ns: int | None) -> bool:
    """Whether the clock was surely wrong all the time."""
    begun = skew["ok_ns"] is not None and skew["ok_ns"] <= from_ns
    undone_ns = skew["heal_invoke_ns"]
    return begun and (undone_ns is None or (to_ns is not None and to_ns <= undone_ns))


def _led(cause: Cause, since_ns: int, broker: str, partition: Partition) -> Iterator[Cause]:
    """The cause in a partition that the broker led then, or came to lead."""
    here = replace(cause, partition=partition.number)
    if any(state.leader == broker for state in partition.within(since_ns, None)):
        yield here
        return
    for hidden in partition.hidden:
        if hidden.leaders and hidden.ends_after(since_ns):
            yield replace(here, sure=False, why=cause.why or hidden.why)
            return
