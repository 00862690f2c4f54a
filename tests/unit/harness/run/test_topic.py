"""Where the topic's first leader is placed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import brokers
from harness.cluster.view.state import ClusterView
from harness.model.scenario import TopicPart
from harness.run import topic

KAFKAS = brokers(local_nodes(0, 3))


@pytest.mark.parametrize(
    ("leader", "controller", "wanted"),
    [
        ("controller", "kafka2", "kafka2"),
        ("not-controller", "kafka2", "kafka3"),
        ("controller", "controller2", "kafka1"),
        ("not-controller", "controller2", "kafka1"),
        ("kafka3", "controller2", "kafka3"),
    ],
)
def test_a_controller_that_is_no_broker_leaves_the_choice_open(
    leader: str, controller: str, wanted: str
) -> None:
    view = cast(ClusterView, SimpleNamespace(controller=lambda: controller))

    assert topic._leader_wanted(TopicPart(leader=leader), KAFKAS, view).name == wanted
