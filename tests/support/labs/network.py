"""Nodes with rules and packet counters of their own, and faults injected between them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from harness.cluster.capabilities import Cluster
from harness.cluster.local.backend import local_nodes
from harness.cluster.local.network import CLIENT_ADDRESS
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.state import ClusterView, PartitionState, View
from harness.nemesis.targets import Roles
from harness.nemesis.verb import Injection
from harness.nemesis.verbs import VERBS

NODES = local_nodes(3, 3)
BY_NAME = {node.name: node for node in NODES}


@dataclass
class Network:
    """A cluster whose nodes keep iptables rules, as far as chains of ours need them."""

    nodes: tuple[Node, ...] = NODES
    client_address: str = CLIENT_ADDRESS
    rules: dict[str, list[str]] = field(default_factory=dict)
    sent: list[tuple[str, str]] = field(default_factory=list)
    fails_at: str | None = None
    mute: bool = False
    host_clients: bool = False

    def has_rules(self, node: Node) -> bool:
        return node.role != "client" or not self.host_clients

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        key = f"{node.name} mangle" if "mangle" in argv or "mangle" in argv[2] else node.name
        rules = self.rules.setdefault(key, ["-P INPUT ACCEPT", "-N OTHERS"])
        if argv[1] == "-I":
            self.sent += [(node.name, end.removesuffix(":9")) for end in argv[5:]]
            return ""
        if "-S" in argv:
            return "\n".join(rules)
        if "-L" in argv:
            return self.listing(node, rules, argv[argv.index("-L") + 1])
        for command in argv[2].split(" && "):
            self.do(node, rules, shlex.split(command)[4:])
        return ""

    def do(self, node: Node, rules: list[str], words: list[str]) -> None:
        if node.name == self.fails_at and words[0] == "-I":
            raise ClusterError("iptables failed")
        line = shlex.join(words).replace("-I ", "-A ", 1)
        if words[0] in ("-N", "-A", "-I"):
            rules.append(line)
        elif words[0] == "-F":
            rules[:] = [r for r in rules if not r.startswith(f"-A {words[1]} ")]
        else:
            rules.remove(line.replace("-D ", "-A ", 1).replace("-X ", "-N ", 1))

    def listing(self, node: Node, rules: list[str], chain: str) -> str:
        lines = ["Chain", "pkts"]
        for rule in rules:
            if rule.startswith(f"-A {chain} "):
                end, target = rule.split()[3], rule.split()[rule.split().index("-j") + 1]
                ends = f"any {end}" if " -d " in rule else f"{end} any"
                lines.append(f"{self.counter(node, end)} 0 {target} 0 -- * * {ends}")
        return "\n".join(lines)

    def counter(self, node: Node, source: str) -> int:
        if self.mute:
            return sum(address == node.address for _, address in self.sent)
        return 7


def injection(
    network: Network, target: str = "kafka1", verb: str = "cut", **options: Any
) -> Injection:
    state = PartitionState(leader="kafka1", isr=("kafka1", "kafka2", "kafka3"), leader_epoch=0)
    roles = Roles(
        nodes=NODES,
        view=View(partitions=(state,), controller="kafka2"),
        ensemble_leader=lambda: "zk1",
        random=Random(1),
    )
    nodes = tuple(BY_NAME[name] for name in target.split())
    return Injection(
        fault=1,
        nodes=nodes,
        roles=roles,
        cluster=cast(Cluster, network),
        view=cast(ClusterView, None),  # these faults ask for none
        options=VERBS[verb].options.of(options),
        seed=3,
    )
