"""reorder, duplicate, corrupt: packets of a node that arrive out of order, twice, or corrupted.

    reorder     `percent` of the packets that the node sends go at once, the others `ms` (10) later
    duplicate   `percent` are sent twice
    corrupt     `percent` have one bit flipped; a receiver's checksum drops them

netem changes what the node sends (tc on its eth0); undone by `restore`. Where the kernel has no
netem, the scenario is refused before a node starts; `kafka-harness doctor` shows it. TCP hides all
three from Kafka, which sees longer delays only. Proof: packets of the node went through netem with
that setting; healed when it is gone.
Source: tc-netem(8).
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from harness.cluster.capabilities import Links, Netem, Preparable
from harness.model.effects import Effects
from harness.nemesis.faults.network.links import links_of, stay
from harness.nemesis.faults.network.shaping import handle_of, restore, restored
from harness.nemesis.options import Options
from harness.nemesis.verb import Injection, Trial, Verb


class SomePackets(Options):
    """Which share of the packets it hits."""

    percent: Annotated[
        float,
        Field(
            gt=0,
            le=100,
            description="the percentage of packets that it hits, above 0 and at most 100",
            examples=[30],
        ),
    ]


class ReorderOptions(SomePackets):
    """How long the other packets wait."""

    ms: Annotated[
        float, Field(gt=0, description="how long the other packets wait, in ms, above 0")
    ] = 10.0


def setting(verb: str, options: Options) -> list[str]:
    """The parameters of netem."""
    if verb == "reorder":
        wait = ReorderOptions.of(options)
        return ["delay", f"{wait.ms:g}ms", "reorder", f"{wait.percent:g}%"]
    return [verb, f"{SomePackets.of(options).percent:g}%"]


def _inject(verb: str, injection: Injection) -> None:
    add = ["tc", "qdisc", "add", "dev", "eth0", "root", "handle", handle_of(injection), "netem"]
    links_of(injection).in_network_of(injection.node, [*add, *setting(verb, injection.options)])


def _proved(verb: str, injection: Injection) -> str | None:
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
    match = re.search(rf"qdisc netem {re.escape(handle)} .*?\n Sent \d+ bytes (\d+) pkt", shown)
    return int(match[1]) if match else 0


def _verb(name: str, done: str, trial: Trial, options: type[Options] = SomePackets) -> Verb:
    return Verb(
        name=name,
        undo="restore",
        done=done,
        effects=Effects(leadership="anywhere"),
        options=options,
        needs=(Links, Netem, Preparable),
        holds="egress",
        prepares="netem",
        inject=lambda injection: _inject(name, injection),
        proof_in_force=lambda injection: _proved(name, injection),
        heal=restore,
        healed=restored,
        during=stay,
        host={"tc netem": ""},
        trial=trial,
    )


REORDER = _verb(
    "reorder",
    "hit by packet reordering",
    Trial(options={"percent": 30, "ms": 20}),
    ReorderOptions,
)
DUPLICATE = _verb("duplicate", "hit by packet duplication", Trial())
CORRUPT = _verb("corrupt", "hit by packet corruption", Trial(options={"percent": 5}))
