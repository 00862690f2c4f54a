"""Doubts: why "nothing found" would prove nothing in a run.

A run of which not everything is known is never valid: it did not end, nothing was acknowledged, a
planned fault has no evidence that it took effect or was healed, a worker died or left no history,
the history is damaged, or the final read did not get to the end.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from analysis.frames.stored_run import Run, final_ends
from analysis.run_facts.faults import Happened
from analysis.verdict.undumped import undumped
from harness.model.client_settings import acks_of


def doubts(run: Run, counts: Mapping[str, int], unseen: int) -> tuple[str, ...]:
    """Why "nothing found" would prove nothing in this run; empty if it would."""
    return (
        *(f"{damage.file}: {damage.why}" for damage in run.damage),
        *_run_doubts(run.record),
        *_load_doubts(run, counts),
        *(_watch_doubts(run) if run.watched else ()),
        *_fault_doubts(run),
        *_worker_doubts(run),
        *undumped(run),
        *_final_read_doubts(run, unseen),
    )


def _run_doubts(record: Mapping[str, Any]) -> list[str]:
    state = record.get("state")
    if state == "complete":
        return []
    failure = record.get("failure") or {}
    if failure:
        return [f"the run failed in phase {failure['phase']}: {failure['error']}"]
    return [f"the run did not end: its state is {state}"]


def _load_doubts(run: Run, counts: Mapping[str, int]) -> list[str]:
    if not counts["sends"]:
        return ["nothing was sent"]
    if acks_of(run.scenario["workload"]["producer"]) == "0":
        # No ack can come; what the final read found is the proof that sends arrived at all.
        return [] if counts["indeterminate_landed"] else ["no send arrived"]
    if not counts["acked"]:
        return ["no send was acknowledged"]
    if run.compared and "replicas-0" not in run.processes:
        return ["the replicas' logs were not compared"]
    if run.grouped and not counts["processed"]:
        return ["the consumer group processed nothing"]
    return []


def _watch_doubts(run: Run) -> list[str]:
    """Whether somebody looked at the replicas until the load ended, and saw watermarks."""
    seen = [r["time_ns"] for r in run.watermarks if r["in_isr"] and r["high_watermark"] is not None]
    if not seen:
        return ["the replicas' watermarks were not sampled"]
    if (last_ns := max(seen)) < run.load_end_ns:
        return [f"the replicas' watermarks were sampled until {run.seconds(last_ns):.1f} s only"]
    return []


def _fault_doubts(run: Run) -> list[str]:
    by_step = {fault["step"]: fault for fault in run.faults}
    reasons = []
    for step in run.plan:
        name = f"fault {step['step']} ({step['verb']} {step['target']})"
        fault = by_step.get(step["step"])
        why = f": {fault['error']}" if fault and fault["error"] else ""
        if fault is None or not fault["nodes"]:
            reasons.append(f"{name} was planned and did not happen{why}")
        elif fault["ok_ns"] is None or not fault["evidence"]:
            reasons.append(f"{name} has no evidence that it took effect{why}")
        elif fault["heal_ok_ns"] is None:
            reasons.append(f"{name} has no evidence that it was healed{why}")
    return reasons


def _worker_doubts(run: Run) -> list[str]:
    meant = Happened.of(run.faults, run.plan).ended()
    meant |= {w["process"] for w in run.record.get("workers") or [] if w.get("dies")}
    reasons = []
    for worker in run.record.get("workers") or []:
        name = worker["process"]
        if name not in run.processes:
            reasons.append(f"worker {name} left no history")
        elif worker.get("dies"):
            if worker.get("exit") != -signal.SIGKILL:
                reasons.append(f"worker {name} should have died {worker['dies']} but did not")
        elif worker.get("exit") and name not in meant:
            reasons.append(f"worker {name} ended with exit code {worker['exit']}")
    for finding in run.findings:
        kind, process = finding["kind"], finding["process"]
        if kind == "torn" or (kind == "no-end" and process in meant):
            continue
        reasons.append(f"history of {process}: {finding['text'] or kind}")
    return reasons


def _final_read_doubts(run: Run, unseen: int) -> list[str]:
    partitions = [end["partition"] for end in final_ends(run) if not end["complete"]]
    if partitions:
        which = ", ".join(map(str, partitions[:5])) + (", …" if len(partitions) > 5 else "")
        what = "partition" if len(partitions) == 1 else "partitions"
        return [f"the final read of {what} {which} is not complete"]
    if unseen:
        return [f"{unseen:,} acknowledged records were not found and cannot be looked up by offset"]
    return []
