"""Windows and faults as the report tells them: in seconds, and which belong together.

A fault belongs to a window if it was in force during any part of it, from injection until it was
healed; if none was, the last one injected before it does. The *cause* is the one of these whose
injection is nearest to the window's start. From its injection, and from the start of its healing,
the time to the first success after the window is counted. A success that came before the healing
began did not wait for it: then there is no such time. Where who leads at the end of a window was
elected during it, that moment splits it: after it the clients had not found the leader yet, or it
refused for want of min.insync.replicas.

Pure functions over what is small: a run has no more windows than thresholds fit into it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.checks.run_row import leaders_of
from analysis.measures.windows import WindowRow
from analysis.stored.fact_rows import LeaderRow
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Fault
from harness.model.runs.report_course import FaultTold, HeldBack, Window
from harness.model.sections.expect import GAPS

SEEN_LATE_NS = 200_000_000  # who leads is looked at every 50 ms


def windows(rows: Iterable[WindowRow], run: Run) -> list[Window]:
    """The windows of the report, from those that were measured."""
    leaders = leaders_of(run)
    return [_window(row, run, leaders) for row in rows]


def _window(row: WindowRow, run: Run, leaders: Iterable[LeaderRow]) -> Window:
    related = related_faults(row, run.faults)
    success_ns = row["next_success_ns"]
    cause = min(related, key=lambda f: abs(f["invoke_ns"] - row["start_ns"]), default=None)
    return Window(
        kind=row["kind"],
        partition=row["partition"],
        start_s=run.seconds(row["start_ns"]),
        end_s=None if success_ns is None else run.seconds(row["end_ns"]),
        length_s=(row["end_ns"] - row["start_ns"]) / 1e9,
        attempts=row["attempts"],
        leader_s=run.seconds(_elected_ns(row, leaders)),
        faults=[fault["fault"] for fault in related],
        injection_to_first_ack_s=_since(cause and cause["invoke_ns"], success_ns),
        heal_to_first_ack_s=_since(cause and cause["heal_invoke_ns"], success_ns),
    )


def planned_s(run: Run) -> dict[str, float]:
    """How long the load was to last, where it went on until the last fault was healed."""
    work = run.scenario["workload"]
    if work["kind"] != "stream" or run.untold:
        return {}
    healed = max((run.seconds(row["heal_ok_ns"]) or 0.0 for row in run.faults), default=0.0)
    return {"planned_s": work["duration_s"]} if healed > work["duration_s"] else {}


def _elected_ns(row: WindowRow, leaders: Iterable[LeaderRow]) -> int | None:
    """When who leads a window's partition at its end was first seen to lead; None: nobody does, or
    somebody who had led before it began. An election is seen after it happened, so that one seen
    just after the success counts, at the window's end."""
    own = [led for led in leaders if led["partition"] == row["partition"]]
    late_ns = SEEN_LATE_NS if row["next_success_ns"] is not None else 0
    before = [led for led in own if led["from_ns"] <= row["end_ns"] + late_ns]
    if len(before) < 2 or before[-1]["leader"] is None or before[-1]["from_ns"] <= row["start_ns"]:
        return None
    return min(before[-1]["from_ns"], row["end_ns"])


def related_faults(row: WindowRow, faults: Sequence[Fault]) -> Sequence[Fault]:
    """The faults in force during a window, else the last one before it."""
    happened = sorted((f for f in faults if f["nodes"]), key=lambda fault: fault["invoke_ns"])
    in_force = [
        fault
        for fault in happened
        if fault["invoke_ns"] < row["end_ns"]
        and (fault["heal_ok_ns"] is None or fault["heal_ok_ns"] > row["start_ns"])
    ]
    before = [fault for fault in happened if fault["invoke_ns"] <= row["start_ns"]]
    return in_force or before[-1:]


def fault(row: Fault, run: Run) -> FaultTold:
    """One fault of the report."""
    return FaultTold(
        fault=row["fault"],
        step=row["step"],
        verb=row["verb"],
        target=row["target"],
        nodes=row["nodes"],
        start_s=run.seconds(row["invoke_ns"]),
        in_force_s=run.seconds(row["ok_ns"]),
        healing_s=run.seconds(row["heal_invoke_ns"]),
        healed_s=run.seconds(row["heal_ok_ns"]),
        evidence=row["evidence"],
        heal_evidence=row["heal_evidence"],
        error=row["error"],
        before=_state(row["before"]),
        after=_state(row["after"]),
    )


def longest(windows: Sequence[Window], *, outputs: bool) -> dict[str, float]:
    """The longest window of each kind; 0 where there is none. That of outputs where there are
    any."""
    kinds = [*GAPS.values()] if outputs else [kind for kind in GAPS.values() if kind != "output"]
    return {
        kind: max((float(w.length_s) for w in windows if w.kind == kind), default=0.0)
        for kind in kinds
    }


def held_back(run: Run) -> HeldBack:
    """How long sends waited for room in their client's queue."""
    ns = [
        event["time_ns"] - event["since_ns"]
        for event in run.events
        if event["event"] == "waited" and event["since_ns"] is not None
    ]
    return HeldBack(stretches=len(ns), total_s=sum(ns) / 1e9, longest_s=max(ns, default=0) / 1e9)


def _since(begin_ns: int | None, success_ns: int | None) -> float | None:
    if begin_ns is None or success_ns is None or success_ns < begin_ns:
        return None
    return (success_ns - begin_ns) / 1e9


def _state(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):  # nobody of ours has written it
        return None
