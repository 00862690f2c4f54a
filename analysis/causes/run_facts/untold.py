"""What an imported history does not tell, and what cannot be judged without it (docs/lines.md).

    no begins of sends    =>  reordered, real-time violations, phantoms: not judged
    no sends              =>  phantoms: not judged
    no values             =>  duplicates, phantoms: not judged, since two may be one
    no acks               =>  what only acks=1 permits is neither permitted nor forbidden

Each promise is evaluated twice, for the safest configuration that is possible and for the least
safe one. What only the latter permits is in doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from analysis.causes.run_facts.configuration import Facts
from harness.model.untold import (
    BEGINS,
    CHECKSUMS,
    COPIES,
    EPOCHS,
    LOOKUPS,
    RESETS,
    SENDS,
    TRANSACTIONS,
    VALUES,
)

# Untold fact -> the anomalies that are not judged without it.
RESTS_ON: Final[Mapping[str, frozenset[str]]] = {
    # Without its begin and its end a send may have come before any read.
    BEGINS: frozenset({"reordered", "real-time-violation", "phantom"}),
    SENDS: frozenset({"phantom"}),
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
    SENDS: "any send",
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
    """The facts with the least safe value of every untold setting."""
    return _with(facts, 0)


def safest(facts: Facts) -> Facts:
    """The facts with the safest value of every untold setting."""
    return _with(facts, 1)


def _with(facts: Facts, which: int) -> Facts:
    changes: dict[str, Any] = {}
    for name in facts.untold:
        if name in _SETTINGS:
            changes |= _SETTINGS[name][which]
    return replace(facts, **changes)


def not_judged(untold: Collection[str]) -> frozenset[str]:
    """The anomalies that cannot be judged without these facts."""
    return frozenset().union(*(RESTS_ON.get(name, frozenset()) for name in untold))


def unmeasured_windows(untold: Collection[str]) -> dict[str, str]:
    """The kinds of windows that cannot be measured -> why. No imported history says which readers
    follow the log."""
    if BEGINS in untold:
        why = f"the history does not tell {_WORDS[BEGINS]}"
        return dict.fromkeys(("produce", *_OF_READERS), why)
    why = "the history does not tell who follows the log"
    return dict.fromkeys(_OF_READERS, why) if untold else {}


def untold_settings(untold: Collection[str]) -> tuple[str, ...]:
    """The untold facts that are settings."""
    return tuple(name for name in untold if name in _SETTINGS)


def unjudged_reasons(untold: Collection[str], judged: Collection[str]) -> list[str]:
    """One sentence per untold fact without which an anomaly of `judged` is unknown."""
    reasons = []
    if COPIES in untold and "duplicate" in {*judged} - not_judged(untold):
        reasons.append(
            "the history does not tell whether copies below the first acknowledged offset of their "
            "partition are an earlier run's: there may be more duplicates"
        )
    for name in untold:
        unknown = sorted(RESTS_ON.get(name, frozenset()) & {*judged})
        if unknown:
            are = "is" if len(unknown) == 1 else "are"
            reasons.append(
                f"the history does not tell {_WORDS[name]}: {', '.join(unknown)} {are} unknown"
            )
    return reasons
