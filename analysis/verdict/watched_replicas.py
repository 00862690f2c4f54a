"""Watched replicas: whether somebody looked at them, in each partition, for as long as the load.

    looks at 0 s and 10 s, none between, load of 10 s     =>  unknown
    looks at partition 0 only                             =>  unknown
    looks that saw no log end, or one broker of three     =>  unknown
    a look every 50 ms                                    =>  enough

A sample is due every 50 ms, and one of which ZooKeeper does not answer takes a second. So no
stretch of the load may be longer than `GAP_NS`, forty samples, without one. A blind ZooKeeper is no
gap: its samples were taken, and what they cannot tell is told of no other either. One that knew the
ISR counts where it looked at every replica, and found a log end of one in the ISR (a broker whose
disk is gone may have none). But some must have known the ISR, the log end of each of its members
and a watermark, the last of them when the load was over. A host so starved that
nobody looked explains nothing: what was not looked at was not seen, whoever is to blame.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from analysis.stored.replica_samples import Look, looks_of
from analysis.stored.stored_run import Run

GAP_NS = 2 * 10**9


def watch_doubts(run: Run) -> Iterator[str]:
    """Why the replicas may have been otherwise than the samples show."""
    topic = run.scenario["topic"]
    partitions, replicas = range(int(topic["partitions"])), int(topic["replication_factor"])
    known: dict[int, int] = {}  # partition -> the last look that knew all
    looked: dict[int, set[int]] = {partition: set() for partition in partitions}
    for partition, looks in looks_of(run.watermarks).items():
        looked.setdefault(partition, set())
        for look in (look for look in looks if look.isr is None or _saw(look, replicas)):
            looked[partition].add(look.time_ns)
            if _knew(look):
                known[partition] = look.time_ns
    if not known:
        yield "the replicas' watermarks were not sampled"
        return
    for partition in partitions:
        if partition not in known:
            yield f"the replicas' watermarks were not sampled in partition {partition}"
        elif known[partition] < run.load_end_ns:
            last_s = run.seconds(known[partition])
            where = f" in partition {partition}" if len(partitions) > 1 else ""
            yield f"the replicas' watermarks were sampled until {last_s:.1f} s only{where}"
        else:
            yield from _gap(run, partition, looked[partition])


def _saw(look: Look, replicas: int) -> bool:
    """Whether it looked at every replica, and found a log end of the ISR's."""
    ends = (look.ends.get(name) for name in look.isr or ())
    return len(look.ends) >= replicas and any(end is not None for end in ends)


def _knew(look: Look) -> bool:
    """Whether it knew the ISR, each of its members' log ends, and a watermark."""
    ends = [look.ends.get(name) for name in look.isr or ()]
    marked = any(mark is not None for mark in look.marks.values())
    return bool(ends) and None not in ends and marked


def _gap(run: Run, partition: int, looked: set[int]) -> Iterator[str]:
    inside = sorted(ns for ns in looked if run.load_start_ns < ns < run.load_end_ns)
    times = [run.load_start_ns, *inside, run.load_end_ns]
    length_ns, since_ns = max((after - before, before) for before, after in pairwise(times))
    if length_ns > GAP_NS:
        yield (
            f"nobody looked at the replicas of partition {partition} for {length_ns / 1e9:.1f} s "
            f"from {run.seconds(since_ns):.1f} s on"
        )
