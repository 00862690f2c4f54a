"""Assignments: who has which replica next."""

from __future__ import annotations

from harness.nemesis.faults.admin import replica_assignments
from harness.nemesis.faults.admin.replica_assignments import of_topic

BROKERS = ("kafka1", "kafka2", "kafka3")
NOW = of_topic("t", [("kafka1", "kafka2"), ("kafka3", "kafka1")])


def test_shifted_every_replica_goes_to_the_next_broker():
    assert replica_assignments.shifted(NOW, BROKERS) == {
        ("t", 0): ("kafka2", "kafka3"),
        ("t", 1): ("kafka1", "kafka2"),
    }


def test_raised_every_partition_has_one_more_replica_and_the_same_preferred_leader():
    assert replica_assignments.raised(NOW, BROKERS) == {
        ("t", 0): ("kafka1", "kafka2", "kafka3"),
        ("t", 1): ("kafka3", "kafka1", "kafka2"),
    }


def test_without_a_broker_its_replicas_go_to_who_has_none_in_the_same_place():
    everywhere = of_topic("internal", [BROKERS])

    assert replica_assignments.without({**NOW, **everywhere}, "kafka1", BROKERS) == {
        ("t", 0): ("kafka3", "kafka2"),
        ("t", 1): ("kafka3", "kafka2"),
    }
    assert replica_assignments.without(NOW, "kafka2", BROKERS) == {("t", 0): ("kafka1", "kafka3")}


def test_led_by_puts_the_new_leader_first_and_keeps_the_rest_in_order():
    led = replica_assignments.led_by(of_topic("t", [BROKERS, BROKERS]), {("t", 1): "kafka3"})

    assert led == {("t", 1): ("kafka3", "kafka1", "kafka2")}
