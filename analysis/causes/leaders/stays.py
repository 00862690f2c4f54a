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
    """A broker's stay in, or out, from the last look before it."""

    inside: bool
    since_ns: int


def stays(broker: str, partition: Partition, until_ns: int) -> Sequence[Stay]:
    """Its stays until a moment, as far as it was told who was in the ISR."""
    found: list[Stay] = []
    for state in (s for s in partition.states if s.time_ns < until_ns and s.told):
        inside = broker in state.eligible
        if not found or found[-1].inside is not inside:
            found.append(Stay(inside=inside, since_ns=state.since_ns))
    return found
