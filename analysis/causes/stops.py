"""Stops of a group's members: no member may process what was committed for them.

A member stops when it dies (its last operation, or the event `dies`), when partitions are revoked
from it, and when its commit gets no answer: then it gives up its batch.

It is not known where a group began if auto.offset.reset is not known, or if a client with automatic
commits died: it may have stored the offsets of records that its worker had not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.causes.cause import Cause
from analysis.causes.kinds import BEGUN_UNKNOWN, MEMBER_STOPPED
from analysis.causes.seen import Seen
from analysis.stored.member_stops import DIED


def stop_causes(seen: Seen) -> Iterator[Cause]:
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
