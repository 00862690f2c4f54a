"""Until when a new leader had all that its predecessor alone acknowledged (acks=1), and kept it
when it came to lead.

    replica.lag.time.max.ms = 500; kafka2 in every ISR until kafka1 is killed at 3.0 s
    =>  kafka2 has what was acknowledged until 2.25 s

A broker in every ISR for 1.5 times `replica.lag.time.max.ms`, under one leader in one epoch, has
fetched what the leader had when this time began: otherwise the leader would have removed it.
Without leader epochs it truncates to its high watermark when it starts, which may lag by as much
again (KIP-101), so the time is 3 times `replica.lag.time.max.ms`. Time does not count if it does
not count for a stale leader (analysis.causes.leaders.stale_leader), nor time that may lie after the
leader's end: a leader that a fault hit lived until then, and the end of another one may be seen a
session late. With KRaft each new active controller begins all sessions anew (KIP-631), so a session
counts back from its first view, too.
Source: Kafka documentation, Broker Configs: replica.lag.time.max.ms, zookeeper.session.timeout.ms,
broker.session.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from analysis.causes.leaders.stale_leader import LAGS, hidden_fetching, remaining
from analysis.causes.seen import Seen
from analysis.causes.states import Change, Partition, State

Term = list[tuple[State, int]]  # each state, and the last look that showed it


def had_until(change: Change, partition: Partition, seen: Seen, *, unknown: bool) -> int | None:
    """Until when the new leader had everything; None: not known. `unknown`: faults of unknown
    effects hide its fetching, too."""
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
        if state.isr_known and broker not in state.isr:
            yield parts
            parts = []
        elif state.isr_known and state.leader not in (None, broker) and state.time_ns < alive_ns:
            hidden = hidden_fetching(broker, state, seen.happened, unknown=unknown)
            whole = state.time_ns, min(until_ns, alive_ns)
            left = remaining(whole, [*partition.blind, *hidden])
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
    within = [ns for ns in hit if begun_ns <= ns <= over_ns]
    return max([*within, _session_before(over_ns, partition, seen)])


def _session_before(over_ns: int, partition: Partition, seen: Seen) -> int:
    """When a broker that was gone at `over_ns` certainly still ran: a session before; with KRaft
    also a session before each new controller, which begins all sessions anew."""
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
