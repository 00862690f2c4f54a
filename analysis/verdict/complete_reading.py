"""Complete reading: whether all that there was to see was looked at.

The **final read** must have got to the end of each partition, and what was acknowledged without an
offset must be found. An acknowledged record below the **log's start** can be neither found nor
called lost:

    retention.ms = 60000, 10 of 40 acked records below the start    =>  said, in counts and headline
    nothing may delete within the run, 10 acked records below it    =>  unknown
    all 40 acked records below it, whatever may be deleted          =>  unknown
    the same of one partition among several                         =>  unknown
    nothing may delete, the log begins at 10, no ack lies below     =>  unknown, but not of an
                                                                        imported history
    log start 0, nothing in the log                                 =>  40 lost: no matter of this

Deletion is allowed where `cleanup.policy` has delete, and a time that is not longer than the run,
or a size limit, is set for the topic or the brokers, or by a step of the plan. By size only closed
segments are deleted: where twice the bytes that were sent to a partition (what batches add, and
what was sent again) do not fill a segment, and none is closed for its age within the run, only a
limit of 0 deletes.

A **consumer** that follows the log must have been given something, of each partition with records
acknowledged for so long, and must not have stood still for longer than a second and than half of
the time in which records were acknowledged; that of a shorter stop is an outage, which its windows
tell. Polls of a group do not count for it: they are not its own. The group as a whole is held to
the same, polls and processing each; and it must have committed something, if it processed for
longer than a second. A member that had partitions for so long must have polled something.

    it stood still from 0 to 10 s, a fault hit it from 9.0 to 9.5 s  =>  unknown: 9.5 s are its own
    the same, the fault from 0.5 to 9.5 s                            =>  nothing
    a group's two members polled, the fault hit one of them          =>  it excuses nothing

A reader that falls silent at a fault of the cluster's nodes has an outage, which its window tells,
until a second without one has passed. Faults excuse only the time for which they hit, and a
successor's time is its predecessor's (analysis.verdict.own_time).
**Replicas** that were to be compared must have been dumped, a group must have processed something.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from analysis.measures.work_done import STILL_NS, Work
from analysis.stored.groups.programs import outputs_of
from analysis.stored.settings import Settings
from analysis.stored.stored_run import Run, final_ends, topic_settings
from analysis.verdict.own_time import Stretch, free_ns, line_of, silenced, taken
from harness.history.tables import partitions_named
from harness.model.sections.log_segments import (
    DAYS_7,
    HOUR_MS,
    as_number,
    closes_segments,
    policy_of,
    retention_bytes,
)
from harness.model.sections.workload import WorkloadPart, mean_bytes
from harness.model.worker_kinds import kind_named

DUMPS = "replicas-0"


def reading_doubts(run: Run, counts: Mapping[str, int], unseen: int, work: Work) -> Iterator[str]:
    """Why something may be there that nobody looked at."""
    if counts["acked"] or counts["indeterminate_landed"]:
        if run.compared and not _dumped(run, counts, work):
            yield "the replicas' logs were not compared"
        if run.grouped and not counts["processed"]:
            yield "the consumer group processed nothing"
        yield from _followers(run, counts, work)
        if run.grouped:
            yield from _group(run, work)
    yield from _final_read(run, unseen, work)
    asked = outputs_of(run)
    if asked is not None and not asked["complete"]:
        yield "the read of the programs' outputs is not complete"
    yield from _below_the_start(run, counts, work)


def _dumped(run: Run, counts: Mapping[str, int], work: Work) -> bool:
    found = counts["final_read_records"] > 0
    return DUMPS in run.processes and (not found or work.count(DUMPS, "replica") > 0)


# The final read


def is_told(run: Run, partition: int, work: Work) -> bool:
    """Whether an imported history says of a partition that something was read there, acknowledged
    or looked for: of others nothing is missing."""
    found = {row["partition"] for row in work.rows if row["type"] == "ok"}
    return not run.untold or partition in found | {end["partition"] for end in run.ends}


def _final_read(run: Run, unseen: int, work: Work) -> Iterator[str]:
    partitions = [
        end["partition"]
        for end in final_ends(run)
        if not end["complete"] and is_told(run, end["partition"], work)
    ]
    if partitions:
        which = ", ".join(map(str, partitions[:5])) + (", …" if len(partitions) > 5 else "")
        what = "partition" if len(partitions) == 1 else "partitions"
        yield f"the final read of {what} {which} is not complete"
    elif unseen:
        yield f"{unseen:,} acknowledged records were not found and cannot be looked up by offset"


def _below_the_start(run: Run, counts: Mapping[str, int], work: Work) -> Iterator[str]:
    below, acked = counts["acked_below_log_start"], counts["acked"]
    records = f"{below:,} acknowledged {'record lies' if below == 1 else 'records lie'}"
    if below and below == acked:
        every = "the only acknowledged record lies" if acked == 1 else f"all {records}"
        yield f"{every} below the log's start, where nothing can be read back"
        return
    starts = {end["partition"]: end["log_start"] or 0 for end in final_ends(run)}
    moved = [number for number, start in starts.items() if start > 0]
    kept = [number for number in moved if not may_delete(run, 2 * _sent_bytes(run, work, number))]
    if kept and (below or not run.untold):  # others' topics were there before
        where = f"{records} below the log's start"
        if not below:
            where = f"the log of partition {kept[0]} begins at offset {starts[kept[0]]:,}"
        yield f"{where}, though nothing in the configuration deletes records within the run"
        return
    for number in moved if below else ():
        if _nothing_found(work, number):
            yield (
                f"all acknowledged records of partition {number} lie below the log's start, where "
                "nothing can be read back"
            )


def _nothing_found(work: Work, partition: int) -> bool:
    there = work.by_partition.get(partition)
    return (
        there is not None
        and there.count(None, "send", ended="ok") > 0
        and not there.count(None, "final-read")
    )


def _sent_bytes(run: Run, work: Work, partition: int) -> float:
    """How many bytes were sent to a partition at least; of an imported history nobody knows."""
    if run.untold:
        return math.inf
    rows = [row for row in work.rows if (row["f"], row["partition"]) == ("send", partition)]
    usual = WorkloadPart.model_fields["value_bytes"].default
    each = mean_bytes(run.scenario["workload"].get("value_bytes", usual))
    return each * sum(row["count"] for row in rows)


def may_delete(run: Run, log_bytes: float = math.inf) -> bool:
    """Whether the configuration lets records of a log of at most so many bytes be deleted while the
    run goes on."""
    times = [phase[key] for phase in run.record.get("phases") or [] for key in _PHASE]
    times += [run.load_start_ns, run.load_end_ns]
    lasted_ms = (max(times) - min(times)) / 1e6
    return any(_deletes(each, lasted_ms, log_bytes) for each in topic_settings(run))


_PHASE = ("start_ns", "end_ns")


def _deletes(settings: Settings, lasted_ms: float, log_bytes: float) -> bool:
    """Whether such settings, the topic's before the brokers', delete what is so old, or too much"""
    if "delete" not in policy_of(settings):
        return False
    size = retention_bytes(settings)
    by_size = size == 0 or (size > 0 and closes_segments(settings, lasted_ms, log_bytes))
    return by_size or 0 <= _retention_ms(settings) <= lasted_ms


def _retention_ms(settings: Settings) -> float:
    """How long records are kept; negative: for ever."""
    hours = as_number(settings.get("log.retention.hours"), DAYS_7)
    minutes = settings.get("log.retention.minutes")
    kept_ms = hours * HOUR_MS if minutes is None else as_number(minutes, -1) * HOUR_MS / 60
    kept_ms = as_number(settings.get("log.retention.ms"), kept_ms)
    return as_number(settings.get("retention.ms"), kept_ms)


# Who reads during the load


def _followers(run: Run, counts: Mapping[str, int], work: Work) -> Iterator[str]:
    """Consumers that follow the log, each on its own, and did not."""
    named = {worker["process"] for worker in run.record.get("workers") or []}
    read = {row["process"] for row in work.rows if row["f"] == "read"}
    if run.tailing and counts["final_read_records"] and not named | read:
        yield "no consumer that follows the log read anything, though the scenario asks for one"
    kinds = {name: kind_named(name) for name in named | read}
    followers = sorted(name for name, kind in kinds.items() if kind and kind.follows)
    for line, mine in groupby(followers, key=line_of):
        names, hit = tuple(mine), taken(run, line)
        last_ns, who = max((work.last_ns(name, "read"), name) for name in names)
        if last_ns:
            yield from _stood_still(run, f"worker {who} was given", last_ns, work, hit)
            yield from _passed_over(work, names, "read", f"worker {line} read", hit)
        elif counts["final_read_records"] and (not hit or _long(work, work.acknowledged_ns, hit)):
            yield f"worker {line} read nothing"


def _group(run: Run, work: Work) -> Iterator[str]:
    """The group, or a member of it, was given nothing, or nothing any more."""
    members = [w["process"] for w in run.record.get("workers") or [] if _is_member(w["process"])]
    polled_by = {row["process"] for row in work.rows if row["f"] == "poll"}
    hit = [taken(run, line) for line in sorted(set(map(line_of, polled_by)))]
    group, last_ns = "the consumer group", work.last_ns(None, "poll")
    if last_ns:
        still = list(_stood_still(run, f"{group} was given", last_ns, work, *hit))
        done_ns = work.last_ns(None, "process")
        if done_ns and not still:
            still = list(_stood_still(run, f"{group} processed", done_ns, work, *hit))
        yield from still
        yield from _passed_over(work, polled_by, "poll", f"{group} polled", *hit)
        committed = work.count(None, "commit", ended="ok") + work.count(None, "committed")
        if not committed and done_ns - work.first_ns(None, "poll") > STILL_NS:
            yield f"{group} committed nothing"
    for name in members:
        if not work.count(name, "poll") and (had := _had_for_long(run, name, work)):
            yield f"worker {name} was assigned partitions {had} and polled nothing"


def _is_member(name: str) -> bool:
    kind = kind_named(name)
    return kind is not None and kind.member


def _had_for_long(run: Run, member: str, work: Work) -> str:
    """The partitions, of those with acknowledged records, that a member had for long; empty: none.

    What is taken from it when the load is over was its own to the end: it leaves in order.
    """
    begun_ns, ended_ns = work.acknowledged_ns
    hit, acknowledged = taken(run, line_of(member)), set(work.by_partition)
    had: dict[int, int] = {}  # partition -> since when
    lasted: Counter[int] = Counter()
    mine = (event for event in run.events if event["process"] == member)
    for event in sorted(mine, key=lambda event: int(event["time_ns"])):
        time_ns = max(begun_ns, event["time_ns"])
        named = set(partitions_named(event["text"]))
        if event["event"] == "assigned":
            had.update(dict.fromkeys(named - had.keys(), time_ns))
        elif event["event"] == "revoked" and time_ns < ended_ns:
            for number in [each for each in had if not named or each in named]:
                lasted[number] += free_ns(had.pop(number), time_ns, hit)
    for number, since_ns in had.items():
        lasted[number] += free_ns(since_ns, ended_ns, hit)
    long = (each for each, ns in lasted.items() if ns > work.long_ns and each in acknowledged)
    return ", ".join(map(str, sorted(long)))


def _long(work: Work, stretch: Stretch, *hit: Sequence[Stretch]) -> bool:
    """Whether a stretch is long without what faults took of it."""
    return free_ns(*stretch, *hit) > work.long_ns


def _stood_still(
    run: Run, who: str, last_ns: int, work: Work, *hit: Sequence[Stretch]
) -> Iterator[str]:
    _, until_ns = work.acknowledged_ns
    outage = silenced(run, last_ns)
    if _long(work, (last_ns, until_ns), *([*line, outage] for line in hit)):
        yield (
            f"{who} nothing after {run.seconds(last_ns):.1f} s, though records were "
            f"acknowledged until {run.seconds(until_ns):.1f} s"
        )


def _passed_over(
    work: Work, names: Collection[str], f: str, who: str, *hit: Sequence[Stretch]
) -> Iterator[str]:
    """Partitions of which none of these had anything, though acknowledged there for long."""
    for partition, there in work.by_partition.items():
        had = any(there.count(name, f) for name in names)
        if not had and _long(work, there.acknowledged_ns, *hit):
            yield f"{who} nothing of partition {partition}, though records were acknowledged there"
