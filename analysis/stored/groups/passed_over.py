"""What resets to the log's end passed over: auto.offset.reset=latest, as members' clients told it.

poll 0 to 9    reset from 10 to the end    poll 60    =>  10 to 59 were passed over
the same, and the log starts at 40 then               =>  of these, 40 to 59 were still in the log

first poll of a partition that was added during the run: 33, and nothing committed there before
                                                      =>  0 to 32 were passed over

The group had been in such a partition before it was given a record there, with nothing in it. A
client that was put elsewhere by other rules (KIP-320, auto.offset.reset=earliest) passes over
nothing. Where it was given no record before it was moved again, nobody knows how far it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.stored.batches import Mask, batches
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import InLogRow
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from harness.history.tables import partitions_named

RESET_LATE_NS = 10**9  # a client reports a reset up to a poll later
_NEVER = 2**63 - 1
TO_END = "to offset END"  # librdkafka's words, in the event's text


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """Offsets of a partition, the last one not among them."""

    process: str
    partition: int
    from_offset: int
    to_offset: int
    at_ns: int
    log_start: int | None  # where the log started then; None: not told

    @property
    def in_log(self) -> InLogRow | None:
        """Those that were certainly still in the log; None: none is known."""
        if self.log_start is None or self.log_start >= self.to_offset:
            return None
        return {
            "partition": self.partition,
            "from_offset": max(self.from_offset, self.log_start),
            "to_offset": self.to_offset,
        }


def passed_over(run: Run) -> tuple[PassedOver, ...]:
    """What each told reset to the log's end passed over, and each first position in an added
    partition, in order of time."""
    files = {file.stem: file for file in run.tables}
    resets = (event for event in run.events if _is_to_end(event))
    found = (_of(reset, run.events, files[reset["process"]]) for reset in resets)
    known = (each for each in found if each is not None and each.from_offset < each.to_offset)
    return tuple(sorted((*known, *_in_added(run)), key=lambda each: each.at_ns))


def _is_to_end(event: Event) -> bool:
    position = event["position"]
    told = event["event"] == "reset" and position is not None and position >= 0
    return told and TO_END in (event["text"] or "")


def _of(reset: Event, events: Iterable[Event], file: Path) -> PassedOver | None:
    """What one passed over; None: its member was given nothing there before it was moved again."""
    at_ns, partition, position = reset["time_ns"], reset["partition"], reset["position"] or 0
    until_ns = min(
        (e["time_ns"] for e in events if e["time_ns"] > at_ns and _moves(e, reset)), default=_NEVER
    )
    # The end lies at the log's start or behind it; what lies before was fetched before the reset.
    least = max(position, reset["log_start"] or 0)
    for batch in batches(file):
        mine = batch.did("poll") & (batch.partition == partition) & (batch.offset >= least)
        mine &= (batch.end_ns >= at_ns - RESET_LATE_NS) & (batch.end_ns <= until_ns)
        if np.any(mine):
            return PassedOver(
                process=reset["process"],
                partition=partition,
                from_offset=position,
                to_offset=int(batch.offset[mine][0]),
                at_ns=at_ns,
                log_start=reset["log_start"],
            )
    return None


def _in_added(run: Run) -> Iterator[PassedOver]:
    """What the group passed over as it began in partitions that were added."""
    first: dict[int, PassedOver] = {}
    told: dict[int, int] = {}  # partition -> when a coordinator first knew an offset of it
    added = range(int(run.scenario["topic"]["partitions"]), run.partitions)
    for file in run.tables if added and run.grouped else ():
        for batch in batches(file):
            for partition in added:
                here = (batch.partition == partition) & batch.ended("ok")
                if np.any(known := here & batch.did("commit", "committed")):
                    at_ns = int(batch.end_ns[known].min())
                    told[partition] = min(at_ns, told.get(partition, at_ns))
                if np.any(given := here & batch.did("poll")):
                    at = int(np.flatnonzero(given)[0])
                    begun = PassedOver(
                        process=batch.process,
                        partition=partition,
                        from_offset=0,
                        to_offset=int(batch.offset[at]),
                        at_ns=int(batch.end_ns[at]),
                        log_start=0,
                    )
                    first[partition] = min(begun, first.get(partition, begun), key=_when)
    for partition, begun in first.items():
        if begun.to_offset and begun.at_ns <= told.get(partition, _NEVER):
            yield begun


def _when(each: PassedOver) -> int:
    return each.at_ns


def _moves(event: Event, reset: Event) -> bool:
    """Whether an event moves the reader of a reset in its partition again."""
    if event["process"] != reset["process"]:
        return False
    if event["event"] in ("assigned", "revoked"):
        named = partitions_named(event["text"])
        return not named or reset["partition"] in named
    return event["event"] in ("position", "reset") and event["partition"] == reset["partition"]


def within(rows: Iterable[InLogRow], partition: Numbers, offset: Numbers) -> Mask:
    """Which of these places lie in one of the rows."""
    found = np.zeros(len(offset), dtype=bool)
    for row in rows:
        here = (partition == row["partition"]) & (offset >= row["from_offset"])
        found |= here & (offset < row["to_offset"])
    return found
