"""Builders of checked runs, as the report's two writers get them: report, timeline and views.

`kills()` is the shape the others grow from: a minute and a half of writes followed by reads,
ten leader kills, and a gap without acks after each. Everything is computed from a seed,
so a picture of it is the same today and tomorrow.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

NODES = ("kafka1", "kafka2", "kafka3")
PROMISES: dict[str, tuple[str, str]] = {
    "lost": ("Every acknowledged record stays in the log.", "Kafka documentation, Replication"),
    "vanished": ("A record that was once delivered stays in the log.", "KIP-101"),
    "unseen": ("The final read reaches the end of every partition.", "the harness"),
    "duplicate": ("A retried send is written once.", "KIP-98, Exactly Once Delivery"),
    "phantom": ("Nothing is read that was not sent.", "Kafka documentation, Design"),
    "inconsistent-offset": ("An offset holds one value for ever.", "KIP-101"),
    "stale-read": ("A read begun after an ack finds the record.", "KIP-207"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One checked run: the arguments of `page.render`."""

    report: dict[str, Any]
    timeline: list[dict[str, Any]]
    views: list[dict[str, Any]]


def kills(*, times: int = 10, gap_s: float = 5.6, period_s: float = 8.7, seed: int = 42) -> Example:
    """A run in which the leader is killed `times` times, each followed by a gap of `gap_s`."""
    random = Random(seed)
    faults, windows, views = [], [], [_view(-1.0, leader=0, isr=(0, 1, 2), controller=1)]
    leader, controller = 0, 1
    for number in range(times):
        start_s = 4.0 + number * period_s
        back_s = start_s + gap_s * random.uniform(0.92, 1.1)
        heal_s = start_s + 0.74 * (back_s - start_s)
        follower = (leader + 1 + number % 2) % 3
        others = tuple(sorted({0, 1, 2} - {leader}))
        views += [
            _view(back_s - 0.12, leader=follower, isr=others, controller=follower),
            _view(back_s + 1.3, leader=follower, isr=(0, 1, 2), controller=follower),
        ]
        faults.append(_fault(number, start_s, heal_s, leader, follower, controller))
        windows.append(_window("produce", number, start_s + 0.04, back_s, heal_s))
        if number % 3 == 0:
            windows.append(_window("consume", number, start_s + 0.1, back_s + 0.2, heal_s))
        leader = controller = follower
    end_s = 4.0 + times * period_s
    timeline = [_bucket(n, windows, random) for n in range(int(end_s * 10))]
    return Example(report=_report(timeline, faults, windows), timeline=timeline, views=views)


def valid() -> Example:
    """acks=all and idempotence under the same ten kills: gaps, and nothing else."""
    example = kills()
    settings = {"acks": "all", "enable.idempotence": True, "retries": 2147483647}
    example.report["configuration"]["producer"] |= settings
    example.report["configuration"]["topic"]["config"]["min.insync.replicas"] = "2"
    example.report["run"] |= {
        "scenario": "study-4",
        "title": "The study's test 4: idempotence, acks=all, leader killed",
    }
    for finding in example.report["anomalies"].values():
        finding["forbidden"] = True
    example.report["anomalies"]["duplicate"] |= {"demanded": "0", "demand_met": True}
    return example


def invalid() -> Example:
    """Three acknowledged records are gone, under a configuration that promised to keep them."""
    example = valid()
    report = example.report
    rows = [_lost(number, report["windows"]) for number in range(3)]
    report["anomalies"]["lost"] |= {
        "count": 3,
        "split": {"delivered_before": 2, "never_delivered": 1},
        "convicts": True,
        "examples": rows,
    }
    report |= {
        "verdict": "invalid",
        "exit_code": 1,
        "sentence": "Kafka lost 3 of 9,997 acknowledged records, which acks=all with "
        "min.insync.replicas=2 promised to keep.",
        "reasons": ["lost: 3 seen, forbidden by this configuration"],
    }
    return example


def control() -> Example:
    """acks=1 loses three records and two come twice: allowed, demanded, and therefore valid."""
    example = kills()
    report = example.report
    report["anomalies"]["lost"] |= {
        "count": 3,
        "split": {"delivered_before": 2, "never_delivered": 1},
        "demanded": ">= 1",
        "demand_met": True,
        "examples": [_lost(number, report["windows"]) for number in range(3)],
    }
    report["anomalies"]["duplicate"] |= {
        "count": 2,
        "examples": [
            {"run_id": "r", "value": value, "partition": 0, "offsets": [value - 3, value - 2]}
            for value in (2310, 7781)
        ],
    }
    report["sentence"] = (
        "As expected: with acks=1, killing the leader lost 3 of 9,997 acknowledged records."
    )
    return example


def graceful() -> Example:
    """The leader is told to stop: it hands over first, and the gaps stay under a second."""
    example = kills(times=5, gap_s=0.8, period_s=5.0, seed=7)
    for fault in example.report["faults"]:
        fault["verb"] = "stop"
    example.report["run"] |= {"scenario": "graceful", "title": "A leader that is told to stop"}
    return example


def unknown() -> Example:
    """No send was ever acknowledged, a planned fault did not happen, the final read broke off."""
    example = kills(times=1)
    report = example.report
    for bucket in example.timeline:
        bucket |= {"acks": 0, "infos": 4, "reads": 0, "ack_p50_ms": None, "ack_p99_ms": None}
    report["counts"] |= {"acked": 0, "reads": 0, "indeterminate": report["counts"]["sends"]}
    nothing = dict.fromkeys(("p50", "p95", "p99", "p999", "max"))
    report["latency_ms"] = {"ack": nothing, "delivery": None}
    report["rates"] |= {"acks_per_s": 0.0}
    everything = _window("produce", 0, 0.0, 0.0, 8.0)
    everything |= {"end_s": None, "length_s": 12.7, "injection_to_first_ack_s": None}
    report["windows"] = [everything | {"heal_to_first_ack_s": None, "attempts": 508}]
    report["longest_window_s"] = {"produce": 12.7, "consume": None}
    report["faults"][0] |= {"in_force_s": None, "healed_s": None, "evidence": None, "after": None}
    report["faults"][0] |= {"error": "pid 812 was still there after 10 s", "heal_evidence": None}
    report["final_read"] = {"complete": False, "partitions": [_partition(complete=False)]}
    report["planned_faults"] = 2
    report |= {
        "verdict": "unknown",
        "exit_code": 2,
        "sentence": "This run proves nothing: no send was acknowledged.",
        "reasons": ["no acks", "a planned fault was not in force", "final read incomplete"],
    }
    report["run"] |= {"state": "incomplete", "failure": {"phase": "load", "error": "time limit"}}
    return example


def empty() -> Example:
    """A history with nothing in it: no send, no fault, no host facts, no timeline."""
    example = unknown()
    report = example.report
    report["counts"] = dict.fromkeys(report["counts"], 0)
    report |= {"anomalies": {}, "windows": [], "faults": [], "planned_faults": 0, "host": {}}
    report |= {"latency_ms": {"ack": None, "delivery": None}, "versions": {}}
    report |= {"rates": {"sends_per_s": None, "acks_per_s": None, "load_s": None}}
    report["longest_window_s"] = {"produce": None, "consume": None}
    report["final_read"] = {"complete": False, "partitions": []}
    report["configuration"] = dict.fromkeys(report["configuration"], {}) | {"differences": []}
    report["run"] |= {"duration_s": None, "ended_utc": None}
    return Example(report=report, timeline=[], views=[])


def huge() -> Example:
    """Two hundred faults in an hour, twelve partitions, and three thousand losses, ten shown."""
    example = kills(times=200, period_s=18.0, seed=3)
    report = example.report
    finding = report["anomalies"]["lost"]
    rows = [_lost(number, report["windows"]) for number in range(10)]
    finding |= {"count": 3086, "convicts": True, "forbidden": True, "examples": rows}
    finding["split"] = {"delivered_before": 12, "never_delivered": 3074}
    report |= {"verdict": "invalid", "exit_code": 1, "reasons": ["lost: 3,086 seen"]}
    report["sentence"] = "Kafka lost 3,086 acknowledged records that it promised to keep."
    views = [view | {"partition": p} for view in example.views for p in range(12)]
    for bucket in example.timeline:
        bucket["lost"] = 9 if 300.0 <= bucket["t_s"] < 334.3 else 0
    return Example(report=report, timeline=example.timeline, views=views)


def hostile() -> Example:
    """A run whose every text tries to leave its place: tags, a script's end, control characters."""
    example = invalid()
    attack = (
        "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>\x00\u2028"
    )
    report = example.report
    report["sentence"] = report["run"]["title"] = report["run"]["command"] = attack
    report["reasons"] = [attack]
    for fault in report["faults"]:
        fault |= {"verb": attack, "nodes": [attack], "evidence": attack}
    report["anomalies"]["lost"]["examples"][0]["process"] = attack
    report["anomalies"]["lost"]["promise"] = attack
    report["configuration"]["producer"][attack] = attack
    views = [view | {"leader": attack} for view in example.views]
    return Example(report=report, timeline=example.timeline, views=views)


def _view(time_s: float, *, leader: int, isr: tuple[int, ...], controller: int) -> dict[str, Any]:
    return {
        "time_s": time_s,
        "partition": 0,
        "leader": NODES[leader],
        "isr": [NODES[n] for n in isr],
        "controller": NODES[controller],
    }


def _fault(
    number: int, start_s: float, heal_s: float, leader: int, follower: int, controller: int
) -> dict[str, Any]:
    survivors = sorted({0, 1, 2} - {leader})
    return {
        "fault": number,
        "step": number,
        "verb": "kill",
        "target": "leader",
        "nodes": [NODES[leader]],
        "start_s": start_s,
        "in_force_s": start_s + 0.021,
        "healed_s": heal_s,
        "evidence": f"pid {812 + 37 * number} is gone",
        "heal_evidence": "ISR of partition 0 full: kafka1, kafka2, kafka3",
        "error": None,
        "before": _state(leader, (0, 1, 2), controller),
        "after": _state(follower, tuple(survivors), follower),
    }


def _state(leader: int, isr: tuple[int, ...], controller: int) -> dict[str, Any]:
    names = [NODES[n] for n in isr]
    return {"leader": {"0": NODES[leader]}, "isr": {"0": names}, "controller": NODES[controller]}


def _window(kind: str, fault: int, start_s: float, end_s: float, heal_s: float) -> dict[str, Any]:
    return {
        "kind": kind,
        "partition": 0,
        "start_s": start_s,
        "end_s": end_s,
        "length_s": end_s - start_s,
        "attempts": 1 if kind == "produce" else 14,
        "faults": [fault],
        "injection_to_first_ack_s": end_s - start_s + 0.03,
        "heal_to_first_ack_s": max(0.0, end_s - heal_s),
    }


def _bucket(number: int, windows: list[dict[str, Any]], random: Random) -> dict[str, Any]:
    """A tenth of a second: quiet inside a window, slow just after it, else some 270 acks a second."""
    t_s = number / 10
    inside = any(w["kind"] == "produce" and w["start_s"] <= t_s < w["end_s"] for w in windows)
    since = min((t_s - w["end_s"] for w in windows if t_s >= w["end_s"]), default=60.0)
    warm = min(1.0, 0.25 + since / 2.5)
    acks = 0 if inside else int(random.gauss(27, 2.4) * warm)
    p50 = None if acks == 0 else round(random.gauss(1.9, 0.15) / warm, 3)
    slow = 5000.0 if since < 0.12 else 0.0
    return {
        "t_s": t_s,
        "acks": acks,
        "fails": 0,
        "infos": 1 if inside and number % 17 == 0 else 0,
        "reads": acks,
        "ack_p50_ms": p50,
        "ack_p99_ms": None if p50 is None else round(p50 * random.uniform(2, 7) + slow, 3),
    }


def _lost(number: int, windows: list[dict[str, Any]]) -> dict[str, Any]:
    window = windows[min(3 * number + 1, len(windows) - 1)]
    acked_s = window["start_s"] - 0.012
    return {
        "run_id": "study-1/20261121T021500Z-42",
        "process": "producer-0",
        "value": 977 + 2014 * number,
        "partition": 0,
        "offset": 981 + 2014 * number,
        "acked_ns": int(acked_s * 1e9),
        "acked_s": acked_s,
        "delivered_before": number != 1,
        "leader": NODES[number % 3],
        "faults": window["faults"],
    }


def _partition(*, complete: bool = True) -> dict[str, Any]:
    end = 9997 if complete else 4100
    return {
        "partition": 0,
        "log_start": 0,
        "committed_end": 9997,
        "uncommitted_end": 9997,
        "position": end,
        "complete": complete,
    }


def _report(
    timeline: list[dict[str, Any]], faults: list[dict[str, Any]], windows: list[dict[str, Any]]
) -> dict[str, Any]:
    """A valid report (schema 1) around these faults and windows."""
    load_s = timeline[-1]["t_s"] + 0.1
    return {
        "schema": 1,
        "run_id": "study-1/20261121T021500Z-42",
        "verdict": "valid",
        "exit_code": 0,
        "sentence": "Kafka kept its promises: none of 9,997 acknowledged records was lost.",
        "reasons": [],
        "run": _run(load_s),
        "counts": _counts(),
        "rates": {"sends_per_s": 10000 / load_s, "acks_per_s": 9997 / load_s, "load_s": load_s},
        "latency_ms": {
            "ack": {"p50": 1.93, "p95": 6.1, "p99": 12.7, "p999": 5210.4, "max": 6103.2},
            "delivery": {"p50": 3.1, "p95": 8.8, "p99": 19.0, "p999": 5240.0, "max": 6110.0},
        },
        "anomalies": {name: _finding(name) for name in PROMISES},
        "windows": windows,
        "longest_window_s": {
            kind: max((w["length_s"] for w in windows if w["kind"] == kind), default=None)
            for kind in ("produce", "consume")
        },
        "faults": faults,
        "planned_faults": len(faults),
        "final_read": {"complete": True, "partitions": [_partition()]},
        "configuration": _configuration(),
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


def _run(load_s: float) -> dict[str, Any]:
    return {
        "scenario": "study-1",
        "title": "The study's test 1: acks=1, leader killed",
        "seed": 42,
        "backend": "local",
        "state": "complete",
        "started_utc": "2026-11-21T02:15:00Z",
        "ended_utc": "2026-11-21T02:17:04Z",
        "duration_s": load_s + 31.0,
        "command": "kafka-harness run study-1 --backend local --seed 42",
        "failure": None,
    }


def _counts() -> dict[str, int]:
    return {
        "sends": 10000,
        "acked": 9997,
        "acked_without_offset": 0,
        "failed": 0,
        "indeterminate": 3,
        "indeterminate_landed": 1,
        "indeterminate_not_landed": 2,
        "unacknowledged_lost": 0,
        "reads": 9994,
        "lookups": 10000,
        "lookups_not_found": 3,
        "final_read_records": 9997,
        "torn_records": 0,
        "worker_errors": 23,
    }


def _finding(name: str) -> dict[str, Any]:
    promise, source = PROMISES[name]
    return {
        "count": 0,
        "split": {},
        "forbidden": name not in {"lost", "vanished", "duplicate", "stale-read"},
        "promise": promise,
        "source": source,
        "demanded": None,
        "demand_met": None,
        "convicts": False,
        "examples": [],
    }


def _configuration() -> dict[str, Any]:
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
                "key": "linger.ms",
                "java_default": "5",
                "librdkafka_default": "5",
                "used": "0",
            },
            {
                "key": "enable.idempotence",
                "java_default": "true",
                "librdkafka_default": "false",
                "used": "false",
            },
            {
                "key": "max.in.flight",
                "java_default": "5",
                "librdkafka_default": "1000000",
                "used": "1",
            },
        ],
    }
