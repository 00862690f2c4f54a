"""cut and lose: which rules stand where, what counts as proof, and that only ours are removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.cluster.local.network import CLIENT_ADDRESS
from harness.cluster.nodes import ClusterError
from harness.cluster.view.state import PartitionState, View
from harness.nemesis.faults.network import iptables
from harness.nemesis.verbs import VERBS
from tests.support.labs.network import BY_NAME, NODES, Network, injection

LISTING = """Chain HARNESS-1 (1 references)
    pkts      bytes target     prot opt in     out     source               destination
       5      300 RETURN     6    --  *      *       10.77.0.22           0.0.0.0/0  tcp flags:0x04
      12      720 REJECT     6    --  *      *       10.77.0.22           0.0.0.0/0  reject-with
       3      180 DROP       0    --  *      *       10.77.0.22           0.0.0.0/0
       0        0 DROP       0    --  *      *       10.77.0.23           0.0.0.0/0
"""


def dropped(network: Network) -> dict[str, set[str]]:
    """Receiver -> the senders whose packets its chain takes."""
    names = {node.address: node.name for node in NODES} | {CLIENT_ADDRESS: "clients"}
    return {
        place: {names[rule.split()[3]] for rule in rules if rule.startswith("-A HARNESS-1 ")}
        for place, rules in network.rules.items()
        if "-A INPUT -j HARNESS-1" in rules
    }


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        (
            "kafka1",
            {"from": "followers"},
            {"kafka1": {"kafka2", "kafka3"}, "kafka2": {"kafka1"}, "kafka3": {"kafka1"}},
        ),
        ("kafka1", {"from": "followers", "direction": "in"}, {"kafka1": {"kafka2", "kafka3"}}),
        ("kafka1", {"from": "clients", "direction": "out"}, {"clients": {"kafka1"}}),
        ("kafka1", {"from": "zk2"}, {"kafka1": {"zk2"}, "zk2": {"kafka1"}}),
        ("kafka1", {"from": "kafka2, zk3", "direction": "in"}, {"kafka1": {"kafka2", "zk3"}}),
        ("kafka1", {"from": "zookeepers", "direction": "in"}, {"kafka1": {"zk1", "zk2", "zk3"}}),
        ("zk1", {"from": "zookeepers"}, {"zk1": {"zk2", "zk3"}, "zk2": {"zk1"}, "zk3": {"zk1"}}),
        ("kafka1", {"direction": "in"}, {"kafka1": {"kafka2", "kafka3", "zk1", "zk2", "zk3"}}),
        (
            "kafka1",
            {"from": "everyone", "direction": "in"},
            {"kafka1": {"kafka2", "kafka3", "zk1", "zk2", "zk3", "clients"}},
        ),
        (
            "kafka1 kafka2",
            {"from": "brokers"},
            {"kafka1": {"kafka3"}, "kafka2": {"kafka3"}, "kafka3": {"kafka1", "kafka2"}},
        ),
        (
            "zk1 zk2 zk3",
            {"shape": "scattered"},
            {"zk1": {"zk2", "zk3"}, "zk2": {"zk1", "zk3"}, "zk3": {"zk1", "zk2"}},
        ),
    ],
)
def test_rules_stand_at_the_receiver_and_name_the_sender(target, options, expected):
    network = Network()
    VERBS["cut"].inject(injection(network, target, **options))

    assert expected == dropped(network)


def test_followers_that_left_the_isr_are_followers_still():
    network, isr = Network(), PartitionState(leader="kafka2", isr=("kafka2",), leader_epoch=3)
    made = injection(network, "kafka2", **{"from": "followers", "direction": "in"})
    replicas = (("kafka2", "kafka3"),)
    made.roles = replace(
        made.roles, view=View(partitions=(isr,), controller=None, assignment=replicas)
    )
    VERBS["cut"].inject(made)

    assert dropped(network) == {"kafka2": {"kafka3"}}


@pytest.mark.parametrize("shape", ["halves", "bridge", "ring"])
def test_a_shape_among_the_nodes_follows_from_the_seed(shape):
    one, other = Network(), Network()
    for network in (one, other):
        VERBS["cut"].inject(injection(network, "kafka1 kafka2 kafka3", shape=shape))

    assert dropped(one) == dropped(other)
    assert dropped(one)


def test_a_reset_is_let_through_before_anything_else_is_rejected():
    network = Network()
    options = {"from": "zk1", "direction": "in", "how": "reject"}
    VERBS["cut"].inject(injection(network, **options))

    taken = [rule.split("-j ")[1] for rule in network.rules["kafka1"] if "-A HARNESS" in rule]
    assert taken == ["RETURN", "REJECT --reject-with tcp-reset", "DROP"]


def test_losing_takes_packets_by_chance():
    network = Network()
    options: dict[str, Any] = {"from": "zk1", "direction": "in", "percent": 12.5}
    made = injection(network, verb="lose", **options)
    VERBS["lose"].inject(made)

    assert "--mode random --probability 0.125000 -j DROP" in network.rules["kafka1"][3]
    assert VERBS["lose"].proof_in_force(made) == "kafka1 lost 7 packets of zk1"


def test_a_cut_is_proved_by_the_packets_of_every_pair():
    network = Network()
    made = injection(network, **{"from": "zk1"})
    VERBS["cut"].inject(made)

    assert VERBS["cut"].proof_in_force(made) == (
        "kafka1 dropped 7 packets of zk1; zk1 dropped 7 packets of kafka1"
    )


def test_who_has_nothing_to_say_is_made_to_send_one_packet():
    network = Network(mute=True)
    made = injection(network, **{"from": "zk1"})
    VERBS["cut"].inject(made)

    assert VERBS["cut"].proof_in_force(made) is None
    assert network.sent == [("kafka1", "10.77.0.11"), ("zk1", "10.77.0.21")]
    assert "1 packets of zk1" in str(VERBS["cut"].proof_in_force(made))


def test_mending_removes_our_chain_and_nothing_else():
    network = Network()
    network.rules["kafka1"] = ["-N HARNESS-11", "-A INPUT -j HARNESS-11", "-N OTHERS"]
    made = injection(network, **{"from": "zk1"})
    VERBS["cut"].inject(made)
    assert VERBS["cut"].healed(made) is None
    VERBS["cut"].heal(made)

    assert network.rules["kafka1"] == ["-N HARNESS-11", "-A INPUT -j HARNESS-11", "-N OTHERS"]
    assert VERBS["cut"].healed(made) == "chain HARNESS-1 is gone from kafka1, zk1"
    VERBS["cut"].heal(made)  # as after a heal that was interrupted


def test_half_a_cut_is_mended_as_well():
    network = Network(fails_at="zk1")
    made = injection(network, **{"from": "zk1"})
    with pytest.raises(ClusterError):
        VERBS["cut"].inject(made)
    VERBS["cut"].heal(made)

    assert VERBS["cut"].healed(made)
    assert dropped(network) == {}


def test_a_cut_that_was_never_begun_has_nothing_to_mend():
    made = injection(Network())
    VERBS["cut"].heal(made)

    assert VERBS["cut"].healed(made)


def test_what_clients_without_a_network_of_ours_do_not_hear_is_dropped_where_it_leaves():
    network = Network(host_clients=True)
    made = injection(network, **{"from": "clients"})
    VERBS["cut"].inject(made)

    assert "clients" not in network.rules
    assert f"-A HARNESS-1 -s {CLIENT_ADDRESS} -j DROP" in network.rules["kafka1"]
    assert f"-A HARNESS-1-OUT -d {CLIENT_ADDRESS} -j DROP" in network.rules["kafka1"]
    assert "-A OUTPUT -j HARNESS-1-OUT" in network.rules["kafka1"]
    assert VERBS["cut"].proof_in_force(made) == (
        "kafka1 dropped 7 packets of clients; clients dropped 7 packets of kafka1"
    )
    VERBS["cut"].heal(made)

    assert not any("HARNESS" in rule for rule in network.rules["kafka1"])


def test_clients_without_a_network_of_ours_call_a_node_where_they_dial_it():
    behind_a_port = replace(BY_NAME["kafka1"], dialled=("127.0.0.1", 49092))
    network = Network(mute=True, host_clients=True)
    made = injection(network, **{"from": "clients", "direction": "in"})
    network.nodes = tuple(behind_a_port if n.name == "kafka1" else n for n in NODES)
    VERBS["cut"].inject(made)

    assert VERBS["cut"].proof_in_force(made) is None
    assert network.sent == [("clients", "127.0.0.1:49092")]


def test_packets_that_leave_are_counted_by_where_they_go():
    listing = LISTING.replace("0.0.0.0/0", "10.0.0.9").replace("10.77.0.22", "10.0.0.1")

    assert {"10.0.0.9": 15} == {k: v for k, v in iptables.count(listing, "-d").items() if v}


def test_nobody_to_cut_from_is_said():
    with pytest.raises(ClusterError, match="there is no other end to cut kafka1 from"):
        VERBS["cut"].inject(injection(Network(), **{"from": "kafka1"}))


def test_packets_are_counted_by_their_sender_and_those_let_through_are_not():
    assert dict(iptables.count(LISTING)) == {"10.77.0.22": 15, "10.77.0.23": 0}


@pytest.mark.parametrize(
    ("verb", "options", "told"),
    [
        (
            "cut",
            {"form": "clients"},
            "'form' is unknown (did you mean 'from'?): this verb takes from, direction",
        ),
        ("cut", {"from": "client"}, "from names 'client', must be of followers"),
        ("cut", {"from": "clients,"}, "from names ''"),
        ("cut", {"direction": "up"}, "direction is 'up', must be one of both, in, out"),
        ("cut", {"how": "gently"}, "how is 'gently', must be one of drop, reject"),
        ("cut", {"shape": "star"}, "shape is 'star', must be one of scattered"),
        ("cut", {"shape": "ring", "from": "brokers"}, "give either shape or from"),
        ("cut", {"shape": "ring", "direction": "in"}, "direction has no meaning with shape"),
        ("lose", {}, "percent is missing: give the percentage of packets to drop"),
        ("lose", {"percent": 100}, "percent is 100, must be the percentage of packets to drop"),
        ("lose", {"percent": 5, "how": "drop"}, "'how' is unknown"),
    ],
)
def test_options_that_mean_nothing_are_refused(verb, options, told):
    assert any(told in problem for problem in VERBS[verb].problems(options))


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("cut", {}),
        ("cut", {"from": "zk1, clients", "direction": "out", "how": "reject"}),
        ("cut", {"shape": "bridge"}),
        ("lose", {"percent": 0.5, "from": "brokers"}),
    ],
)
def test_options_that_mean_something_are_not(verb, options):
    assert VERBS[verb].problems(options) == []


def test_a_cut_is_put_up_anew_where_another_pod_came_in_a_node_s_place():
    """The pod that went took its rules along, and the other end's name an address of nobody."""
    network = Network()
    made = injection(network, **{"from": "zk1"})
    VERBS["cut"].inject(made)
    assert VERBS["cut"].during is not None
    VERBS["cut"].during(made)
    assert "renewed" not in made.memo

    del network.rules["zk1"]
    moved = replace(BY_NAME["zk1"], address="10.77.0.99")
    network.nodes = tuple(moved if node.name == "zk1" else node for node in NODES)
    VERBS["cut"].during(made)

    assert ["-s 10.77.0.99 -j DROP"] == [
        rule.removeprefix("-A HARNESS-1 ")
        for rule in network.rules["kafka1"]
        if rule.startswith("-A HARNESS-1")
    ]
    assert "-A INPUT -j HARNESS-1" in network.rules["zk1"]
    VERBS["cut"].heal(made)
    assert str(VERBS["cut"].healed(made)).endswith("set again 1 times for new pods")


def test_a_fault_that_cannot_follow_a_pod_ends_the_run():
    network = Network()
    made = injection(network, verb="throttle", kbit=100)
    during = VERBS["throttle"].during
    assert during is not None
    during(made)
    moved = replace(BY_NAME["kafka1"], address="10.77.0.99")
    network.nodes = tuple(moved if node.name == "kafka1" else node for node in NODES)

    with pytest.raises(ClusterError, match="the pod of kafka1 was replaced"):
        during(made)
