"""A promise: under which condition an anomaly is permitted or forbidden, why, and who says so.

    permitted(when("retries", lambda facts: facts.retries > 0), "A send is repeated.", SEMANTICS)
    forbidden(OTHERWISE, "Every record is sent once.", SEMANTICS)

An anomaly has a row of them, in its checker's file (`loss.py` and the like). The first whose
condition holds decides, and the last one's always holds: **what is not listed as permitted is
forbidden**.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.run_facts.configuration import Facts

# Sources that promises name.
REPLICATION = "Kafka documentation, Design: Replication"
ACKS = "Kafka documentation, Producer Configs: acks"
UNCLEAN = "Kafka documentation, Topic Configs: unclean.leader.election.enable"
FLUSH = "KIP-966; Kafka documentation, Topic Configs: flush.messages"
CRCS = "librdkafka, CONFIGURATION.md: check.crcs"
SEMANTICS = "Kafka documentation, Design: Message Delivery Semantics"
AUTO_COMMIT = "librdkafka, CONFIGURATION.md: enable.auto.commit, enable.auto.offset.store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What must be so, in words and as a function; without a function it always is."""

    words: str
    holds_for: Callable[[Facts], bool] | None = None

    def holds(self, facts: Facts) -> bool:
        """Whether it is so in such a run."""
        return self.holds_for is None or self.holds_for(facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """When it holds, whether the anomaly is forbidden then, why, and who says so."""

    forbidden: bool
    condition: Condition
    why: str
    source: str

    @property
    def when(self) -> str:
        """Its condition in words."""
        return self.condition.words


def when(words: str, holds_for: Callable[[Facts], bool]) -> Condition:
    """A condition on the facts of a run."""
    return Condition(words=words, holds_for=holds_for)


def permitted(condition: Condition, why: str, source: str) -> Promise:
    """A promise that does not hold there."""
    return Promise(forbidden=False, condition=condition, why=why, source=source)


def forbidden(condition: Condition, why: str, source: str) -> Promise:
    """A promise that holds."""
    return Promise(forbidden=True, condition=condition, why=why, source=source)


# The last row's conditions.
ALWAYS = Condition(words="always")
OTHERWISE = Condition(words="otherwise")

# Conditions of several anomalies.
SHRINKS = when(
    "unclean election allowed, or no leader epochs, and a fault that can move leadership",
    lambda facts: facts.log_may_shrink,
)
NO_EPOCHS = when(
    "inter.broker.protocol.version below 0.11, and a fault that can move leadership",
    lambda facts: facts.deposed and not facts.epochs,
)
NO_COPY = when(
    "a fault that destroys data on a node, and it hit the whole ISR, or acks=1",
    lambda facts: facts.no_copy,
)
ALTERED = when(
    "a bit flipped on disk, and consumers that do not check CRCs",
    lambda facts: facts.given_altered,
)
TOOK = when(
    "a fault that destroys data on a node",
    lambda facts: facts.destroyed,
)
# Committed offsets are records of another topic, whose ISR and settings are not looked at.
TOOK_OFFSETS = when(
    "a fault that destroys data on a node",
    lambda facts: facts.takes != "nothing",
)
