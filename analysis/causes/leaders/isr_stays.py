"""When a broker was in, and when out of, the ISR and the ELR (KIP-966) of a partition.

views: ISR 1 2; at 5 s ISR 1, ELR 2; at 9 s ISR 1, ELR none
=>  kafka2 was in until the look before 9 s, and is out since then
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.causes.states import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A broker's stay inside or outside, from the last look before it on."""

    inside: bool
    since_ns: int


def isr_stays(broker: str, partition: Partition, until_ns: int) -> Sequence[Stay]:
    """Its stays until a moment, by the states with a known ISR."""
    stays: list[Stay] = []
    for state in (s for s in partition.states if s.time_ns < until_ns and s.isr_known):
        inside = broker in state.eligible
        if not stays or stays[-1].inside is not inside:
            stays.append(Stay(inside=inside, since_ns=state.since_ns))
    return stays
