"""Leader changes as causes: what another leader, and one from outside the ISR, permits.

    views: kafka1 leads, ISR 1 2 3; at 5 s ISR 1; at 9 s kafka3 leads, ISR 3    unclean elections
    =>  an unclean election of kafka3 at 9 s permits what was acked from 5 s on, begun before 9 s

- **another leader** permits what was begun before it was seen to lead, or before the deposed
  leader's end (analysis.causes.deposed). The same leader in the next epoch is no other one.
- **an unclean election** is one of a broker outside the ISR in force, where that is allowed at that
  moment. It permits what may lack on that broker: records that were acked while it was out (from
  `outside_ns` on), or that were in flight when it was let in (begun before, acked after that was
  seen). Who was in an ISR seen between ack and election had the record.

A stretch that may have hidden a change is a cause that is not sure: the verdict is unknown where no
other one permits the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from analysis.causes.cause import Cause
from analysis.causes.deposed import end_of
from analysis.causes.kinds import (
    AFTER_TRUNCATION,
    ANOTHER_LEADER,
    MOVED_MEANWHILE,
    TRUNCATION,
    UNCLEAN_ELECTION,
)
from analysis.causes.seen import Seen
from analysis.causes.settings import unclean_allowed
from analysis.causes.states import Change, Hidden, Partition


def leader_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that are leader changes, seen or hidden, of all partitions."""
    for partition in seen.partitions:
        read_ns = seen.read_ended_ns.get(partition.number)
        for cause in _of(partition, seen):
            if read_ns is None or cause.at_ns is None or cause.at_ns < read_ns:
                yield cause


def _of(partition: Partition, seen: Seen) -> Iterator[Cause]:
    for change in partition.changes():
        until = _limits(change, partition, seen)
        yield from _another(change, partition, until, seen)
        yield from _unclean(change, partition, until, seen)
    for hidden in partition.hidden():
        yield from _hidden(hidden, partition, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """Until when sends may have gone to the deposed leader: certainly, and at most."""

    sure_ns: int | None
    most_ns: int | None
    why: str | None = None  # the two differ

    def made(self, cause: Cause) -> Iterator[Cause]:
        """The cause with both limits: what lies between them is in doubt."""
        yield replace(cause, begun_before_ns=self.sure_ns)
        if self.sure_ns != self.most_ns:
            yield replace(cause, begun_before_ns=self.most_ns, sure=False, why=self.why)


def _limits(change: Change, partition: Partition, seen: Seen) -> _Limits:
    end = partial(end_of, change, partition, seen.happened, lag_max_ms=seen.lag_max_ms)
    unknown = seen.happened.unknown()
    return _Limits(
        sure_ns=end(), most_ns=end(unknown_hides=True), why=seen.why_unknown() if unknown else None
    )


def _another(change: Change, partition: Partition, until: _Limits, seen: Seen) -> Iterator[Cause]:
    cause = Cause(
        kind=ANOTHER_LEADER,
        words=f"{change.leader} led partition {partition.number} instead of {change.before}",
        at_ns=change.at_ns,
        partition=partition.number,
    )
    yield from until.made(cause)
    yield from until.made(replace(cause, kind=MOVED_MEANWHILE, known_from_ns=change.at_ns))
    if not seen.epochs:
        yield from _truncating(until.made(cause))


def _truncating(causes: Iterable[Cause]) -> Iterator[Cause]:
    """The same as what makes replicas truncate."""
    for cause in causes:
        yield replace(cause, kind=TRUNCATION)
        yield replace(
            cause,
            kind=AFTER_TRUNCATION,
            begun_before_ns=None,
            known_from_ns=None,
            shown_from_ns=cause.at_ns,
        )


# Unclean elections


def _unclean(change: Change, partition: Partition, until: _Limits, seen: Seen) -> Iterator[Cause]:
    for allowed, why in unclean_allowed(seen, change.at_ns):
        for cause in _election(change, partition, until):
            made = cause if allowed else replace(cause, sure=False, why=why)
            yield made
            yield from _truncating([made])


def _election(change: Change, partition: Partition, until: _Limits) -> Iterator[Cause]:
    """One that was seen to be unclean: nothing where the broker was in the ISR in force."""
    stays = _stays(change.leader, partition, change.at_ns)
    if not stays or stays[-1].inside:
        return
    cause = Cause(
        kind=UNCLEAN_ELECTION,
        words=f"{change.leader}, outside the ISR, came to lead partition {partition.number} "
        f"instead of {change.before}",
        at_ns=change.at_ns,
        partition=partition.number,
    )
    yield from until.made(replace(cause, known_from_ns=stays[-1].since_ns))
    if len(stays) > 2:  # it was out before it was let in, and out again
        let_in = stays[-2]
        in_flight = replace(cause, known_from_ns=let_in.last_ns + 1)
        yield replace(in_flight, begun_before_ns=let_in.from_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stay:
    """A broker's stay in, or out of, the ISR: first and last view of it."""

    inside: bool
    since_ns: int
    from_ns: int
    last_ns: int


def _stays(broker: str, partition: Partition, until_ns: int) -> Sequence[_Stay]:
    found: list[_Stay] = []
    for state in (s for s in partition.states if s.time_ns < until_ns and s.isr):
        inside = broker in state.isr
        if found and found[-1].inside is inside:
            found[-1] = replace(found[-1], last_ns=state.time_ns)
            continue
        since_ns, now = state.since_ns, state.time_ns
        found.append(_Stay(inside=inside, since_ns=since_ns, from_ns=now, last_ns=now))
    return found


# What may have been hidden


def _hidden(hidden: Hidden, partition: Partition, seen: Seen) -> Iterator[Cause]:
    """Causes that are not sure: another leader, and an unclean election of anybody."""
    cause = Cause(
        kind=ANOTHER_LEADER,
        words=f"another broker may have led partition {partition.number}",
        at_ns=hidden.start_ns,
        sure=False,
        why=hidden.why,
        partition=partition.number,
        begun_before_ns=hidden.end_ns,
    )
    yield cause
    yield replace(cause, kind=MOVED_MEANWHILE, known_from_ns=hidden.start_ns)
    if not seen.epochs:
        yield from _truncating([cause])
    if any(unclean_allowed(seen, hidden.start_ns, hidden.end_ns)):
        for election in _hidden_elections(cause, hidden, partition, seen):
            yield election
            yield from _truncating([election])


def _hidden_elections(
    cause: Cause, hidden: Hidden, partition: Partition, seen: Seen
) -> Iterator[Cause]:
    """Of each broker: it may have been out from when the stretch began, or since earlier."""
    words = f"partition {partition.number} may have had an unclean election"
    election = replace(cause, kind=UNCLEAN_ELECTION, words=words)
    if not partition.states:
        yield election
        return
    stays = (_stays(broker, partition, hidden.start_ns + 1) for broker in seen.brokers)
    out = [each[-1].since_ns for each in stays if each and not each[-1].inside]
    yield replace(election, known_from_ns=min([hidden.start_ns, *out]))
