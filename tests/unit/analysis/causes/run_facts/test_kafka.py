"""Which Kafka a run was made with: what its release and its mode have, and where settings count."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.causes.run_facts.configuration import UNCLEAN, facts_of
from analysis.causes.run_facts.kafka import Kafka, kafka_of
from harness.model.sections.kafka_releases import ELR
from tests.support.clusters import CONTROLLERS, ENSEMBLE, NODES, kraft

SCENARIO: dict[str, Any] = {
    "topic": {"replication_factor": 3, "config": {}},
    "workload": {"producer": {"acks": "all"}, "read_via": "bootstrap"},
}


def test_a_scenario_without_words_is_3_9_2_with_zookeeper() -> None:
    kafka = kafka_of({"scenario": {"cluster": {"brokers": 3}}, "nodes": NODES})

    assert (kafka.release, kafka.zookeeper, kafka.elr) == ("3.9.2", True, False)
    assert kafka.quorum == {*ENSEMBLE}
    assert kafka_of({}) == Kafka()


@pytest.mark.parametrize(
    ("release", "features", "told", "expected"),
    [
        ("3.9.2", {}, {}, False),
        ("4.0.2", {}, {}, False),
        ("4.0.2", {ELR: 1}, {}, True),
        ("4.1.2", {}, {}, True),
        ("4.4.0", {}, {}, True),
        ("4.4.0", {ELR: 0}, {}, False),
        ("4.4.0", {}, {"metadata.version": 29}, False),  # what brokers told counts
        ("4.0.2", {}, {"metadata.version": 25, ELR: 1}, True),
    ],
)
def test_eligible_leaders_are_remembered_from_4_1_on_or_where_that_is_asked_for(
    release: str, features: dict[str, int], told: dict[str, int], expected: bool
) -> None:
    assert kraft(release, features=features, record={"features": told}).elr is expected


def test_features_tell_that_a_cluster_of_whomever_has_kraft() -> None:
    theirs = kafka_of({"features": {"metadata.version": 25, ELR: 1}})

    assert (theirs.zookeeper, theirs.elr, theirs.keeper) == (False, True, "KRaft")
    assert kafka_of({"features": {}}).zookeeper
    assert kafka_of({"features": {}}).keeper == "ZooKeeper"


def test_with_zookeeper_nobody_remembers_any() -> None:
    assert not kafka_of({"scenario": {"cluster": {"features": {ELR: 1}}}}).elr


def test_what_ran_goes_before_what_was_asked_for() -> None:
    """A folder of the user's may hold any release; an image's name tells of
    a line where the scenario names none."""
    assert kraft("4.0.2", record={"versions": {"kafka": "4.3.1"}}).release == "4.3.1"
    assert kraft("4.0", record={"versions": {"kafka": "kafka-harness/kafka:1"}}).release == "4.0.2"
    assert kafka_of({"versions": {"kafka": "kafka-harness/kafka:3.6.2"}}).release == "3.6.2"


def test_a_session_is_that_of_the_mode() -> None:
    beside, apart = Kafka(), kraft()
    server = {"zookeeper.session.timeout.ms": "2000", "broker.session.timeout.ms": "3000"}

    assert beside.session_ms({}) == 18_000
    assert apart.session_ms({}) == 9_000
    assert beside.session_ms(server) == 2_000
    assert apart.session_ms(server) == 3_000
    assert kraft(controller={"broker.session.timeout.ms": "4000"}).session_ms(server) == 4_000


def test_the_next_controller_takes_a_while_with_kraft_only() -> None:
    fast = {"controller.quorum.fetch.timeout.ms": "500"}

    assert Kafka().new_controller_ms() == 0
    assert kraft().new_controller_ms() == 3_000
    assert kraft(controller=fast).new_controller_ms() == 1_500


def test_min_isr_is_the_controllers_where_they_remember_eligible_leaders() -> None:
    """Measured: of 4.3.1 the brokers' own value is ignored, of 4.0.2 it counts."""
    server, own = {"min.insync.replicas": "2"}, {"min.insync.replicas": "3"}

    assert kraft("4.3.1", controller={"log.retention.ms": "-1"}).min_isr(server, {}) == 1
    assert kraft("4.3.1").min_isr(server, {}) == 2  # the controllers' are not told
    assert kraft("4.3.1", controller=own).min_isr(server, {}) == 3
    assert kraft("4.0.2", controller=own).min_isr(server, {}) == 2
    assert kraft("4.3.1", controller=own).min_isr(server, server) == 2
    assert Kafka().min_isr(server, {}) == 2


def test_below_so_many_members_of_an_isr_others_may_be_eligible() -> None:
    topic = {"replication_factor": 2, "config": {"min.insync.replicas": "3"}}
    changed = [{"min.insync.replicas": "2"}]

    assert kraft("4.0.2").eligible_below({}, topic) == 0
    assert kraft().eligible_below({}, topic) == 2  # no more than there are
    assert kraft().eligible_below({}, {**topic, "config": {}}) == 1
    assert kraft().eligible_below({}, {**topic, "config": {}}, changed) == 2


@pytest.mark.parametrize(
    ("kafka", "where", "expected"),
    [
        (Kafka(), "server", True),
        (kraft("3.9.2"), "topic", True),
        (kraft("3.9.2", controller={UNCLEAN: "true"}), "nowhere", True),
        (kraft("3.9.2", controller={UNCLEAN: "false"}), "server", False),
        (kraft("3.7.2", controller={UNCLEAN: "true"}), "topic", False),
        (kraft("3.7.2"), "changed", False),
        (kraft("3.9.2"), "changed", True),
    ],
)
def test_unclean_elections_are_the_controller_s_to_configure(
    kafka: Kafka, where: str, expected: bool
) -> None:
    """With KRaft from 3.9 on; before, the key does nothing there."""
    allowed: dict[str, str] = {UNCLEAN: "true"}
    topic = {"replication_factor": 3, "config": allowed if where == "topic" else {}}
    changed = [allowed] if where == "changed" else []
    server = allowed if where == "server" else {}

    assert facts_of({**SCENARIO, "topic": topic}, server, changed, kafka).unclean is expected


def test_leader_epochs_are_there_whatever_a_key_of_zookeepers_says() -> None:
    old = {"inter.broker.protocol.version": "0.10.2-IV0"}

    assert facts_of(SCENARIO, old, (), kraft()).epochs
    assert not facts_of(SCENARIO, old).epochs


def test_who_keeps_the_metadata() -> None:
    assert kraft().quorum == {*CONTROLLERS}
    assert kraft(metadata="kraft-combined", controllers=1).quorum == {"kafka1"}
    assert kraft(metadata="kraft-combined").quorum == {"kafka1", "kafka2", "kafka3"}
