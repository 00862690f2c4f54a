"""Chains of our own: iptables rules in a node's network namespace that the harness removes again.

A chain is named by the number of its fault and is the first rule of INPUT (or OUTPUT), so it hits
established connections too. It is filled before it is put in force, so that a cut is complete or
not there. It is removed by its name, never by position, so other rules stay; that is safe after
half an injection, and twice.

Rules that hold packets back are in the table `mangle`: a packet that is let go skips the rest of
its table, and must still meet the cuts of other faults, which are in `filter`.
Source: iptables(8).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.cluster.capabilities import Links
from harness.cluster.nodes import Node

PREFIX = "HARNESS-"  # sidecar.sh removes such chains when the harness is gone
TAKING = ("DROP", "REJECT", "NFQUEUE")  # targets after which a packet is gone, or waits
Rule = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One fault's chain, the same in every node that has it."""

    fault: int
    hook: Literal["INPUT", "OUTPUT"] = "INPUT"
    table: Literal["filter", "mangle"] = "filter"

    @property
    def name(self) -> str:
        """What iptables calls it; a fault may have one of each hook in the same node."""
        return f"{PREFIX}{self.fault}" + ("-OUT" if self.hook == "OUTPUT" else "")

    @property
    def side(self) -> str:
        """The option that names the other end of a packet: where it comes from, or goes to."""
        return "-d" if self.hook == "OUTPUT" else "-s"


def fill(links: Links, node: Node, chain: Chain, rules: Iterable[Rule]) -> None:
    """Make the chain with its rules; nothing passes through it yet."""
    _iptables(links, node, chain, ["-N", chain.name], *(["-A", chain.name, *r] for r in rules))


def hang(links: Links, node: Node, chain: Chain) -> None:
    """Put the chain in force, before all other rules of its hook and table."""
    _iptables(links, node, chain, ["-I", chain.hook, "-j", chain.name])


def remove(links: Links, node: Node, chain: Chain) -> None:
    """Unhook and delete the chain, as much of it as there is."""
    rules, commands = _rules(links, node, chain), []
    if f"-A {chain.hook} -j {chain.name}" in rules:
        commands.append(["-D", chain.hook, "-j", chain.name])
    if f"-N {chain.name}" in rules:
        commands += [["-F", chain.name], ["-X", chain.name]]
    if commands:
        _iptables(links, node, chain, *commands)


def stands(links: Links, node: Node, chain: Chain) -> bool:
    """Whether anything of the chain is left."""
    return any(chain.name in rule.split() for rule in _rules(links, node, chain))


def packets(links: Links, node: Node, chain: Chain) -> Counter[str]:
    """How many packets the chain dropped or held, by the address of their other end."""
    show = ["iptables", "-w", "-t", chain.table, "-L", chain.name, "-v", "-n", "-x"]
    return count(links.in_network_of(node, show), chain.side)


def count(listing: str, side: str = "-s") -> Counter[str]:
    """The packets in what `iptables -L CHAIN -v -n -x` prints, by source or by destination."""
    taken: Counter[str] = Counter()
    for line in listing.splitlines()[2:]:
        number, _, target, _, _, _, _, source, destination = line.split()[:9]
        if target in TAKING:
            taken[source if side == "-s" else destination] += int(number)
    return taken


def _rules(links: Links, node: Node, chain: Chain) -> list[str]:
    return links.in_network_of(node, ["iptables", "-w", "-t", chain.table, "-S"]).splitlines()


def _iptables(links: Links, node: Node, chain: Chain, *commands: Sequence[str]) -> None:
    """Several commands by one shell: entering a namespace costs more than a rule."""
    program = ["iptables", "-w", "-t", chain.table]
    script = " && ".join(shlex.join([*program, *command]) for command in commands)
    links.in_network_of(node, ["sh", "-c", script])
