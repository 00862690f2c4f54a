"""cut-answers: a broker hears its clients, but its answers do not reach them.

The classic cause of duplicates: the record is in the log, the acknowledgement is not delivered, the
producer sends again. Options: `how = "drop"` (answers vanish; default) or `how = "reset"` (one
answer becomes a connection reset). Undone by `mend`.

Done by rules in a chain of our own in the broker's network namespace; only that chain is removed.
The chain's packet counters prove that the cut bit.
Source: iptables-extensions(8), REJECT and statistic.
"""

from __future__ import annotations

from typing import cast

from harness.cluster import Links
from harness.nemesis.faults.verb import Injection, Options, Verb

HOW = {
    "drop": ["-j", "DROP"],
    # The first answer, then (never, in a bounded run) each millionth one.
    "reset": [
        "-m", "statistic", "--mode", "nth", "--every", "1000000", "--packet", "0",
        "-j", "REJECT", "--reject-with", "tcp-reset",
    ],
}  # fmt: skip


def _cut(injection: Injection) -> None:
    chain = _chain(injection)
    answers = ["-p", "tcp", "--sport", str(injection.node.port)]
    to_clients = ["-d", injection.cluster.client_address]
    rule = HOW[str(injection.options.get("how", "drop"))]
    _iptables(injection, "-N", chain)
    _iptables(injection, "-A", chain, *answers, *to_clients, *rule)
    _iptables(injection, "-I", "OUTPUT", "-j", chain)


def _bit(injection: Injection) -> str | None:
    listing = _iptables(injection, "-L", _chain(injection), "-v", "-n", "-x")
    packets = sum(int(line.split()[0]) for line in listing.splitlines()[2:])
    if not packets:
        return None
    return f"{packets} answers of {injection.node.name} to clients were cut"


def _mend(injection: Injection) -> None:
    chain = _chain(injection)
    _iptables(injection, "-D", "OUTPUT", "-j", chain)
    _iptables(injection, "-F", chain)  # our own chain, by its name
    _iptables(injection, "-X", chain)


def _mended(injection: Injection) -> str | None:
    rules = _iptables(injection, "-S")
    return None if _chain(injection) in rules else f"no rule left in {injection.node.name}"


def _problems(options: Options) -> list[str]:
    found = [f"{name!r} is unknown: this verb takes how" for name in options if name != "how"]
    if options.get("how", "drop") not in HOW:
        found.append(f"how is {options['how']!r}, must be one of {', '.join(HOW)}")
    return found


def _chain(injection: Injection) -> str:
    return f"HARNESS-{injection.fault}"


def _iptables(injection: Injection, *arguments: str) -> str:
    links = cast(Links, injection.cluster)
    return links.in_network_of(injection.node, ["iptables", "-w", *arguments])


CUT_ANSWERS = Verb(
    name="cut-answers", undo="mend", needs=(Links,),
    inject=_cut, bit=_bit, heal=_mend, healed=_mended, problems=_problems,
)  # fmt: skip
