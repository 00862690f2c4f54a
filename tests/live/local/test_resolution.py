"""Every target on a real cluster means who the cluster itself says it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import commands

pytestmark = pytest.mark.cluster

SCRIPT = Path(__file__).with_name("resolve.py")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return commands.script_result(
        "baseline",
        "--set",
        "cluster.zoo.tickTime=500",
        "--",
        sys.executable,
        str(SCRIPT),
        limit_s=150,
    )


def test_leader_followers_and_controller_are_those_of_zookeeper(told):
    targets, view = told["targets"], told["view"]

    assert targets["leader"] == [view["leader"]["0"]] == targets["preferred-leader"] == ["kafka2"]
    assert targets["followers"] == ["kafka1", "kafka3"]
    assert targets["follower"][0] in targets["followers"]
    assert targets["controller"] == [view["controller"]]
    both = targets["leader-and-controller"], targets["leader-not-controller"]
    assert sorted(both, key=bool) == [None, ["kafka2"]]
    assert targets["last-isr"] is None  # three are in it


@pytest.mark.parametrize("kind", ["group", "transaction"])
def test_a_coordinator_leads_the_partition_that_it_was_written_to(told, kind):
    (partition,) = told["written"][kind]

    assert told["targets"][f"{kind}-coordinator"] == [told["leaders"][kind][partition]]


def test_so_many_nodes_are_so_many(told):
    sizes = {target: len(nodes) for target, nodes in told["targets"].items() if nodes}

    assert {t: sizes[t] for t in ("one", "random", "minority", "majority", "all")} == {
        "one": 1,
        "random": 1,
        "minority": 1,
        "majority": 2,
        "all": 3,
    }
    assert {t: n for t, n in sizes.items() if t.startswith("zk-")} == {
        "zk-leader": 1,
        "zk-follower": 1,
        "zk-followers": 2,
        "zk-one": 1,
        "zk-minority": 1,
        "zk-majority": 2,
        "zk-all": 3,
    }
    assert not set(told["targets"]["zk-leader"]) & set(told["targets"]["zk-followers"])


def test_when_zookeeper_is_dead_roles_are_the_last_known_ones_and_marked(told):
    remembered = (
        "leader",
        "followers",
        "controller",
        "preferred-leader",
        "group-coordinator",
        "transaction-coordinator",
    )

    assert told["known"] is False
    assert {t: told["blind"][t] for t in remembered} == {t: told["targets"][t] for t in remembered}
    assert told["blind"]["zk-leader"] is None
