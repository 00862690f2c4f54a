"""Doubts: why "nothing found" would prove nothing in a run.

A run of which not everything is known is never valid. What is enough is decided here and in the
files beside this one, each of which says where its border is, and why:

    the run did not end, its history is damaged, or a replica was
    not dumped                                                        here
    nothing was sent, most of it failed, a fault met no load          enough_load.py
    nobody looked at the replicas                                     watched_replicas.py
    a fault is not proved, not healed, or another than was planned    proved_faults.py
    a worker died, left no history, or recorded less than it did      finished_workers.py
    the final read or a consumer did not get to the end               complete_reading.py

Pure functions of the run and of numbers that Spark counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.measures.work_done import Work
from analysis.stored.stored_run import Run
from analysis.verdict.complete_reading import reading_doubts
from analysis.verdict.enough_load import load_doubts
from analysis.verdict.finished_workers import may_have_died, worker_doubts
from analysis.verdict.proved_faults import fault_doubts
from analysis.verdict.watched_replicas import watch_doubts


def doubts(run: Run, counts: Mapping[str, int], unseen: int, work: Work) -> tuple[str, ...]:
    """Why "nothing found" would prove nothing in this run; empty if it would."""
    return (
        *(f"{damage.file}: {damage.why}" for damage in run.damage),
        *_run_doubts(run.record),
        *load_doubts(run, counts, work),
        *(watch_doubts(run) if run.watched else ()),
        *fault_doubts(run),
        *worker_doubts(run, work),
        *_damage_doubts(run, work),
        *undumped(run),
        *reading_doubts(run, counts, unseen, work),
    )


def _run_doubts(record: Mapping[str, Any]) -> list[str]:
    state = record.get("state")
    if state == "complete":
        return []
    failure = record.get("failure") or {}
    if failure:
        return [f"the run failed in phase {failure['phase']}: {failure['error']}"]
    return [f"the run did not end: its state is {state}"]


def _damage_doubts(run: Run, work: Work) -> Iterator[str]:
    """What sealing found wrong; only that it breaks off can be explained by its worker's death."""
    for finding in run.findings:
        kind, process = finding["kind"], finding["process"]
        if kind == "torn" or (kind == "no-end" and may_have_died(run, work, process)):
            continue
        yield f"history of {process}: {finding['text'] or kind}"


def undumped(run: Run) -> list[str]:
    """Why not every replica that was to be compared is known at the end; empty where all are.

        3 replicas    dumped: kafka1, kafka2    =>  the replica of partition 0 on kafka3 was not
                                                    dumped
        3 replicas    dumped: all three         =>  nothing

    A dump of an empty log is one. Runs that did not write down their dumps (docs/history.md,
    `dumped`) are not judged by them.
    """
    if not run.compared or not run.dumps:
        return []
    topic = run.scenario["topic"]
    wanted = int(topic["replication_factor"])
    brokers = sorted(name for name, node in run.nodes.items() if node["role"] == "broker")
    reasons = []
    for partition in range(run.partitions):
        known = {
            dump["name"]
            for dump in run.dumps
            if dump["partition"] == partition and dump["log_start"] is not None
        }
        if len(known) >= wanted:
            continue
        missing = [name for name in brokers if name not in known]
        if len(brokers) == wanted:
            where = " and ".join(missing)
            reasons.append(f"the replica of partition {partition} on {where} was not dumped")
        else:
            reasons.append(
                f"{len(known)} of {wanted} replicas of partition {partition} were dumped"
            )
    return reasons
