"""The lines of a run in its campaign's ledger (harness.model.campaigns.ledger)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import cast

from analysis.causes.run_facts.kafka import kafka_of
from harness.history.seal_record import SEALED
from harness.model.campaigns.campaign import Cell
from harness.model.campaigns.ledger_line import Host, Line, Starved
from harness.model.runs.configuration import digest_of
from harness.model.runs.report import Report, read_report
from harness.model.runs.report_course import FaultTold, Window
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.scenario.prepare import Request

# The anomalies of which a line says whether they are forbidden.
PROMISED = ("lost", "duplicate")


def began(record: RunRecord) -> bool:
    """Whether a run that has ended began its experiment."""
    return record.failure is None or record.failure.phase not in ("start", "set-up")


def names(cell: Cell, request: Request, started_utc: str) -> Line:
    """By what a run is known in the ledger, and its scenario."""
    return {
        "cell": cell.key,
        "scenario": cell.scenario,
        "backend": request.backend,
        "seed": request.seed,
        "started_utc": started_utc,
    }


def line_of(folder: RunFolder, code: int | None = None, cell: Cell | None = None) -> Line:
    """What is told of a run that has ended: of which run it is, and what that came to. `code`: what
    its command ended with, None: what its report says."""
    file = folder.path / "report.json"
    if code is None:
        checked = read_report(file)
        return {**origin(folder), **summary(cell, checked.code, checked)}
    report = read_report(file) if file.is_file() else None
    return {**origin(folder), **summary(cell, code, report)}


def origin(folder: RunFolder) -> Line:
    """Of which run a line is, what was put to the test in it, and by which code."""
    record, sealed = folder.read(), folder.history / SEALED
    load = next((phase for phase in record.phases if phase.name == "load"), None)
    starved = load.cpu_starvation if load else None
    pressure = cast(Starved | None, starved.model_dump() if starved else None)
    return {
        "run": record.run_id,
        "began": began(record),
        "configuration": digest_of(record),
        **_session(record),
        "versions": record.versions,
        "starved_in_load": pressure,
        "history": sha256(sealed.read_bytes()).hexdigest() if sealed.is_file() else None,
    }


def _session(record: RunRecord) -> Line:
    """How long a broker that was gone counted as there, as far as the nodes' settings are told:
    with KRaft by the controllers'."""
    if record.node_settings is None:
        return {}
    kafka = kafka_of(record.model_dump(mode="json"))
    return {"session_ms": kafka.session_ms(record.node_settings.server)}


def summary(cell: Cell | None, code: int, report: Report | None) -> Line:
    """What a run came to: small enough for git, enough for every table."""
    if report is None:
        return {"exit": code}
    counts, windows = report.counts, report.windows
    ack_ms = report.latency_ms.ack if report.latency_ms else None
    writes = [window for window in windows if window.kind == "produce"]
    reads = [window for window in windows if window.kind == "consume"]
    return {
        "exit": code,
        "verdict": report.verdict,
        "reasons": report.reasons,
        "sends": counts.sends,
        "acked": counts.acked,
        "indeterminate": counts.indeterminate,
        "failed": counts.failed,
        "undelivered": counts.undelivered,
        "expired_unread": counts.expired_unread,
        "anomalies": {name: finding.count for name, finding in report.anomalies.items()},
        "forbidden": [
            name for name, finding in report.anomalies.items() if finding.judged.forbidden
        ],
        "lost_split": report.anomalies["lost"].split,
        "cap": report.cap.written() if report.cap else None,
        "promises": {
            name: {
                "forbidden": report.anomalies[name].forbidden,
                "promise": report.anomalies[name].promise,
            }
            for name in PROMISED
        },
        "faults": len(report.faults),
        "produce_gaps_s": [round(window.length_s, 3) for window in writes],
        "produce_led_s": [_led_s(window) for window in writes],
        "consume_gaps_s": [round(window.length_s, 3) for window in reads],
        "fault_gaps_s": fault_gaps_s(report.faults, windows),
        **({"replication": report.replication.written()} if report.replication else {}),
        **(
            {"leadership": [stretch.written() for stretch in report.leadership]}
            if cell and cell.balance
            else {}
        ),
        "ack_ms": ack_ms.written() if ack_ms else None,
        "kafka": report.versions.get("kafka"),
        "host": cast(Host, report.host),
    }


def _led_s(window: Window) -> float | None:
    """How much of a stretch a leader that was elected in it led already; None: nobody was."""
    if window.leader_s is None:
        return None
    return round(float(window.start_s + window.length_s - window.leader_s), 3)


def fault_gaps_s(faults: Sequence[FaultTold], windows: Iterable[Window]) -> list[float]:
    """For each fault the longest stretch without acks that it caused, 0 without any of a window's
    length: of the faults in force during a stretch, the one injected nearest to its start did."""
    longest = {fault.fault: 0.0 for fault in faults}
    for window in windows:
        begin_s, length_s = window.start_s, window.length_s
        in_force = [
            fault
            for fault in faults
            if fault.start_s is not None
            and fault.start_s < begin_s + length_s
            and (fault.healed_s is None or fault.healed_s > begin_s)
        ]
        if window.kind == "produce" and in_force:
            cause = min(in_force, key=lambda fault: abs((fault.start_s or 0) - begin_s))
            longest[cause.fault] = max(longest[cause.fault], length_s)
    return [round(length_s, 3) for length_s in longest.values()]
