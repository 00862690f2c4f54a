"""A Kafka in pods that is not ours: which pod is which broker, and who is connected to it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.cluster.kubernetes.attach import client_address, rules
from harness.cluster.nodes import ClusterError, Node

KAFKAS = tuple(
    Node(name=f"kafka{i}", role="broker", id=i, address="a", port=9094) for i in (0, 1, 2)
)
PODS = ("my-cluster-kafka-0", "my-cluster-kafka-1", "my-cluster-kafka-2")


def test_the_number_at_the_end_of_a_pod_s_name_is_its_broker_s_id() -> None:
    assert {"kafka0": PODS[0], "kafka1": PODS[1], "kafka2": PODS[2]} == rules.pods_by_node(
        KAFKAS, PODS
    )
    assert 12 == rules.numbered("my-cluster-pool-a-12")


@pytest.mark.parametrize(
    ("nodes", "pods", "words"),
    [
        (KAFKAS, PODS[:2], "no pod of .*selectors.brokers is that of kafka2: the pods are my-"),
        (KAFKAS, (), "the pods are none"),
        (KAFKAS[:2], PODS, "pod my-cluster-kafka-2 is not a broker of this cluster"),
        (
            KAFKAS,
            (*PODS, "other-kafka-1"),
            "pods my-cluster-kafka-1 and other-kafka-1 have the same number",
        ),
        (
            KAFKAS,
            (*PODS, "my-cluster-entity-operator-5c8x"),
            "no number at its end, .*: narrow backend.kubernetes.attach.selectors",
        ),
    ],
)
def test_a_broker_without_a_pod_and_a_pod_without_a_broker_are_told(
    nodes: Sequence[Node], pods: Sequence[str], words: str
) -> None:
    with pytest.raises(ClusterError, match=words):
        rules.pods_by_node(nodes, pods)


def test_connections_are_counted_by_who_calls_and_the_port_that_is_called() -> None:
    listing = """\
0      0      [::ffff:10.65.0.7]:9094 [::ffff:10.128.1.1]:40000
0      0      [::ffff:10.65.0.7]:9094 [::ffff:10.128.1.1]:40002
0      0               10.65.0.7:9091           10.65.0.8:50000
0      0              [fd00::7]:9094           [fd00::1]:40004
"""

    assert {("10.128.1.1", 9094): 2, ("10.65.0.8", 9091): 1, ("fd00::1", 9094): 1} == (
        client_address.ends_of(listing)
    )
