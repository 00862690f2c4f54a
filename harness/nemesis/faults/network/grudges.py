"""Shapes of a network partition, as grudges: node -> the nodes whose packets it drops.

    apart({a}, {b, c})            a: b c   b: a   c: a      neither side receives from the other
    apart({a}, {b, c}, "in")      a: b c                    a receives from neither, both from a
    apart({a}, {b, c}, "out")     b: a     c: a             a receives from both, neither from a
    scattered({a, b, c})          a: b c   b: a c   c: a b  every node alone
    halves([a, b, c])             like apart({a}, {b, c})   the smaller half first
    bridge([a, b, c])             a: c     c: a             b still receives from both
    ring([a, b, c, d, e])         a: c d   b: d e   …       each from a majority, no two the same

Packets are dropped where they arrive, so a link can be cut one way. A TCP connection over such a
link ends, since it needs both ways, but until then what is sent the other way arrives and takes
effect.

In a ring of three each link is cut one way; from five nodes on the ring is symmetric for odd sizes.
All are pure functions of names.
Source: the shapes are Jepsen's (jepsen.nemesis: partition-halves, bridge, majorities-ring).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

Direction = Literal["both", "in", "out"]
Grudge = Mapping[str, frozenset[str]]


def apart(ones: Collection[str], others: Collection[str], direction: Direction = "both") -> Grudge:
    """Neither side receives from the other; "in": only `ones` do not; "out": only `others`.

    A node on both sides counts for the first.
    """
    first, second = frozenset(ones), frozenset(others) - frozenset(ones)
    grudge: dict[str, frozenset[str]] = {}
    if direction in ("both", "in"):
        grudge |= dict.fromkeys(sorted(first), second)
    if direction in ("both", "out"):
        grudge |= dict.fromkeys(sorted(second), first)
    return _without_empty(grudge)


def scattered(nodes: Collection[str]) -> Grudge:
    """No node receives from another."""
    everyone = frozenset(nodes)
    return _without_empty({node: everyone - {node} for node in sorted(everyone)})


def halves(nodes: Sequence[str]) -> Grudge:
    """The first half, the smaller one, and the rest do not receive from each other."""
    middle = len(nodes) // 2
    return apart(nodes[:middle], nodes[middle:])


def bridge(nodes: Sequence[str]) -> Grudge:
    """Two halves do not receive from each other; the node in the middle reaches both."""
    middle = len(nodes) // 2
    return apart(nodes[:middle], nodes[middle + 1 :])


def ring(nodes: Sequence[str]) -> Grudge:
    """Each node receives from a majority of all (itself counted), no two from the same one."""
    count = len(nodes)
    majority = count // 2 + 1
    before = majority // 2
    grudge = {}
    for position, node in enumerate(nodes):
        reachable = {nodes[(position - before + step) % count] for step in range(majority)}
        grudge[node] = frozenset(nodes) - reachable
    return _without_empty(grudge)


def _without_empty(grudge: Mapping[str, frozenset[str]]) -> Grudge:
    return {node: dropped for node, dropped in grudge.items() if dropped}
