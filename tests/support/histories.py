"""Small histories, told part by part (docs/history.md).

    @with_story(sent(1, at=0), sent(2, at=1), final_read(1))
    def test_an_acked_record_missing_from_a_complete_final_read_is_lost(report): ...

`with_story` gives a test its story; the fixture `report` is its report. All stories of a test run
are written as sealed runs (tests/support/story_runs.py) and checked by the hundred, a Spark job
each (tests/conftest.py). Times are in ms since the load began; a part that does not say when begins
10 ms after the part before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LOAD_START_NS = 1_000_000_000_000
LOAD_MS = 10_000
STEP_MS = 10.0


def ns_of(ms: float) -> int:
    """A time of the story on the history's clock."""
    return LOAD_START_NS + int(ms * 1e6)


def ms_of(time_ns: int) -> float:
    """A time on the history's clock in the story's."""
    return (time_ns - LOAD_START_NS) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One row, or several, of one table; `ms` is when it begins, None: after the part before."""

    table: str
    rows: tuple[dict[str, Any], ...]
    ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The parts of one run and what its run.json says."""

    parts: tuple[Part, ...]
    record: Mapping[str, Any] = field(default_factory=dict)


# Parts


def sent(
    value: int,
    at: int | None = None,
    *,
    ms: float | None = None,
    took: float | None = 5,
    partition: int = 0,
    ended: str = "ok",
    error: str | None = None,
    due: float | None = None,
    process: str = "producer-0",
) -> Part:
    """A send: acked at an offset (`at`), or ended otherwise; took=None: it never ended."""
    row = _operation("send", value, at, took, partition, process)
    return Part(
        table="operations", rows=({**row, "type": ended, "error": error, "due": due},), ms=ms
    )


def failed(value: int, **more: Any) -> Part:
    """A send that certainly did not happen."""
    return sent(value, ended="fail", error="_QUEUE_FULL", **more)


def aborted(value: int, **more: Any) -> Part:
    """A send whose transaction was certainly aborted."""
    return sent(value, ended="fail", error="_ABORTED", **more)


def doubtful(value: int, **more: Any) -> Part:
    """A send of which nobody knows how it ended."""
    return sent(value, ended="info", error="_MSG_TIMED_OUT", **more)


def unasked(value: int, **more: Any) -> Part:
    """A send that asked for no ack (acks=0)."""
    return sent(value, ended="info", error="_NO_ACK", **more)


def read(
    value: int | None,
    at: int,
    *,
    ms: float | None = None,
    partition: int = 0,
    process: str = "consumer-0",
) -> Part:
    """A record given to a consumer; value None: its payload cannot be parsed."""
    return Part(
        table="operations", rows=(_operation("read", value, at, 0, partition, process),), ms=ms
    )


def looked_up(
    value: int,
    at: int | None = None,
    *,
    ms: float | None = None,
    took: float | None = 5,
    partition: int = 0,
) -> Part:
    """A look-up; at=None: it did not find the record by its deadline; took=None: it never ended."""
    row = _operation("lookup", value, at, took, partition, "write-read-0")
    kind = "ok" if at is not None else "info" if took is None else "fail"
    return Part(table="operations", rows=({**row, "type": kind},), ms=ms)


def polled(
    value: int,
    at: int,
    *,
    ms: float | None = None,
    partition: int = 0,
    process: str = "group-consumer-0",
) -> Part:
    """A record given to a member of the group."""
    row = _operation("poll", value, at, 0, partition, process)
    return Part(table="operations", rows=(row,), ms=ms)


def processed(
    value: int,
    at: int | None,
    *,
    ms: float | None = None,
    partition: int = 0,
    process: str = "group-consumer-0",
) -> Part:
    """A record processed by a member of the group; at=None: begun and never ended."""
    row = _operation("process", value, at, None if at is None else 0, partition, process)
    kind = "info" if at is None else "ok"
    return Part(table="operations", rows=({**row, "type": kind},), ms=ms)


def replica(
    broker: int, *values: int | None, partition: int = 0, log_start: int = 0, dumped: bool = True
) -> Part:
    """What a broker's log holds at the end, from its start on (None: nothing of ours at that
    offset); dumped=False: as histories were before they said where each dumped log ends."""
    rows = [
        {**_operation("replica", value, at, 0, partition, "replicas-0"), "broker": broker}
        for at, value in enumerate(values, start=log_start)
        if value is not None
    ]
    event = {
        "event": "dumped",
        "process": "replicas-0",
        "partition": partition,
        "name": f"kafka{broker}",
        "log_start": log_start,
        "uncommitted_end": log_start + len(values),
    }
    told = (*rows, event) if dumped else tuple(rows)
    return Part(table="final", rows=told, ms=LOAD_MS + 2000)


def committed(
    at: int | None,
    *,
    ms: float | None = None,
    partition: int = 0,
    process: str = "group-consumer-0",
    ended: str = "ok",
    found: bool = False,
    **more: Any,
) -> Part:
    """The group's commit, or (found) what the coordinator told a member on joining; `took`, …"""
    row = _operation("committed" if found else "commit", None, at, 0, partition, process)
    return Part(table="operations", rows=({**row, "type": ended, **more},), ms=ms)


def final_read(
    *values: int | Mapping[int, int | None] | None,
    partition: int = 0,
    complete: bool = True,
    log_start: int = 0,
    position: int | None = None,
    process: str = "final-read-0",
) -> Part:
    """Values from the log's start on, or {offset: value}; and whether it got to the end.
    `position`: the offset before which it stopped, if not behind the last of them."""
    found: dict[int, Any] = dict(enumerate(values, start=log_start))
    if len(values) == 1 and isinstance(values[0], Mapping):
        found = dict(values[0])
    end = max(found, default=log_start - 1) + 1
    rows = [_operation("final-read", v, at, 0, partition, process) for at, v in found.items()]
    ends = {
        "event": "ends",
        "process": process,
        "partition": partition,
        "log_start": log_start,
        "committed_end": end,
        "uncommitted_end": end,
        "position": end if position is None else position,
        "complete": complete,
    }
    return Part(table="final", rows=(*rows, ends), ms=LOAD_MS + 1000)


def fault(
    verb: str = "kill",
    target: str = "leader",
    *,
    ms: float,
    for_ms: float | None = 1000,
    number: int = 0,
    nodes: Sequence[str] = ("kafka1",),
    evidence: str | None = "pid 7 is gone",
    error: str | None = None,
    healing_took: float = 100,
) -> Part:
    """A fault from injection to heal (for_ms=None: never healed); evidence=None: not proved."""
    healed = None if for_ms is None else ms + for_ms
    followers = list(nodes) if target.startswith("follower") else []
    row = {
        "fault": number,
        "step": number,
        "verb": verb,
        "target": target,
        "nodes": list(nodes),
        "invoke_ns": ns_of(ms),
        "ok_ns": ns_of(ms + 1) if evidence else None,
        "heal_invoke_ns": None if healed is None else ns_of(healed - healing_took),
        "heal_ok_ns": None if healed is None else ns_of(healed),
        "evidence": evidence,
        "heal_evidence": None if healed is None else "ISR full",
        "error": error,
        "before": json.dumps(
            {
                "leader": {"0": "kafka1"},
                "isr": {"0": ["kafka1", *followers]},
                "controller": "kafka1",
            }
        ),
        "after": None,
    }
    return Part(table="faults", rows=(row,), ms=ms)


def look(
    *ends: int | None,
    ms: float,
    marks: Sequence[int | None] | None = None,
    isr: Sequence[int] | None = (1, 2, 3),
    partition: int = 0,
    leader: int = 1,
) -> Part:
    """A look at the replicas kafka1, kafka2, …: their log ends, and high watermarks that are the
    least of them unless told; isr=None: ZooKeeper did not answer."""
    least = min(end for end in ends if end is not None)
    rows = [
        {
            "time_ns": ns_of(ms),
            "end_ns": ns_of(ms + 2),
            "partition": partition,
            "broker": f"kafka{number}",
            "leads": None if isr is None else number == leader,
            "in_isr": None if isr is None else number in isr,
            "log_end": end,
            "high_watermark": (marks or [least] * len(ends))[number - 1],
        }
        for number, end in enumerate(ends, start=1)
    ]
    return Part(table="watermarks", rows=tuple(rows), ms=ms)


def view(
    leader: str | None,
    *,
    ms: float,
    partition: int = 0,
    isr: Sequence[str] = ("kafka1", "kafka2"),
    epoch: int | None = 0,
    controller: str = "kafka1",
) -> Part:
    """Who leads from now on, as ZooKeeper says."""
    row = {
        "time_ns": ns_of(ms),
        "partition": partition,
        "leader": leader,
        "isr": list(isr),
        "leader_epoch": epoch,
        "controller": controller,
    }
    return Part(table="views", rows=(row,), ms=ms)


def moved(*, ms: float, partition: int = 0) -> tuple[Part, ...]:
    """kafka1 led from before the load on, and kafka2 leads from then on."""
    everybody = ("kafka1", "kafka2", "kafka3")
    return (
        view("kafka1", ms=-1000, partition=partition, isr=everybody),
        view("kafka2", ms=ms, partition=partition, isr=everybody[1:], epoch=1),
    )


def stayed(*, partition: int = 0) -> Part:
    """kafka1 leads all the time."""
    return view("kafka1", ms=-1000, partition=partition, isr=("kafka1", "kafka2", "kafka3"))


def blind(*, ms: float, for_ms: float | None = 1000) -> Part:
    """Nobody could tell who leads (for_ms=None: not to the end)."""
    end_ns = None if for_ms is None else ns_of(ms + for_ms)
    return Part(table="blind", rows=({"start_ns": ns_of(ms), "end_ns": end_ns},), ms=ms)


def damage(kind: str, process: str = "producer-0", text: str = "", count: int = 1) -> Part:
    """Something that sealing found wrong."""
    row = {"kind": kind, "process": process, "text": text, "count": count}
    return Part(table="findings", rows=(row,), ms=0)


def client_error(name: str = "_ALL_BROKERS_DOWN", process: str = "producer-0") -> Part:
    """An error that a client was told of."""
    row = {"event": "client-error", "process": process, "name": name, "time_ns": ns_of(0)}
    return Part(table="events", rows=(row,), ms=0)


def stopped(event: str, *, ms: float, process: str = "group-consumer-0") -> Part:
    """A member dies (`dies`), or its partitions are revoked (`revoked`)."""
    return Part(table="events", rows=({"event": event, "process": process},), ms=ms)


def event(
    name: str, *, ms: float | None = None, process: str = "consumer-0", **fields: Any
) -> Part:
    """Something that a worker tells of itself: `position`, `reset`, `assigned`, `corrupt`, …"""
    return Part(table="events", rows=({"event": name, "process": process, **fields},), ms=ms)


# Stories


def story(*parts: Part, **record: Any) -> Story:
    """A run of these parts. Keywords set the producer's acks, retries, idempotent, in_flight, and:
    partitions, replicas, topic (config), server (config), kind, producers, consumers, commit and
    process_ms (of a group, or of `transformers`), use_added_partitions, keys, expect, plan (of what
    happened), workers, nodes, placed (replicas by partition), state, failure, threshold_ms,
    compared, watched, phases, consumer (config), read_via, isolation (of transactions' readers),
    history_format (2: one client a worker), loaded (False: no send but those told)."""
    return Story(parts=parts, record=record)


def with_story(*parts: Part, **record: Any) -> Callable[[Any], Any]:
    """Give a test its story; its fixture `report` is what the check says of it."""

    def mark(test: Any) -> Any:
        test.story = story(*parts, **record)
        return test

    return mark


def planned(*verbs: str) -> list[dict[str, Any]]:
    """A plan with these verbs, all at the leader."""
    return [{"step": n, "verb": verb, "target": "leader"} for n, verb in enumerate(verbs)]


def _operation(  # noqa: PLR0917
    f: str, value: int | None, at: int | None, took: float | None, partition: int, process: str
) -> dict[str, Any]:
    return {
        "f": f,
        "type": "ok",
        "value": value,
        "offset": at,
        "partition": partition,
        "process": process,
        "took": took,
        "error": None,
        "broker": None,
    }


# Reading a report


def found(report: Mapping[str, Any], anomaly: str) -> list[int]:
    """The values of an anomaly's examples, sorted."""
    return sorted(row["value"] for row in report["anomalies"][anomaly]["examples"])


def split(report: Mapping[str, Any], anomaly: str) -> dict[str, int]:
    """How an anomaly's count splits."""
    divided: dict[str, int] = report["anomalies"][anomaly]["split"]
    return divided
