"""A promise: the records of an anomaly that a configuration permits or forbids, and the source.

    permitted(when("retries", lambda facts: facts.retries > 0), "A send is repeated.", SEMANTICS)
    permitted(ALWAYS, "Only the leader had it.", ACKS, by=ANOTHER_LEADER)
    forbidden(OTHERWISE, "Every record is sent once.", SEMANTICS)

An anomaly has a row of them, in its checker's file (`loss.py` and the like). Every permitting row
whose condition holds for the configuration permits the records that have a cause of its kinds
(analysis.causes), up to the first forbidding row whose condition holds: it forbids all others.
The last row's condition always holds: **what is not listed as permitted is forbidden**.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.causes.kinds import EVERY, Kind
from analysis.causes.run_facts.configuration import Facts

# Sources that promises name.
REPLICATION = "Kafka documentation, Design: Replication"
ACKS = "Kafka documentation, Producer Configs: acks"
UNCLEAN = "Kafka documentation, Topic Configs: unclean.leader.election.enable"
FLUSH = "KIP-966; Kafka documentation, Topic Configs: flush.messages"
CRCS = "librdkafka, CONFIGURATION.md: check.crcs"
SEMANTICS = "Kafka documentation, Design: Message Delivery Semantics"
AUTO_COMMIT = "librdkafka, CONFIGURATION.md: enable.auto.commit, enable.auto.offset.store"
EXACTLY_ONCE = "KIP-98; KIP-447, of brokers from 2.5 on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on a run, in words and as a function; without a function it always holds."""

    words: str
    holds_for: Callable[[Facts], bool] | None = None

    def holds(self, facts: Facts) -> bool:
        """Whether it holds in a run."""
        return self.holds_for is None or self.holds_for(facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The records that are permitted on a condition (`by` such causes; None: forbidden), why, and
    the source."""

    by: Kind | None
    condition: Condition
    why: str
    source: str

    @property
    def when(self) -> str:
        """Its condition in words."""
        return self.condition.words

    @property
    def forbids(self) -> bool:
        """Whether it permits nothing."""
        return self.by is None

    @property
    def speaks_of_all(self) -> bool:
        """Whether it forbids, or permits, every record that no row before it permits."""
        return self.by in (None, EVERY)


def when(words: str, holds_for: Callable[[Facts], bool]) -> Condition:
    """A condition on the facts of a run."""
    return Condition(words=words, holds_for=holds_for)


def permitted(condition: Condition, why: str, source: str, *, by: Kind = EVERY) -> Promise:
    """A promise that does not hold for records with such a cause."""
    return Promise(by=by, condition=condition, why=why, source=source)


def forbidden(condition: Condition, why: str, source: str) -> Promise:
    """A promise that holds."""
    return Promise(by=None, condition=condition, why=why, source=source)


# The last row's conditions.
ALWAYS = Condition(words="always")
OTHERWISE = Condition(words="otherwise")

# Conditions of several anomalies.
SHRINKS = when(
    "unclean election allowed, no leader epochs, or a controller's disk lost (KRaft)",
    lambda facts: facts.may_truncate,
)
FORGOTTEN = when("a controller's disk lost (KRaft)", lambda facts: facts.set_back)
NO_EPOCHS = when(
    "inter.broker.protocol.version or message format below 0.11",
    lambda facts: facts.replicated and not facts.epochs,
)
TOOK = Condition(words="a fault that destroys data on a node")
# Committed offsets are records of another topic, whose ISR and settings are not recorded.
SET_BACK = Condition(words="a fault that can set internal topics back")
IN_TRANSACTIONS = when("offsets committed in transactions", lambda f: f.commit == "transaction")
UNSTABLE = when(
    "offsets committed in transactions, and isolation.level=read_uncommitted",
    lambda facts: facts.commit == "transaction" and facts.uncommitted,
)
UNSTABLE_OFFSETS = (
    "Only consumers with isolation.level=read_committed wait for the offsets of a transaction that "
    "is still open; another one goes on before them."
)
IN_FORMAT_2 = when("in histories of format 2", lambda facts: facts.history_format >= 2)
FLIPPED = Condition(words="a bit flipped on disk")
ALTERED = when(
    "a bit flipped on disk, and consumers that do not check CRCs",
    lambda facts: not facts.checks_crcs,
)
