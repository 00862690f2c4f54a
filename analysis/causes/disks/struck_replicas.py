"""What a struck broker itself lacks, as long as it has not copied everything again.

    ISR 1 2 3; power of kafka3 lost at 5 s; kafka3 out of the ISR at 8 s, and back at 12 s
    =>  from 5 s to 12 s kafka3, and nobody else, may lack what the others have

It stays in the ISR until its leader, or the controller, notices; a look at the replicas shows it,
and so are consumers shown that may read from followers (KIP-392). Where one look shows that several
brokers lack something, each of them must have been struck. Once nobody can have seen whether a
broker was out and back again, what it lacks is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analysis.causes.cause import Cause
from analysis.causes.disks.strike import Strike, back_in_isr
from analysis.causes.disks.strikes import after, strikes_at, strikes_of
from analysis.causes.kinds import REPLICA_STRUCK
from analysis.causes.seen import Seen
from analysis.causes.states import SEEN_WITHIN_NS, Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Short:
    """From when until when a struck broker may lack what the others have."""

    broker: str
    cause: Cause
    from_ns: int
    until_ns: int | None

    def meets(self, other: _Short) -> bool:
        """Whether one look may see both."""
        return self._over(other) and other._over(self)

    def _over(self, other: _Short) -> bool:
        return self.until_ns is None or other.from_ns <= self.until_ns + SEEN_WITHIN_NS


def replica_causes(seen: Seen) -> Iterator[Cause]:
    """All causes of what struck brokers lack."""
    strikes = list(strikes_of(seen))
    for partition in seen.partitions:
        mine = strikes_at(partition, strikes, seen)
        yield from _of([each for strike in mine for each in _short(strike, partition)], seen)


def _of(shorts: Sequence[_Short], seen: Seen) -> Iterator[Cause]:
    """Of the brokers that may lack something at once: each, and all of them together."""
    together: list[tuple[_Short, ...]] = []
    for short in shorts:
        if seen.facts.follower_reads:
            yield replace(
                after(short.cause, short.from_ns),
                words=f"{short.cause.words}, and consumers may have read from {short.broker}",
                shown_until_ns=short.until_ns,
            )
        several = [
            (*others, short)
            for others in together
            if all(each.broker != short.broker and each.meets(short) for each in others)
        ]
        together += [(short,), *several]
    for each in together:
        ends = [short.until_ns for short in each if short.until_ns is not None]
        doubts = [short.cause for short in each if not short.cause.sure]
        yield replace(
            (doubts or [short.cause for short in each])[0],
            kind=REPLICA_STRUCK,
            words="; ".join(dict.fromkeys(short.cause.words for short in each)),
            shown_from_ns=max(short.from_ns for short in each),
            shown_until_ns=min(ends, default=None),
            brokers=tuple(sorted(short.broker for short in each)),
        )


def _short(strike: Strike, partition: Partition) -> Iterator[_Short]:
    """Of each of its brokers: certainly, until it may have left the ISR and come back unseen."""
    for broker in sorted(strike.nodes):
        back_ns = back_in_isr(broker, strike, partition)
        hidden = [each for each in partition.hidden if each.covers(strike.invoke_ns, back_ns)]
        cause = strike.cause(partition)
        short = _Short(broker=broker, cause=cause, from_ns=strike.invoke_ns, until_ns=back_ns)
        if not hidden:
            yield short
            continue
        yield replace(short, until_ns=max(hidden[0].start_ns, strike.invoke_ns))
        doubt = replace(cause, sure=False, why=strike.why or hidden[0].why)
        yield replace(short, cause=doubt)
