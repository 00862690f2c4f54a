"""When a scenario's faults are due: what is unclear, and what would come after the load."""

from __future__ import annotations

from harness.model.scenario import FaultPart, WorkloadPart


def timing_problems(where: str, fault: FaultPart, workload: WorkloadPart) -> list[str]:
    """Why the entry `where` can never be due as it says; at most one reason."""
    return _unclear(where, fault) or _too_late(where, fault, workload)


def _unclear(where: str, fault: FaultPart) -> list[str]:
    first = {"at_s": fault.at_s, "after_acks": fault.after_acks, "after_rounds": fault.after_rounds}
    every = {"at_s": "every_s", "after_acks": "every_acks", "after_rounds": "every_rounds"}
    given = [key for key, value in first.items() if value is not None]
    if len(given) > 1 or not (given or fault.when):
        return [f"{where}: give exactly one of {', '.join(first)}"]
    if fault.when in ("healed", "in-force") and where == "faults.0":
        return [f'{where}.when: "{fault.when}" waits for the previous entry, and there is none']
    if fault.when:
        return []
    if fault.times > 1 and getattr(fault, every[given[0]]) is None:
        return [f"{where}: times > 1 after {given[0]} needs {every[given[0]]}"]
    return []


def _too_late(where: str, fault: FaultPart, workload: WorkloadPart) -> list[str]:
    if fault.when:
        return []
    unit = fault.first[0]
    rounds = workload.rounds if workload.kind == "write-read" else workload.stream_sends
    if unit != "seconds" and fault.last >= rounds:
        return [
            f"{where}: the last one is due after {fault.last:,.0f} {unit}, but the workload "
            f"sends only {rounds:,.0f}"
        ]
    if unit == "seconds" and workload.kind == "stream" and fault.last >= workload.duration_s:
        return [
            f"{where}: the last one is due at {fault.last:g} s, but workload.duration_s is "
            f"{workload.duration_s:g}"
        ]
    return []
