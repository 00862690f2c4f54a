"""Which records of a topic that was not empty are not of the history that was brought.

VerifiableProducer's values begin at 0 each time, so a topic that was written before has copies:

    read "0"@11 "0"@13, acked "0" at 13, sent once    =>  the one at 11 is an earlier run's
    the same, and the producer may send again         =>  in doubt: a retry leaves the same
    read "x"@11, and nobody sent it, or its send      =>  an earlier run's, and no phantom
    certainly failed
    read "2"@12, and its send ended info              =>  no copy, and its own or an earlier run's:
                                                          whether it was written is not known
    read "0"@13 "0"@14, acked "0" at 13               =>  a duplicate: it lies behind the first ack
    acked "0" at 13, read "0"@11 and not at 13        =>  lost where it was sent once; else in the
                                                          log, and its ack is wrong

A record lies *below* if its offset is below the first acknowledged one of its partition. Where a
partition has none, all do, of which only copies matter. What is not of this history becomes a value
of its own, so no check compares it with a send. Where the topic is told to have been empty, or was
made by whoever wrote the history, as Jepsen's, nothing of this holds.

The rule holds of truth values of NumPy (harness.foreign.earlier_runs) and of Spark
(analysis.tables.earlier_runs) alike: both know `&`, `|` and `~`. The one-file job (docs/tables.md)
has this module: it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.model.untold import COPIES, LANDED

Truths = Any  # truth values, one a record: a column of Spark or an array of NumPy


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Each place at which a text was read, once: what is known of it, as truth values."""

    below: Truths  # it lies below the first acknowledged offset of its partition
    has_first: Truths  # an ack names an offset of its partition
    unwritten: Truths  # nobody sent its text, or the send certainly failed
    in_doubt: Truths  # the send of its text ended info
    named: Truths  # the ack of its text names an offset
    once: Truths  # the send of its text leaves one record at most
    elsewhere: Truths  # its text was also read at a place that is not below
    several: Truths  # its text was read at several places

    @property
    def may_stay(self) -> Truths:
        """Which lie below and may be of this history; of a text only the last one stays."""
        return self.below & ~self._settled & ~self._strange

    def taken_out(self, is_last: Truths) -> Truths:
        """Which are none of this history, or may be none. `is_last`: of those of its text that may
        stay."""
        copied = self.named | self.several
        return self.below & ~(self.may_stay & is_last) & (copied | self._strange)

    def sure(self, is_last: Truths) -> Truths:
        """Which certainly are none of it."""
        return self.taken_out(is_last) & (self._strange | (self._settled & self.once))

    def landed(self, is_last: Truths) -> Truths:
        """Which stay as the one record of a send in doubt, though they may be an earlier run's."""
        return self.may_stay & is_last & self.in_doubt & self.has_first

    @property
    def _strange(self) -> Truths:
        return self.unwritten & self.has_first

    @property
    def _settled(self) -> Truths:
        """Of whose text the own record is told by its ack, or lies where earlier runs have none."""
        return self.elsewhere | (self.named & self.once)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """How many records below the first acknowledged offsets are not known to be this history's."""

    others: int = 0  # certainly none of it, and taken out
    doubtful: int = 0  # taken out, and may be of it
    landed: int = 0  # of a send in doubt, and may be none of it

    @property
    def untold(self) -> tuple[str, ...]:
        """What the history does not tell, in the words of harness.model.untold."""
        told = {COPIES: not self.doubtful, LANDED: not self.landed}
        return tuple(name for name, is_told in told.items() if not is_told)

    @property
    def notes(self) -> Iterator[str]:
        """One sentence for each kind of them."""
        where = "below the first acknowledged offset of a partition"
        if self.others:
            yield f"{_records(self.others)} {where}, and an earlier run's."
        if self.doubtful:
            yield (
                f"{_records(self.doubtful)} {where}, and an earlier run's or of this history: "
                "--about may tell (new_topic, the producer's retries)."
            )
        if self.landed:
            yield (
                f"{_records(self.landed)} {where}, and of a send without an ack or an earlier "
                "run's: --about may tell (new_topic)."
            )


def _records(number: int) -> str:
    return f"{number:,} {'record is' if number == 1 else 'records are'}"
