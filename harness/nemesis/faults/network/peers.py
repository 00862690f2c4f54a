"""The other ends of bad links: the nodes that the option `from` names, and the effects of that.

    from = "followers"          the other replicas of the partition
    from = "clients, kafka2"    several, with commas between them

`quorum` means the nodes that keep the metadata: the ZooKeepers, or the controllers of KRaft.
Where it names the clients alone, the nodes reach each other as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from harness.cluster.capabilities import clients_of
from harness.cluster.nodes import Node, brokers, quorum, zookeepers
from harness.model.effects import Effects
from harness.nemesis.options import Options
from harness.nemesis.target import Setting, Target
from harness.nemesis.verb import Injection


def _followers(injection: Injection) -> list[Node]:
    """The other replicas, in the ISR or not; if only the ISR is known, its other members."""
    roles, state = injection.roles, injection.roles.state
    assigned = roles.view.assignment[roles.partition : roles.partition + 1]
    names = set(assigned[0] if assigned else state.isr if state else ())
    leader = state.leader if state else None
    return [n for n in injection.cluster.nodes if n.name in names and n.name != leader]


PEERS: dict[str, Callable[[Injection], Sequence[Node]]] = {
    "followers": _followers,
    "brokers": lambda injection: brokers(injection.cluster.nodes),
    "zookeepers": lambda injection: zookeepers(injection.cluster.nodes),
    "quorum": lambda injection: quorum(injection.cluster.nodes),
    "clients": lambda injection: [clients_of(injection.cluster)],
    "others": lambda injection: injection.cluster.nodes,
    "everyone": lambda injection: [*injection.cluster.nodes, clients_of(injection.cluster)],
}


_WORD = rf"({'|'.join(PEERS)}|(kafka|zk|controller)\d+)"


def words(peers: str) -> list[str]:
    """The words in `from`."""
    return [word.strip() for word in peers.split(",")]


def _known(peers: str) -> str:
    for word in words(peers):
        if not re.fullmatch(_WORD, word):
            raise ValueError(
                f"from names {word!r}, must be of {', '.join(PEERS)}, or a node such as kafka1"
            )
    return peers


Peers = Annotated[
    str,
    AfterValidator(_known),
    Field(
        alias="from",
        description=f"one or several of {', '.join(PEERS)} or node names, separated by commas",
        json_schema_extra={"pattern": rf"^\s*{_WORD}(\s*,\s*{_WORD})*\s*$"},
    ),
]


class PeerOptions(Options):
    """The other ends of the target's bad links."""

    peers: Peers = "others"


def effects_on_links(options: Options, _: Target) -> Effects:
    """The effects: with bad links to the clients alone, nodes reach each other as before."""
    clients_alone = set(words(PeerOptions.of(options).peers)) == {"clients"}
    return Effects(leadership="if-seen" if clients_alone else "anywhere")


def not_there(setting: Setting, _: Target, options: Options) -> str | None:
    """Why the scenario's cluster lacks a node that `from` names."""
    for word in words(PeerOptions.of(options).peers):
        if setting.controllers and (word == "zookeepers" or word.startswith("zk")):
            return f"from names {word}, and KRaft has no ZooKeeper: use quorum"
        if word not in PEERS and not setting.any_broker and setting.kind_of(word) is None:
            return f"from names {word}, and the cluster has no such node"
    return None


def peers(injection: Injection, named: str) -> list[str]:
    """The names of the nodes that `from` means now."""
    names: list[str] = []
    for word in words(named):
        nodes = PEERS[word](injection) if word in PEERS else ()
        names += [node.name for node in nodes] if word in PEERS else [word]
    return names


def nodes_and_clients(injection: Injection) -> dict[str, Node]:
    """Every node, and `clients`, by name: each has a network of its own."""
    everyone = (*injection.cluster.nodes, clients_of(injection.cluster))
    return {node.name: node for node in everyone}
