"""Where partitions begin and end, asked before and after a read; what follows from two answers.

A partition is *complete* when the reader got to its uncommitted end (the high watermark) and its
log start and both ends were the same afterwards:

    before 0..10, position 10, after 0..10      =>  complete
    before 0..10, position 9, after 0..10       =>  not: it did not get there
    before 0..10, position 10, after 0..11      =>  not: there is more, and the read goes on
    before 0..10, position 10, after 0..9       =>  not: what was read is gone, and the read ends
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where one partition begins and ends."""

    log_start: int
    committed_end: int  # last stable offset: read_committed stops here
    uncommitted_end: int  # high watermark


def behind(positions: Mapping[int, int], goals: Mapping[int, Ends], *, committed: bool) -> bool:
    """Whether a reader (`committed`: of committed records only) has more to read anywhere."""
    return any(
        positions[partition] < (ends.committed_end if committed else ends.uncommitted_end)
        for partition, ends in goals.items()
    )


def only_grew(before: Mapping[int, Ends], after: Mapping[int, Ends]) -> bool:
    """Whether there is more to read now, and nothing that was read before has gone."""
    return before != after and all(
        after[p].log_start == ends.log_start
        and after[p].committed_end >= ends.committed_end
        and after[p].uncommitted_end >= ends.uncommitted_end
        for p, ends in before.items()
    )


def told(before: Ends | None, after: Ends | None, position: int | None) -> dict[str, Any]:
    """What an `ends` event says of a partition; what could not be learned is null, and never
    complete."""
    complete = (
        before is not None
        and after == before
        and position is not None
        and position >= before.uncommitted_end
    )
    known = asdict(before) if before else dict.fromkeys(Ends.__dataclass_fields__)
    return {**known, "position": position, "complete": complete}
