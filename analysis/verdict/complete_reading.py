"""Complete reading: whether all that there was to see was looked at.

The **final read** must have got to the end of each partition, and what was acknowledged without an
offset must be found. An acknowledged record below the **log's start** can be neither found nor
called lost:

    retention.ms = 60000, 10 of 40 acked records below the start    =>  said, in counts and headline
    nothing may delete within the run, 10 acked records below it    =>  unknown
    all 40 acked records below it, whatever may be deleted          =>  unknown
    log start 0, nothing in the log                                 =>  40 lost: no matter of this

Deletion is allowed where `cleanup.policy` has delete, and a size limit, or a time that is not
longer than the run, is set for the topic or the brokers, or by a step of the plan.

A **consumer** that follows the log must have been given something, and must not have stood still
for longer than a second and than half of the time in which records were acknowledged; that of a
shorter stop is an outage, which its windows tell. Polls of a group do not count for it: they are
not its own. The group as a whole is held to the same. Excused: consumers that a fault hit or that
were to die, and their successors; members without an assignment in the first half of that time.
**Replicas** that were to be compared must have been dumped, a group must have processed something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.measures.work_done import Work
from analysis.stored.stored_run import Run, final_ends
from analysis.verdict.naming import is_successor, kind_of
from harness.model.worker_kinds import KINDS

STILL_NS = 10**9
DUMPS = "replicas-0"
_HOUR_MS, _DAYS_7 = 3_600_000, 168  # Kafka's default of log.retention.hours


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
    yield from _final_read(run, unseen)
    yield from _below_the_start(run, counts)


def _dumped(run: Run, counts: Mapping[str, int], work: Work) -> bool:
    found = counts["final_read_records"] > 0
    return DUMPS in run.processes and (not found or work.count(DUMPS, "replica") > 0)


# The final read


def _final_read(run: Run, unseen: int) -> Iterator[str]:
    partitions = [end["partition"] for end in final_ends(run) if not end["complete"]]
    if partitions:
        which = ", ".join(map(str, partitions[:5])) + (", …" if len(partitions) > 5 else "")
        what = "partition" if len(partitions) == 1 else "partitions"
        yield f"the final read of {what} {which} is not complete"
    elif unseen:
        yield f"{unseen:,} acknowledged records were not found and cannot be looked up by offset"


def _below_the_start(run: Run, counts: Mapping[str, int]) -> Iterator[str]:
    below, acked = counts["acked_below_log_start"], counts["acked"]
    if not below:
        return
    records = f"{below:,} acknowledged {'record lies' if below == 1 else 'records lie'}"
    if below == acked:
        every = "the only acknowledged record lies" if acked == 1 else f"all {records}"
        yield f"{every} below the log's start, where nothing can be read back"
    elif not may_delete(run):
        yield (
            f"{records} below the log's start, though nothing in the configuration deletes records "
            "within the run"
        )


def may_delete(run: Run) -> bool:
    """Whether the configuration lets records be deleted while the run goes on."""
    effects = [step.get("effects") or {} for step in run.plan]
    settings = [run.node_settings["server"], run.scenario["topic"]["config"]]
    settings += [each.get("topic_settings") or {} for each in effects]
    times = [phase[key] for phase in run.record.get("phases") or [] for key in _PHASE]
    times += [run.load_start_ns, run.load_end_ns]
    lasted_ms = (max(times) - min(times)) / 1e6
    return any(
        _deletes({**settings[0], **settings[1], **changed}, lasted_ms) for changed in settings
    )


_PHASE = ("start_ns", "end_ns")


def _deletes(settings: Mapping[str, Any], lasted_ms: float) -> bool:
    """Whether such settings, the topic's before the brokers', delete what is so old, or too much"""
    policy = settings.get("cleanup.policy", settings.get("log.cleanup.policy", "delete"))
    if "delete" not in str(policy):
        return False
    size = _number(settings.get("retention.bytes", settings.get("log.retention.bytes")), -1)
    return size >= 0 or 0 <= _retention_ms(settings) <= lasted_ms


def _retention_ms(settings: Mapping[str, Any]) -> float:
    """How long records are kept; negative: for ever."""
    hours = _number(settings.get("log.retention.hours"), _DAYS_7)
    minutes = settings.get("log.retention.minutes")
    kept_ms = hours * _HOUR_MS if minutes is None else _number(minutes, -1) * _HOUR_MS / 60
    kept_ms = _number(settings.get("log.retention.ms"), kept_ms)
    return _number(settings.get("retention.ms"), kept_ms)


def _number(given: Any, default: float) -> float:
    try:
        return default if given is None else float(given)
    except (TypeError, ValueError):
        return default


# Who reads during the load


def _followers(run: Run, counts: Mapping[str, int], work: Work) -> Iterator[str]:
    """Consumers that follow the log, each on its own, and did not."""
    named = {worker["process"] for worker in run.record.get("workers") or []}
    read = {row["process"] for row in work.rows if row["f"] == "read"}
    if run.tailing and counts["final_read_records"] and not named | read:
        yield "no consumer that follows the log read anything, though the scenario asks for one"
    for name in sorted(named | read):
        kind = kind_of(name)
        if kind is None or not KINDS[kind].follows or _excused(run, name):
            continue
        if name in read:
            yield from _stood_still(run, f"worker {name}", work.last_ns(name, "read"), work)
        elif counts["final_read_records"]:
            yield f"worker {name} read nothing"


def _group(run: Run, work: Work) -> Iterator[str]:
    """The group, or a member of it, was given nothing, or nothing any more."""
    members = [w["process"] for w in run.record.get("workers") or [] if _is_member(w["process"])]
    polled = work.last_ns(None, "poll")
    if polled and not any(_excused(run, name) for name in members):
        yield from _stood_still(run, "the consumer group", polled, work)
    for name in members:
        had = _partitions_of(run, name, before_ns=_middle_ns(work))
        if had and not work.count(name, "poll") and not _excused(run, name):
            yield f"worker {name} was assigned partitions {had} and polled nothing"


def _is_member(name: str) -> bool:
    kind = kind_of(name)
    return kind is not None and KINDS[kind].member


def _partitions_of(run: Run, member: str, before_ns: float) -> str:
    """What a member was given in good time and kept; empty: nothing."""
    had = ""
    for event in run.events:
        if event["process"] == member and event["event"] == "revoked":
            return ""
        if event["process"] == member and event["event"] == "assigned":
            had = str(event["text"] or "") if event["time_ns"] < before_ns else had
    return had


def _middle_ns(work: Work) -> float:
    begun_ns, ended_ns = _acknowledged_ns(work)
    return (begun_ns + ended_ns) / 2


def _acknowledged_ns(work: Work) -> tuple[int, int]:
    """From when to when records were sent that were acknowledged (acks=0: that were sent)."""
    ended = "ok" if work.count(None, "send", ended="ok") else None
    return work.first_ns(None, "send", ended=ended), work.last_ns(None, "send", ended=ended)


def _stood_still(run: Run, who: str, last_ns: int, work: Work) -> Iterator[str]:
    _, until_ns = _acknowledged_ns(work)
    if last_ns < _middle_ns(work) and until_ns - last_ns > STILL_NS:
        yield (
            f"{who} was given nothing after {run.seconds(last_ns):.1f} s, though records were "
            f"acknowledged until {run.seconds(until_ns):.1f} s"
        )


def _excused(run: Run, process: str) -> bool:
    """Whether a fault hit it, or it was to die, or it took over from such a one."""
    stopped = {name for fault in run.faults for name in fault["nodes"]}
    stopped |= {w["process"] for w in run.record.get("workers") or [] if w.get("dies")}
    return process in stopped or any(is_successor(process, name) for name in stopped)
