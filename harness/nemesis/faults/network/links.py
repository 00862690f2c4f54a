"""cut, lose: packets between nodes that do not arrive, all of them or some.

    cut     drops every packet, or rejects it with a TCP reset (`how = "reject"`)
    lose    drops packets at random (`percent`)

Both are undone by `mend`. Which packets are dropped:

    from        the target's nodes from these, several separated by commas: followers (the other
                replicas of the partition), brokers, zookeepers, clients, others (every other node),
                everyone (and the clients), or a node's name. Default: others.
    direction   "both" (default), "in" (packets to the target), "out" (packets from the target)
    shape       instead of `from`, among the target's nodes themselves: scattered, halves, bridge,
                ring (harness.nemesis.faults.network.grudges); the order of nodes follows from
                the seed

A node that is not named in `from` is still reached: a leader cut from its followers keeps its
ZooKeeper session.

Rules at the receiver do it, in a chain of our own in its network namespace (or the clients'); they
hit existing connections too. Where clients have no network of their own (docker, Kubernetes),
packets to them are dropped as they leave the node. Proof: the rules counted packets of each sender
to each receiver. Where a pair exchanges nothing, or to see a rejection, the sender is made to send
one packet. Healed when the chains are gone.
Source: iptables-extensions(8): REJECT, statistic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Annotated, Literal, Self, TypeVar, cast

from pydantic import Field, model_validator

from harness.cluster.capabilities import Links
from harness.cluster.nodes import ClusterError, Node
from harness.nemesis.faults.network import grudges, iptables
from harness.nemesis.faults.network.grudges import Grudge
from harness.nemesis.faults.network.iptables import Chain, Rule
from harness.nemesis.faults.network.peers import (
    PeerOptions,
    effects_on_links,
    nodes_and_clients,
    not_there,
    peers,
)
from harness.nemesis.verb import Injection, Verb

SHAPES: dict[str, Callable[[Sequence[str]], Grudge]] = {
    "scattered": grudges.scattered,
    "halves": grudges.halves,
    "bridge": grudges.bridge,
    "ring": grudges.ring,
}
QUIET = 9  # a port without a listener
# What a silent sender runs: one packet to each address, to a port without a listener.
# Where the rule stands at the sender itself, the kernel reports the drop to it: EPERM.
_SENDS = """
import contextlib, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for end in sys.argv[1:]:
        host, port = end.rsplit(":", 1)
        with contextlib.suppress(PermissionError):
            sender.sendto(b"?", (host, int(port)))
"""
_CONNECTS = """
import socket, sys
for end in sys.argv[1:]:
    host, port = end.rsplit(":", 1)
    with socket.socket() as sender:
        sender.settimeout(1)
        sender.connect_ex((host, int(port)))
"""


# Options


class LinkOptions(PeerOptions):
    """Which packets are dropped."""

    direction: Literal["both", "in", "out"] = Field(
        "both", description="both ways; packets to the target; packets from the target"
    )
    shape: Literal["scattered", "halves", "bridge", "ring"] | None = Field(
        None, description="instead of `from`: among the target's nodes themselves"
    )

    @model_validator(mode="after")
    def _one_way_of_saying_it(self) -> Self:
        given = self.model_fields_set
        if self.shape is not None and "peers" in given:
            raise ValueError("give either shape or from")
        if self.shape is not None and "direction" in given:
            raise ValueError("direction has no meaning with shape: remove it")
        return self


class CutOptions(LinkOptions):
    """What happens to packets."""

    how: Literal["drop", "reject"] = Field(
        "drop", description="packets are dropped, or each is answered by a TCP reset"
    )


class LoseOptions(LinkOptions):
    """How many packets are lost."""

    percent: Annotated[
        float,
        Field(
            gt=0,
            lt=100,
            description="the percentage of packets to drop, above 0 and below 100",
            examples=[30],
        ),
    ]


# The grudge


def grudge_of(injection: Injection) -> Grudge:
    """The grudge that the options mean now, for the target's nodes."""
    names = [node.name for node in injection.nodes]
    options = LinkOptions.of(injection.options)
    if options.shape is not None:
        Random(injection.seed).shuffle(names)  # noqa: S311
        grudge = SHAPES[options.shape](names)
    else:
        grudge = grudges.apart(names, peers(injection, options.peers), options.direction)
    if not grudge:
        raise ClusterError(
            f"there is no other end to cut {', '.join(names)} from: change from "
            f"or shape ({options.as_given() or 'defaults'})"
        )
    return grudge


# Rules

Pair = tuple[str, str]  # receiver, sender
Site = tuple[str, Chain]  # where a chain stands


def sites(injection: Injection, grudge: Grudge) -> dict[Site, list[Pair]]:
    """The places of rules, each with the pairs whose packets it drops."""
    links, by_name = links_of(injection), nodes_and_clients(injection)
    pairs = dict[Site, list[Pair]]()
    for receiver, senders in grudge.items():
        at_receiver = links.has_rules(by_name[receiver])
        for sender in sorted(senders):
            chain = Chain(fault=injection.fault, hook="INPUT" if at_receiver else "OUTPUT")
            site = receiver if at_receiver else sender
            pairs.setdefault((site, chain), []).append((receiver, sender))
    return pairs


def rules(ends: Sequence[str], how: str, percent: float = 100.0, side: str = "-s") -> list[Rule]:
    """The rules of a node that does not receive from, or send to, these addresses."""
    made: list[Rule] = []
    chance = ("-m", "statistic", "--mode", "random", "--probability", f"{percent / 100:.6f}")
    for end in ends:
        packet = (side, end)
        if how == "reject":
            # A reset must pass where both sides reject each other: it is the rejection.
            made.append((*packet, "-p", "tcp", "--tcp-flags", "RST", "RST", "-j", "RETURN"))
            made.append((*packet, "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"))
        made.append((*packet, *(chance if percent < 100 else ()), "-j", "DROP"))
    return made


def _cut(injection: Injection) -> None:
    _set_up(injection, how=CutOptions.of(injection.options).how, percent=100.0)


def _lose(injection: Injection) -> None:
    _set_up(injection, how="drop", percent=LoseOptions.of(injection.options).percent)


def _set_up(injection: Injection, *, how: str, percent: float) -> None:
    injection.memo["sites"] = sites(injection, grudge_of(injection))
    injection.memo["again"] = lambda: _put_up(injection, how=how, percent=percent)
    _put_up(injection, how=how, percent=percent)


def _put_up(injection: Injection, *, how: str, percent: float) -> None:
    links, by_name = links_of(injection), nodes_and_clients(injection)
    wanted: dict[Site, list[Pair]] = injection.memo["sites"]
    injection.memo["addresses"] = addresses(injection)

    def fill(site: Site) -> None:
        name, chain = site
        ends = [_other_end(injection, chain, pair) for pair in wanted[site]]
        iptables.fill(links, by_name[name], chain, rules(ends, how, percent, chain.side))

    at_once(fill, wanted)
    # All chains first, so that the cut is nearly at once everywhere.
    at_once(lambda site: iptables.hang(links, by_name[site[0]], site[1]), wanted)


def _keep_up(injection: Injection) -> None:
    """A new pod has no rules, and another address: once a node's pod was replaced, set up the rules
    again at every node."""
    if injection.memo["addresses"] != addresses(injection):
        _mend(injection)
        injection.memo["again"]()
        injection.memo["renewed"] = injection.memo.get("renewed", 0) + 1


def stay(injection: Injection) -> None:
    """Raise ClusterError once a node's pod was replaced: the fault does not hit the new one."""
    now = addresses(injection)
    begun = injection.memo.setdefault("addresses", now)
    if moved := [n.name for n in injection.nodes if begun[n.name] != now[n.name]]:
        raise ClusterError(
            f"the pod of {', '.join(moved)} was replaced while a fault was in force; "
            "the new pod is not affected"
        )


def addresses(injection: Injection) -> dict[str, str]:
    """Every node's address now, and the clients'."""
    return {name: node.address for name, node in nodes_and_clients(injection).items()}


def _other_end(injection: Injection, chain: Chain, pair: Pair) -> str:
    receiver, sender = pair
    return nodes_and_clients(injection)[sender if chain.side == "-s" else receiver].address


T = TypeVar("T")
R = TypeVar("R")


def at_once(do: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Do it for all of them at the same time: reaching a node may take a tenth of a second."""
    with ThreadPoolExecutor(max_workers=16) as threads:
        return list(threads.map(do, items))


# Proof


def _cut_in_force(injection: Injection) -> str | None:
    counted = _counted(injection)
    if quiet := [pair for pair, packets in counted.items() if not packets]:
        _provoke(injection, quiet)
        return None
    dropped = CutOptions.of(injection.options).how == "drop"
    return _sentence(counted, "dropped" if dropped else "rejected")


def _loss_in_force(injection: Injection) -> str | None:
    counted = _counted(injection)
    return _sentence(counted, "lost") if any(counted.values()) else None


def _counted(injection: Injection) -> dict[Pair, int]:
    """(receiver, sender) -> packets that did not arrive."""
    links, by_name, counted = links_of(injection), nodes_and_clients(injection), dict[Pair, int]()
    wanted: dict[Site, list[Pair]] = injection.memo["sites"]
    listed = at_once(lambda site: iptables.packets(links, by_name[site[0]], site[1]), wanted)
    for ((_, chain), pairs), taken in zip(wanted.items(), listed, strict=True):
        counted |= {pair: taken[_other_end(injection, chain, pair)] for pair in pairs}
    return counted


def _sentence(counted: Mapping[tuple[str, str], int], verb: str) -> str:
    by_receiver: dict[str, list[str]] = {}
    for (receiver, sender), packets in counted.items():
        by_receiver.setdefault(receiver, []).append(f"{packets} packets of {sender}")
    sentences = (f"{receiver} {verb} {', '.join(parts)}" for receiver, parts in by_receiver.items())
    return "; ".join(sentences)


def _provoke(injection: Injection, pairs: Sequence[Pair]) -> None:
    """Let each sender send its receivers one packet, which must not arrive."""
    links, by_name = links_of(injection), nodes_and_clients(injection)

    def send(name: str) -> None:
        receivers = [by_name[receiver] for receiver, to in pairs if to == name]
        sender = by_name[name]
        # Clients in the host's network reach a node only at the address to dial.
        rejects = CutOptions.of(injection.options).how == "reject"
        calls = rejects or not links.has_rules(sender)
        ends = [reach(links, sender, receiver, QUIET) for receiver in receivers]
        argv = [sys.executable, "-I", "-S", "-c", _CONNECTS if calls else _SENDS]
        links.in_network_of(sender, [*argv, *(f"{host}:{port}" for host, port in ends)])

    at_once(send, sorted({sender for _, sender in pairs}))


def reach(links: Links, sender: Node, node: Node, port: int | None = None) -> tuple[str, int]:
    """Host and port at which the sender reaches a node, or another `port` of it."""
    if node.role != "client" and not links.has_rules(sender):
        return node.dial
    return node.address, port or node.port


# Undo


def _mend(injection: Injection) -> None:
    links, by_name = links_of(injection), nodes_and_clients(injection)
    wanted: dict[Site, list[Pair]] = injection.memo.get("sites", {})
    at_once(lambda site: iptables.remove(links, by_name[site[0]], site[1]), wanted)


def _mended(injection: Injection) -> str | None:
    wanted: dict[Site, list[Pair]] = injection.memo.get("sites", {})
    links, by_name = links_of(injection), nodes_and_clients(injection)
    if any(at_once(lambda site: iptables.stands(links, by_name[site[0]], site[1]), wanted)):
        return None
    gone = ", ".join(dict.fromkeys(name for name, _ in wanted)) or "everywhere"
    renewed = injection.memo.get("renewed", 0)
    again = f", after it was set again {renewed} times for new pods" if renewed else ""
    return f"chain {Chain(fault=injection.fault).name} is gone from {gone}{again}"


def links_of(injection: Injection) -> Links:
    """The cluster, as what runs commands in the nodes' networks."""
    return cast(Links, injection.cluster)


CUT = Verb(
    name="cut",
    undo="mend",
    done="cut off",
    effects=effects_on_links,
    impossible=not_there,
    options=CutOptions,
    needs=(Links,),
    together=True,
    inject=_cut,
    proof_in_force=_cut_in_force,
    heal=_mend,
    healed=_mended,
    during=_keep_up,
    host={"iptables REJECT": 'how = "reject" or "reset"'},
)
LOSE = Verb(
    name="lose",
    undo="mend",
    done="hit by packet loss",
    effects=effects_on_links,
    impossible=not_there,
    options=LoseOptions,
    needs=(Links,),
    together=True,
    inject=_lose,
    proof_in_force=_loss_in_force,
    heal=_mend,
    healed=_mended,
    during=_keep_up,
    host={"iptables statistic": ""},
)
