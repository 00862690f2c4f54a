"""Until when a broker had all that was acknowledged, whoever acknowledged it alone (acks=1), and
kept it when it came to lead.

    replica.lag.time.max.ms = 500; kafka2 in every ISR until kafka1 is killed at 3.0 s
    =>  kafka2 has what was acknowledged until 2.25 s

Who is in every ISR for 1.5 times `replica.lag.time.max.ms`, under one leader in one epoch, has
fetched what that one had when this time began: else it would have been removed. Without leader
epochs it truncates to its high watermark when it starts, which may lag by as much again (KIP-101),
so there it takes 3 times that long. What does not count
is what does not for a deposed leader (analysis.causes.leaders.deposed), and what may have come
after the leader's end: of one that a fault hit it is known that it lived until then, of another one
it may take as long as its session to be seen.
Source: Kafka documentation, Broker Configs: replica.lag.time.max.ms, zookeeper.session.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from analysis.causes.leaders.deposed import LAGS, hiding, rest_of
from analysis.causes.seen import Seen
from analysis.causes.states import Change, Partition, State
from analysis.run_facts.configuration import session_ms

Term = list[tuple[State, int]]  # each state, and the last look that showed it


def had_until(change: Change, partition: Partition, seen: Seen, *, unknown: bool) -> int | None:
    """Until when the broker that came to lead had everything; None: since when is not known.
    `unknown`: faults of which it is not known what they can do hide its fetching, too."""
    needed_ns = seen.lag_max_ms * 1e6 * LAGS * (1 if seen.facts.epochs else 2)
    latest = [
        _latest(parts, needed_ns)
        for term in _terms(change, partition)
        for parts in _stays(change.leader, term, partition, seen, unknown=unknown)
    ]
    return max((moment_ns for moment_ns in latest if moment_ns is not None), default=None)


def _terms(change: Change, partition: Partition) -> Iterator[Term]:
    """The states before the change, of each leader in each epoch."""
    states = [state for state in partition.states if state.time_ns <= change.at_ns]
    shown = [(state, later.since_ns) for state, later in pairwise(states)]
    for _, term in groupby(shown, key=lambda pair: pair[0].term):
        yield list(term)


def _stays(
    broker: str, term: Term, partition: Partition, seen: Seen, *, unknown: bool
) -> Iterator[list[tuple[int, int]]]:
    """The time that counts of each stay in the ISR."""
    alive_ns = _alive_until(term, seen)
    parts: list[tuple[int, int]] = []
    for state, until_ns in term:
        if state.isr and broker not in state.isr:
            yield parts
            parts = []
        elif state.isr and state.leader not in (None, broker) and state.time_ns < alive_ns:
            hidden = hiding(broker, state, seen.happened, unknown=unknown)
            whole = state.time_ns, min(until_ns, alive_ns)
            left = rest_of(whole, [*partition.blind, *hidden])
            parts += [(from_ns, to_ns) for from_ns, to_ns in left if to_ns is not None]
    yield parts


def _alive_until(term: Term, seen: Seen) -> int:
    """Until when the leader certainly lived."""
    begun_ns, over_ns = term[0][0].time_ns, term[-1][1]
    hit = [
        int(fault["invoke_ns"])
        for fault, _ in seen.happened.known()
        if fault["ok_ns"] is not None and term[0][0].leader in fault["nodes"]
    ]
    known = [ns for ns in hit if begun_ns <= ns <= over_ns]
    return max([*known, over_ns - int(session_ms(seen.server) * 1e6)])


def _latest(parts: Sequence[tuple[int, int]], needed_ns: float) -> int | None:
    """The last moment from which on so much time counts."""
    for from_ns, to_ns in reversed(parts):
        if to_ns - from_ns >= needed_ns:
            return int(to_ns - needed_ns)
        needed_ns -= to_ns - from_ns
    return None
