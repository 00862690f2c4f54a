"""Elections by an old ISR: what a KRaft quorum that lost committed metadata permits.

    ISR 1 2 3; at 5 s ISR 1; the disk of controller1 is lost, and at 9 s the committed metadata of
    the partition goes back: ISR 1 2 3 again; at 12 s kafka2 leads
    =>  kafka2, outside the ISR since 5 s, was elected by an old one: what was acked from 5 s on and
        begun before 12 s may be lost
    the same, but it was the metadata of another partition that went back    =>  nothing
    the same, but kafka2 was in the ISR until 9 s                            =>  nothing
    the same, but the controllers were healed, and level, at 8 s             =>  nothing

A controller's lost disk (analysis.causes.run_facts.quorum_strikes) permits nothing by itself. With
metadata that went back it permits what an unclean election does: a broker lacks what was acked
since it was out of ISR and ELR, as they were before. It has that again once it has left the ISR and
come back, or was in every ISR for the time of analysis.causes.leaders.replicated under a leader of
a new epoch. If no broker is left to lead (the topic itself is forgotten), every earlier send is
permitted.

A state's `went_back` says that the metadata went back (docs/history.md). Where no look shows
whether it did, an election is in doubt. Without such a fault before it, metadata that went back
permits nothing. Source: KIP-595, KIP-853."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from analysis.causes.cause import Cause
from analysis.causes.kinds import OLD_ISR, QUORUM_STRUCK
from analysis.causes.leaders.isr_stays import isr_stays
from analysis.causes.leaders.replicated import had_until
from analysis.causes.run_facts.quorum_strikes import QuorumStrike, quorum_strikes
from analysis.causes.seen import Seen
from analysis.causes.states import Change, Hidden, Partition, State


def elections_by_an_old_isr(change: Change, partition: Partition, seen: Seen) -> Iterator[Cause]:
    """The causes of a change of leaders after the metadata went back, without limits for the begin
    of sends; at most one is sure."""
    strikes = quorum_strikes(seen.happened, seen.kafka)
    if not strikes:
        return
    for back in _set_backs(partition, change.at_ns):
        out_ns = _lacks_since(change, back, partition, seen)
        if out_ns is None:
            continue
        dark = partition.hidden_in(out_ns, change.at_ns)
        for cause in _permitted_by(strikes, back, _cause(change, partition, out_ns)):
            yield replace(cause, sure=False, why=cause.why or dark[0].why) if dark else cause


def no_leader_left(partition: Partition, seen: Seen) -> Iterator[Cause]:
    """The causes of a partition without any broker left to lead."""
    strikes = quorum_strikes(seen.happened, seen.kafka)
    for back in _set_backs(partition, None) if strikes else ():
        if back.leader is None and not back.eligible:
            cause = Cause(
                kind=OLD_ISR,
                words=f"partition {partition.number} was forgotten",
                at_ns=back.time_ns,
                partition=partition.number,
                begun_before_ns=back.time_ns,
            )
            yield from _permitted_by(strikes, back, cause)


def metadata_causes(seen: Seen) -> Iterator[Cause]:
    """The causes that permit committed metadata to go back, of any partition."""
    for strike in quorum_strikes(seen.happened, seen.kafka):
        yield Cause(
            kind=QUORUM_STRUCK,
            words=strike.words,
            at_ns=strike.invoke_ns,
            fault=strike.fault,
            sure=strike.why is None,
            why=strike.why,
            shown_from_ns=strike.invoke_ns,
            shown_until_ns=None if strike.over_ns is None else strike.over_ns - 1,
        )


def hidden_by(hidden: Hidden, seen: Seen) -> str | None:
    """Why metadata may have gone back in a blind stretch; None if it cannot have."""
    for strike in quorum_strikes(seen.happened, seen.kafka):
        if hidden.ends_after(strike.invoke_ns):
            return strike.why or hidden.why
    return None


def _set_backs(partition: Partition, until_ns: int | None) -> Iterator[State]:
    for state in partition.states:
        if state.went_back and (until_ns is None or state.time_ns <= until_ns):
            yield state


def _permitted_by(strikes: Sequence[QuorumStrike], back: State, cause: Cause) -> Iterator[Cause]:
    """The cause, if a strike came before and was not over: sure if one of them certainly took
    something."""
    before = [
        strike
        for strike in strikes
        if strike.invoke_ns < back.time_ns
        and (strike.over_ns is None or back.since_ns < strike.over_ns)
    ]
    for strike in sorted(before, key=lambda strike: strike.why is not None)[:1]:
        words = f"{strike.words}, and {cause.words}"
        yield replace(
            cause, words=words, fault=strike.fault, sure=strike.why is None, why=strike.why
        )


def _cause(change: Change, partition: Partition, out_ns: int) -> Cause:
    return Cause(
        kind=OLD_ISR,
        words=f"{change.leader} came to lead partition {partition.number} by an older ISR",
        at_ns=change.at_ns,
        partition=partition.number,
        known_from_ns=out_ns,
    )


def _lacks_since(change: Change, back: State, partition: Partition, seen: Seen) -> int | None:
    """From when on the new leader may lack acked records; None: it lacks nothing."""
    stays = isr_stays(change.leader, partition, back.time_ns)
    if not stays or stays[-1].inside or _came_back(change, back, partition):
        return None
    had_ns = had_until(change, _anew(partition, back), seen, unknown=True)
    return stays[-1].since_ns if had_ns is None else max(stays[-1].since_ns, had_ns + 1)


def _came_back(change: Change, back: State, partition: Partition) -> bool:
    """Whether it was out of the ISR, and in it again, between the two."""
    out = False
    for state in partition.within(back.time_ns, change.at_ns - 1):
        if state.isr_known and change.leader not in state.eligible:
            out = True
        elif out and change.leader in state.isr:
            return True
    return False


def _anew(partition: Partition, back: State) -> Partition:
    """The states of new epochs since the metadata went back."""
    epochs = [(state, state.epoch) for state in partition.states if state.epoch is not None]
    newest = max((epoch for state, epoch in epochs if state.time_ns < back.time_ns), default=-1)
    later = [s for s, epoch in epochs if s.time_ns >= back.time_ns and epoch > newest]
    return replace(partition, states=tuple(later))
