"""Builders of checked runs, as the report's two writers get them: report, timeline and views.

`kills()` is the shape the others grow from: a minute and a half of writes followed by reads,
ten leader kills, and a gap without acks after each. Everything is computed from a seed,
so a picture of it is the same today and tomorrow.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.model.runs.report import Report
from tests.support.pages import report_parts

NODES = ("kafka1", "kafka2", "kafka3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One checked run: the arguments of `page.render`."""

    report: dict[str, Any]
    timeline: list[dict[str, Any]]
    views: list[dict[str, Any]]

    @property
    def model(self) -> Report:
        """The report as it is now."""
        return Report.model_validate(self.report)


def kills(*, times: int = 10, gap_s: float = 5.6, period_s: float = 8.7, seed: int = 42) -> Example:
    """A run in which the leader is killed `times` times, each followed by a gap of `gap_s`."""
    random = Random(seed)
    faults, windows, views = [], [], [_view(-1.0, leader=0, isr=(0, 1, 2), controller=1)]
    leader, controller = 0, 1
    for number in range(times):
        start_s = 4.0 + number * period_s
        back_s = start_s + gap_s * random.uniform(0.92, 1.1)
        heal_s = start_s + 0.74 * (back_s - start_s)
        others = sorted({0, 1, 2} - {leader})
        follower = random.choice(others)
        views += [
            _view(back_s - 0.12, leader=follower, isr=tuple(others), controller=follower),
            _view(back_s + 1.3, leader=follower, isr=(0, 1, 2), controller=follower),
        ]
        faults.append(_fault(number, (start_s, heal_s), leader, follower, controller))
        windows.append(_window("produce", number, start_s + 0.04, back_s, heal_s))
        if number % 3 == 0:
            windows.append(_window("consume", number, start_s + 0.1, back_s + 0.2, heal_s))
        leader = controller = follower
    end_s = 4.0 + times * period_s
    gaps = [(w["start_s"], w["end_s"]) for w in windows if w["kind"] == "produce"]
    timeline = _timeline(gaps, end_s, random)
    return Example(
        report=report_parts.report(timeline, faults, windows), timeline=timeline, views=views
    )


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
        "sentence": "Data was lost: 3 of 9,997 acknowledged records are gone after the leader was "
        "killed 10 times; with acks=all Kafka promises that this cannot happen. Writes stopped for "
        "at most 5.9 s.",
        "reasons": ["lost: 3 seen, forbidden by this configuration"],
        "verdict_words": "lost: 3 seen, forbidden by this configuration",
        **report_parts.lost("3"),
    }
    return example


def control() -> Example:
    """acks=1 loses three records and two come twice: allowed, demanded, and therefore valid."""
    example = kills()
    report = example.report
    report["anomalies"]["lost"] |= {
        "count": 3,
        "split": {"delivered_before": 2, "never_delivered": 1},
        "judged": {"permitted": 3, "forbidden": 0, "in_doubt": 0},
        "demanded": ">= 1",
        "demand_met": True,
        "examples": [_lost(number, report["windows"]) for number in range(3)],
    }
    report["causes"] = [report_parts.cause(number) for number in (1, 2)]
    report["anomalies"]["duplicate"] |= {
        "count": 2,
        "examples": [
            {"value": value, "partition": 0, "offset": value - 3, "other_offset": value - 2}
            for value in (2310, 7781)
        ],
    }
    report |= report_parts.lost("3", ", 2 duplicates")
    report["sentence"] = (
        "Data was lost: 3 of 9,997 acknowledged records are gone after the leader was killed 10 "
        "times; with acks=1 Kafka allows this. 2 records are in the log more than "
        "once, which this configuration allows. Writes stopped for at most 5.9 s."
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
    report["latency_ms"] = {"ack": None, "delivery": None}
    report["rates"] |= {"acks_per_s": 0.0}
    never = dict.fromkeys(("end_s", "leader_s", "injection_to_first_ack_s", "heal_to_first_ack_s"))
    report["windows"] = [
        _window("produce", 0, 0, 0, 8) | never | {"length_s": 12.7, "attempts": 508}
    ]
    report["longest_window_s"] = {"produce": 12.7, "consume": 0.0}
    report["faults"][0] |= {"in_force_s": None, "healed_s": None, "evidence": None, "after": None}
    report["faults"][0] |= {"error": "pid 812 was still there after 10 s", "heal_evidence": None}
    report["final_read"] = {
        "complete": False,
        "partitions": [report_parts.partition(complete=False)],
    }
    report["planned_faults"] = 2
    report |= {
        "verdict": "unknown",
        "exit_code": 2,
        "sentence": "This run proves nothing: no send was acknowledged.",
        "reasons": ["no acks", "a planned fault was not in force", "final read incomplete"],
        "outcome": {"data": "unknown", "words": "not known whether data was lost"},
        "verdict_words": "no acks, and 2 more",
        "cap": report_parts.cap("", ""),
    }
    report["run"] |= {"state": "incomplete", "failure": {"phase": "load", "error": "time limit"}}
    return example


def empty() -> Example:
    """A history with nothing in it: no send, no fault, no host facts, no timeline."""
    example = unknown()
    report = example.report
    report["counts"] = dict.fromkeys(report["counts"], 0)
    report |= {"anomalies": {}, "windows": [], "faults": [], "planned_faults": 0, "host": {}}
    report["versions"] = {}
    report |= {"rates": {"sends_per_s": None, "acks_per_s": None, "load_s": None}}
    report["longest_window_s"] = {"produce": 0.0, "consume": 0.0}
    report["final_read"] = {"complete": False, "partitions": []}
    report["configuration"] = {key: {} for key in report["configuration"]}
    report["configuration"]["differences"] = []
    report["run"]["duration_s"] = None
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
    report |= {"verdict_words": "lost: 3,086 seen", **report_parts.lost("3,086")}
    report["sentence"] = "Kafka lost 3,086 acknowledged records that it promised to keep."
    views = [view | {"partition": p} for view in example.views for p in range(12)]
    for bucket in example.timeline:
        bucket["lost"] = 45 if 300.0 <= bucket["t_s"] < 334.3 else 0
    return Example(report=report, timeline=example.timeline, views=views)


def hostile() -> Example:
    """A run whose every text tries to leave its place: tags, a script's end, control characters."""
    example = invalid()
    attack = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>"
    attack += "\x00\u2028\udc80"
    report = example.report
    report["sentence"] = report["run"]["title"] = report["run"]["command"] = attack
    report["reasons"] = [attack]
    report["outcome"]["words"] = report["verdict_words"] = report["cap"]["words"] = attack
    for fault in report["faults"]:
        fault |= {"verb": attack, "nodes": [attack], "evidence": attack}
    report["anomalies"]["lost"]["examples"][0]["sent"] = attack
    report["anomalies"]["lost"]["promise"] = attack
    report["configuration"]["producer"][attack] = attack
    views = [view | {"leader": attack} for view in example.views]
    report["leadership"] = report_parts.leadership(stretches=20, leaderless=1)
    for row in report["leadership"]:
        row["brokers"][0]["broker"] = attack
    return Example(report=report, timeline=example.timeline, views=views)


def replication() -> dict[str, Any]:
    """Replicas that were followed: a follower left the ISR and was not seen to be back."""
    return {
        "looks": 560,
        "every_ms": 54.9,
        "checkpoint_ms": 5000.0,
        "isr_limit_s": 4.0,
        "lag": [
            {
                "partition": 0,
                "broker": "kafka3",
                "offsets": {"p50": 1, "p95": 6, "max": 13},
                "ms": {"p50": 210.6, "p95": 984.7, "max": 3086.6},
            },
            {
                "partition": 0,
                "broker": "kafka2",
                "offsets": {"p50": 0, "p95": 0, "max": 0},
                "ms": None,
            },
        ],
        "isr": [
            {
                "fault": 0,
                "partition": 0,
                "broker": "kafka3",
                "caught_up_s": 10.21,
                "left_s": 15.017,
                "leave_after_s": 4.807,
                "leave_of_limit": 1.2,
                "reached_s": 24.553,
                "returned_s": None,
                "return_after_s": None,
                "heal_to_return_s": None,
            }
        ],
        "elections": [
            {
                "partition": 0,
                "broker": "kafka2",
                "before": "kafka1",
                "elected_s": 12.5,
                "log_end": 1204,
                "end_before": 3310,
            }
        ],
        "lost_past_log_end": 2106,
        "kept_past_log_end": 1,
        "lost_within_log_end": 0,
    }


def _view(time_s: float, *, leader: int, isr: tuple[int, ...], controller: int) -> dict[str, Any]:
    return {
        "time_s": time_s,
        "partition": 0,
        "leader": NODES[leader],
        "isr": [NODES[n] for n in isr],
        "controller": NODES[controller],
    }


def _fault(
    number: int, at_s: tuple[float, float], leader: int, follower: int, controller: int
) -> dict[str, Any]:
    return {
        "fault": number,
        "step": number,
        "verb": "kill",
        "target": "leader",
        "nodes": [NODES[leader]],
        "start_s": at_s[0],
        "in_force_s": at_s[0] + 0.021,
        "healing_s": at_s[1] - 0.4,
        "healed_s": at_s[1],
        "evidence": f"pid {812 + 37 * number} is gone",
        "heal_evidence": "ISR of partition 0 full: kafka1, kafka2, kafka3",
        "error": None,
        "before": _state(leader, (0, 1, 2), controller),
        "after": _state(follower, tuple(sorted({0, 1, 2} - {leader})), follower),
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
        "leader_s": (start_s + end_s) / 2,
        "faults": [fault],
        "injection_to_first_ack_s": end_s - start_s + 0.03,
        "heal_to_first_ack_s": max(0.0, end_s - heal_s),
    }


def _timeline(
    gaps: list[tuple[float, float]], end_s: float, random: Random
) -> list[dict[str, Any]]:
    """Quiet in a gap, slow just after it, else some 270 acks a second."""
    width_s = 0.1 if end_s < 120 else 0.5
    buckets = []
    for number in range(round(end_s / width_s)):
        t_s = round(number * width_s, 1)
        at = bisect_right(gaps, (t_s, math.inf)) - 1
        inside = at >= 0 and t_s < gaps[at][1]
        since_s = t_s - gaps[at - inside][1] if at - inside >= 0 else 60.0
        buckets.append(_bucket(t_s, width_s, inside, since_s, random))
    return buckets


def _bucket(
    t_s: float, width_s: float, inside: bool, since_s: float, random: Random
) -> dict[str, Any]:
    warm = min(1.0, 0.25 + since_s / 2.5)
    acks = 0 if inside else int(random.gauss(270, 24) * warm * width_s)
    p50 = None if acks == 0 else round(random.gauss(1.9, 0.15) / warm, 3)
    slow = random.uniform(4800, 6100) if since_s < 0.12 else 0.0
    return {
        "t_s": t_s,
        "acks": acks,
        "fails": 0,
        "infos": 1 if inside and random.random() < 0.01 else 0,
        "reads": acks,
        "ack_p50_ms": p50,
        "ack_p99_ms": None if p50 is None else round(p50 * random.uniform(2, 7) + slow, 3),
    }


def _lost(number: int, windows: list[dict[str, Any]]) -> dict[str, Any]:
    window = windows[min(3 * number + 1, len(windows) - 1)]
    acked_s = window["start_s"] - 0.012
    delivered_s = acked_s + 0.003 if number != 1 else None
    return {
        "anomaly": "lost",
        "value": 977 + 2014 * number,
        "producer": 0,
        "sequence": 977 + 2014 * number,
        "sent": "acked",
        "partition": 0,
        "offset": 981 + 2014 * number,
        "other_partition": None,
        "other_offset": None,
        "outcome": "delivered_before" if delivered_s else "never_delivered",
        "time_ns": int(acked_s * 1e9),
        "acked_ns": int(acked_s * 1e9),
        "delivered_ns": int(delivered_s * 1e9) if delivered_s else None,
        "time_s": acked_s,
        "acked_s": acked_s,
        "delivered_s": delivered_s,
        "leader": NODES[number % 3],
        "faults": [],
        "next_fault": window["faults"][0],
    }
