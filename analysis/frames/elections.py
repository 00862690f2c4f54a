"""Elections and log ends: is what was lost just what the new leader did not have?

Where replicas are followed (`check.watermarks`): `elections` in report.json's `replication`.

An *election* is a look at which another broker leads than the last that was known to. Its log end
at the look before is what it had when it was elected, at the least: from then on it takes no more
from the leader before it, unless that one is alive and hands over. An acknowledged record is *past
the log end* of an elected leader if its ack came before that look began and its offset is not below
that log end: the new leader did not have it.

    kafka1 leads, log ends 9 and 4, acks at 0 to 8    kafka2 leads   =>  4 to 8 are past its end

If the loss is of that kind and no other, each record past a log end is lost (none is *kept past*
it) and nothing else is (none is lost *within* it). So it is after an unclean election; where
elections are clean, nothing that was acknowledged by all is past a log end.

Not counted: acks that came while that look went on or later, for either broker may have given
them; acks without an offset. A broker whose log is not there is passed over. While ZooKeeper does
not answer nobody knows who leads: an election is then seen late, and the new leader's own records
count as what it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

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


def election_rows(found: Sequence[Election]) -> list[dict[str, Any]]:
    """What Spark must know of them: rows of schema.ELECTION."""
    return [
        {"partition": e.partition, "log_end": e.log_end, "looked_ns": e.looked_ns} for e in found
    ]
