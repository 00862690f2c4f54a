"""The constant parts of a report: what `reports` builds its runs around (schema 1), and what a page
shows beside it."""

from typing import Any

from analysis.report.page import More
from analysis.report.parts.run_files import Group, Link

PROMISES: dict[str, tuple[str, str]] = {
    "lost": ("Every acknowledged record stays in the log.", "Kafka documentation, Replication"),
    "vanished": ("A record that was once delivered stays in the log.", "KIP-101"),
    "unseen": ("The final read reaches the end of every partition.", "the harness"),
    "duplicate": ("A retried send is written once.", "KIP-98, Exactly Once Delivery"),
    "phantom": ("Nothing is read that was not sent.", "Kafka documentation, Design"),
    "inconsistent-offset": ("An offset holds one value for ever.", "KIP-101"),
    "stale-read": ("A read begun after an ack finds the record.", "KIP-207"),
}


def report(
    timeline: list[dict[str, Any]], faults: list[dict[str, Any]], windows: list[dict[str, Any]]
) -> dict[str, Any]:
    """A valid report (schema 1) around these faults and windows."""
    load_s = timeline[-1]["t_s"] + 0.1
    return {
        "schema": 1,
        "run_id": "study-1/20261121T021500Z-42",
        "verdict": "valid",
        "exit_code": 0,
        "sentence": "No data was lost: all 9,997 acknowledged records were read back after the "
        "leader was killed 10 times. Writes stopped for at most 5.9 s.",
        "reasons": [],
        "outcome": {"data": "kept", "words": "no acknowledged record lost"},
        "verdict_words": "as this configuration promises and this scenario expects",
        "cap": cap("CA", "stayed available, nothing lost"),
        "run": _run(load_s),
        "counts": _counts(),
        "rates": {"sends_per_s": 10000 / load_s, "acks_per_s": 9997 / load_s, "load_s": load_s},
        "latency_ms": {
            "ack": {"p50": 1.93, "p95": 6.1, "p99": 12.7, "p999": 5210.4, "max": 6103.2},
            "delivery": {"p50": 3.1, "p95": 8.8, "p99": 19.0, "p999": 5240.0, "max": 6110.0},
        },
        "anomalies": {name: _finding(name) for name in PROMISES},
        "history_format": 2,
        "not_recorded": [],
        "causes": [],
        "windows": windows,
        "longest_window_s": {
            kind: max((w["length_s"] for w in windows if w["kind"] == kind), default=0.0)
            for kind in ("produce", "consume")
        },
        "gap_demands": {},
        "count_demands": {},
        "faults": faults,
        "planned_faults": len(faults),
        "final_read": {"complete": True, "partitions": [partition()]},
        "configuration": configuration(),
        "versions": {
            "kafka": "3.9.1",
            "zookeeper": "3.8.4",
            "java": "17.0.13",
            "confluent_kafka": "2.16.0",
            "librdkafka": "2.16.0",
            "python": "3.11.2",
            "kafka_harness": "0.1.0",
        },
        "host": {
            "cpus": 2,
            "memory_bytes": 8_232_000_000,
            "kernel": "6.1.0-28-amd64",
            "cpu_starvation": {
                "steal_percent": 0.4,
                "pressure_some_percent": 31.2,
                "cgroup_throttled_s": 0.0,
            },
        },
        "threshold_ms": 500,
    }


def cap(label: str, words: str) -> dict[str, Any]:
    """The letters of CAP; without a label none is known."""
    both = {"available": "A" in label, "consistent": "C" in label} if label else {}
    return {"available": None, "consistent": None, "label": label, "words": words, **both}


def lost(count: str, more: str = "") -> dict[str, Any]:
    """The labels of a run that lost so many."""
    return {
        "outcome": {"data": "lost", "words": f"{count} of 9,997 acknowledged records lost{more}"},
        "cap": cap("AP", f"stayed available, lost {count} acknowledged records"),
    }


def _run(load_s: float) -> dict[str, Any]:
    return {
        "scenario": "study-1",
        "title": "The study's test 1: acks=1, leader killed",
        "seed": 42,
        "backend": "local",
        "state": "complete",
        "started_utc": "2026-11-21T02:15:00Z",
        "duration_s": load_s + 31.0,
        "command": "kafka-harness run study-1 --backend local --seed 42",
        "failure": None,
    }


def _counts() -> dict[str, int]:
    return {
        "sends": 10000,
        "acked": 9997,
        "acked_without_offset": 0,
        "acked_isr_alone": 0,
        "failed": 0,
        "aborted": 0,
        "indeterminate": 3,
        "indeterminate_landed": 1,
        "indeterminate_not_landed": 2,
        "unacknowledged_lost": 0,
        "reads": 9994,
        "lookups": 10000,
        "lookups_not_found": 3,
        "final_read_records": 9997,
        "processed": 0,
        "commits": 0,
        "torn_records": 0,
        "worker_errors": 23,
    }


def counted(count: int) -> dict[str, Any]:
    """A finding of so many, which nothing forbids."""
    return {"count": count, "forbidden": False, "convicts": False}


def _finding(name: str) -> dict[str, Any]:
    promise, source = PROMISES[name]
    return {
        "count": 0,
        "split": {},
        "judged": {"permitted": 0, "forbidden": 0, "in_doubt": 0},
        "forbidden": name not in {"lost", "vanished", "duplicate", "stale-read"},
        "promise": promise,
        "source": source,
        "demanded": None,
        "demand_met": None,
        "convicts": False,
        "examples": [],
    }


def configuration() -> dict[str, Any]:
    return {
        "producer": {
            "acks": "1",
            "retries": 5,
            "enable.idempotence": False,
            "max.in.flight": 1,
            "linger.ms": 0,
            "delivery.timeout.ms": 30000,
            "socket.timeout.ms": 5000,
            "compression.type": "none",
        },
        "consumer": {"isolation.level": "read_committed", "fetch.wait.max.ms": 10},
        "topic": {
            "name": "harness",
            "partitions": 1,
            "replication_factor": 3,
            "leader": "not-controller",
            "config": {"min.insync.replicas": "1", "retention.ms": "-1"},
        },
        "server": {
            "zookeeper.session.timeout.ms": 6000,
            "auto.leader.rebalance.enable": "false",
            "unclean.leader.election.enable": "false",
            "replica.lag.time.max.ms": 10000,
            "log.dirs": "/var/lib/kafka/data-of-this-broker-with-a-rather-long-path/logs",
        },
        "zoo": {"tickTime": 2000, "initLimit": 10, "syncLimit": 5},
        "differences": [
            {
                "client": "producer",
                "key": "linger.ms",
                "java_default": "0",
                "librdkafka_default": "5",
                "used": "0",
            },
            {
                "client": "producer",
                "key": "enable.idempotence",
                "java_default": "true",
                "librdkafka_default": "false",
                "used": "false",
            },
            {
                "client": "producer",
                "key": "max.in.flight",
                "java_default": "5",
                "librdkafka_default": "1000000",
                "used": "1",
            },
        ],
    }


def partition(*, complete: bool = True) -> dict[str, Any]:
    end = 9997 if complete else 4100
    return {
        "partition": 0,
        "log_start": 0,
        "committed_end": 9997,
        "uncommitted_end": 9997,
        "position": end,
        "complete": complete,
    }


def cause(number: int) -> dict[str, Any]:
    """A leader change that permits as many losses as its number says."""
    return {
        "numbers": [number],
        "kind": "another-leader",
        "words": f"kafka{number} led partition 0 instead of kafka3",
        "at_s": 9.5 * number,
        "partition": 0,
        "fault": number,
        "sure": True,
        "why": None,
        "permitted": {"lost": number},
        "in_doubt": {},
    }


def leadership(*, stretches: int = 3, leaderless: int = 0) -> list[dict[str, Any]]:
    """Three partitions: balanced, not after kafka1 was killed, and so on in turns."""
    balanced = [("kafka1", 1, 600), ("kafka2", 1, 603), ("kafka3", 1, 597)]
    uneven = [("kafka1", 0, 0), ("kafka2", 2, 1206), ("kafka3", 1, 597)]
    return [
        {
            "start_s": 3.0 * number,
            "end_s": 3.0 * number + 3.0,
            "faults": [0] if number == 1 else [],
            "brokers": [
                {"broker": name, "leads": leads, "acks": acks, "acks_per_s": round(acks / 3, 1)}
                for name, leads, acks in (uneven if number % 2 else balanced)
            ],
            "leaderless": leaderless,
            "leaderless_acks": 0,
        }
        for number in range(stretches)
    ]


def beside_report(reader: str = "consumer-0", name: str = "kafka1.log") -> More:
    """As the check hands it over: a send of each type, a reader that lags, and links to logs, of
    which four are left out."""
    link = Link(href="logs/kafka1.log", name=name)
    return More(
        sends=[
            {"due_s": float(at), "ms": 2.0 + at, "type": kind}
            for at, kind in enumerate(("ok", "fail", "info"), start=1)
        ],
        lag=[{"t_s": float(at), "lag": {reader: 3 * at}} for at in (5, 10)],
        files=[Group(title="Logs", folder="logs", links=[link], more=4)],
    )
