"""What the code under test says of a random cluster's record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.causes.run_facts.faults import Happened
from analysis.causes.run_facts.kafka import Kafka, kafka_of
from analysis.causes.seen import Seen
from analysis.causes.states import partitions_of
from analysis.verdict.permission import Permission, facts_in, permission
from tests.support.permissions.cluster import CONTROLLERS, ENSEMBLE, Cluster, Sent
from tests.support.permissions.forgotten import LOOKS_EACH
from tests.support.permissions.random_clusters import BROKERS
from tests.support.permitting import Record

TOPIC = "harness"
NODES = {name: {"role": "broker", "id": number} for number, name in enumerate(BROKERS, 1)}
BESIDE = {name: {"role": "zookeeper"} for name in ENSEMBLE}
APART = {name: {"role": "controller"} for name in CONTROLLERS}


def kafka_in(cluster: Cluster) -> Kafka:
    """The Kafka that it runs."""
    if not cluster.kraft:
        return kafka_of({"nodes": NODES | BESIDE})
    words = {
        "kafka": "4.4.0" if cluster.unclean_by_setting else "3.7.2",
        "metadata": "kraft-combined" if cluster.combined else "kraft",
        "voters": "dynamic" if cluster.dynamic else "static",
        "features": {"eligible.leader.replicas.version": int(cluster.elr)},
    }
    nodes = NODES if cluster.combined else NODES | APART
    return kafka_of({"scenario": {"cluster": words}, "nodes": nodes})


def permission_in(cluster: Cluster) -> Permission:
    """What permits what there."""
    server = {"replica.lag.time.max.ms": str(cluster.lag_max_ms)}
    server["producer.id.expiration.check.interval.ms"] = str(LOOKS_EACH // 10**6)
    server |= {} if cluster.epochs else {"inter.broker.protocol.version": "0.10.2-IV0"}
    producer = {"acks": cluster.acks, "retries": cluster.retries}
    scenario: dict[str, Any] = {
        "topic": {"replication_factor": cluster.replicas, "config": cluster.topic},
        "workload": {
            "producer": {**producer, "enable.idempotence": cluster.idempotent},
            "consumer": {"check.crcs": cluster.checks_crcs},
            "read_via": "follower" if cluster.follower_reads else "bootstrap",
        },
        "check": {"replicas": True, "watermarks": True},
    }
    plan = [
        {"step": step, "effects": effects, "options": cluster.options.get(step, {})}
        for step, effects in cluster.effects.items()
    ]
    kafka, topic = kafka_in(cluster), {**cluster.topic, "min.insync.replicas": cluster.min_isr}
    nodes = NODES | (APART if cluster.kraft else BESIDE)
    happened = Happened.of(cluster.faults, plan, nodes, kafka.quorum)
    known, least_safe = (
        replace(
            facts_in(scenario, server, happened, kafka, unknown_did_all=unknown),
            reads_metadata=cluster.kraft,
        )
        for unknown in (False, True)
    )
    below = kafka.eligible_below(server, {**scenario["topic"], "config": topic})
    return permission(
        known,
        least_safe,
        Seen(
            facts=known,
            happened=happened,
            kafka=kafka,
            partitions=partitions_of(cluster.views, cluster.blind, cluster.partitions, below),
            brokers=cluster.brokers,
            topic=TOPIC,
            topic_config=cluster.topic,
            server=server,
            read_ended_ns=cluster.read_ended,
            lag_max_ms=cluster.lag_max_ms,
        ),
    )


def record_of(sent: Sent, anomaly: str) -> Record:
    """The record as a row of evidence has it: only a rule with victims says who was given them."""
    contradicted = anomaly == "inconsistent-offset"
    return Record(
        partition=sent.partition,
        begun_ns=sent.begun,
        known_ns=sent.known,
        outcome="two_values" if contradicted else None,
        delivered=sent.delivered and contradicted,
        time_ns=sent.looked,
        shown_ns=sent.shown,
        lacked_by=sent.lacked_by,
    )
