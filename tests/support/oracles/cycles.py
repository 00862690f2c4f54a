"""A second opinion on cycles between transactions: who can be reached from whom, and back again.

By plain reachability, from each transaction on its own; the check takes strong components.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any

Row = dict[str, Any]
Node = tuple[str, int]  # a worker, and the number of its transaction
Graph = Mapping[Node, set[Node]]


def cycles(case: Any) -> Iterator[tuple[str, Any]]:
    """Each transaction in a cycle of readings, and how many are in cycles of which sort."""
    senders = _senders(case.rows)
    log = sorted(
        (row["partition"], row["offset"], senders[row["value"]])
        for row in case.rows
        if row["f"] == "final-read" and row["value"] in senders
    )
    there = {node for _, _, node in log} if case.shows_committed else set()
    nodes = {node for node in _asked(case.notes) if node in there or _ended(node, case.notes)}
    read = [
        row
        for row in case.rows
        if row["f"] == "process" and row["type"] != "fail" and _node(row) in nodes
    ]
    read = [row for row in read if senders.get(row["value"]) in nodes - {_node(row)}]
    wr = _graph((senders[row["value"]], node) for row in read if (node := _node(row)))
    ww = _graph(_neighbours([each for each in log if each[2] in nodes]))
    both = {node: wr.get(node, set()) | ww.get(node, set()) for node in nodes}
    for node in _circular(wr):
        yield "circular-flow", _told(node, wr, read, senders)
    if case.notes:
        yield "transactions", (len(nodes), len(_circular(ww)), len(_circular(both)))


def _node(row: Row) -> Node | None:
    return None if row["transaction"] is None else (row["process"], row["transaction"])


def _senders(rows: Iterable[Row]) -> dict[int, Node]:
    """Who sent each value, where one did, in a transaction."""
    by_value = defaultdict[int, list[Node]](list)
    for row in rows:
        node = _node(row)
        if row["f"] == "send" and row["type"] != "fail" and node and row["value"] is not None:
            by_value[row["value"]].append(node)
    return {value: nodes[0] for value, nodes in by_value.items() if len(nodes) == 1}


def _asked(notes: Iterable[Row]) -> set[Node]:
    """Those whose commit was asked for and that were not aborted."""
    told = defaultdict[Node, set[str]](set)
    for note in notes:
        told[note["process"], note["transaction"]].add(note["name"])
    return {n for n, names in told.items() if "commit-asked" in names and "aborted" not in names}


def _ended(node: Node, notes: Iterable[Row]) -> bool:
    return any((n["process"], n["transaction"], n["name"]) == (*node, "committed") for n in notes)


def _neighbours(log: list[tuple[int, int, Node]]) -> Iterator[tuple[Node, Node]]:
    for _, records in groupby(log, key=lambda record: record[0]):
        yield from pairwise(node for _, _, node in records)


def _graph(edges: Iterable[tuple[Node, Node]]) -> Graph:
    graph = defaultdict[Node, set[Node]](set)
    for tail, head in edges:
        if tail != head:
            graph[tail].add(head)
    return graph


def _reached(graph: Graph, node: Node) -> set[Node]:
    """All to which edges lead from a node, itself only if they lead back."""
    found, ahead = set[Node](), [*graph.get(node, ())]
    while ahead:
        if (next_ := ahead.pop()) not in found:
            found.add(next_)
            ahead += graph.get(next_, ())
    return found


def _circular(graph: Graph) -> set[Node]:
    return {node for node in graph if node in _reached(graph, node)}


def _told(node: Node, wr: Graph, read: list[Row], senders: Mapping[int, Node]) -> tuple[Any, ...]:
    """What the row of a transaction says: its first reading in the cycle, and the first of it."""
    cycle = {other for other in _reached(wr, node) if node in _reached(wr, other)}
    within = [row for row in read if {_node(row), senders[row["value"]]} <= cycle]
    order = ("start", "value", "partition", "offset")
    of_it = [
        min(
            (row for row in within if who(row) == node),
            key=lambda row: [*(-1 if row[name] is None else row[name] for name in order)],
        )
        for who in (_node, lambda row: senders[row["value"]])
    ]
    (process, number), (writer, other) = node, senders[of_it[0]["value"]]
    return (
        *((row["value"], row["partition"], row["offset"]) for row in of_it),
        f"transaction {number} of {process}, from transaction {other} of {writer}",
    )
