"""Checks a scenario's times: faults without a clear time or due after the load, and client times
that brokers would refuse."""

from __future__ import annotations

from harness.clients.defaults import JAVA, client_default
from harness.clients.java_keys import Role
from harness.cluster.broker_limits import SESSIONS_MS
from harness.model.client_settings import of_classic_protocol
from harness.model.scenario import FaultPart, Scenario, WorkloadPart
from harness.model.worker_kinds import has_group


def timing_problems(fault: FaultPart, workload: WorkloadPart, *, first: bool) -> list[str]:
    """Why an entry can never be due as it says; at most one reason. `first`: no entry is before
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


# Brokers' default limits for clients.
_LIMITS = {
    "group.min.session.timeout.ms": SESSIONS_MS[0],
    "group.max.session.timeout.ms": SESSIONS_MS[1],
    "transaction.max.timeout.ms": 900000,
}


def problems_of_times(scenario: Scenario) -> list[str]:
    """Times of clients that their brokers would refuse."""
    server, work = scenario.cluster.of_brokers, scenario.workload
    others = scenario.backend.external.bootstrap or scenario.backend.kubernetes.attach.namespace
    asked: list[tuple[Role, str, str, str]] = []
    if has_group(work) and of_classic_protocol(work.consumer):
        asked += [
            ("consumer", "session.timeout.ms", "group.min.session.timeout.ms", "below"),
            ("consumer", "session.timeout.ms", "group.max.session.timeout.ms", "above"),
        ]
    if "transactional.id" in work.producer:
        asked += [("producer", "transaction.timeout.ms", "transaction.max.timeout.ms", "above")]
    problems = []
    for role, key, limit, side in asked:
        unsaid = client_default(role, key, JAVA)
        texts = (
            str(getattr(work, role).get(key, unsaid)),
            str(server.get(limit, None if others else _LIMITS[limit])),
        )
        if all(text.isdecimal() for text in texts):
            value, bound = map(int, texts)
            if value < bound if side == "below" else value > bound:
                problems.append(
                    f"workload.{role}: {key} is {value}, {side} the brokers' {limit}, {bound}: no "
                    "broker would take it: change one of them"
                )
    return problems
