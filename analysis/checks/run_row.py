"""The facts about a run that the checks need: a row of schema.RUNS, made by the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.checks.groups.group_life import outdated_rows, shared_rows, unowned_rows
from analysis.checks.transactions.cycles import Cycles
from analysis.frames.elections import election_rows, elections
from analysis.frames.operations import OFFSET_BITS
from analysis.stored.fact_rows import (
    AloneRow,
    CauseRow,
    DumpRow,
    FaultRow,
    LeaderRow,
    MetadataBackRow,
    MoveRow,
    RunRow,
    StateRow,
)
from analysis.stored.groups.passed_over import RESET_LATE_NS, passed_over
from analysis.stored.groups.programs import outputs_of
from analysis.stored.replica_samples import looks_of
from analysis.stored.settings import nanoseconds
from analysis.stored.stored_run import CORRUPT, Run, final_ends, is_dense
from analysis.stored.superseded import superseded
from analysis.stored.table_rows import View
from analysis.stored.transactions.hanging import hanging
from harness.history.tables import partitions_named
from harness.model.client_settings import EARLIEST, LATEST, acks_of, leaves_one_copy, resets_of
from harness.model.untold import LANDED, RESETS
from harness.model.worker_kinds import kind_named

CHECKPOINTS, CHECKPOINTS_MS = "replica.high.watermark.checkpoint.interval.ms", 5000
SEEN_LATE_NS = 10**9  # views of the ISR come every 50 ms, and acks reach a busy worker late


def run_row(run: Run, causes: Sequence[CauseRow] = (), cycles: Cycles | None = None) -> RunRow:
    """What the checks must know of a run: a row of schema.RUNS."""
    return {
        "run_id": run.run_id,
        "load_start_ns": run.load_start_ns,
        "load_end_ns": run.load_end_ns,
        "threshold_ns": int(run.threshold_ms * 1e6),
        "bucket_ns": run.bucket_ms * 10**6,
        "tailing": run.tailing,
        "grouped": run.grouped,
        "ends": [
            {
                "complete": end["complete"],
                "log_start": end["log_start"],
                "position": _read_up_to(run, end["partition"]),
                "committed_end": end["committed_end"],
                "uncommitted_end": end["uncommitted_end"],
            }
            for end in final_ends(run)
        ],
        "transforms": run.transforms,
        "outputs": outputs_of(run),
        "transactional": run.transactional,
        "dirty": run.transactional and run.reads_uncommitted,
        "one_copy": leaves_one_copy(run.scenario["workload"]["producer"]),
        "acks_of_leader": acks_of(run.scenario["workload"]["producer"]) == "1",
        "dumps": _dumps(run),
        "deaths": list(run.deaths),
        "faults": in_force(run),
        "leaders": leaders_of(run),
        "states": _states(run),
        "checkpoint_ns": nanoseconds(run.node_settings["server"], CHECKPOINTS, CHECKPOINTS_MS),
        "causes": list(causes),
        "alone": _alone(run),
        "elections": election_rows(elections(looks_of(run.watermarks))),
        "moves": list(_moves(run)),
        "passed_over": [row for each in passed_over(run) if (row := each.in_log) is not None],
        "outdated": outdated_rows(run),
        "shared": shared_rows(run),
        "unowned": unowned_rows(run),
        "metadata_back": list(_metadata_back(run)),
        "from_start": _from_start(run),
        "to_end": resets_of(run.scenario["workload"].get("consumer") or {}) == LATEST,
        "dense": is_dense(run),
        "corrupt": sorted(set(_corrupt(run))),
        "hanging": list(hanging(run)),
        "circular": list(cycles.rows) if cycles else [],
        "superseded": superseded(run),
        "in_use": LANDED in run.untold,
    }


def in_force(run: Run) -> list[FaultRow]:
    """The faults that hit a node, from injection until healed."""
    hit = [fault for fault in run.faults if fault["nodes"]]
    return [
        {
            "fault": f["fault"],
            "invoke_ns": f["invoke_ns"],
            "end_ns": f["heal_ok_ns"],
            "explains": not all(_only_reads(name, run) for name in f["nodes"]),
        }
        for f in sorted(hit, key=lambda fault: int(fault["invoke_ns"]))
    ]


def _only_reads(node: str, run: Run) -> bool:
    """Whether it is a worker that sends no input: one that reads, or a program."""
    kind = kind_named(node)
    return node in run.programs if kind is None else not kind.sends


def leaders_of(run: Run) -> list[LeaderRow]:
    """Who led from when to when, by the views: rows of schema.LEADER."""
    return [
        {
            "partition": view["partition"],
            "leader": view["leader"],
            "from_ns": view["time_ns"],
            "to_ns": to_ns,
        }
        for view, to_ns in _changes(run, lambda view: view["leader"])
    ]


def _states(run: Run) -> list[StateRow]:
    """The same with leader epochs: rows of schema.STATE."""
    return [
        {
            "partition": view["partition"],
            "leader": view["leader"],
            "epoch": view["leader_epoch"],
            "from_ns": view["time_ns"],
            "to_ns": to_ns,
            "seen_to_ns": _seen_to(run, to_ns),
        }
        for view, to_ns in _changes(run, lambda view: (view["leader"], view["leader_epoch"]))
    ]


def _seen_to(run: Run, to_ns: int | None) -> int | None:
    """Until when a state that views show to end at `to_ns` was surely in force: not in a blind
    stretch just before that."""
    unseen = [
        blind["start_ns"]
        for blind in run.blind
        if blind["end_ns"] is None
        or (to_ns is not None and blind["start_ns"] < to_ns <= blind["end_ns"] + SEEN_LATE_NS)
    ]
    return min((ns for ns in (to_ns, *unseen) if ns is not None), default=None)


def _changes(run: Run, shown: Callable[[View], object]) -> Iterator[tuple[View, int | None]]:
    """The views of each partition that showed something new, and when it changed again."""
    changes, ends_ns = list[View](), list[int | None]()
    last: dict[int, int] = {}
    for view in sorted(run.views, key=lambda view: view["time_ns"]):
        before = last.get(view["partition"])
        if before is not None:
            if shown(changes[before]) == shown(view):
                continue
            ends_ns[before] = view["time_ns"]
        last[view["partition"]] = len(changes)
        changes.append(view)
        ends_ns.append(None)
    return zip(changes, ends_ns, strict=True)


def _read_up_to(run: Run, partition: int) -> int | None:
    """Up to where the final read has read a partition, in passes whose tables are whole."""
    unsound = run.unsound
    ends = (e for e in run.ends if e["partition"] == partition and e["process"] not in unsound)
    return max((end["position"] for end in ends if end["position"] is not None), default=None)


def _from_start(run: Run) -> bool:
    """Whether the group began at the log's start, unless something else is known. An imported one
    may have begun where an older one was."""
    resets = resets_of(run.scenario["workload"].get("consumer") or {})
    return run.grouped and RESETS not in run.untold and resets in (None, EARLIEST)


def _moves(run: Run) -> Iterator[MoveRow]:
    """When a reader was moved in a partition, or got or lost it."""
    for event in run.events:
        position, numbers = None, list[int | None]()
        if event["event"] in ("position", "reset"):
            numbers = [event["partition"]]
            put_at = event["position"] if event["event"] == "position" else None
            position = None if put_at is None or put_at < 0 else put_at
        elif event["event"] in ("assigned", "revoked"):
            numbers = [*partitions_named(event["text"])]
        else:
            continue
        late_ns = RESET_LATE_NS if event["event"] == "reset" else 0
        for number in numbers or [None]:  # one that names none means all
            yield {
                "process": event["process"],
                "partition": number,
                "since_ns": event["time_ns"] - late_ns,
                "time_ns": event["time_ns"],
                "position": position,
            }


def _metadata_back(run: Run) -> Iterator[MetadataBackRow]:
    """Where committed metadata went back: rows of schema.METADATA_BACK."""
    for view in run.views:
        if view.get("went_back"):
            yield {
                "partition": view["partition"],
                "from_ns": view["since_ns"],
                "until_ns": view["time_ns"],
            }


def _corrupt(run: Run) -> Iterator[int]:
    """The places of payloads whose checksum is wrong."""
    for event in run.events:
        if event["event"] == CORRUPT and event["position"] is not None:
            yield (event["partition"] << OFFSET_BITS) | event["position"]


def _dumps(run: Run) -> list[DumpRow]:
    """The dumped logs of replicas, and where each begins."""
    return [{"partition": dump["partition"], "log_start": dump["log_start"]} for dump in run.dumps]


def _alone(run: Run) -> list[AloneRow]:
    """When a leader was alone in its ISR, without the margins in which views may be late."""
    alone = list[AloneRow]()
    for partition in {view["partition"] for view in run.views}:
        views = [view for view in run.views if view["partition"] == partition]
        views.sort(key=lambda view: int(view["time_ns"]))
        ends_ns = [view["time_ns"] for view in views[1:]] + [run.load_end_ns]
        for view, end_ns in zip(views, ends_ns, strict=True):
            from_ns, to_ns = view["time_ns"] + SEEN_LATE_NS, end_ns - SEEN_LATE_NS
            if view["leader"] and view["isr"] == [view["leader"]] and from_ns < to_ns:
                alone.append({"partition": partition, "from_ns": from_ns, "to_ns": to_ns})
    return alone
