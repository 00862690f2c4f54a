"""A cause: an event of a run that permits some records' anomalies.

    kafka2 led partition 0 instead of kafka1 from 3.4 s on   =>  permits, of partition 0, what was
                                                                  begun before 3.4 s

The conditions are numbers, so that Spark compares each record with every cause of its run
(analysis.frames.permission has the same rule as columns):

    its partition is the cause's, if that has one
    its send began before `begun_before_ns`, or at an unknown time
    it was known to be there (acked, delivered, ended) from `known_from_ns` to `known_until_ns`
    the operation that shows it (by default the final read) ended after `shown_from_ns`
    and at `shown_until_ns` or earlier
    its transaction was not settled (analysis.stored.transactions.settled) before `unsettled_ns`
    only `brokers` of the ISR lack it, if there are any
    its outcome is one of `outcomes`, if there are any
    it was not delivered yet, if the cause is `acked_only`
    its offset is `from_offset` or higher, and lower than `to_offset`
    the member `process` got it before `at_ns` and processed no later record until then

A cause that is not `sure` puts a record in doubt instead: `why` says what is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.causes.kinds import Kind
from analysis.stored.fact_rows import CauseRow, SettledRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause of one run; a limit that is None does not limit."""

    kind: Kind
    words: str  # what happened, as a clause of a sentence
    at_ns: int | None = None
    sure: bool = True
    why: str | None = None  # of one that is not sure: what is not known
    partition: int | None = None
    fault: int | None = None
    begun_before_ns: int | None = None
    known_from_ns: int | None = None
    known_until_ns: int | None = None
    shown_from_ns: int | None = None
    shown_until_ns: int | None = None
    unsettled_ns: int | None = None
    brokers: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    acked_only: bool = False
    from_offset: int | None = None
    to_offset: int | None = None
    process: str | None = None

    def as_row(
        self,
        number: int,
        anomalies: tuple[str, ...],
        start_ns: int,
        settled: Sequence[SettledRow] = (),
    ) -> CauseRow:
        """A row of schema.CAUSE; `anomalies` are those that the kind permits in this run, whose
        load started at `start_ns`; `settled`: rows of schema.SETTLED, before `unsettled_ns`."""
        at = "" if self.at_ns is None else f", at {(self.at_ns - start_ns) / 1e9:.2f} s"
        return {
            "number": number,
            "anomalies": list(anomalies),
            "sure": self.sure,
            "partition": self.partition,
            "begun_before_ns": self.begun_before_ns,
            "known_from_ns": self.known_from_ns,
            "known_until_ns": self.known_until_ns,
            "shown_from_ns": self.shown_from_ns,
            "shown_until_ns": self.shown_until_ns,
            "settled": list(settled),
            "brokers": list(self.brokers),
            "outcomes": list(self.outcomes),
            "acked_only": self.acked_only,
            "from_offset": self.from_offset,
            "to_offset": self.to_offset,
            "process": self.process,
            "at_ns": self.at_ns,
            "words": f"{self.words}{at}",
        }
