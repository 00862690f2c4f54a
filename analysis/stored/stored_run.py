"""One stored run, as the driver has it in memory.

`open_run` reads the small files: run.json and the tables beside the operations. It also validates
every operations file, so that damaged ones are left out and reported before Spark starts
(analysis.stored.run_files), and keeps none of their rows. The driver reads files at `path`; Spark's
executors read them there too, or at the run's URI (analysis.remote).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, overload

import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.stored.columns import format_of, statistics
from analysis.stored.damage import Damage, of_finding
from analysis.stored.fact_rows import DeathRow
from analysis.stored.run_files import OPERATIONS, read_record, tables_of
from analysis.stored.table_rows import Blind, Event, Fault, FinalEnd, Finding, View, Watermark
from harness.history.record_format import SEQUENCE_BITS
from harness.model.sections.log_segments import ever_compacts
from harness.model.worker_kinds import (
    asks_for_members,
    asks_for_transformers,
    is_member,
    kind_named,
)

EVENTS, WATERMARKS = "history/events.parquet", "history/watermarks.parquet"
CORRUPT = "corrupt-payload"
CLIENT_ERROR, FENCED = "client-error", "FENCED_INSTANCE_ID"
# Events.
KEPT = (
    *("end", "held", "released", "waited", "assigned", "revoked", "dies", "member"),
    *("position", "reset", CORRUPT, "transaction", "undecided", "passed", "output-ends"),
)
SHORT_RUN_NS = 120 * 10**9  # up to here the timeline has buckets of 100 ms, beyond of 500 ms
BUCKETS_MAX = 200_000  # and wider ones where there would be more, after 28 hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One stored run, as far as the driver holds it."""

    path: Path
    record: dict[str, Any]  # run.json
    faults: tuple[Fault, ...]
    ends: tuple[Event, ...]  # what the final read reached, one row per partition and pass
    dumps: tuple[Event, ...] = ()  # the replicas' logs that were dumped, one row each
    findings: tuple[Finding, ...]
    views: tuple[View, ...]
    blind: tuple[Blind, ...]
    watermarks: tuple[Watermark, ...]  # of runs whose replicas were followed
    worker_errors: int
    processes: frozenset[str]  # those that left operations
    deaths: tuple[DeathRow, ...]  # of producers without an end: producer (its index), died_ns
    operations: int
    load_start_ns: int
    load_end_ns: int
    first_ns: int = 0  # the first operation began; the load begins when all workers work
    tables: tuple[Path, ...] = ()  # the files of operations that are whole
    damage: tuple[Damage, ...] = ()  # what is left out
    events: tuple[Event, ...] = ()  # of the workers, those in KEPT
    history_format: int = 2  # 1: without clients, transactions, generations and epochs
    without_digests: bool = False  # its seal tells what was sealed by counts alone
    uri: str | None = None  # of its folder, where Spark reads it; None: at `path`

    def address(self, file: Path) -> str:
        """What Spark calls one of its files."""
        return str(file) if self.uri is None else f"{self.uri}/{file.relative_to(self.path)}"

    @property
    def suspect(self) -> tuple[Damage, ...]:
        """All that is damaged: what is left out, and what sealing found."""
        found = (of_finding(finding) for finding in self.findings)
        return (*self.damage, *(each for each in found if each is not None))

    @property
    def unsound(self) -> set[str | None]:
        """The processes of which not all that they recorded may be here."""
        return {row["process"] for row in self.findings} | {each.process for each in self.damage}

    @property
    def run_id(self) -> str:
        """<scenario>/<UTC time>-<seed>."""
        return str(self.record["run_id"])

    @property
    def untold(self) -> frozenset[str]:
        """What an imported history does not tell (harness.model.untold)."""
        return frozenset(self.record.get("untold") or ())

    @property
    def defaults_of(self) -> str:
        """The client whose defaults an imported history has where nobody says otherwise."""
        return str(self.record.get("defaults_of") or "")

    @property
    def plan(self) -> list[dict[str, Any]]:
        """Its planned steps, each with its effects and words."""
        plan: list[dict[str, Any]] = self.record["plan"]
        return plan

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """The cluster's nodes by name, with their roles."""
        nodes: dict[str, dict[str, Any]] = self.record.get("nodes") or {}
        return nodes

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario."""
        scenario: dict[str, Any] = self.record["scenario"]
        return scenario

    @property
    def node_settings(self) -> dict[str, Any]:
        """`server` and `zoo` as they were in force; of an old run, as the scenario set them."""
        settings: dict[str, Any] = self.record.get("node_settings") or self.scenario["cluster"]
        return settings

    @property
    def partitions(self) -> int:
        """How many partitions of the topic its workers used, those included that were added."""
        return partitions_used(self.record, self.faults)

    @property
    def grouped(self) -> bool:
        """Whether a consumer group was at work beside the consumers that follow the log."""
        return asks_for_members(self.scenario["workload"])

    @property
    def transforms(self) -> bool:
        """Whether members of the group send what they make of what they are given."""
        return asks_for_transformers(self.scenario["workload"])

    @property
    def programs(self) -> frozenset[str]:
        """The processes of the user's programs."""
        return frozenset(str(each["process"]) for each in self.record.get("programs") or [])

    @property
    def tailing(self) -> bool:
        """Whether a consumer followed the log during the load."""
        work = self.scenario["workload"]
        return work["kind"] == "write-read" or int(work.get("consumers", 0)) > 0

    @property
    def transactional(self) -> bool:
        """Whether records are sent in transactions."""
        return "transactional.id" in self.scenario["workload"]["producer"]

    @property
    def reads_uncommitted(self) -> bool:
        """Whether readers, the final read among them, ask for what is not committed, too."""
        consumer = self.scenario["workload"].get("consumer") or {}
        return bool(consumer.get("isolation.level") == "read_uncommitted")

    @property
    def tells_transactions(self) -> bool:
        """Whether the workers' events tell when each transaction began and ended."""
        damaged = any(each.file == EVENTS for each in self.damage)
        return self.transactional and self.history_format >= 2 and not damaged

    @property
    def compared(self) -> bool:
        """Whether the replicas' logs were compared at the end."""
        return bool(self.scenario["check"].get("replicas", False))

    @property
    def watched(self) -> bool:
        """Whether the replicas' watermarks and log ends were followed."""
        return bool(self.scenario["check"].get("watermarks", False))

    @property
    def members_died(self) -> bool:
        """Whether a member of the group ended otherwise than in order, planned or not."""
        workers = self.record.get("workers") or []
        return any(is_member(str(w.get("role"))) and w.get("exit") != 0 for w in workers)

    @property
    def threshold_ms(self) -> float:
        """From which length on a stretch without success is a window."""
        return float(self.scenario["check"]["unavailability_threshold_ms"])

    @property
    def bucket_ms(self) -> int:
        """The timeline's resolution."""
        load_ns = self.load_end_ns - self.load_start_ns
        if load_ns < SHORT_RUN_NS:
            return 100
        return max(500, -(-load_ns // (BUCKETS_MAX * 10**6)))

    @overload
    def seconds(self, time_ns: int) -> float: ...
    @overload
    def seconds(self, time_ns: int | None) -> float | None: ...
    def seconds(self, time_ns: int | None) -> float | None:
        """A time relative to the start of the load."""
        return None if time_ns is None else (time_ns - self.load_start_ns) / 1e9


def open_run(path: Path) -> Run:
    """A sealed run. Raises CheckError where nothing of it can be judged."""
    record = read_record(path)
    stored = tables_of(path, record)
    findings = cast("tuple[Finding, ...]", stored.small("findings"))
    faults = cast("tuple[Fault, ...]", stored.small("faults"))
    footers = stored.operations(partitions_used(record, faults), findings)
    files = {process: path / OPERATIONS / f"{process}.parquet" for process in footers}
    events = stored.events(files, findings)
    start_ns, end_ns = load_bounds(record, list(footers.values()))
    watched = record["scenario"]["check"].get("watermarks", False)
    blind = cast("tuple[Blind, ...]", stored.small("blind"))
    views = stored.views(faults, blind)
    return Run(
        path=path,
        record=record,
        faults=faults,
        ends=tuple(row for row in events if row["event"] == "ends"),
        dumps=tuple(row for row in events if row["event"] == "dumped"),
        findings=findings,
        views=views,
        blind=blind,
        watermarks=cast("tuple[Watermark, ...]", stored.small("watermarks")) if watched else (),
        worker_errors=sum(row["event"] == CLIENT_ERROR for row in events),
        processes=frozenset({*footers, *(each.process or "" for each in stored.damage)} - {""}),
        deaths=tuple(_deaths(path, findings, footers, _ended_by(faults, record["plan"]))),
        operations=sum(footer.num_rows for footer in footers.values()),
        load_start_ns=start_ns,
        load_end_ns=end_ns,
        first_ns=min(_starts(footers.values()), default=0),
        tables=tuple(files.values()),
        damage=tuple(stored.damage),
        events=tuple(row for row in events if row["event"] in KEPT or is_fenced(row)),
        history_format=_format(footers.values()),
        without_digests=stored.seal is not None and stored.seal.version == 1,
    )


def partitions_used(record: Mapping[str, Any], faults: Sequence[Fault]) -> int:
    """How many partitions a run's workers used; those that faults added where run.json says so."""
    scenario = record["scenario"]
    used = scenario["workload"].get("use_added_partitions")
    return int(scenario["topic"]["partitions"]) + (added_partitions(record, faults) if used else 0)


def added_partitions(record: Mapping[str, Any], faults: Sequence[Fault]) -> int:
    """How many partitions faults added to a run's topic."""
    adds = {s["step"]: (s.get("effects") or {}).get("adds_partitions", 0) for s in record["plan"]}
    return sum(adds.get(fault["step"], 0) for fault in faults if fault["nodes"])


def is_fenced(event: Event) -> bool:
    """Whether it tells that another member took its worker's `group.instance.id` (KIP-345)."""
    return event["event"] == CLIENT_ERROR and event["name"] == FENCED


def is_dense(run: Run) -> bool:
    """Whether each offset of the log is a record's: without transactions and compaction."""
    return not run.transactional and not is_compacted(run)


def is_compacted(run: Run) -> bool:
    """Whether the log is compacted, at one time or another."""
    return ever_compacts(topic_settings(run))


def topic_settings(run: Run) -> list[dict[str, Any]]:
    """The topic's settings over its brokers': as they were at first, and after what each step may
    have changed."""
    in_force = {**run.node_settings["server"], **run.scenario["topic"]["config"]}
    effects = (step.get("effects") or {} for step in run.plan)
    return [in_force, *({**in_force, **(each.get("topic_settings") or {})} for each in effects)]


def final_ends(run: Run) -> list[FinalEnd]:
    """What the final read reached, one row per partition of the topic; incomplete if it says none.

    With several passes a partition is complete if one of them was; the highest log start counts,
    so that nothing is called lost that might have been deleted. A pass is complete only if nothing
    was found wrong with what its worker recorded: what it read may not all be here.
    """
    rows, unsound = list[FinalEnd](), run.unsound
    for partition in range(run.partitions):
        passes = [end for end in run.ends if end["partition"] == partition]
        complete = [end for end in passes if end["complete"] and end["process"] not in unsound]
        best = max(complete or passes, key=lambda end: end["log_start"] or 0, default=None)
        rows.append(
            {
                "partition": partition,
                "log_start": best and best["log_start"],
                "committed_end": best and best["committed_end"],
                "uncommitted_end": best and best["uncommitted_end"],
                "position": best and best["position"],
                "complete": bool(complete),
            }
        )
    return rows


def read_ended(run: Run) -> dict[int, int]:
    """When the final read of each partition ended: the last complete pass or, without, the last."""
    ended: dict[int, int] = {}
    for end in sorted(run.ends, key=lambda end: (bool(end["complete"]), end["time_ns"])):
        ended[end["partition"]] = end["time_ns"]
    return ended


def _ended_by(faults: Sequence[Fault], plan: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """When faults that end processes began to hit each process, in order of time."""
    ends = {step["step"]: (step.get("effects") or {}).get("ends_processes") for step in plan}
    found: dict[str, list[int]] = {}
    for fault in sorted(faults, key=lambda fault: int(fault["invoke_ns"])):
        for name in fault["nodes"] if ends.get(fault["step"]) else ():
            found.setdefault(name, []).append(int(fault["invoke_ns"]))
    return found


def _deaths(
    path: Path,
    findings: Sequence[Finding],
    footers: Mapping[str, pq.FileMetaData],
    ended_by: Mapping[str, Sequence[int]],
) -> Iterator[DeathRow]:
    """Until when each producer that left no end tried something: the fault that ended it, since
    one that waits (for a commit, for room in its queue) records nothing meanwhile; without such a
    fault, what it recorded last."""
    ended_badly = {finding["process"] for finding in findings if finding["kind"] == "no-end"}
    for name, footer in footers.items():
        firsts = _first_sends(path, name, footer) if name in ended_badly else []
        if not firsts:
            continue
        times = [
            high for column in ("start_ns", "end_ns") for _, high in statistics(footer, column)
        ]
        last_ns = int(max(times))
        died_ns = next((ns for ns in ended_by.get(name, ()) if ns > last_ns), last_ns)
        yield {"producer": firsts[0] >> SEQUENCE_BITS, "died_ns": died_ns}


def _first_sends(path: Path, name: str, footer: pq.FileMetaData) -> list[int]:
    """A value that a producer sent, or a transformer among all that it did; none of others."""
    if set(statistics(footer, "f")) == {("send", "send")}:
        return [int(first) for first, _ in statistics(footer, "value")[:1]]
    kind = kind_named(name)
    if kind is None or not kind.transforms:
        return []
    table = pq.read_table(path / OPERATIONS / f"{name}.parquet", columns=["f", "value"])
    sent = table.filter(pc.equal(table["f"], "send"))["value"].drop_null()
    return [int(value) for value in sent.slice(length=1).to_pylist()]


def _format(footers: Iterable[pq.FileMetaData]) -> int:
    """2 where workers told which of their clients an operation is of; as all do that are of it."""
    recorded = [footer for footer in footers if footer.num_rows]
    has_clients = any(format_of(footer) == 2 for footer in recorded)
    return 2 if has_clients or not recorded else 1


def _starts(footers: Iterable[pq.FileMetaData]) -> list[int]:
    return [int(low) for footer in footers for low, _ in statistics(footer, "start_ns")]


def load_bounds(record: Mapping[str, Any], footers: Sequence[pq.FileMetaData]) -> tuple[int, int]:
    """When the load began and ended: its phase or, of a run that was killed, its operations."""
    for phase in record.get("phases") or []:
        if phase["name"] == "load":
            return int(phase["start_ns"]), int(phase["end_ns"])
    load = [
        footer
        for footer in footers
        if any(low != "final-read" for low, _ in statistics(footer, "f"))
    ]
    starts = _starts(load)
    ends = [
        high
        for footer in load
        for column in ("start_ns", "end_ns")
        for _, high in statistics(footer, column)
    ]
    return min(starts, default=0), max(ends, default=0)
