"""What a struck broker lacks until it has copied everything again.

    ISR 1 2 3; power of kafka3 lost at 5 s; kafka3 out of the ISR at 8 s, and back at 12 s
    =>  from 5 s to 12 s kafka3, and nobody else, may lack what the others have

It stays in the ISR until its leader or the controller notices. A look at the replicas shows what it
lacks, and so do consumers that may read from followers (KIP-392). If one look shows several brokers
that lack something, each of them must have been struck. After a blind stretch in which a broker may
have left the ISR and come back, what it lacks is in doubt.
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
        here = strikes_at(partition, strikes, seen)
        shorts = [short for strike in here for short in _short(strike, partition)]
        yield from _causes_of(shorts, seen)


def _causes_of(shorts: Sequence[_Short], seen: Seen) -> Iterator[Cause]:
    """One cause per broker that may lack something, and one per set of them at the same time."""
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
            if all(other.broker != short.broker and other.meets(short) for other in others)
        ]
        together += [(short,), *several]
    for group in together:
        ends = [short.until_ns for short in group if short.until_ns is not None]
        doubts = [short.cause for short in group if not short.cause.sure]
        yield replace(
            (doubts or [short.cause for short in group])[0],
            kind=REPLICA_STRUCK,
            words="; ".join(dict.fromkeys(short.cause.words for short in group)),
            shown_from_ns=max(short.from_ns for short in group),
            shown_until_ns=min(ends, default=None),
            brokers=tuple(sorted(short.broker for short in group)),
        )


def _short(strike: Strike, partition: Partition) -> Iterator[_Short]:
    """One per broker: sure until it may have left the ISR and come back unseen."""
    for broker in sorted(strike.nodes):
        back_ns = back_in_isr(broker, strike, partition)
        hidden = partition.hidden_in(strike.invoke_ns, back_ns)
        cause = strike.cause(partition)
        short = _Short(broker=broker, cause=cause, from_ns=strike.invoke_ns, until_ns=back_ns)
        if not hidden:
            yield short
            continue
        yield replace(short, until_ns=max(hidden[0].start_ns, strike.invoke_ns))
        doubt = replace(cause, sure=False, why=strike.why or hidden[0].why)
        yield replace(short, cause=doubt)
