"""All causes of a run, of every kind, in order of time.

A group's member stops when it dies (its last operation, or the event `dies`), when partitions are
revoked from it, and when its commit gets no answer: then it gives up its batch. No member may
process what was committed for another. It is not known where a group began if auto.offset.reset is
not known, or if a client with automatic commits died: it may have stored the offsets of records
that its worker had not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from analysis.causes.cause import Cause
from analysis.causes.disks.flipped_bits import bit_causes
from analysis.causes.disks.strikes import strike_causes
from analysis.causes.disks.struck_replicas import replica_causes
from analysis.causes.forgotten_producers import forgotten_causes
from analysis.causes.internal import internal_causes
from analysis.causes.kinds import (
    ABORT_CUT,
    ABORTED,
    ACK_OF_ANOTHER_LEADER,
    AFTER_STRIKE,
    AFTER_TRUNCATION,
    ANOTHER_LEADER,
    ANY_LOG,
    BEGUN_UNKNOWN,
    BIT_AT_THE_END,
    BIT_WHEN_READ,
    COPY_OF_ANOTHER_LEADER,
    EVERY,
    FLIPPED_BIT,
    MEMBER_STOPPED,
    NOT_REPLICATED,
    PROCESSING_FAILED,
    READ_APART,
    READ_AS_ANOTHER,
    RESET_TO_LATEST,
    STRIKE,
    TRUNCATION,
)
from analysis.causes.leaders.elections import leader_causes
from analysis.causes.leaders.set_back import metadata_causes
from analysis.causes.seen import Seen
from analysis.stored.groups.member_stops import DIED


def causes_of(seen: Seen) -> list[Cause]:
    """The sure causes in order of time, then the others."""
    causes = chain(
        _by_configuration(),
        leader_causes(seen),
        strike_causes(seen),
        replica_causes(seen),
        metadata_causes(seen),
        bit_causes(seen),
        internal_causes(seen),
        _stops(seen),
        _resets(seen),
        forgotten_causes(seen),
    )
    every = [derived for cause in causes for derived in (cause, *_consequences(cause, seen))]
    return sorted(every, key=lambda cause: (not cause.sure, cause.at_ns or 0))


def _by_configuration() -> Iterator[Cause]:
    yield Cause(kind=EVERY, words="the configuration permits it")
    yield Cause(
        kind=ABORTED, words="consumers ask for what is not committed", outcomes=("aborted",)
    )
    yield Cause(
        kind=PROCESSING_FAILED,
        words="what was made of it could not be written",
        outcomes=("failed",),
    )


def _stops(seen: Seen) -> Iterator[Cause]:
    """One cause per stop of a member, and one if it is not known where the group began."""
    for stop in seen.stops:
        yield Cause(
            kind=MEMBER_STOPPED,
            words=f"{stop.process} {stop.words}",
            at_ns=stop.at_ns,
            partition=stop.partition,
            process=stop.process,
        )
    why = _begun_unknown(seen)
    if why is not None:
        yield Cause(
            kind=BEGUN_UNKNOWN,
            words="the group may have begun behind it",
            sure=False,
            why=why,
            outcomes=("before_first",),
        )


def _resets(seen: Seen) -> Iterator[Cause]:
    """One cause per told reset of a member to the log's end."""
    for each in seen.passed_over:
        yield Cause(
            kind=RESET_TO_LATEST,
            words=f"{each.process} was put to the end of partition {each.partition} by "
            f"auto.offset.reset=latest, from {each.from_offset:,} to {each.to_offset:,}",
            at_ns=each.at_ns,
            partition=each.partition,
            from_offset=each.from_offset,
            to_offset=each.to_offset,
        )


def _begun_unknown(seen: Seen) -> str | None:
    """Why it is not known where the group began."""
    died = [stop for stop in seen.stops if stop.words == DIED]
    if seen.facts.commit is None:
        return None
    if seen.facts.resets is None:
        return "auto.offset.reset is not told"
    if seen.facts.commit == "auto" and died:
        return f"{died[0].process} may have stored offsets that it did not write down"
    return None


def _consequences(cause: Cause, seen: Seen) -> Iterable[Cause]:
    """The causes of other kinds that follow from a cause."""
    if cause.kind is (NOT_REPLICATED if seen.acks_1 or not seen.facts.epochs else ANOTHER_LEADER):
        contradicted = replace(cause, kind=ACK_OF_ANOTHER_LEADER, outcomes=("two_values",))
        yield replace(contradicted, acked_only=True)
        yield replace(
            cause, kind=COPY_OF_ANOTHER_LEADER, outcomes=("acked_elsewhere", "passed_over")
        )
    elif cause.kind in (AFTER_TRUNCATION, AFTER_STRIKE):
        yield replace(cause, kind=ANY_LOG, partition=None)
    elif cause.kind in (TRUNCATION, STRIKE):
        marked = replace(cause, known_from_ns=None, unsettled_ns=cause.known_from_ns)
        yield replace(marked, kind=ABORT_CUT, outcomes=("aborted", "never"))
        why = cause.why or f"{cause.words}, so what was read before may have been cut off"
        yield replace(cause, kind=READ_APART, outcomes=("in_reads",), sure=False, why=why)
    elif cause.kind is BIT_WHEN_READ:
        read_ns = [ns for p, ns in seen.read_ended_ns.items() if cause.partition in (None, p)]
        later = [ns for ns in read_ns if (cause.at_ns or 0) < ns]
        until_ns = cause.known_until_ns
        if later or not read_ns:
            # The changed record may look like any value, whenever that was sent or known.
            anything = replace(cause, begun_before_ns=None, known_from_ns=None, known_until_ns=None)
            anything = replace(anything, shown_from_ns=cause.at_ns)
            yield replace(anything, kind=FLIPPED_BIT)
            # A record that reads as another: the other one is read elsewhere, this one nowhere.
            nowhere = ("in_reads", "other_partition", "never_polled", "before_first")
            yield replace(anything, kind=READ_AS_ANOTHER, outcomes=nowhere)
            if until_ns is None or any(ns < until_ns for ns in later):
                anybody = replace(cause, kind=BIT_AT_THE_END)
                anybody = replace(anybody, known_from_ns=None, known_until_ns=None)
                yield replace(anybody, shown_from_ns=cause.at_ns)
