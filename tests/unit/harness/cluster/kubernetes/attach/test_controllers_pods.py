"""KRaft's controllers in pods that are not ours: which pod is whose, and what is put into it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cluster.kubernetes.attach import rules
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.kubernetes.attach.pod_selection import FoundPods
from harness.cluster.kubernetes.attach.run_containers import RunContainers
from harness.cluster.kubernetes.pod_watch import Pod
from harness.cluster.nodes import ClusterError, Node, controllers, quorum
from harness.model.scenario import SelectorsPart

KAFKAS = tuple(
    Node(name=f"kafka{i}", role="broker", id=i, address="a", port=9094) for i in (0, 1, 2)
)


def pod(name: str, address: str, *volatile: str) -> Pod:
    return Pod(
        name=name,
        uid=name,
        ip=address,
        host_ip="10.1.0.1",
        leaving=False,
        ready=True,
        restarts=0,
        trouble=None,
        containers=("kafka",),
        volatile=volatile,
    )


class Api:
    """Pods by the one label that a selector names."""

    def __init__(self, **of: list[Pod]) -> None:
        self.of = {label: {each.name: each for each in pods} for label, pods in of.items()}

    def pods(self, selector: str) -> dict[str, Pod]:
        return self.of[selector]


BROKERS = [pod(f"c-brokers-{i}", f"10.0.0.{i}") for i in (0, 1, 2)]
QUORUM = [pod(f"c-controllers-{i}", f"10.0.0.{i}") for i in (3, 4, 5)]


def found(of_quorum: list[Pod], quorum: str = "quorum") -> FoundPods:
    api: Any = Api(brokers=BROKERS, quorum=of_quorum)
    return FoundPods(api, SelectorsPart(brokers="brokers", controllers=quorum))


def test_a_controller_has_the_number_of_its_pod_and_is_where_that_is() -> None:
    pods = found(QUORUM)
    nodes = pods.select(KAFKAS, ["controller4", "quorum"])

    assert [node.name for node in quorum(nodes)] == ["controller3", "controller4", "controller5"]
    assert [node.id for node in quorum(nodes)] == [3, 4, 5]
    assert nodes[0].address == "10.0.0.3"
    assert [node.name for node in nodes[3:]] == ["kafka0", "kafka1", "kafka2"]
    assert pods.names["controller4"] == "c-controllers-4"
    assert pods.look()["controller4"].name == "c-controllers-4"


def test_an_end_of_links_that_is_no_controller_there_is_told() -> None:
    with pytest.raises(ClusterError, match=r"there is no node controller9; the cluster has kafka0"):
        found(QUORUM).select(KAFKAS, ["controller9"])


def test_brokers_that_are_controllers_too_stay_brokers() -> None:
    pods = found([], quorum="brokers")
    nodes = pods.select(KAFKAS, [])

    assert [node.name for node in nodes] == ["kafka0", "kafka1", "kafka2"]
    assert controllers(nodes) == nodes


def test_two_controllers_of_one_number_are_told() -> None:
    with pytest.raises(ClusterError, match=r"two pods of .*selectors.controllers have the same"):
        rules.quorum_of(KAFKAS, {}, ["a-3", "b-3"])


def test_a_controller_s_data_must_outlive_its_pod() -> None:
    with pytest.raises(ClusterError, match=r"c-controllers-3 would delete its node's data: its"):
        found([pod("c-controllers-3", "10.0.0.3", "data-0")]).check_data_outlive_pods()


@pytest.mark.parametrize(
    ("role", "kinds"), [("controller", [LINKS, PROCESS]), ("zookeeper", [LINKS])]
)
def test_a_controller_gets_the_containers_that_a_broker_gets(role: Any, kinds: list[str]) -> None:
    api: Any = None
    containers = RunContainers(api=api, run_id="s/1", image="i", container="kafka", limit_s=9)
    node = Node(name="x3", role=role, id=3, address="", port=1)
    made = containers._manifests(node, QUORUM[0], [LINKS, PROCESS])

    assert [each["name"].removeprefix(containers.prefix) for each in made] == kinds
