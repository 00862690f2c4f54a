"""Twins: what two scenarios show differently comes from the one key that they name."""

from __future__ import annotations

import pytest

from harness.model.plan import Step
from harness.model.scenario import Scenario
from harness.nemesis import plan
from harness.scenario.file import read_scenario
from harness.scenario.rules import setting_of
from tests.support.scenarios import differences

ACKS = "/workload/producer/acks"
MIN_ISR = "/topic/config/min.insync.replicas"
UNCLEAN = "/topic/config/unclean.leader.election.enable"
FLUSH = "/topic/config/flush.messages"
TOLD = {"name", "title", "expect"}
TWINS = [
    ("partition-cp", "partition-ap", UNCLEAN),
    ("partition-cp", "partition-min-isr-2", MIN_ISR),
    ("transactions", "transactions-uncommitted", "/workload/consumer/isolation.level"),
    (
        "partition-controller-follower",
        "partition-controller-follower-pre-2.7",
        "/cluster/server/inter.broker.protocol.version",
    ),
    ("leader-cut-from-zookeeper", "leader-cut-from-zookeeper-acks-all", ACKS),
    ("min-isr-1-degrades", "min-isr-2-refuses", MIN_ISR),
    *((f"replication-{n}", f"replication-{n}-acks-1", ACKS) for n in (1, 2, 3)),
    (
        "order-five-in-flight",
        "order-one-in-flight",
        "/workload/producer/max.in.flight.requests.per.connection",
    ),
    ("order-five-in-flight", "order-idempotent", "/workload/producer/enable.idempotence"),
    ("full-queue", "full-queue-waits", "/workload/when_full"),
    ("compacted", "compacted-unclean", UNCLEAN),
    ("power-loss-all", "power-loss-all-flushed", FLUSH),
    ("power-loss-sole", "power-loss-sole-flushed", FLUSH),
]


def planned(scenario: Scenario) -> tuple[Step, ...]:
    return plan.make(scenario.faults, 7, setting=setting_of(scenario))


@pytest.mark.parametrize(("base", "twin", "key"), TWINS)
def test_twins_differ_in_the_key_they_name_and_share_the_plan(base, twin, key):
    one, other = read_scenario(base), read_scenario(twin)
    found = differences(one.model_dump(), other.model_dump())

    assert {key} == {path for path in found if path.split("/")[1] not in TOLD}
    assert planned(one) == planned(other)


@pytest.mark.parametrize("history", ["loss", "divergence"])
def test_histories_with_and_without_leader_epochs_differ_in_the_protocol_alone(history):
    """Message formats follow the protocol: two keys that are one change."""
    one, other = (
        read_scenario(f"epoch-{history}-without"),
        read_scenario(f"epoch-{history}-with"),
    )
    found = differences(one.model_dump(), other.model_dump())

    assert {path for path in found if path.split("/")[1] not in TOLD} == {
        "/cluster/server/inter.broker.protocol.version",
        "/cluster/server/log.message.format.version",
    }
    assert planned(one) == planned(other)


def test_partition_ap_exact_only_looks_closer():
    one, other = read_scenario("partition-ap"), read_scenario("partition-ap-exact")
    found = differences(one.model_dump(), other.model_dump())

    assert {path for path in found if path.split("/")[1] not in TOLD} == {
        "/check/watermarks",
        "/cluster/server/replica.high.watermark.checkpoint.interval.ms",
    }
    assert planned(one) == planned(other)


def test_graceful_and_hard_failovers_differ_in_the_fault_alone():
    for one, other in (("graceful", "hard"), ("failover-graceful", "failover-hard")):
        found = differences(read_scenario(one).model_dump(), read_scenario(other).model_dump())
        assert {path for path in found if path.split("/")[1] not in TOLD} == {"/faults"}


def test_clean_and_hard_rolls_differ_in_the_signal_alone():
    one, other = read_scenario("rolling-restart"), read_scenario("rolling-restart-hard")
    found = differences(one.model_dump(), other.model_dump())

    assert {path for path in found if path.split("/")[1] not in TOLD} == {"/faults"}
    assert differences(one.faults[0].model_dump(), other.faults[0].model_dump()) == {"/options/how"}
