"""zoo.cfg and server.properties: the scenario wins over defaults, the harness over the scenario."""

from __future__ import annotations

from harness.cluster import node_settings
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import brokers, in_racks

NODES = local_nodes(3, 3)
ZK1, KAFKA1 = NODES[0], NODES[3]


def test_a_member_knows_the_whole_ensemble():
    properties = node_settings.zoo_cfg(ZK1, NODES, "/data", {"tickTime": 500})

    assert properties["tickTime"] == "500"
    assert properties["server.3"] == "10.77.0.13:2888:3888"
    assert properties["dataDir"] == "/data"


def test_a_broker_has_an_address_of_its_own_and_knows_every_zookeeper():
    properties = node_settings.server_properties(KAFKA1, NODES, "/data", {})

    assert properties["listeners"] == "PLAINTEXT://10.77.0.21:9092"
    assert properties["zookeeper.connect"] == "10.77.0.11:2181,10.77.0.12:2181,10.77.0.13:2181"


def test_leadership_stays_and_topics_are_not_made_unless_the_scenario_says_otherwise():
    properties = node_settings.server_properties(KAFKA1, NODES, "/data", {})
    changed = node_settings.server_properties(
        KAFKA1, NODES, "/data", {"auto.leader.rebalance.enable": True}
    )

    assert properties["auto.leader.rebalance.enable"] == "false"
    assert properties["auto.create.topics.enable"] == "false"
    assert changed["auto.leader.rebalance.enable"] == "true"


def test_nothing_is_deleted_behind_the_checkers_back():
    assert node_settings.server_properties(KAFKA1, NODES, "/d", {})["log.retention.ms"] == "-1"


def test_internal_topics_fit_a_cluster_of_one_broker():
    nodes = local_nodes(1, 1)

    properties = node_settings.server_properties(nodes[1], nodes, "/data", {})

    assert properties["offsets.topic.replication.factor"] == "1"


def test_brokers_stand_in_racks_in_turn_or_each_in_its_own():
    nodes = in_racks(local_nodes(1, 4), 3)
    given = [node_settings.server_properties(each, nodes, "/data", {}) for each in brokers(nodes)]

    assert ["rack1", "rack2", "rack3", "rack1"] == [each["broker.rack"] for each in given]
    assert "kafka1" == node_settings.server_properties(KAFKA1, NODES, "/data", {})["broker.rack"]


def test_what_the_harness_owns_cannot_be_overridden():
    properties = node_settings.server_properties(KAFKA1, NODES, "/data", {"broker.id": 9})

    assert properties["broker.id"] == "1"


def test_properties_are_rendered_a_line_each():
    assert node_settings.render({"a": "1", "b.c": "x"}) == "a=1\nb.c=x\n"
