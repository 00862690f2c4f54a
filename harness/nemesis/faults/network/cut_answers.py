"""cut-answers: a broker receives requests of clients, but its answers do not reach them.

The classic cause of duplicates: the record is in the log, the acknowledgement is not delivered, the
producer sends again. Options: `how = "drop"` (answers are dropped; default) or `how = "reset"` (one
answer becomes a connection reset). Undone by `mend`.

Rules in a chain of our own in the broker's network namespace do it; only that chain is removed.
Its packet counters prove the cut. A node that sends clients nothing for a while (a follower, a
ZooKeeper) is called by one: that connection must fail.
Source: iptables-extensions(8), REJECT and statistic.
"""

from __future__ import annotations

import sys
import time
from typing import Literal

from pydantic import Field

from harness.cluster.capabilities import Links, clients_of
from harness.model.effects import Effects
from harness.nemesis.faults.network import iptables
from harness.nemesis.faults.network.iptables import Chain
from harness.nemesis.faults.network.links import links_of, reach, stay
from harness.nemesis.options import Options
from harness.nemesis.verb import Injection, Verb

HOW = {
    "drop": ["-j", "DROP"],
    # The first answer, then (never, in a bounded run) each millionth one.
    "reset": [
        "-m",
        "statistic",
        "--mode",
        "nth",
        "--every",
        "1000000",
        "--packet",
        "0",
        "-j",
        "REJECT",
        "--reject-with",
        "tcp-reset",
    ],
}
PATIENCE_NS = 2_000_000_000
_CALLS = """
import socket, sys
with socket.socket() as caller:
    caller.settimeout(0.5)
    caller.connect_ex((sys.argv[1], int(sys.argv[2])))
"""


class CutAnswersOptions(Options):
    """What becomes of the answers."""

    how: Literal["drop", "reset"] = Field(
        "drop", description="they are dropped, or one of them becomes a connection reset"
    )


def _cut(injection: Injection) -> None:
    links, chain, node = links_of(injection), _chain(injection), injection.node
    answers = ["-p", "tcp", "--sport", str(node.port), "-d", injection.cluster.client_address]
    how = CutAnswersOptions.of(injection.options).how
    iptables.fill(links, node, chain, [[*answers, *HOW[how]]])
    iptables.hang(links, node, chain)


def _cut_in_force(injection: Injection) -> str | None:
    chain = _chain(injection)
    packets = iptables.packets(links_of(injection), injection.node, chain).total()
    if not packets:
        asked_ns = injection.memo.setdefault("asked_ns", time.monotonic_ns())
        if time.monotonic_ns() > asked_ns + PATIENCE_NS:
            injection.memo["asked_ns"] = time.monotonic_ns()
            ask(injection)
        return None
    return f"{packets} answers of {injection.node.name} to clients were cut"


def ask(injection: Injection) -> None:
    """Let a client call the node, so that it answers."""
    links, clients = links_of(injection), clients_of(injection.cluster)
    host, port = reach(links, clients, injection.node)
    links.in_network_of(clients, [sys.executable, "-I", "-S", "-c", _CALLS, host, str(port)])


def _mend(injection: Injection) -> None:
    iptables.remove(links_of(injection), injection.node, _chain(injection))


def _mended(injection: Injection) -> str | None:
    chain = _chain(injection)
    if iptables.stands(links_of(injection), injection.node, chain):
        return None
    return f"no rule left in {injection.node.name}"


def _chain(injection: Injection) -> Chain:
    return Chain(fault=injection.fault, hook="OUTPUT")


CUT_ANSWERS = Verb(
    name="cut-answers",
    undo="mend",
    done="kept from answering clients",
    effects=Effects(),  # brokers and ensemble reach each other as before
    options=CutAnswersOptions,
    needs=(Links,),
    inject=_cut,
    proof_in_force=_cut_in_force,
    heal=_mend,
    healed=_mended,
    ends=lambda _: frozenset({"clients"}),
    during=stay,
    host={"iptables REJECT": 'how = "reject" or "reset"', "iptables statistic": 'how = "reset"'},
)
