"""What happened in a cluster, as causes are found from it: views, faults and settings, in ms.

seen(led("kafka1", 0), led("kafka2", 50, epoch=1), faults=[hit("kill", "kafka1", 40)])
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.causes.run_facts.faults import Happened
from analysis.causes.run_facts.kafka import Kafka, kafka_of
from analysis.causes.seen import Seen
from analysis.causes.states import partitions_of
from analysis.verdict.permission import Permission, facts_in, permission
from harness.model.runs.old_runs import complete_steps
from tests.support.permitting import Record, judged

MS = 1_000_000
ALL = (1, 2, 3)
Row = dict[str, Any]
BROKERS = tuple(f"kafka{number}" for number in ALL)
ENSEMBLE = ("zk1", "zk2", "zk3")
NODES = {name: {"role": "broker"} for name in BROKERS} | {
    name: {"role": "zookeeper"} for name in ENSEMBLE
}
CONTROLLERS = ("controller1", "controller2", "controller3")
KRAFT_NODES = {name: {"role": "broker", "id": number} for number, name in enumerate(BROKERS, 1)} | {
    name: {"role": "controller", "id": 101 + number} for number, name in enumerate(CONTROLLERS)
}


def kraft(release: str = "4.4.0", *, metadata: str = "kraft", **told: Any) -> Kafka:
    """A Kafka of that release without ZooKeeper. Keywords: controller, its controllers' settings;
    record, more of run.json; others are the scenario's words of the cluster."""
    combined = metadata == "kraft-combined"
    nodes = {n: row for n, row in KRAFT_NODES.items() if not combined or row["role"] == "broker"}
    settings = {"server": {}, "controller": told.pop("controller", {})}
    more = told.pop("record", {})
    cluster = {"kafka": release, "metadata": metadata, **told}
    return kafka_of(
        {"scenario": {"cluster": cluster}, "nodes": nodes, "node_settings": settings, **more}
    )


def led(
    leader: int | None,
    ms: float,
    isr: Sequence[int] = ALL,
    *,
    epoch: int | None = 0,
    partition: int = 0,
    since_ms: float | None = None,
    controller: int | str = 3,
    elr: Sequence[int] | None = None,
    went_back: bool = False,
    changed: int | None = None,
) -> Row:
    """A view: who leads from then on, and who is in the ISR; seen at once unless told. `elr`: who
    is eligible to lead besides; `changed`: the partition epoch."""
    told: Row = {} if elr is None else {"elr": [f"kafka{number}" for number in elr]}
    told |= {} if changed is None else {"partition_epoch": changed}
    return told | {
        "time_ns": _ns(ms),
        "since_ns": _ns(ms if since_ms is None else since_ms),
        "partition": partition,
        "leader": None if leader is None else f"kafka{leader}",
        "isr": [f"kafka{number}" for number in isr],
        "leader_epoch": epoch,
        "controller": controller if isinstance(controller, str) else f"kafka{controller}",
        "went_back": went_back or None,
    }


def hit(
    verb: str,
    nodes: Sequence[int | str],
    ms: float,
    *,
    ok_ms: float | None = None,
    heal_ms: float | None = None,
    healed_ms: float | None = None,
    before: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> Row:
    """A fault; proved one ms later unless told, and healed only if told."""
    names = [node if isinstance(node, str) else f"kafka{node}" for node in nodes]
    return {
        "verb": verb,
        "target": "leader",
        "nodes": names,
        "invoke_ns": _ns(ms),
        "ok_ns": _ns(ms + 1 if ok_ms is None else ok_ms),
        "heal_invoke_ns": _ns(heal_ms if heal_ms is not None else healed_ms),
        "heal_ok_ns": _ns(healed_ms),
        "evidence": None,
        "before": None if before is None else json.dumps(before),
        "options": dict(options or {}),
        **more,
    }


def seen_by(
    *views: Any,
    faults: Sequence[Row] = (),
    blind: Sequence[tuple[float, float | None]] = (),
    partitions: int = 1,
    read_ended_ms: float | None = 10_000,
    first_ms: float = 0,
    kafka: Kafka | None = None,
    **configured: Any,
) -> Permission:
    """What permits what in a run of these views and faults. Keywords of the configuration: acks,
    retries, idempotent, topic, server, transactional, consumer, commit, compared."""
    rows: Any = [{**fault, "fault": n, "step": n} for n, fault in enumerate(faults)]
    kafka = kafka or kafka_of({"nodes": NODES})
    nodes = NODES if kafka.zookeeper else KRAFT_NODES
    happened = Happened.of(rows, list(complete_steps(rows)), nodes, kafka.quorum)
    topic, server = configured.get("topic", {}), configured.get("server", {})
    scenario = _scenario(configured)
    known = facts_in(scenario, server, happened, kafka)
    least_safe = facts_in(scenario, server, happened, kafka, unknown_did_all=True)
    below = kafka.eligible_below(server, scenario["topic"])
    dark: Any = [{"start_ns": _ns(start), "end_ns": _ns(end)} for start, end in blind]
    ended = {} if read_ended_ms is None else dict.fromkeys(range(partitions), _ns(read_ended_ms))
    return permission(
        known,
        least_safe,
        Seen(
            facts=known,
            happened=happened,
            kafka=kafka,
            partitions=partitions_of(views, dark, partitions, below),
            brokers=BROKERS,
            topic="t",
            topic_config=topic,
            server=server,
            first_ns=int(_ns(first_ms) or 0),
            read_ended_ns={partition: int(end or 0) for partition, end in ended.items()},
            lag_max_ms=float(server.get("replica.lag.time.max.ms", 30_000)),
        ),
    )


def verdict(
    permission_: Permission,
    anomaly: str,
    begun: float | None,
    known: float | None = None,
    **more: Any,
) -> str:
    """permitted, in-doubt or forbidden: of a record begun and known to be there at these ms."""
    record = Record(begun_ns=_ns(begun), known_ns=_ns(known), **more)
    return judged(permission_, anomaly, record)


def _scenario(configured: Mapping[str, Any]) -> Row:
    producer = {"acks": configured.get("acks", "all"), "retries": configured.get("retries", 5)}
    producer["enable.idempotence"] = configured.get("idempotent", False)
    if configured.get("transactional"):
        producer["transactional.id"] = "t"
    return {
        "topic": {"replication_factor": configured.get("replicas", 3)}
        | {"config": configured.get("topic", {})},
        "workload": {
            "producer": producer,
            "consumer": configured.get("consumer", {}),
            "group_consumers": int("commit" in configured and not configured.get("transforms")),
            "transformers": int("transforms" in configured),
            "commit": configured.get("commit", "after"),
            "read_via": configured.get("read_via", "bootstrap"),
        },
        "check": {"replicas": configured.get("compared", False), "watermarks": True},
    }


def _ns(ms: float | None) -> Any:
    return None if ms is None else int(ms * MS)
