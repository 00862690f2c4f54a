"""Finished workers: whether each one ended in order, and recorded what it did.

    exit 70, whatever fault may have hit it                        =>  unknown: its own doing
    exit -9, and a fault that ends processes hit it, in its time   =>  nothing
    the same, but its last record is later than the healing        =>  unknown: something else did
    `end` counts 1,000 sends, its table has 1                      =>  unknown
    a producer none of whose sends left it, beside one that sent   =>  unknown

*In its time*: something was last known of the worker before the fault's healing was proved, and not
long before its injection. The latter can be told of producers that send in an open loop only; the
others may have had nothing to do.

Recorded is what was counted, by kind of operation, for each worker with an `end`: sends, acked and
failed ones, what was read. Look-ups are one for each ack but the last. A worker that sends and that
a fault hit, or its predecessor, is excused where it did not have long to itself: more than a second
and half of the time in which records were acknowledged.

Pure functions of the run and what `analysis.measures.work_done` counted.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from analysis.causes.run_facts.faults import Happened
from analysis.measures.work_done import Work
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event, Fault
from analysis.verdict.own_time import Stretch, free_ns, line_of, taken
from harness.model.runs import json_text
from harness.model.scenario import WorkloadPart
from harness.model.worker_kinds import asked_for, kind_named

# What is last known of a worker that sends all the time, on a host that starves, may be as old as
# that when a fault ends it.
LATE_NS = 2 * 10**9
ENDING = (signal.SIGKILL, signal.SIGTERM)  # 128 more where a shell or a container tells
# What an `end` counts as reads.
READ = ("read", "poll", "final-read", "replica", "output", "final-output")


def worker_doubts(run: Run, work: Work) -> Iterator[str]:
    """Why it is not known what all workers did."""
    for worker in run.record.get("workers") or []:
        name = worker["process"]
        if name not in run.processes:
            yield f"worker {name} left no history"
        elif worker.get("dies"):
            if worker.get("exit") != -signal.SIGKILL:
                yield f"worker {name} should have died {worker['dies']} but did not"
        elif worker.get("exit") and not may_have_died(run, work, name):
            yield f"worker {name} ended with exit code {worker['exit']}"
        elif _never_sent(run, work, name):
            yield f"worker {name} sent nothing"
    yield from _not_named(run)
    for event in run.events:
        if event["event"] == "end":
            yield from miscounted(event, work)


def may_have_died(run: Run, work: Work, process: str) -> bool:
    """Whether a worker's history may break off: it was to die, or a fault ended it in its time."""
    dies = (w for w in run.record.get("workers") or [] if w.get("dies"))
    if any(worker["process"] == process for worker in dies):
        return True
    happened = Happened.of(run.faults, run.plan)
    for fault in run.faults:
        effects = happened.effects(fault)
        ends = effects is not None and effects.ends_processes and process in fault["nodes"]
        if ends and not _by_itself(run, process) and _in_its_time(run, work, process, fault):
            return True
    return False


def _by_itself(run: Run, process: str) -> bool:
    """Whether its exit code is one that it gave itself: no signal did, whoever writes that down."""
    exits = {w["process"]: w.get("exit") for w in run.record.get("workers") or []}
    code = exits.get(process)
    return code is not None and code > 0 and code - 128 not in ENDING


def _in_its_time(run: Run, work: Work, process: str, fault: Fault) -> bool:
    last_ns = work.last_ns(process)
    if not last_ns:
        return True  # nothing is known of when it died
    healed_ns = fault["heal_ok_ns"]
    if healed_ns is not None and last_ns > healed_ns:
        return False
    return not _sends_all_the_time(run, process) or last_ns >= fault["invoke_ns"] - _late_ns(run)


def _sends_all_the_time(run: Run, process: str) -> bool:
    """Whether it is a producer whose next send is always due, whatever the cluster does."""
    work = run.scenario["workload"]
    held = any(row["event"] == "held" and row["process"] == process for row in run.events)
    waits = held or "transactional.id" in work["producer"] or work.get("when_full") == "wait"
    return _is_a(process, "producer") and not waits


def _is_a(process: str, kind: str) -> bool:
    known = kind_named(process)
    return known is not None and known.name == kind


def _late_ns(run: Run) -> int:
    """Two seconds, or the time of two sends."""
    rate = float(run.scenario["workload"].get("rate") or 0)
    return LATE_NS if not rate else max(LATE_NS, int(2e9 / rate))


# Who recorded what


def _never_sent(run: Run, work: Work, process: str) -> bool:
    """Whether a worker that sends did not, though others did and it had long enough."""
    kind = kind_named(process)
    if kind is None or not kind.sends or work.left(process) or not work.count(None, "send"):
        return False
    if kind.member and not work.count(process, "poll"):
        return False  # it had nothing to send: analysis.verdict.complete_reading asks why
    hit = taken(run, line_of(process))
    if not hit:
        return True
    stretch = _time_of(run, process, hit, work)
    return stretch is not None and free_ns(*stretch, hit) > work.long_ns


def _time_of(run: Run, process: str, hit: Sequence[Stretch], work: Work) -> Stretch | None:
    """From when to when it was its line's turn to send: the first one's to the first fault that
    ended it, the last one's from the last healing on; None: those between them."""
    line, named = line_of(process), (w["process"] for w in run.record.get("workers") or [])
    names = sorted((n for n in named if line_of(n) == line), key=lambda n: (len(n), n))
    begun_ns, ended_ns = work.acknowledged_ns
    if process == line:
        return begun_ns, ended_ns if len(names) == 1 else min(begin for begin, _ in hit)
    return (max(end for _, end in hit), ended_ns) if process == names[-1] else None


def _not_named(run: Run) -> Iterator[str]:
    """Workers that the scenario asks for and that neither run.json nor the history knows; nobody
    asked for those of an imported history."""
    if run.untold:
        return
    named = {worker["process"] for worker in run.record.get("workers") or []}
    try:
        work = WorkloadPart.model_validate(run.scenario["workload"])
    except ValidationError:
        return  # of an older harness
    for kind, count in asked_for(work).items():
        # Of a history that names no worker at all, the first of a kind may have any name.
        for number in range(0 if named else 1, count):
            if f"{kind}-{number}" not in named | run.processes:
                yield f"worker {kind}-{number} is asked for by the scenario and left no history"


def _counts_in(event: Event) -> dict[str, int]:
    """The numbers in a worker's `end`."""
    try:
        told = json_text.loads(event["text"] or "{}")
    except ValueError:
        return {}
    return {k: n for k, n in told.items() if isinstance(n, int)} if isinstance(told, dict) else {}


def miscounted(event: Event, work: Work) -> Iterator[str]:
    """What a worker's `end` counts otherwise than its table."""
    process, counted = event["process"], _counts_in(event)
    acked = work.count(process, "send", ended="ok")
    recorded = {
        "sends": work.count(process, "send"),
        "acked": acked,
        "failed": work.count(process, "send", ended="fail"),
        "reads": work.count(process, *READ),
    }
    wrong = [
        f"{recorded[name]:,} {name}, not {counted[name]:,},"
        for name in recorded
        if name in counted and recorded[name] != counted[name]
    ]
    lookups = work.count(process, "lookup")
    if _is_a(process, "write-read") and "acked" in counted and lookups < acked - 1:
        wrong.append(f"{lookups:,} look-ups of {acked:,} acks")
    if wrong:
        yield f"worker {process} recorded {' '.join(wrong).rstrip(',')}, as its end counts them"
