"""How long a stale leader, which was replaced and has not learned of it, may have acknowledged on.

    kafka1 is cut from ZooKeeper (or from KRaft's controllers); kafka2 leads from 8 s on; kafka1 is
    in an ISR again at 21 s
    =>  what was sent before 21 s may have gone to kafka1, and be lost when it truncates

No record says who acknowledged a send, so a send that began before the stale leader's *end* counts
as before the change of leaders. The end is the first of:

- its process ended for sure: the `ok` of a fault that ends processes, and that was in force at the
  change or came later
- it leads again
- it joins an ISR after one without it: it fetches, so it knows the new leader (not if the metadata
  went back to that ISR)
- it was in every ISR for 1.5 times `replica.lag.time.max.ms`: otherwise the leader would have
  removed it. Each new leader, and each new epoch, starts this wait again, and without a leader it
  stands still. Blind time does not count, nor time in which a fault could hide that it does not
  fetch: one that can move leadership and hits it, the leader, the controller, the links to one of
  them, or half of the ZooKeepers or KRaft controllers, without whom no replica leaves an ISR

Without any of these it has no end (None). Source: Kafka documentation, Broker Configs:
replica.lag.time.max.ms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise

from analysis.causes.run_facts.faults import Happened
from analysis.causes.states import Change, Partition, State
from analysis.stored.table_rows import Fault

LAGS = 1.5
Stretch = tuple[int, int | None]


def stale_leader_end(
    change: Change,
    partition: Partition,
    happened: Happened,
    *,
    lag_max_ms: float,
    unknown_hides: bool = False,
) -> int | None:
    """From when on the leader before `change` certainly acknowledged nothing, at the change or
    later; None: never. `unknown_hides`: faults of unknown effects hide its fetching, too."""
    by_events = _process_end(change, happened), _leads_again(change, partition)
    ends = [end_ns for end_ns in by_events if end_ns is not None]
    back_ns = _came_back(change, partition, min(ends, default=None))
    ends += [] if back_ns is None else [back_ns]
    later = _AfterChange(change=change, partition=partition, until_ns=min(ends, default=None))
    stayed_ns = later.stayed_until(happened, lag_max_ms * 1e6 * LAGS, unknown=unknown_hides)
    ends += [stayed_ns] if stayed_ns is not None else []
    return max(change.at_ns, min(ends)) if ends else None


def _process_end(change: Change, happened: Happened) -> int | None:
    proved = []
    for fault in happened.faults:
        effects = happened.effects(fault)
        if effects is None or not effects.ends_processes or change.before not in fault["nodes"]:
            continue
        ok_ns, back_ns = fault["ok_ns"], fault["heal_invoke_ns"]
        if effects.starts_again:
            # It may run again: only an end after the change counts.
            late = fault["invoke_ns"] >= change.at_ns
        else:
            late = ok_ns is not None and ok_ns >= change.at_ns
            late = late or not _before(back_ns, change.at_ns)
        if ok_ns is not None and late:
            proved.append(int(ok_ns))
    return min(proved, default=None)


def _before(time_ns: int | None, moment_ns: int) -> bool:
    return time_ns is not None and time_ns < moment_ns


def _leads_again(change: Change, partition: Partition) -> int | None:
    later = partition.after(change.at_ns)
    return next((state.time_ns for state in later if state.leader == change.before), None)


def _came_back(change: Change, partition: Partition, until_ns: int | None) -> int | None:
    out = False
    for state in (s for s in partition.within(change.at_ns, until_ns) if s.isr_known):
        if change.before not in state.isr or state.went_back:
            out = change.before not in state.isr
        elif out:
            return state.time_ns
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _AfterChange:
    """The states from a change on, until another proof of the end."""

    change: Change
    partition: Partition
    until_ns: int | None

    def stayed_until(self, happened: Happened, needed_ns: float, *, unknown: bool) -> int | None:
        """When the old leader had been in every ISR for so long, under one leader in one epoch;
        None if it left one before."""
        for term in self._terms():
            waited_ns, (_, (begun_ns, _)), (_, (_, over_ns)) = 0.0, term[0], term[-1]
            long_enough = over_ns is None or over_ns - begun_ns >= needed_ns
            for state, whole in term:
                if state.isr_known and self.change.before not in state.isr:
                    return None
                counts = state.isr_known and not state.went_back
                counts = counts and state.leader not in (None, self.change.before)
                if not counts or not long_enough:
                    continue
                hidden = hidden_fetching(self.change.before, state, happened, unknown=unknown)
                for from_ns, to_ns in remaining(whole, [*self.partition.blind, *hidden]):
                    if to_ns is None or waited_ns + (to_ns - from_ns) >= needed_ns:
                        return int(from_ns + needed_ns - waited_ns)
                    waited_ns += to_ns - from_ns
        return None

    def _terms(self) -> Iterator[list[tuple[State, Stretch]]]:
        """The states of each leader in each epoch, with the time in which they were in force."""
        states = self.partition.within(self.change.at_ns, self.until_ns)
        for _, term in groupby(_with_next(states), key=lambda pair: pair[0].term):
            yield [
                (state, (max(state.time_ns, self.change.at_ns), later.time_ns if later else None))
                for state, later in term
            ]


def _with_next(states: Iterable[State]) -> Iterator[tuple[State, State | None]]:
    """Each state with the one after it."""
    ended: Iterable[State | None] = chain(states, [None])
    for state, later in pairwise(ended):
        if state is not None:
            yield state, later


def hidden_fetching(
    member: str, state: State, happened: Happened, *, unknown: bool
) -> Iterable[Stretch]:
    """The stretches in which a fault could hide that a member of the ISR does not fetch."""
    concerned = {member, state.leader, state.controller} - {None}
    for fault in happened.faults:
        effects = happened.effects(fault)
        can = unknown if effects is None else effects.moves_leaders
        nodes = set(fault["nodes"]) if can else set()
        if nodes and (
            concerned & nodes or _links_to(fault, happened) or happened.hits_half_the_quorum(fault)
        ):
            yield fault["invoke_ns"], fault["heal_ok_ns"]


def _links_to(fault: Fault, happened: Happened) -> bool:
    """Whether it cuts a node's links to others than clients."""
    peers = str(happened.options(fault).get("from", ""))
    return bool(peers) and bool(set(peers.replace(" ", "").split(",")) - {"clients"})


def remaining(whole: Stretch, without: Sequence[Stretch]) -> Iterable[Stretch]:
    """The parts of a stretch outside of others, in order of time."""
    from_ns, end_ns = whole
    for start_ns, stop_ns in sorted(without, key=lambda stretch: stretch[0]):
        if stop_ns is not None and stop_ns <= from_ns:
            continue
        if end_ns is not None and start_ns >= end_ns:
            break
        if start_ns > from_ns:
            yield from_ns, start_ns
        if stop_ns is None:
            return
        from_ns = max(from_ns, stop_ns)
    if end_ns is None or from_ns < end_ns:
        yield from_ns, end_ns
