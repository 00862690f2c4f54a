"""What Kafka promises under a configuration and the faults that happened: the forbidden anomalies.

A pure function over a table. For each anomaly the first row whose condition holds decides, and the
last has none: **what is not listed as permitted is forbidden**. Anomalies seen are kept apart from
anomalies forbidden; a scenario's [expect] can demand more, never excuse
(analysis.verdict.expectations).

`python -m analysis.verdict.promises` writes the table to docs/promises.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from analysis.verdict.expectations import ANOMALIES, OF_GROUPS, OF_REPLICAS
from analysis.verdict.facts import AT_THE_LEADER, DEPOSING, DESTROYING, ON_LINKS, Facts
from harness.checkout import DOCS


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A row of the table: when it holds, whether the anomaly is forbidden, why, and who says so."""

    anomaly: str
    forbidden: bool
    when: str
    holds: Callable[[Facts], bool]
    sentence: str
    source: str


REPLICATION = "Kafka documentation, Design: Replication"
ACKS = "Kafka documentation, Producer Configs: acks"
UNCLEAN = "Kafka documentation, Topic Configs: unclean.leader.election.enable"
FLUSH = "KIP-966; Kafka documentation, Topic Configs: flush.messages"
CRCS = "librdkafka, CONFIGURATION.md: check.crcs"
SEMANTICS = "Kafka documentation, Design: Message Delivery Semantics"
AUTO_COMMIT = "librdkafka, CONFIGURATION.md: enable.auto.commit, enable.auto.offset.store"


def _always(_: Facts) -> bool:
    return True


def _row(  # noqa: PLR0913, PLR0917  a table reads best by position
    anomaly: str, verdict: str, when: str, holds: Callable[[Facts], bool], why: str, source: str
) -> Promise:
    return Promise(
        anomaly=anomaly,
        forbidden=verdict == "forbidden",
        when=when,
        holds=holds,
        sentence=why,
        source=source,
    )


_SHRINKS = (
    "unclean election allowed, or no leader epochs, and a fault that can move leadership",
    lambda facts: facts.log_may_shrink,
)
_DESTROYED = (
    "a fault that takes what a node had written, and it hit the whole ISR, or acks=1",
    lambda facts: facts.no_copy,
)

_SPOILED = (
    "a bit flipped on disk, and consumers that do not check CRCs",
    lambda facts: facts.spoiled,
)
_TOOK = (
    "a fault that takes what a node had written",
    lambda facts: facts.destroyed,
)
# Committed offsets are records of another topic, whose ISR and settings are not looked at.
_OFFSETS_DESTROYED = (
    "a fault that takes what a node had written",
    lambda facts: bool(facts.verbs & DESTROYING),
)

TABLE: tuple[Promise, ...] = (
    _row(
        "lost",
        "permitted",
        "unclean election allowed, and a fault that can move leadership",
        lambda facts: facts.deposed and facts.unclean,
        "With unclean leader election a replica that lacks records may lead; they are lost.",
        UNCLEAN,
    ),
    _row(
        "lost",
        "permitted",
        "inter.broker.protocol.version below 0.11, and a fault that can move leadership",
        lambda facts: facts.deposed and not facts.epochs,
        "Without leader epochs a follower truncates to its high watermark, which may lie below "
        "acknowledged records when it is elected next.",
        "KIP-101",
    ),
    _row(
        "lost",
        "permitted",
        "acks=1, and a fault that can move leadership",
        lambda facts: facts.acks == "1" and facts.deposed,
        "With acks=1 the leader alone has the record when it is acknowledged; if it goes before "
        "the followers have copied it, the record is lost.",
        ACKS,
    ),
    _row(
        "lost",
        "permitted",
        *_DESTROYED,
        "Records are acknowledged from memory, and no broker that had them all kept what it had.",
        FLUSH,
    ),
    _row(
        "lost",
        "forbidden",
        "acks=1 otherwise",
        lambda facts: facts.acks == "1",
        "With acks=1 nothing is lost as long as the leader stays.",
        ACKS,
    ),
    _row(
        "lost",
        "forbidden",
        "acks=0: nothing is acknowledged",
        lambda facts: facts.acks == "0",
        "With acks=0 nothing is acknowledged, so nothing acknowledged can be lost.",
        ACKS,
    ),
    _row(
        "lost",
        "forbidden",
        "otherwise",
        _always,
        "With acks=all and clean elections every in-sync replica has an acknowledged record, and "
        "only an in-sync replica may lead.",
        f"{REPLICATION}; KIP-101, KIP-279",
    ),
    _row(
        "vanished",
        "permitted",
        *_SHRINKS,
        "A new leader that lacks records may make the others drop what consumers already had.",
        f"{UNCLEAN}; KIP-101",
    ),
    _row(
        "vanished",
        "permitted",
        *_DESTROYED,
        "Records are delivered from memory, and no broker that had them all kept what it had.",
        FLUSH,
    ),
    _row(
        "vanished",
        "permitted",
        *_SPOILED,
        "A broker hands out what is on its disk, and librdkafka looks at the CRC only when told.",
        CRCS,
    ),
    _row(
        "vanished",
        "forbidden",
        "otherwise",
        _always,
        "Consumers are given committed records only, and with clean elections these stay.",
        f"{REPLICATION}; {SEMANTICS}",
    ),
    _row(
        "unseen",
        "permitted",
        "always",
        _always,
        "The final read did not reach the end of the log: whether these records are lost is "
        "unknown, and so is the run.",
        "kafka-harness, docs/anomalies.md",
    ),
    _row(
        "duplicate",
        "permitted",
        "retries, and no idempotent producer",
        lambda facts: facts.retries > 0 and not facts.idempotent,
        "A send is repeated when its answer does not come, and without idempotence the broker "
        "appends it again.",
        f"{SEMANTICS}; KIP-98",
    ),
    _row(
        "duplicate",
        "forbidden",
        "an idempotent producer",
        lambda facts: facts.idempotent,
        "With an idempotent producer the broker drops a repeated send.",
        "KIP-98",
    ),
    _row(
        "duplicate",
        "permitted",
        "acks=all without retries, and a fault that can move leadership",
        lambda facts: facts.acks == "all" and facts.deposed,
        "A leader that is deposed after it appended a record answers NOT_LEADER_OR_FOLLOWER, and "
        "librdkafka then sends the record again whatever retries says.",
        "KAFKA-13574; librdkafka issue 4953",
    ),
    _row(
        "duplicate",
        "forbidden",
        "otherwise",
        _always,
        "Without retries every record is sent once.",
        "Kafka documentation, Producer Configs: retries",
    ),
    _row(
        "phantom",
        "permitted",
        *_SPOILED,
        "A broker hands out what is on its disk, and librdkafka looks at the CRC only when told.",
        CRCS,
    ),
    _row(
        "phantom",
        "permitted",
        "transactions, and consumers with isolation.level=read_uncommitted",
        lambda facts: facts.given_aborted,
        "The records of an aborted transaction stay in the log, and only who reads committed "
        "records is spared them.",
        "KIP-98",
    ),
    _row(
        "phantom",
        "forbidden",
        "transactions otherwise",
        lambda facts: facts.transactional,
        "Nothing is read that was not sent, nor what was written in a transaction that was "
        "aborted.",
        f"KIP-98; {SEMANTICS}",
    ),
    _row(
        "phantom",
        "forbidden",
        "otherwise",
        _always,
        "Nothing is read that was not sent, nor what certainly failed.",
        SEMANTICS,
    ),
    _row(
        "inconsistent-offset",
        "permitted",
        *_SHRINKS,
        "Offsets that a new leader lacks are given to other records.",
        f"{UNCLEAN}; KIP-101",
    ),
    _row(
        "inconsistent-offset",
        "permitted",
        *_DESTROYED,
        "Offsets that were lost with the last copy are given to other records.",
        FLUSH,
    ),
    _row(
        "inconsistent-offset",
        "permitted",
        "acks=1, retries without idempotence, and a fault that can move leadership",
        lambda facts: (
            facts.acks == "1" and facts.deposed and facts.retries > 0 and not facts.idempotent
        ),
        "With acks=1 the acknowledged copy of a repeated send may be lost while another stays.",
        ACKS,
    ),
    _row(
        "inconsistent-offset",
        "permitted",
        *_SPOILED,
        "One reader is given the changed record, another one the record as it was.",
        CRCS,
    ),
    _row(
        "inconsistent-offset",
        "forbidden",
        "otherwise",
        _always,
        "A record keeps its offset, and an offset its record.",
        "Kafka documentation, Implementation: Log; KIP-101",
    ),
    _row(
        "stale-read",
        "permitted",
        "always",
        _always,
        "Kafka does not promise that a consumer sees a record within any time.",
        REPLICATION,
    ),
    _row(
        "skipped",
        "permitted",
        *_SHRINKS,
        "A group goes on at what it committed; where the log was cut below that, the records that "
        "come in place of the old ones are passed over.",
        f"{UNCLEAN}; KIP-101",
    ),
    _row(
        "skipped",
        "permitted",
        *_OFFSETS_DESTROYED,
        "The log, or the group's committed offsets, may be older than what the group did.",
        "KIP-966",
    ),
    _row(
        "skipped",
        "permitted",
        "offsets committed by the client itself, and a member that died or any fault",
        lambda facts: facts.commit == "auto" and facts.cut_short,
        "The client commits what it has handed over, processed or not; a member that dies in "
        "between has processed nothing of it, and nobody is given it again.",
        AUTO_COMMIT,
    ),
    _row(
        "skipped",
        "permitted",
        "offsets committed before processing, and a member that died or any fault",
        lambda facts: facts.commit == "before" and facts.cut_short,
        "At most once: what was committed and not processed when the member stopped, or when the "
        "commit's answer was lost, is given to nobody again.",
        SEMANTICS,
    ),
    _row(
        "skipped",
        "forbidden",
        "offsets committed after processing",
        lambda facts: facts.commit == "after",
        "At least once: only what was processed is committed.",
        SEMANTICS,
    ),
    _row(
        "skipped",
        "forbidden",
        "otherwise",
        _always,
        "A member that goes on living processes all that it was given.",
        SEMANTICS,
    ),
    _row(
        "reprocessed",
        "permitted",
        *_SHRINKS,
        "A group whose committed offset is no longer in the log begins again where "
        "auto.offset.reset says.",
        f"{UNCLEAN}; KIP-101",
    ),
    _row(
        "reprocessed",
        "permitted",
        *_OFFSETS_DESTROYED,
        "The group's committed offsets may be older than what it did.",
        "KIP-966",
    ),
    _row(
        "reprocessed",
        "permitted",
        "offsets committed by the client itself",
        lambda facts: facts.commit == "auto",
        "What was processed since the last commit is given again to whoever takes over.",
        AUTO_COMMIT,
    ),
    _row(
        "reprocessed",
        "permitted",
        "offsets committed after processing",
        lambda facts: facts.commit == "after",
        "At least once: what was processed and not yet committed is given again to whoever takes "
        "over.",
        SEMANTICS,
    ),
    _row(
        "reprocessed",
        "forbidden",
        "otherwise",
        _always,
        "At most once: nothing is processed before it is committed, and what is committed is "
        "given to nobody again.",
        SEMANTICS,
    ),
    _row(
        "unacknowledged-lost",
        "permitted",
        "always",
        _always,
        "With acks=0 the client does not wait for any answer: what does not arrive is not sent "
        "again, and nobody is told.",
        ACKS,
    ),
    _row(
        "diverged",
        "permitted",
        "inter.broker.protocol.version below 0.11, and a fault that can move leadership",
        lambda facts: facts.deposed and not facts.epochs,
        "Without leader epochs a follower keeps what lies below its own high watermark, whatever "
        "the leader has there.",
        "KIP-101",
    ),
    _row(
        "diverged",
        "permitted",
        *_DESTROYED,
        "A replica that lost what it had may be given other records at the same offsets.",
        "KIP-966",
    ),
    _row(
        "diverged",
        "forbidden",
        "otherwise",
        _always,
        "A follower truncates to where it agrees with the leader and copies what follows.",
        "KIP-101, KIP-279",
    ),
    _row(
        "watermark-ahead",
        "permitted",
        *_SHRINKS,
        "A new leader that lacks records may make the others drop what lay below a watermark.",
        f"{UNCLEAN}; KIP-101",
    ),
    _row(
        "watermark-ahead",
        "permitted",
        *_TOOK,
        "A broker that lost what it had is a member of the ISR until that is noticed.",
        "KIP-966",
    ),
    _row(
        "watermark-ahead",
        "forbidden",
        "otherwise",
        _always,
        "The leader's high watermark is the least log end of the ISR, and no follower's is above "
        "the leader's.",
        REPLICATION,
    ),
    _row(
        "early-read",
        "permitted",
        *_SHRINKS,
        "What consumers were given may be dropped, and the ISR then lacks it.",
        f"{UNCLEAN}; KIP-101",
    ),
    _row(
        "early-read",
        "permitted",
        *_TOOK,
        "A broker that lost what it had is a member of the ISR until that is noticed.",
        "KIP-966",
    ),
    _row(
        "early-read",
        "forbidden",
        "otherwise",
        _always,
        "Consumers are given committed records only: those that every in-sync replica has.",
        REPLICATION,
    ),
)


def promises(facts: Facts) -> dict[str, Promise]:
    """The row that decides for each anomaly that such a run can have."""
    return {
        anomaly: next(row for row in TABLE if row.anomaly == anomaly and row.holds(facts))
        for anomaly in ANOMALIES
        if _is_judged(anomaly, facts)
    }


def _is_judged(anomaly: str, facts: Facts) -> bool:
    """Whether such a run can have the anomaly at all: others do not speak of it."""
    judged = {"unacknowledged-lost": facts.acks == "0", "diverged": facts.compared}
    judged |= dict.fromkeys(OF_REPLICAS, facts.watched)
    return (judged | dict.fromkeys(OF_GROUPS, facts.commit is not None)).get(anomaly, True)


# The page


def render() -> str:
    """docs/promises.md."""
    lines = [
        "# Promises",
        "",
        "Which anomalies a configuration forbids, given the faults that were injected.",
        "For each anomaly the first row whose condition holds decides;"
        " what is not listed as permitted is forbidden.",
        "A fault that can move leadership is one of "
        f"{', '.join(sorted(DEPOSING))}, with more than one replica;"
        f" one that takes what a node had written is one of {', '.join(sorted(DESTROYING))}.",
        f"{' and '.join(sorted(OF_GROUPS))} are judged only where a consumer group is at work,"
        " unacknowledged-lost only under acks=0, diverged only where `check.replicas` is set,"
        f" {' and '.join(sorted(OF_REPLICAS))} only where `check.watermarks` is.",
        f"Of these, {', '.join(sorted(AT_THE_LEADER))} count only where a leader was hit, half of"
        " the ZooKeepers or more at a time, or where leadership was seen to move: a single"
        " ZooKeeper, a follower or a worker that is killed deposes nobody.",
        f"{', '.join(sorted(ON_LINKS))} that are `from` the clients alone count only where"
        " leadership was seen to move: brokers and ZooKeeper hear each other as ever.",
        "A setting that was changed at run time (`set-config`) counts as the least safe value that"
        " it had.",
        "",
        "This page is generated from `analysis/verdict/promises.py`"
        " by `python -m analysis.verdict.promises`.",
        "",
    ]
    for anomaly in ANOMALIES:
        lines += [f"## {anomaly}", "", "| when | | why | source |", "|---|---|---|---|"]
        lines += [
            f"| {row.when} | **{'forbidden' if row.forbidden else 'permitted'}** "
            f"| {row.sentence} | {row.source} |"
            for row in TABLE
            if row.anomaly == anomaly
        ]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    page = DOCS / "promises.md"
    page.write_text(render())
    sys.stdout.write(f"{page} written\n")
