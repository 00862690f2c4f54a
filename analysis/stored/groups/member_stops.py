"""When members of a consumer group stopped: what they had got may be processed by no member.

poll a, b    commit: no answer    the member gives up its batch     =>  a stop, at the commit
poll a, b    revoked              another member takes over         =>  a stop, of the partitions
                                                                        that are named
poll a, b    killed               no `end`                          =>  a stop, after its last
                                                                        operation
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from harness.history.tables import partitions_named

DIED = "died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A member died, was revoked, or got no answer to a commit."""

    process: str
    at_ns: int
    words: str  # what it did
    partition: int | None = None  # None: all that it had


def stops_of(run: Run) -> tuple[Stop, ...]:
    """Every stop of every member, in order of time."""
    stops = [*_recorded(run), *_unanswered(run)]
    return tuple(sorted(stops, key=lambda stop: stop.at_ns))


def _recorded(run: Run) -> Iterator[Stop]:
    words = {"revoked": "was revoked", "dies": DIED}
    for event in (event for event in run.events if event["event"] in words):
        for partition in _named(event):
            yield Stop(
                process=event["process"],
                at_ns=event["time_ns"],
                words=words[event["event"]],
                partition=partition,
            )


def _named(event: Event) -> Sequence[int | None]:
    """The revoked partitions; None (all) if none is named, and for a death."""
    return (partitions_named(event["text"]) if event["event"] == "revoked" else []) or [None]


def _unanswered(run: Run) -> Iterator[Stop]:
    """Commits without an answer, and the last operations of members without an `end`."""
    ended_badly = {row["process"] for row in run.findings if row["kind"] == "no-end"}
    for file in run.tables:
        process = file.stem
        table = pq.read_table(file, columns=["f", "type", "partition", "start_ns", "end_ns"])
        commits = pc.equal(table["f"], "commit")
        for row in table.filter(pc.and_(commits, pc.not_equal(table["type"], "ok"))).to_pylist():
            yield Stop(
                process=process,
                at_ns=row["end_ns"] or row["start_ns"],
                words="got no answer to a commit",
                partition=row["partition"],
            )
        if process in ended_badly and pc.any(pc.equal(table["f"], "poll")).as_py():
            times = [pc.max(table[name]).as_py() for name in ("start_ns", "end_ns")]
            last_ns = max(time for time in times if time is not None)
            yield Stop(process=process, at_ns=last_ns, words=DIED)
