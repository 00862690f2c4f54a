"""Stops of a group's members: what was committed for them may be processed by nobody.

A member stops where it dies (its last operation, or the event `dies`), where partitions are revoked
from it, and where a commit of its got no answer: then it gives up its batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.causes.cause import Cause
from analysis.causes.kinds import MEMBER_STOPPED
from analysis.causes.seen import Seen


def stop_causes(seen: Seen) -> Iterator[Cause]:
    """A cause for each stop of a member."""
    for stop in seen.stops:
        yield Cause(
            kind=MEMBER_STOPPED,
            words=f"{stop.process} {stop.words}",
            at_ns=stop.at_ns,
            partition=stop.partition,
            process=stop.process,
        )
