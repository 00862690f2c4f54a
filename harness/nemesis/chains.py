"""Chains of our own: iptables rules in a node's network namespace that are ours to take back.

A chain is named by the number of its fault and hangs before everything else in INPUT (or OUTPUT),
so established connections are hit too, and no other fault's chain is in its way for long. It is
filled before it is hung up: a cut is complete at once or not there. Removing goes by the name,
never by position, and leaves alone what is not ours; it may be called after half an injection, and
twice.
Source: iptables(8).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from harness.cluster import Links, Node

TAKING = ("DROP", "REJECT", "NFQUEUE")  # targets after which a packet is gone, or waits
Hook = Literal["INPUT", "OUTPUT"]
Rule = Sequence[str]


def name_of(fault: int) -> str:
    """The chain of a fault."""
    return f"HARNESS-{fault}"


def fill(links: Links, node: Node, chain: str, rules: Iterable[Rule]) -> None:
    """Make the chain with its rules; nothing passes through it yet."""
    _iptables(links, node, ["-N", chain], *(["-A", chain, *rule] for rule in rules))


def hang(links: Links, node: Node, chain: str, hook: Hook) -> None:
    """Put the chain in force, before all other rules of the hook."""
    _iptables(links, node, ["-I", hook, "-j", chain])


def remove(links: Links, node: Node, chain: str) -> None:
    """Take the chain down and away, as much of it as there is."""
    rules = _rules(links, node)
    hung = [hook for hook in ("INPUT", "OUTPUT") if f"-A {hook} -j {chain}" in rules]
    commands = [["-D", hook, "-j", chain] for hook in hung]
    if f"-N {chain}" in rules:
        commands += [["-F", chain], ["-X", chain]]
    if commands:
        _iptables(links, node, *commands)


def stands(links: Links, node: Node, chain: str) -> bool:
    """Whether anything of the chain is left."""
    return any(chain in rule.split() for rule in _rules(links, node))


def packets(links: Links, node: Node, chain: str) -> Counter[str]:
    """How many packets the chain took, by source address; what it let pass does not count."""
    listing = links.in_network_of(node, ["iptables", "-w", "-L", chain, "-v", "-n", "-x"])
    return count(listing)


def count(listing: str) -> Counter[str]:
    """The packets in what `iptables -L CHAIN -v -n -x` prints, by source address."""
    taken: Counter[str] = Counter()
    for line in listing.splitlines()[2:]:
        number, _, target, _, _, _, _, source = line.split()[:8]
        if target in TAKING:
            taken[source] += int(number)
    return taken


def _rules(links: Links, node: Node) -> list[str]:
    return links.in_network_of(node, ["iptables", "-w", "-S"]).splitlines()


def _iptables(links: Links, node: Node, *commands: Sequence[str]) -> None:
    """Several commands by one shell: entering a namespace costs more than a rule."""
    script = " && ".join(shlex.join(["iptables", "-w", *command]) for command in commands)
    links.in_network_of(node, ["sh", "-c", script])
