"""Flipped bits: until a bit is put back, consumers that do not check CRCs get the changed record.
What its broker truncates when it starts is a strike (analysis.causes.disks.strikes).

    bit flipped in partition 1 on kafka2 at 5 s, put back at 9 s
    =>  a read of partition 1 from 5 s to 9 s may show anything
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analysis.causes.cause import Cause
from analysis.causes.kinds import BIT_WHEN_READ
from analysis.causes.run_facts.faults import Row
from analysis.causes.seen import Seen


def bit_causes(seen: Seen) -> Iterator[Cause]:
    """One cause per fault and partition in which a bit is flipped."""
    everything = [(fault, seen.why_unknown()) for fault in seen.happened.unknown()]
    known = [(f, None) for f, effects in seen.happened.known() if effects.alters_stored_bytes]
    for fault, why in [*known, *everything]:
        for partition, brokers in (flipped(fault, seen) if why is None else _any(fault)).items():
            yield Cause(
                kind=BIT_WHEN_READ,
                words=f"{fault['verb']} changed what {', '.join(sorted(brokers))} had written",
                at_ns=fault["invoke_ns"],
                sure=why is None,
                why=why,
                partition=partition,
                fault=fault["fault"],
                begun_before_ns=fault["ok_ns"] if why is None else fault["heal_ok_ns"],
                known_from_ns=fault["invoke_ns"],
                known_until_ns=fault["heal_ok_ns"],
            )


def flipped(fault: Row, seen: Seen) -> dict[int | None, frozenset[str]]:
    """Partition with a flipped bit -> its brokers. The fault's proof names each segment:
    <topic>-<partition>/... of <broker>."""
    segment = rf"\b{re.escape(seen.topic)}-(\d{{1,9}})/(?:\S* of (\w+))?"
    brokers_of: dict[int | None, frozenset[str]] = {}
    for number, broker in re.findall(segment, fault["evidence"] or "") if seen.topic else ():
        hit = frozenset(fault["nodes"]) & {broker} or frozenset(fault["nodes"])
        brokers_of[int(number)] = brokers_of.get(int(number), frozenset()) | hit
    return brokers_of or _any(fault)


def _any(fault: Row) -> dict[int | None, frozenset[str]]:
    """The same if no proof names a partition."""
    return {None: frozenset(fault["nodes"])}
