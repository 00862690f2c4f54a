"""What an imported history does not tell, and what cannot be judged then (docs/lines.md).

    begins of sends not told    =>  reordered, real-time violations, phantoms: not judged
    values not told             =>  duplicates, phantoms: not judged, since two may be one
    acks not told               =>  what only acks=1 permits is neither permitted nor forbidden

Every promise is asked twice: of the safest configuration that there may have been, and of the least
safe. What only the latter permits is in doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from analysis.run_facts.configuration import Facts
from harness.model.untold import (
    BEGINS,
    CHECKSUMS,
    EPOCHS,
    LOOKUPS,
    RESETS,
    TRANSACTIONS,
    VALUES,
)

# What is not told -> the anomalies that are not judged without it.
RESTS_ON: Final[Mapping[str, frozenset[str]]] = {
    # Of a send without begin and without end nobody knows: what is read may have been sent.
    BEGINS: frozenset({"reordered", "real-time-violation", "phantom"}),
    VALUES: frozenset({"phantom", "vanished", "inconsistent-offset", "corrupt", "duplicate"}),
    EPOCHS: frozenset({"epoch-back"}),
    CHECKSUMS: frozenset({"corrupt"}),
    LOOKUPS: frozenset({"stale-read"}),
    RESETS: frozenset({"poll-skip", "poll-back"}),
    TRANSACTIONS: frozenset(
        {"uncommitted-read", "torn", "hanging-transaction", "circular-flow", "stable-back"}
    ),
}
_WORDS: Final = {
    BEGINS: "when sends began",
    VALUES: "which values were read",
    EPOCHS: "leader epochs",
    CHECKSUMS: "checksums",
    LOOKUPS: "look-ups",
    RESETS: "what moved readers",
    TRANSACTIONS: "transactions",
}
_OF_READERS: Final = ("consume", "process")  # kinds of windows
# setting -> the facts when it is as unsafe as can be, and as safe
_SETTINGS: Final[Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {
    "acks": ({"acks": "1"}, {"acks": "all"}),
    "retries": ({"retries": 2**31 - 1}, {"retries": 0}),
    "enable.idempotence": ({"idempotent": False}, {"idempotent": True}),
    "max.in.flight.requests.per.connection": ({"in_flight": 5}, {"in_flight": 1}),
    "transactional.id": ({"transactional": True}, {"transactional": False}),
    "isolation.level": ({"uncommitted": True}, {"uncommitted": False}),
    "check.crcs": ({"checks_crcs": False}, {"checks_crcs": True}),
    "replication_factor": ({"replicas": 3}, {"replicas": 1}),
    "cleanup.policy": ({"compacted": True}, {"compacted": False}),
    "unclean.leader.election.enable": ({"unclean": True}, {"unclean": False}),
    "inter.broker.protocol.version": ({"epochs": False}, {"epochs": True}),
}


def least_safe(facts: Facts) -> Facts:
    """The facts with every setting that is not told as unsafe as it can have been."""
    return _with(facts, 0)


def safest(facts: Facts) -> Facts:
    """The same, as safe as it can have been."""
    return _with(facts, 1)


def _with(facts: Facts, which: int) -> Facts:
    changes: dict[str, Any] = {}
    for name in facts.untold:
        if name in _SETTINGS:
            changes |= _SETTINGS[name][which]
    return replace(facts, **changes)


def not_judged(untold: Collection[str]) -> frozenset[str]:
    """The anomalies that nobody can judge where this is not told."""
    return frozenset().union(*(RESTS_ON.get(name, frozenset()) for name in untold))


def gaps_untold(untold: Collection[str]) -> dict[str, str]:
    """The kinds of windows that nobody can measure, and why. Nobody says of an imported history who
    follows the log."""
    if BEGINS in untold:
        why = f"the history does not tell {_WORDS[BEGINS]}"
        return dict.fromkeys(("produce", *_OF_READERS), why)
    why = "the history does not tell who follows the log"
    return dict.fromkeys(_OF_READERS, why) if untold else {}


def settings_untold(untold: Collection[str]) -> tuple[str, ...]:
    """Those of what is not told that are settings."""
    return tuple(name for name in untold if name in _SETTINGS)


def untold_words(untold: Collection[str], judged: Collection[str]) -> list[str]:
    """A reason for each thing that is not told and that keeps something from being judged, of the
    anomalies that such a run could have had."""
    found = []
    for name in untold:
        kept = sorted(RESTS_ON.get(name, frozenset()) & {*judged})
        if kept:
            are = "is" if len(kept) == 1 else "are"
            found.append(
                f"the history does not tell {_WORDS[name]}: {', '.join(kept)} {are} unknown"
            )
    return found
