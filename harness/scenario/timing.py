"""When a scenario's faults are due: what is unclear, and what would come after the load."""

from __future__ import annotations

from harness.model.scenario import FaultPart, WorkloadPart


def timing_problems(fault: FaultPart, workload: WorkloadPart, *, first: bool) -> list[str]:
    """Why an entry can never be due as it says; at most one reason. `first`: there is none before
    it."""
    return _unclear(fault, first=first) or _too_late(fault, workload)


def _unclear(fault: FaultPart, *, first: bool) -> list[str]:
    begins = {
        "at_s": fault.at_s,
        "after_acks": fault.after_acks,
        "after_rounds": fault.after_rounds,
    }
    every = {"at_s": "every_s", "after_acks": "every_acks", "after_rounds": "every_rounds"}
    given = [key for key, value in begins.items() if value is not None]
    if len(given) > 1 or not (given or fault.when):
        return [f"give exactly one of {', '.join(begins)}"]
    if fault.when in ("healed", "in-force") and first:
        return [f'when: "{fault.when}" waits for the previous entry, and there is none']
    if fault.when:
        return []
    if fault.times > 1 and getattr(fault, every[given[0]]) is None:
        return [f"times > 1 after {given[0]} needs {every[given[0]]}"]
    return []


def _too_late(fault: FaultPart, workload: WorkloadPart) -> list[str]:
    if fault.when:
        return []
    unit = fault.first[0]
    rounds = workload.rounds if workload.kind == "write-read" else workload.stream_sends
    if unit != "seconds" and fault.last >= rounds:
        return [
            f"the last one is due after {fault.last:,.0f} {unit}, but the workload "
            f"sends only {rounds:,.0f}"
        ]
    if unit == "seconds" and workload.kind == "stream" and fault.last >= workload.duration_s:
        return [
            f"the last one is due at {fault.last:g} s, but workload.duration_s is "
            f"{workload.duration_s:g}"
        ]
    return []
