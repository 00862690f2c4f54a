"""Twins on links: what two scenarios show differently comes from the one key that they name."""

from __future__ import annotations

import pytest
from test_scenario import differences

from harness import scenario
from harness.nemesis import plan

ACKS = "/workload/producer/acks"
MIN_ISR = "/topic/config/min.insync.replicas"
UNCLEAN = "/topic/config/unclean.leader.election.enable"
TOLD = {"name", "title", "expect"}
TWINS = [
    ("partition-cp", "partition-ap", UNCLEAN),
    ("partition-cp", "partition-min-isr-2", MIN_ISR),
    ("partition-controller-follower", "partition-controller-follower-pre-2.7",
     "/cluster/server/inter.broker.protocol.version"),
    ("leader-cut-from-zookeeper", "leader-cut-from-zookeeper-acks-all", ACKS),
    ("min-isr-1-degrades", "min-isr-2-refuses", MIN_ISR),
]  # fmt: skip


@pytest.mark.parametrize(("base", "twin", "key"), TWINS)
def test_twins_differ_in_the_key_they_name_and_share_the_plan(base, twin, key):
    one, other = scenario.load(base), scenario.load(twin)
    found = differences(one.model_dump(), other.model_dump())

    assert {key} == {path for path in found if path.split("/")[1] not in TOLD}
    assert plan.make(one.faults, 7) == plan.make(other.faults, 7)
