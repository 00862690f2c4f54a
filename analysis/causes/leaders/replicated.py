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
it may take as long as its session to be seen. With KRaft each new active controller begins all
sessions anew (KIP-631), so there a session counts back from the first view of it, too.
Source: Kafka documentation, Broker Configs: replica.lag.time.max.ms, zookeeper.session.timeout.ms,
broker.session.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from analysis.causes.leaders.deposed import LAGS, hiding, rest_of
from analysis.causes.seen import Seen
from analysis.causes.states import Change, Partition, State

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
    alive_ns = _alive_until(term, partition, seen)
    parts: list[tuple[int, int]] = []
    for state, until_ns in term:
        if state.told and broker not in state.isr:
            yield parts
            parts = []
        elif state.told and state.leader not in (None, broker) and state.time_ns < alive_ns:
            hidden = hiding(broker, state, seen.happened, unknown=unknown)
            whole = state.time_ns, min(until_ns, alive_ns)
            left = rest_of(whole, [*partition.blind, *hidden])
            parts += [(from_ns, to_ns) for from_ns, to_ns in left if to_ns is not None]
    yield parts


def _alive_until(term: Term, partition: Partition, seen: Seen) -> int:
    """Until when the leader certainly lived."""
    begun_ns, over_ns = term[0][0].time_ns, term[-1][1]
    hit = [
        int(fault["invoke_ns"])
        for fault, _ in seen.happened.known()
        if fault["ok_ns"] is not None and term[0][0].leader in fault["nodes"]
    ]
    known = [ns for ns in hit if begun_ns <= ns <= over_ns]
    return max([*known, _session_before(over_ns, partition, seen)])


def _session_before(over_ns: int, partition: Partition, seen: Seen) -> int:
    """When who was found to be gone then had certainly been there: a session before that; with
    KRaft one before each new controller, too, whose own session began with it."""
    length_ns = int(seen.kafka.session_ms(seen.server) * 1e6)
    lived_ns = over_ns - length_ns
    if seen.kafka.zookeeper:
        return lived_ns
    if all(state.controller is None for state in partition.states):  # there may have been one
        return lived_ns - length_ns - int(seen.kafka.new_controller_ms() * 1e6)
    for last, state in reversed([*pairwise(partition.states)]):
        anew = last.controller != state.controller and state.time_ns <= over_ns
        if anew and state.time_ns > lived_ns:
            lived_ns = min(lived_ns, state.since_ns - length_ns)
    return lived_ns


def _latest(parts: Sequence[tuple[int, int]], needed_ns: float) -> int | None:
    """The last moment from which on so much time counts."""
    for from_ns, to_ns in reversed(parts):
        if to_ns - from_ns >= needed_ns:
            return int(to_ns - needed_ns)
        needed_ns -= to_ns - from_ns
    return None
