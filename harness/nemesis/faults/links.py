"""cut, lose: packets between nodes that do not arrive, all of them or some.

    cut     drops every packet, or rejects it with a TCP reset (`how = "reject"`)
    lose    drops packets by chance (`percent`)

Both are undone by `mend`. Who no longer hears whom:

    from        the target's nodes from these, several separated by commas: followers (the other
                replicas of the partition), brokers, zookeepers, clients, others (every other node),
                everyone (and the clients), or a node's name. Default: others.
    direction   "both" (default), "in" (the target does not hear them), "out" (nor they the target)
    shape       instead of `from`, among the target's nodes themselves: scattered, halves, bridge,
                ring (harness.nemesis.grudges); who stands where follows from the seed

A node that is not named in `from` is still reached: a leader cut from its followers keeps its
ZooKeeper session.

Done by rules at the receiver, in a chain of our own in its network namespace (or the clients'),
which hits existing connections too. Proof: each receiver counted packets of each sender. Where a
pair has nothing to say to each other, or in order to see a rejection at work, the sender is made to
send one packet. Healed when the chains are gone.
Source: iptables-extensions(8): REJECT, statistic.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import cast

from harness.cluster import ClusterError, Links, Node, brokers, clients_of, zookeepers
from harness.nemesis import chains, grudges
from harness.nemesis.chains import Chain, Rule
from harness.nemesis.faults.verb import Injection, Options, Verb, unknown
from harness.nemesis.grudges import Direction, Grudge


def _followers(injection: Injection) -> list[Node]:
    """The other replicas, in the ISR or not; if only the ISR is known, its other members."""
    roles, state = injection.roles, injection.roles.state
    known = roles.view.assignment[roles.partition : roles.partition + 1]
    names = set(known[0] if known else state.isr if state else ())
    leader = state.leader if state else None
    return [n for n in injection.cluster.nodes if n.name in names and n.name != leader]


PEERS: dict[str, Callable[[Injection], Sequence[Node]]] = {
    "followers": _followers,
    "brokers": lambda injection: brokers(injection.cluster.nodes),
    "zookeepers": lambda injection: zookeepers(injection.cluster.nodes),
    "clients": lambda injection: [clients_of(injection.cluster)],
    "others": lambda injection: injection.cluster.nodes,
    "everyone": lambda injection: [*injection.cluster.nodes, clients_of(injection.cluster)],
}
SHAPES: dict[str, Callable[[Sequence[str]], Grudge]] = {
    "scattered": grudges.scattered,
    "halves": grudges.halves,
    "bridge": grudges.bridge,
    "ring": grudges.ring,
}
DIRECTIONS = ("both", "in", "out")
HOW = ("drop", "reject")
# What a sender runs who has nothing to say: one packet to each address, to where nobody listens.
_SENDS = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for address in sys.argv[1:]:
        sender.sendto(b"?", (address, 9))
"""
_CONNECTS = """
import socket, sys
for address in sys.argv[1:]:
    with socket.socket() as sender:
        sender.settimeout(1)
        sender.connect_ex((address, 9))
"""


# Who drops whose packets


def grudge_of(injection: Injection) -> Grudge:
    """The grudge that the options mean now, for the target's nodes."""
    names = [node.name for node in injection.nodes]
    shape = injection.options.get("shape")
    if shape is not None:
        Random(injection.seed).shuffle(names)  # noqa: S311
        grudge = SHAPES[str(shape)](names)
    else:
        direction = cast(Direction, injection.options.get("direction", "both"))
        grudge = grudges.apart(names, peers(injection), direction)
    if not grudge:
        raise ClusterError(f"nobody to cut {', '.join(names)} from: "
                           f"{dict(injection.options) or 'there is no other node'}")  # fmt: skip
    return grudge


def peers(injection: Injection, default: str = "others") -> list[str]:
    """Whom `from` names now."""
    found: list[str] = []
    for word in words(injection.options, default):
        nodes = PEERS[word](injection) if word in PEERS else ()
        found += [node.name for node in nodes] if word in PEERS else [word]
    return found


def words(options: Options, default: str = "others") -> list[str]:
    """The words in `from`."""
    return [word.strip() for word in str(options.get("from", default)).split(",")]


# Rules


def rules(senders: Sequence[Node], how: str, percent: float = 100.0) -> list[Rule]:
    """The rules of a receiver that does not hear these senders."""
    made: list[Rule] = []
    chance = ("-m", "statistic", "--mode", "random", "--probability", f"{percent / 100:.6f}")
    for sender in senders:
        source = ("-s", sender.address)
        if how == "reject":
            # A reset must pass where both sides reject each other: it is the rejection.
            made.append((*source, "-p", "tcp", "--tcp-flags", "RST", "RST", "-j", "RETURN"))
            made.append((*source, "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"))
        made.append((*source, *(chance if percent < 100 else ()), "-j", "DROP"))
    return made


def _cut(injection: Injection) -> None:
    _set_up(injection, how=str(injection.options.get("how", "drop")), percent=100.0)


def _lose(injection: Injection) -> None:
    _set_up(injection, how="drop", percent=float(injection.options["percent"]))


def _set_up(injection: Injection, *, how: str, percent: float) -> None:
    grudge = injection.memo["grudge"] = grudge_of(injection)
    links, chain, by_name = links_of(injection), _chain(injection), places(injection)
    for receiver, senders in grudge.items():
        nodes = [by_name[name] for name in sorted(senders)]
        chains.fill(links, by_name[receiver], chain, rules(nodes, how, percent))
    for receiver in grudge:  # all chains first, so that the cut is nearly at once everywhere
        chains.hang(links, by_name[receiver], chain)


# Proof


def _cut_bit(injection: Injection) -> str | None:
    counted = _counted(injection)
    if quiet := [pair for pair, packets in counted.items() if not packets]:
        _provoke(injection, quiet)
        return None
    return _sentence(counted, "dropped" if injection.options.get("how") != "reject" else "rejected")


def _lose_bit(injection: Injection) -> str | None:
    counted = _counted(injection)
    return _sentence(counted, "lost") if any(counted.values()) else None


def _counted(injection: Injection) -> dict[tuple[str, str], int]:
    """(receiver, sender) -> packets that did not arrive."""
    links, chain, by_name = links_of(injection), _chain(injection), places(injection)
    grudge: Grudge = injection.memo["grudge"]
    counted: dict[tuple[str, str], int] = {}
    for receiver, senders in grudge.items():
        taken = chains.packets(links, by_name[receiver], chain)
        counted |= {(receiver, name): taken[by_name[name].address] for name in sorted(senders)}
    return counted


def _sentence(counted: Mapping[tuple[str, str], int], verb: str) -> str:
    by_receiver: dict[str, list[str]] = {}
    for (receiver, sender), packets in counted.items():
        by_receiver.setdefault(receiver, []).append(f"{packets} packets of {sender}")
    told = (f"{receiver} {verb} {', '.join(parts)}" for receiver, parts in by_receiver.items())
    return "; ".join(told)


def _provoke(injection: Injection, pairs: Sequence[tuple[str, str]]) -> None:
    """Let each sender send its receivers one packet, which must not arrive."""
    by_name = places(injection)
    script = _CONNECTS if injection.options.get("how") == "reject" else _SENDS
    for sender in sorted({sender for _, sender in pairs}):
        receivers = [by_name[name].address for name, to in pairs if to == sender]
        argv = [sys.executable, "-S", "-c", script, *receivers]
        links_of(injection).in_network_of(by_name[sender], argv)


# Undo


def _mend(injection: Injection) -> None:
    for receiver in injection.memo.get("grudge", ()):
        chains.remove(links_of(injection), places(injection)[receiver], _chain(injection))


def _mended(injection: Injection) -> str | None:
    receivers = list(injection.memo.get("grudge", ()))
    by_name, chain = places(injection), _chain(injection)
    if any(chains.stands(links_of(injection), by_name[name], chain) for name in receivers):
        return None
    return f"chain {chain.name} is gone from {', '.join(receivers) or 'everywhere'}"


# Options


def _place_problems(options: Options) -> list[str]:
    found = []
    if "shape" in options and "from" in options:
        found.append("give either shape or from")
    if "shape" in options and options["shape"] not in SHAPES:
        found.append(f"shape is {options['shape']!r}, must be one of {', '.join(SHAPES)}")
    if "shape" in options and "direction" in options:
        found.append("direction has no meaning with shape: remove it")
    found += from_problems(options)
    if options.get("direction", "both") not in DIRECTIONS:
        found.append(f"direction is {options['direction']!r}, must be one of "
                     f"{', '.join(DIRECTIONS)}")  # fmt: skip
    return found


def from_problems(options: Options, default: str = "others") -> list[str]:
    """Problems of the option `from`."""
    return [
        f"from names {word!r}, which is none of {', '.join(PEERS)}, nor a node such as kafka1"
        for word in words(options, default)
        if word not in PEERS and not re.fullmatch(r"(kafka|zk)[1-9]\d*", word)
    ]


def _cut_problems(options: Options) -> list[str]:
    found = unknown(options, "from", "direction", "shape", "how") + _place_problems(options)
    if options.get("how", "drop") not in HOW:
        found.append(f"how is {options['how']!r}, must be one of {', '.join(HOW)}")
    return found


def _lose_problems(options: Options) -> list[str]:
    found = unknown(options, "from", "direction", "shape", "percent") + _place_problems(options)
    percent = options.get("percent")
    if not isinstance(percent, int | float) or not 0 < percent < 100:
        found.append("give percent, the share of packets to lose, between 0 and 100")
    return found


def _chain(injection: Injection) -> Chain:
    return Chain(fault=injection.fault)


def links_of(injection: Injection) -> Links:
    """The cluster, as what runs commands in the nodes' networks."""
    return cast(Links, injection.cluster)


def places(injection: Injection) -> dict[str, Node]:
    """Every place that has a network of its own, by name."""
    places = (*injection.cluster.nodes, clients_of(injection.cluster))
    return {node.name: node for node in places}


CUT = Verb(
    name="cut", undo="mend", needs=(Links,), together=True,
    inject=_cut, bit=_cut_bit, heal=_mend, healed=_mended, problems=_cut_problems,
)  # fmt: skip
LOSE = Verb(
    name="lose", undo="mend", needs=(Links,), together=True,
    inject=_lose, bit=_lose_bit, heal=_mend, healed=_mended, problems=_lose_problems,
)  # fmt: skip
