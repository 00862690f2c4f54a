"""Elections and log ends: are the lost records just those that the new leader did not have?

With sampled replicas (`check.watermarks`): `elections` in report.json's `replication`.

An *election* is a look at which another broker leads than the last known leader. The new leader had
at least its log end of the look before: after its election it fetches no more from the old leader,
unless that one is alive and hands over. An acknowledged record is *past
the log end* of an elected leader if its ack came before that look began and its offset is not below
that log end: the new leader did not have it.

    kafka1 leads, log ends 9 and 4, acks at 0 to 8    kafka2 leads   =>  4 to 8 are past its end

If this explains the loss, each record past a log end is lost (none is *kept past* it) and no other
record is (none is lost *within* it). So it is after an unclean election; with clean elections no
record that all acknowledged is past a log end.

Not counted: acks during that look or later, which either broker may have given; acks without an
offset; brokers without a log. While ZooKeeper does not answer, the leader is not known: an election
is seen late, and the new leader's own records count as what it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.stored.fact_rows import ElectionRow
from analysis.stored.replica_samples import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """One election; log ends are those of the look before, which began at `looked_ns`."""

    partition: int
    broker: str
    before: str
    looked_ns: int
    elected_ns: int
    log_end: int
    end_before: int | None  # of the leader before; None: its log was not there


def elections(looks: Mapping[int, Sequence[Look]]) -> list[Election]:
    """The elections of all partitions, each in order of time."""
    return [election for number, each in looks.items() for election in _of(number, each)]


def _of(partition: int, looks: Sequence[Look]) -> Iterator[Election]:
    known: str | None = None
    for last, look in pairwise(looks):
        known = last.leader or known
        if known is None or look.leader in (None, known):
            continue
        end = last.ends.get(str(look.leader))
        if end is not None:
            yield Election(
                partition=partition,
                broker=str(look.leader),
                before=known,
                looked_ns=last.time_ns,
                elected_ns=look.time_ns,
                log_end=end,
                end_before=last.ends.get(known),
            )


def election_rows(found: Sequence[Election]) -> list[ElectionRow]:
    """Rows of schema.ELECTION, for Spark."""
    return [
        {"partition": e.partition, "log_end": e.log_end, "looked_ns": e.looked_ns} for e in found
    ]
