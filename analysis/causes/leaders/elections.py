"""Leader changes as causes: what a new leader, inside or outside the ISR, permits.

    views: kafka1 leads, ISR 1 2 3; at 5 s ISR 1; at 9 s kafka3 leads, ISR 3    unclean elections
    =>  an unclean election of kafka3 at 9 s permits what was acked from 5 s on, begun before 9 s

- **another leader** permits what was begun before it was seen to lead, or before the stale
  leader's end (analysis.causes.leaders.stale_leader). The same leader in the next epoch is no other
  one.
- **an unclean election** elects a broker outside the ISR in force, where that is allowed at that
  moment. It permits what that broker may lack: records that were acked since it was out. A broker
  in an ISR that was seen between ack and election had the record.
- **an election from the ELR** (KRaft, KIP-966) is clean: its members have all that is committed. So
  *in* and *out* count by ISR and ELR together. If there may have been an ELR that is not known, it
  is in doubt whether an election was unclean.
- **the last known leader**, whom Kafka elects when ISR and ELR are empty, allowed or not, has all
  that it acknowledged, and no other broker acknowledged anything since: the same leader in another
  epoch permits nothing, unless it was struck (analysis.causes.disks.strikes). Kafka 4.0 may elect
  it while it is still fenced (KAFKA-19522): it then leads once it has registered, with its log.

- **an election by an old ISR** (KRaft) is one after the committed metadata of the partition went
  back, of a broker that was out before (analysis.causes.leaders.set_back).

A stretch that may have hidden a change is a cause that is not sure: the verdict is unknown if no
other cause permits the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from analysis.causes.cause import Cause
from analysis.causes.kinds import (
    AFTER_TRUNCATION,
    ANOTHER_LEADER,
    MOVED_MEANWHILE,
    NOT_REPLICATED,
    OLD_ISR,
    STALE_METADATA,
    TRUNCATION,
    UNCLEAN_ELECTION,
)
from analysis.causes.leaders.isr_stays import isr_stays
from analysis.causes.leaders.replicated import had_until
from analysis.causes.leaders.set_back import elections_by_an_old_isr, hidden_by, no_leader_left
from analysis.causes.leaders.stale_leader import stale_leader_end
from analysis.causes.seen import Seen
from analysis.causes.settings import unclean_allowed
from analysis.causes.states import SEEN_WITHIN_NS, Change, Hidden, Partition


def leader_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that are leader changes, seen or hidden, of all partitions."""
    for partition in seen.partitions:
        for cause in _causes_of(partition, seen, seen.read_ended_ns.get(partition.number)):
            # No record existed before, not even one whose send has no known begin.
            if cause.begun_before_ns is None or cause.begun_before_ns > seen.first_ns:
                yield cause


def _causes_of(partition: Partition, seen: Seen, read_ns: int | None) -> Iterator[Cause]:
    for change in partition.changes():
        until = _limits(change, partition, seen)
        causes = [*_another(change, partition, until, seen)]
        causes += _unclean(change, partition, until, seen)
        if read_ns is None or change.at_ns < read_ns:
            yield from causes
        elif change.since_ns < read_ns and (why := _unseen(change, partition)):
            # It may have come before the final read.
            yield from (replace(cause, sure=False, why=why) for cause in causes)
    for hidden in partition.hidden:
        if read_ns is None or hidden.start_ns < read_ns:
            yield from _hidden(hidden, partition, seen)
    for cause in no_leader_left(partition, seen):
        if read_ns is None or cause.at_ns is None or cause.at_ns < read_ns:
            yield cause
            yield replace(cause, kind=TRUNCATION)
            yield _after_truncation(cause, cause.at_ns)


def _unseen(change: Change, partition: Partition) -> str | None:
    """Why the time of a change is not known; None if the looks show it."""
    if not partition.was_blind(change.since_ns, change.at_ns):
        return None
    return f"when {change.leader} came to lead partition {partition.number} was not seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """Until when sends may have gone to the stale leader: certainly, and at most."""

    sure_ns: int | None
    most_ns: int | None
    why: str | None = None  # the two differ

    def made(self, cause: Cause) -> Iterator[Cause]:
        """The cause with both limits: what lies between them is in doubt."""
        yield replace(cause, begun_before_ns=self.sure_ns)
        if self.sure_ns != self.most_ns:
            yield replace(cause, begun_before_ns=self.most_ns, sure=False, why=self.why)


def _limits(change: Change, partition: Partition, seen: Seen) -> _Limits:
    end = partial(stale_leader_end, change, partition, seen.happened, lag_max_ms=seen.lag_max_ms)
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
    narrowed = seen.acks_1 or not seen.facts.epochs
    lacking = [*_not_replicated(cause, change, partition, until, seen)] if narrowed else []
    yield from lacking
    meanwhile = replace(cause, kind=MOVED_MEANWHILE, known_from_ns=change.at_ns)
    yield from until.made(meanwhile)
    yield from _earlier(replace(meanwhile, begun_before_ns=until.most_ns), change, partition)
    yield _unknown_to_clients(meanwhile, change.before)
    if not seen.facts.epochs:
        yield from _truncations(lacking, change, partition)


def _not_replicated(
    cause: Cause, change: Change, partition: Partition, until: _Limits, seen: Seen
) -> Iterator[Cause]:
    """The same without what the new leader had: what lies between the two limits is in doubt."""
    had, least = (had_until(change, partition, seen, unknown=hides) for hides in (False, True))
    sure = replace(cause, kind=NOT_REPLICATED, known_from_ns=None if had is None else had + 1)
    yield replace(sure, begun_before_ns=until.sure_ns)
    if (until.sure_ns, had) != (until.most_ns, least):
        yield replace(
            sure,
            begun_before_ns=until.most_ns,
            known_from_ns=None if least is None else least + 1,
            sure=False,
            why=until.why,
        )


def _unknown_to_clients(cause: Cause, before: str) -> Cause:
    """The same in doubt, whenever the send began: its client may have known the old leader only."""
    why = f"it is not known when the client stopped sending to {before}"
    return replace(cause, kind=STALE_METADATA, begun_before_ns=None, sure=False, why=why)


def _earlier(cause: Cause, change: Change, partition: Partition) -> Iterator[Cause]:
    """The same in doubt, for what ended in the blind time before the change was seen."""
    why = _unseen(change, partition)
    if why is not None:
        known_ns = None if cause.known_from_ns is None else change.since_ns
        shown_ns = None if cause.shown_from_ns is None else change.since_ns
        yield replace(cause, sure=False, why=why, known_from_ns=known_ns, shown_from_ns=shown_ns)


def _truncations(causes: Iterable[Cause], change: Change, partition: Partition) -> Iterator[Cause]:
    """The causes of a change that makes replicas truncate. A look at the brokers may show it sooner
    than a look at the leaders."""
    seen_ns = change.at_ns if _unseen(change, partition) else change.since_ns
    for cause in causes:
        yield replace(cause, kind=TRUNCATION)
        shown = _after_truncation(cause, seen_ns)
        yield shown
        yield from _earlier(shown, change, partition)


def _after_truncation(cause: Cause, shown_from_ns: int | None) -> Cause:
    """What shows after a truncation, whatever the record."""
    return replace(
        cause,
        kind=AFTER_TRUNCATION,
        begun_before_ns=None,
        known_from_ns=None,
        shown_from_ns=shown_from_ns,
    )


# Unclean elections


def _unclean(change: Change, partition: Partition, until: _Limits, seen: Seen) -> Iterator[Cause]:
    causes: list[Cause] = []
    for allowed, why in unclean_allowed(seen, change.since_ns, change.at_ns):
        for cause in _election(change, partition, until):
            causes.append(cause if allowed else replace(cause, sure=False, why=why))
    for cause in elections_by_an_old_isr(change, partition, seen):
        causes += [replace(made, why=cause.why or made.why) for made in until.made(cause)]
    for cause in causes:
        yield cause
        yield from _truncations([cause], change, partition)


def _election(change: Change, partition: Partition, until: _Limits) -> Iterator[Cause]:
    """An election that the views show to be unclean. What was acked before a stretch that may have
    hidden the new leader in the ISR is in doubt."""
    stays = isr_stays(change.leader, partition, change.at_ns)
    if not stays or stays[-1].inside:
        return
    cause = Cause(
        kind=UNCLEAN_ELECTION,
        words=f"{change.leader}, outside the ISR, came to lead partition {partition.number} "
        f"instead of {change.before}",
        at_ns=change.at_ns,
        partition=partition.number,
        known_from_ns=stays[-1].since_ns,
    )
    dark = partition.hidden_in(stays[-1].since_ns, change.at_ns)
    last = partition.before(change.at_ns)
    if last is not None and last.elr_unknown:
        why = f"which replicas of partition {partition.number} were eligible was not told"
        for maybe in until.made(cause):
            yield replace(maybe, sure=False, why=maybe.why or why)
        return
    if not dark:
        yield from until.made(cause)
        return
    ends = [hidden.end_ns for hidden in dark if hidden.end_ns is not None]
    if len(ends) == len(dark) and max(ends) <= change.since_ns:
        yield from until.made(replace(cause, known_from_ns=max(ends)))
    for maybe in until.made(cause):
        yield replace(maybe, sure=False, why=maybe.why or dark[-1].why)


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
        begun_before_ns=_hidden_end(hidden, partition, seen),
    )
    if hidden.leaders:
        yield cause
        if seen.acks_1 or not seen.facts.epochs:
            yield replace(cause, kind=NOT_REPLICATED)
        meanwhile = replace(cause, kind=MOVED_MEANWHILE, known_from_ns=hidden.start_ns)
        yield meanwhile
        if not _is_before_all(hidden, partition):  # and so before the first client
            yield replace(meanwhile, kind=STALE_METADATA, begun_before_ns=None)
    truncating = [cause] if hidden.leaders and not seen.facts.epochs else []
    elections = list(_hidden_elections(cause, hidden, partition, seen))
    if any(unclean_allowed(seen, hidden.start_ns, hidden.end_ns)):
        yield from elections
        truncating += elections
    elif (why := hidden_by(hidden, seen)) is not None:
        by_an_old_isr = [replace(election, kind=OLD_ISR, why=why) for election in elections]
        yield from by_an_old_isr
        truncating += by_an_old_isr
    for made in truncating:
        yield replace(made, kind=TRUNCATION)
        # What was cut off before the first view shows in nothing that came later.
        if not _is_before_all(hidden, partition):
            yield _after_truncation(made, hidden.start_ns)


def _is_before_all(hidden: Hidden, partition: Partition) -> bool:
    """Whether it ends with the first view."""
    return bool(partition.states) and hidden.end_ns == partition.states[0].time_ns


def _hidden_end(hidden: Hidden, partition: Partition, seen: Seen) -> int | None:
    """Until when a leader that the stretch hid may have acknowledged on (None: without end)."""
    end_ns, first = hidden.end_ns, partition.states[:1]
    stayed = not hidden.leaders and len(hidden.led) < 2
    if end_ns is None or stayed or end_ns == first[0].time_ns:
        return end_ns
    now = partition.at(end_ns + SEEN_WITHIN_NS)
    leader = now.leader if now is not None else None
    ends = [end_ns]
    replaced = seen.brokers if hidden.leaders else hidden.led
    for broker in sorted(replaced) if leader is not None else ():
        if broker != leader:
            gone = Change(since_ns=hidden.start_ns, at_ns=end_ns, before=broker, leader=str(leader))
            lag_max_ms = seen.lag_max_ms
            end = stale_leader_end(
                gone, partition, seen.happened, lag_max_ms=lag_max_ms, unknown_hides=True
            )
            if end is None:
                return None
            ends.append(end)
    return max(ends)


def _hidden_elections(
    cause: Cause, hidden: Hidden, partition: Partition, seen: Seen
) -> Iterator[Cause]:
    """One per broker: it may have been out since the stretch began, or since earlier."""
    words = f"partition {partition.number} may have had an unclean election"
    election = replace(cause, kind=UNCLEAN_ELECTION, words=words)
    if not partition.states:
        yield election
        return
    all_stays = (isr_stays(broker, partition, hidden.start_ns + 1) for broker in seen.brokers)
    # It is not known since when a broker is out that no look saw in an ISR.
    out = [s[-1].since_ns * (len(s) > 1) for s in all_stays if s and not s[-1].inside]
    yield replace(election, known_from_ns=min([hidden.start_ns, *out]))
