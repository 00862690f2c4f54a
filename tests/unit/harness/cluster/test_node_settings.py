"""zoo.cfg and server.properties: the scenario wins over defaults, the harness over the scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.cluster import node_settings
from harness.cluster.local.backend import kraft_nodes, local_nodes
from harness.cluster.nodes import Node, brokers, in_racks

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


KRAFT = kraft_nodes(3, 3, combined=False)
COMBINED = kraft_nodes(3, 4, combined=True)


def of_kraft(node: Node, nodes: Sequence[Node] = KRAFT, **settings: Any) -> dict[str, str]:
    wanted = node_settings.ClusterSettings(metadata="kraft", **settings)
    return node_settings.properties_of(node, nodes, "/data", wanted)


def test_a_controller_and_a_broker_of_kraft_know_the_quorum_and_no_zookeeper() -> None:
    controller, broker = of_kraft(KRAFT[0]), of_kraft(KRAFT[3])
    voters = "101@10.77.0.11:9093,102@10.77.0.12:9093,103@10.77.0.13:9093"

    assert (controller["process.roles"], controller["node.id"]) == ("controller", "101")
    assert controller["listeners"] == "CONTROLLER://10.77.0.11:9093"
    assert (broker["process.roles"], broker["node.id"]) == ("broker", "1")
    assert broker["listeners"] == "PLAINTEXT://10.77.0.21:9092"
    assert voters == controller["controller.quorum.voters"] == broker["controller.quorum.voters"]
    assert "broker.rack" not in controller
    assert not [key for key in (*controller, *broker) if key.startswith("zookeeper.")]


def test_with_dynamic_voters_nodes_are_told_where_to_ask() -> None:
    told = of_kraft(KRAFT[3], dynamic=True)

    assert told["controller.quorum.bootstrap.servers"].count(":9093") == 3
    assert "controller.quorum.voters" not in told


def test_the_first_brokers_are_the_controllers_of_a_combined_cluster() -> None:
    first, last = (of_kraft(node, COMBINED) for node in (COMBINED[0], COMBINED[3]))

    assert first["process.roles"] == "broker,controller"
    assert first["listeners"] == "PLAINTEXT://10.77.0.21:9092,CONTROLLER://10.77.0.21:9093"
    assert last["process.roles"] == "broker"
    assert last["controller.quorum.voters"].startswith("1@10.77.0.21:9093,2@")


def test_each_section_reaches_those_whose_it_is() -> None:
    sections: dict[str, Any] = {
        "server": {"a": 1, "b": 1},
        "broker": {"b": 2, "c": 2},
        "controller": {"c": 3},
    }
    controller, broker = (of_kraft(node, **sections) for node in (KRAFT[0], KRAFT[3]))
    combined = of_kraft(COMBINED[0], COMBINED, **sections)

    assert [controller.get(key) for key in "abc"] == ["1", "1", "3"]
    assert [broker.get(key) for key in "abc"] == ["1", "2", "2"]
    assert [combined.get(key) for key in "abc"] == ["1", "2", "3"]
    whole = node_settings.effective(node_settings.ClusterSettings(metadata="kraft", **sections))
    assert [whole["server"].get(key) for key in "abc"] == ["1", "2", "2"]
    assert [whole["controller"].get(key) for key in "abc"] == ["1", "1", "3"]


def test_beside_zookeeper_the_brokers_section_is_the_servers() -> None:
    beside = node_settings.ClusterSettings(server={"a": 1}, broker={"a": 2})

    assert node_settings.properties_of(KAFKA1, NODES, "/data", beside)["a"] == "2"
