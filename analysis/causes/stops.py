"""Stops of a group's members: what was committed for them may be processed by nobody.

A member stops where it dies (its last operation, or the event `dies`), where partitions are revoked
from it, and where a commit of its got no answer: then it gives up its batch.

Where a group began is not known if auto.offset.reset is not told, or if a client that commits by
itself died: it may have stored the offsets of records that its worker had not written down.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.causes.cause import Cause
from analysis.causes.kinds import BEGUN_UNKNOWN, MEMBER_STOPPED
from analysis.causes.seen import Seen
from analysis.stored.member_stops import DIED


def stop_causes(seen: Seen) -> Iterator[Cause]:
    """A cause for each stop of a member, and for what is not known of where they began."""
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
    """Why nobody knows where the group began."""
    died = [stop for stop in seen.stops if stop.words == DIED]
    if seen.facts.commit is None:
        return None
    if seen.facts.resets is None:
        return "auto.offset.reset is not told"
    if seen.facts.commit == "auto" and died:
        return f"{died[0].process} may have stored offsets that it did not write down"
    return None
