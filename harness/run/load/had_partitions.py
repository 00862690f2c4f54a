"""Whether the partitions that some members of the group had are other members' now, as they told.

    member-0: assigned 0, 1    member-1: assigned 2                             =>  not yet
    the same, then member-1: assigned 0, 1, and member-0 is told nothing        =>  moved
    the same, then member-0: revoked 0, 1, and nobody is assigned them          =>  not yet

What a member *had* is what it last told to have; it tells nothing while it is stopped.

Cannot see: what the coordinator has decided and no member was told yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.history.tables import partitions_named

Events = Iterable[dict[str, Any]]


def moved(theirs: Sequence[Events], others: Sequence[Events]) -> bool:
    """Whether others have all that each of these members had, and each of these had something."""
    now = frozenset[int]().union(*(list(_owned(events))[-1] for events in others))
    had = [[owned for owned in _owned(events) if owned] for events in theirs]
    return all(had) and all(each[-1] <= now for each in had)


def told_by(file: Path) -> list[dict[str, Any]]:
    """The events of a worker so far; each is there whole or not at all."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def _owned(events: Events) -> Iterator[frozenset[int]]:
    """What a member had, at first and after each change."""
    owned = frozenset[int]()
    yield owned
    for event in events:
        named = frozenset(partitions_named(event.get("text")))
        if event["event"] == "assigned":
            owned |= named
        elif event["event"] == "revoked":
            owned -= named
        else:
            continue
        yield owned
