"""reorder, duplicate, corrupt: packets of a node that arrive out of order, twice, or spoiled.

    reorder     `percent` of the packets that the node sends go at once, the others `ms` (10) later
    duplicate   `percent` are sent twice
    corrupt     `percent` have one bit turned; a receiver's checksum drops them

Only where the kernel has netem, on what the node sends (tc on its eth0); undone by `restore`. A
kernel without it refuses the scenario before a node starts; `kafka-harness doctor` tells. TCP hides
all three from Kafka and pays in time, which is what there is to see. Proof: packets of the node
went through netem with that setting; healed when it is gone.
Source: tc-netem(8).
"""

from __future__ import annotations

import re

from harness.cluster.capabilities import Links, Netem
from harness.nemesis.faults.network.links import links_of, stay
from harness.nemesis.faults.network.shaping import handle_of, restore, restored
from harness.nemesis.verb import Injection, Options, Verb, unknown

DEFAULT_MS = 10


def setting(verb: str, options: Options) -> list[str]:
    """What netem is told."""
    percent = f"{float(options['percent']):g}%"
    if verb == "reorder":
        return ["delay", f"{float(options.get('ms', DEFAULT_MS)):g}ms", "reorder", percent]
    return [verb, percent]


def _injects(verb: str, injection: Injection) -> None:
    add = ["tc", "qdisc", "add", "dev", "eth0", "root", "handle", handle_of(injection), "netem"]
    links_of(injection).in_network_of(injection.node, [*add, *setting(verb, injection.options)])


def _bites(verb: str, injection: Injection) -> str | None:
    shown = links_of(injection).in_network_of(
        injection.node, ["tc", "-s", "qdisc", "show", "dev", "eth0"]
    )
    packets = sent(shown, handle_of(injection))
    if not packets:
        return None
    what = " ".join(setting(verb, injection.options))
    return f"{packets} packets of {injection.node.name} went through netem: {what}"


def sent(shown: str, handle: str) -> int:
    """How many packets a queue has sent, from what `tc -s qdisc show` prints."""
    found = re.search(rf"qdisc netem {re.escape(handle)} .*?\n Sent \d+ bytes (\d+) pkt", shown)
    return int(found[1]) if found else 0


def _problems(verb: str, options: Options) -> list[str]:
    found = unknown(options, *(("percent", "ms") if verb == "reorder" else ("percent",)))
    percent, ms = options.get("percent"), options.get("ms", DEFAULT_MS)
    if not isinstance(percent, int | float) or not 0 < percent <= 100:
        found.append("give percent, the share of packets that it hits, between 0 and 100")
    if not isinstance(ms, int | float) or ms <= 0:
        found.append("ms, how much later the other packets go, must be more than 0")
    return found


def _verb(name: str) -> Verb:
    return Verb(
        name=name,
        undo="restore",
        needs=(Links, Netem),
        holds="egress",
        prepares="netem",
        inject=lambda injection: _injects(name, injection),
        bit=lambda injection: _bites(name, injection),
        heal=restore,
        healed=restored,
        during=stay,
        problems=lambda options: _problems(name, options),
    )


REORDER, DUPLICATE, CORRUPT = _verb("reorder"), _verb("duplicate"), _verb("corrupt")
