"""The lines of a run in its campaign's ledger (harness.model.runs.ledger)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from analysis.run_facts.kafka import kafka_of
from harness.history.seal_record import SEALED
from harness.model.campaigns.campaign import Cell
from harness.model.runs import json_text
from harness.model.runs.configuration import digest_of
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.scenario.prepare import Request

# The anomalies of which a line says whether they are forbidden.
PROMISED = ("lost", "duplicate")


def began(record: RunRecord) -> bool:
    """Whether a run that has ended began its experiment."""
    return record.failure is None or record.failure.phase not in ("start", "set-up")


def names(cell: Cell, request: Request, started_utc: str) -> dict[str, Any]:
    """The names of a run in the ledger, and its scenario."""
    return {
        "cell": cell.key,
        "scenario": cell.scenario,
        "backend": request.backend,
        "seed": request.seed,
        "started_utc": started_utc,
    }


def line_of(folder: RunFolder, code: int | None = None, cell: Cell | None = None) -> dict[str, Any]:
    """The line of a run that has ended: the run, and its result. `code` is its command's exit code;
    None: the report's."""
    file = folder.path / "report.json"
    report: Any = json_text.loads(json_text.read_bytes(file)) if file.is_file() else None
    ended = int(report["exit_code"]) if code is None else code
    return {**origin(folder), **summary(cell, ended, report)}


def origin(folder: RunFolder) -> dict[str, Any]:
    """The run of a line, its tested configuration, and the versions of the code."""
    record, sealed = folder.read(), folder.history / SEALED
    load = next((phase for phase in record.phases if phase.name == "load"), None)
    starved = load.cpu_starvation if load else None
    return {
        "run": record.run_id,
        "began": began(record),
        "configuration": digest_of(record),
        **_session(record),
        "versions": record.versions,
        "starved_in_load": starved.model_dump() if starved else None,
        "history": sha256(sealed.read_bytes()).hexdigest() if sealed.is_file() else None,
    }


def _session(record: RunRecord) -> dict[str, float]:
    """The session time of brokers, in s, where the nodes' settings are known; KRaft's is of the
    controllers'."""
    if record.node_settings is None:
        return {}
    kafka = kafka_of(record.model_dump(mode="json"))
    return {"session_ms": kafka.session_ms(record.node_settings.server)}


def summary(cell: Cell | None, code: int, report: Mapping[str, Any] | None) -> dict[str, Any]:
    """A run's result: small enough for git, enough for every table."""
    line: dict[str, Any] = {"exit": code}
    if report is None:
        return line
    counts = report["counts"]
    windows = report["windows"]
    return {
        **line,
        "verdict": report["verdict"],
        "reasons": report["reasons"],
        "sends": counts["sends"],
        "acked": counts["acked"],
        "indeterminate": counts["indeterminate"],
        "failed": counts["failed"],
        "anomalies": {name: anomaly["count"] for name, anomaly in report["anomalies"].items()},
        "forbidden": [
            name
            for name, anomaly in report["anomalies"].items()
            if (anomaly.get("judged") or {}).get("forbidden")
        ],
        "lost_split": report["anomalies"]["lost"]["split"],
        "cap": report["cap"],
        "promises": {
            name: {key: report["anomalies"][name][key] for key in ("forbidden", "promise")}
            for name in PROMISED
        },
        "faults": len(report["faults"]),
        "produce_gaps_s": [round(w["length_s"], 3) for w in windows if w["kind"] == "produce"],
        "produce_led_s": [_led_s(w) for w in windows if w["kind"] == "produce"],
        "consume_gaps_s": [round(w["length_s"], 3) for w in windows if w["kind"] == "consume"],
        "fault_gaps_s": fault_gaps_s(report["faults"], windows),
        **({"replication": report["replication"]} if report.get("replication") else {}),
        **({"leadership": report.get("leadership", [])} if cell and cell.balance else {}),
        "ack_ms": report["latency_ms"]["ack"],
        "kafka": report["versions"].get("kafka"),
        "host": report["host"],
    }


def _led_s(window: Mapping[str, Any]) -> float | None:
    """How long a leader elected in a stretch led before its end; None: none was elected."""
    elected_s = window.get("leader_s")
    if elected_s is None:
        return None
    return round(float(window["start_s"] + window["length_s"] - elected_s), 3)


def fault_gaps_s(
    faults: Sequence[Mapping[str, Any]], windows: Iterable[Mapping[str, Any]]
) -> list[float]:
    """For each fault the longest stretch without acks that it caused, 0 if none was as long as a
    window. Of the faults in force in a stretch, the one injected nearest to its start caused it."""
    longest = {fault["fault"]: 0.0 for fault in faults}
    for window in windows:
        begin_s, length_s = window["start_s"], window["length_s"]
        in_force = [
            fault
            for fault in faults
            if fault["start_s"] < begin_s + length_s
            and (fault["healed_s"] is None or fault["healed_s"] > begin_s)
        ]
        if window["kind"] == "produce" and in_force:
            cause = min(in_force, key=lambda fault: abs(float(fault["start_s"]) - begin_s))
            longest[cause["fault"]] = max(longest[cause["fault"]], length_s)
    return [round(length_s, 3) for length_s in longest.values()]
