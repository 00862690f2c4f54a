"""What is forbidden under which configuration: one test a row of the table, and the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict import promises
from analysis.verdict.expectations import ANOMALIES, OF_GROUPS
from analysis.verdict.facts import Facts, facts_of, verbs_that_matter
from analysis.verdict.promises import TABLE
from harness.checkout import DOCS

PAGE = DOCS / "promises.md"

# acks=all with an idempotent producer, clean elections, and a leader that was killed.
SAFE = Facts(
    acks="all",
    retries=2147483647,
    idempotent=True,
    replicas=3,
    unclean=False,
    epochs=True,
    flushed=False,
    whole_isr=False,
    checks_crcs=False,
    verbs=frozenset({"kill"}),
)
KILL, CUT_ANSWERS, LOSE_DISK = (
    frozenset({"kill"}),
    frozenset({"cut-answers"}),
    frozenset({"lose-disk"}),
)
FLIP_BIT = frozenset({"flip-bit"})
LOSE_POWER = frozenset({"lose-power"})
SHRINKS = "unclean election allowed, or no leader epochs, and a fault that can move leadership"
NO_COPY = "a fault that takes what a node had written, and it hit the whole ISR, or acks=1"

LEADER_1 = '{"leader": {"0": "kafka1"}, "known": true}'


def forbidden(facts: Facts) -> set[str]:
    return {name for name, promise in promises.promises(facts).items() if promise.forbidden}


def with_(**changes: Any) -> Facts:
    return replace(SAFE, **changes)


def test_a_safe_configuration_forbids_whatever_kafka_promises() -> None:
    """All but what no configuration forbids; of a group there is nothing to judge."""
    assert forbidden(SAFE) == set(ANOMALIES) - {
        "unseen",
        "stale-read",
        "skipped",
        "reprocessed",
        "unacknowledged-lost",
        "diverged",
        "watermark-ahead",
        "early-read",
    }
    assert {*OF_GROUPS, "unacknowledged-lost", "diverged"}.isdisjoint(promises.promises(SAFE))
    assert OF_GROUPS <= promises.promises(with_(commit="auto")).keys()


CASES: list[tuple[str, bool, str, Facts]] = [
    (
        "lost",
        False,
        "unclean election allowed, and a fault that can move leadership",
        with_(unclean=True),
    ),
    (
        "lost",
        False,
        "inter.broker.protocol.version below 0.11, and a fault that can move leadership",
        with_(epochs=False),
    ),
    ("lost", False, "acks=1, and a fault that can move leadership", with_(acks="1")),
    ("lost", False, NO_COPY, with_(whole_isr=True, verbs=LOSE_POWER)),
    ("lost", True, "acks=1 otherwise", with_(acks="1", verbs=frozenset())),
    ("lost", True, "acks=0: nothing is acknowledged", with_(acks="0")),
    ("lost", True, "otherwise", SAFE),
    (
        "vanished",
        False,
        SHRINKS,
        with_(unclean=True),
    ),
    ("vanished", False, NO_COPY, with_(replicas=1, verbs=LOSE_DISK)),
    ("vanished", True, "otherwise", with_(acks="1")),
    ("unseen", False, "always", SAFE),
    ("duplicate", False, "retries, and no idempotent producer", with_(idempotent=False, retries=1)),
    ("duplicate", True, "an idempotent producer", SAFE),
    (
        "duplicate",
        False,
        "acks=all without retries, and a fault that can move leadership",
        with_(idempotent=False, retries=0),
    ),
    ("duplicate", True, "otherwise", with_(idempotent=False, retries=0, acks="1")),
    ("duplicate", True, "otherwise", with_(idempotent=False, retries=0, verbs=frozenset())),
    *(
        (
            anomaly,
            False,
            "a bit flipped on disk, and consumers that do not check CRCs",
            with_(verbs=FLIP_BIT),
        )
        for anomaly in ("vanished", "phantom", "inconsistent-offset")
    ),
    (
        "phantom",
        False,
        "transactions, and consumers with isolation.level=read_uncommitted",
        with_(transactional=True, uncommitted=True),
    ),
    ("phantom", True, "transactions otherwise", with_(transactional=True)),
    ("phantom", True, "otherwise", with_(uncommitted=True)),
    ("phantom", True, "otherwise", with_(acks="0", unclean=True)),
    ("phantom", True, "otherwise", with_(checks_crcs=True, verbs=FLIP_BIT)),
    (
        "inconsistent-offset",
        False,
        SHRINKS,
        with_(epochs=False),
    ),
    ("inconsistent-offset", False, NO_COPY, with_(whole_isr=True, verbs=LOSE_DISK)),
    (
        "inconsistent-offset",
        False,
        "acks=1, retries without idempotence, and a fault that can move leadership",
        with_(acks="1", idempotent=False),
    ),
    ("inconsistent-offset", True, "otherwise", with_(acks="1", idempotent=False, retries=0)),
    ("stale-read", False, "always", SAFE),
    (
        "skipped",
        False,
        SHRINKS,
        with_(commit="after", unclean=True),
    ),
    (
        "skipped",
        False,
        "a fault that takes what a node had written",
        with_(commit="after", verbs=LOSE_DISK),
    ),
    (
        "skipped",
        False,
        "offsets committed by the client itself, and a member that died or any fault",
        with_(commit="auto", members_died=True, verbs=frozenset()),
    ),
    (
        "skipped",
        False,
        "offsets committed before processing, and a member that died or any fault",
        with_(commit="before", disturbed=True, verbs=frozenset()),
    ),
    (
        "skipped",
        True,
        "offsets committed after processing",
        with_(commit="after", members_died=True),
    ),
    ("skipped", True, "otherwise", with_(commit="before", verbs=frozenset())),
    ("skipped", True, "otherwise", with_(commit="auto", verbs=CUT_ANSWERS)),
    (
        "reprocessed",
        False,
        SHRINKS,
        with_(commit="before", epochs=False),
    ),
    (
        "reprocessed",
        False,
        "a fault that takes what a node had written",
        with_(commit="before", verbs=LOSE_DISK),
    ),
    ("reprocessed", False, "offsets committed by the client itself", with_(commit="auto")),
    ("reprocessed", False, "offsets committed after processing", with_(commit="after")),
    ("reprocessed", True, "otherwise", with_(commit="before", members_died=True)),
    (
        "diverged",
        False,
        "inter.broker.protocol.version below 0.11, and a fault that can move leadership",
        with_(compared=True, epochs=False),
    ),
    ("diverged", False, NO_COPY, with_(compared=True, whole_isr=True, verbs=LOSE_DISK)),
    ("diverged", True, "otherwise", with_(compared=True)),
    *(
        case
        for name in ("watermark-ahead", "early-read")
        for case in (
            (
                name,
                False,
                SHRINKS,
                with_(watched=True, unclean=True),
            ),
            (
                name,
                False,
                "a fault that takes what a node had written",
                with_(watched=True, verbs=LOSE_DISK),
            ),
            (name, True, "otherwise", with_(watched=True)),
        )
    ),
    ("unacknowledged-lost", False, "always", with_(acks="0", idempotent=False)),
]


@pytest.mark.parametrize(("anomaly", "is_forbidden", "when", "facts"), CASES)
def test_each_row_decides_its_case(
    anomaly: str, is_forbidden: bool, when: str, facts: Facts
) -> None:
    promise = promises.promises(facts)[anomaly]

    assert (promise.forbidden, promise.when) == (is_forbidden, when)


def test_every_row_has_its_case_and_names_its_source() -> None:
    """A row that no test decides by might as well be wrong."""
    assert {(row.anomaly, row.when) for row in TABLE} == {(case[0], case[2]) for case in CASES}
    assert all(row.source and row.sentence.endswith(".") for row in TABLE)


@pytest.mark.parametrize(
    "facts",
    [
        with_(acks="1", verbs=frozenset()),  # nobody moved the leader
        with_(acks="1", verbs=CUT_ANSWERS),  # nor did this
        with_(acks="1", replicas=1),  # there is nobody to move to
        with_(unclean=True, verbs=frozenset()),
        with_(verbs=LOSE_DISK),  # two had every record
        with_(verbs=LOSE_POWER),
        with_(whole_isr=True, flushed=True, verbs=LOSE_POWER),  # all was synced
        with_(acks="1", verbs=frozenset({"a-verb-of-tomorrow"})),  # not listed
    ],
)
def test_loss_stays_forbidden_unless_a_row_permits_it(facts: Facts) -> None:
    assert "lost" in forbidden(facts)


@pytest.mark.parametrize("verb", ["cut", "lose", "delay", "throttle", "reorder", "corrupt"])
def test_a_bad_link_may_depose_the_leader(verb: str) -> None:
    """Its ZooKeeper session may end, so acks=1 may lose; acks=all may not."""
    assert "lost" not in forbidden(with_(acks="1", verbs=frozenset({verb})))
    assert "lost" in forbidden(with_(verbs=frozenset({verb})))


@pytest.mark.parametrize(
    ("producer", "expected"),
    [
        ({"acks": "1", "retries": 5}, ("1", 5, False)),
        ({"acks": 1, "retries": "5"}, ("1", 5, False)),
        ({"acks": -1, "enable.idempotence": True}, ("all", 2147483647, True)),
        ({"request.required.acks": "all", "message.send.max.retries": 0}, ("all", 0, False)),
        ({"acks": "0", "enable.idempotence": "false"}, ("0", 2147483647, False)),
    ],
)
def test_facts_of_the_producer(producer: dict[str, Any], expected: tuple[str, int, bool]) -> None:
    facts = facts_of(_scenario(producer=producer), {})

    assert (facts.acks, facts.retries, facts.idempotent) == expected


@pytest.mark.parametrize(
    ("topic", "server", "expected"),
    [
        ({}, {}, (False, False)),
        (
            {},
            {"log.flush.interval.messages": 1, "unclean.leader.election.enable": True},
            (True, True),
        ),
        (
            {"flush.messages": "1", "unclean.leader.election.enable": "false"},
            {"log.flush.interval.messages": 9, "unclean.leader.election.enable": "true"},
            (True, False),
        ),
        ({"flush.messages": 2}, {"log.flush.interval.messages": 1}, (False, False)),
    ],
)
def test_the_topics_setting_goes_before_the_brokers(
    topic: dict[str, Any], server: dict[str, Any], expected: tuple[bool, bool]
) -> None:
    facts = facts_of(_scenario(topic=topic), server)

    assert (facts.flushed, facts.unclean) == expected


@pytest.mark.parametrize(
    ("version", "epochs"),
    [
        ("0.10.2", False),
        ("0.10.2-IV0", False),
        ("0.11.0", True),
        ("0.11", True),
        ("1.0", True),
        ("3.9-IV0", True),
    ],
)
def test_leader_epochs_came_with_0_11(version: str, epochs: bool) -> None:
    server = {"inter.broker.protocol.version": version}

    assert facts_of(_scenario(), server).epochs is epochs


def fault(verb: str, *nodes: str, before: str | None = LEADER_1, step: int = 0) -> dict[str, Any]:
    return {
        "verb": verb,
        "nodes": list(nodes),
        "before": before,
        "step": step,
        "invoke_ns": 10 + step,
        "heal_ok_ns": 20,
    }


@pytest.mark.parametrize(
    ("happened", "counts"),
    [
        (fault("kill", "kafka1"), True),
        (fault("kill", "kafka2"), False),  # a follower, or the controller
        (fault("kill", "kafka2", "kafka1"), True),
        (fault("kill", "zk1"), False),  # the two others go on
        (fault("kill", "zk1", "zk2"), True),  # the quorum is gone, and sessions may end unseen
        (fault("pause", "producer-0"), False),
        (fault("roll", "kafka2"), False),
        (fault("crash-loop", "kafka1"), True),
        (fault("kill", "kafka2", before=LEADER_1.replace("true", "false")), True),  # who knows
        (fault("kill", "kafka2", before=None), True),
        (fault("cut", "kafka2"), True),  # whom it keeps from ZooKeeper is not told
        (fault("reassign", "kafka2"), True),
        (fault("kill"), False),  # nobody was there
    ],
)
def test_a_process_that_is_hit_matters_where_it_leads(
    happened: dict[str, Any], counts: bool
) -> None:
    assert counts is bool(verbs_that_matter([happened]))


def test_a_leader_that_was_seen_to_move_was_deposed_by_whatever_hit_a_node() -> None:
    views = [{"partition": 0, "leader": name} for name in ("kafka1", None, "kafka3")]

    assert verbs_that_matter([fault("pause", "zk1")], views) == {"pause"}
    assert not verbs_that_matter([fault("kill", "consumer-0")], views)
    assert not verbs_that_matter([fault("pause", "zk1")], views[:2])


@pytest.mark.parametrize(
    ("second", "counts"),
    [
        (fault("pause", "zk2", step=1), True),
        (fault("pause", "zk2", step=15), False),
        (fault("kill", "zk1", step=1), False),
        (fault("kill", "kafka2", step=1), False),
    ],
)
def test_a_quorum_may_be_lost_by_several_faults(second: dict[str, Any], counts: bool) -> None:
    assert counts is bool(verbs_that_matter([fault("kill", "zk1"), second]))


def test_a_larger_ensemble_bears_more() -> None:
    assert not verbs_that_matter([fault("kill", "zk1", "zk2")], ensemble=5)
    assert verbs_that_matter([fault("kill", "zk1")], ensemble=2)
    assert verbs_that_matter([fault("kill", "zk1")], ensemble=1)


@pytest.mark.parametrize("verb", ["cut", "lose", "delay"])
@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"from": "clients"}, False),
        ({"from": " clients "}, False),
        ({}, True),
        ({"from": "clients, followers"}, True),
        ({"from": "zookeepers"}, True),
        ({"shape": "halves"}, True),
    ],
)
def test_a_bad_link_to_the_clients_alone_deposes_nobody(
    verb: str, options: dict[str, Any], counts: bool
) -> None:
    views = [{"partition": 0, "leader": name} for name in ("kafka1", "kafka3")]
    happened = [fault(verb, "kafka1")]

    assert counts is bool(verbs_that_matter(happened, (), {0: options}))
    assert verbs_that_matter(happened, views, {0: options}) == {verb}


def test_what_the_plan_says_decides_what_is_forbidden() -> None:
    """acks=1 and clients cut from the leader: it stays, so what it acknowledged stays."""
    scenario = _scenario(producer={"acks": "1"})
    happened = [fault("cut", "kafka1")]
    apart = facts_of(scenario, {}, happened, (), {0: {"from": "clients"}})
    alone = facts_of(scenario, {}, happened, (), {0: {"from": "followers"}})

    assert "lost" in forbidden(apart)
    assert "lost" not in forbidden(alone)


def test_a_setting_changed_at_run_time_counts_as_its_least_safe_value() -> None:
    changes = {0: {"flush.messages": 500, "unclean.leader.election.enable": True}}
    scenario = _scenario(topic={"flush.messages": 1})

    safe = facts_of(scenario, {}, [fault("set-config")], (), changes)
    changed = facts_of(scenario, {}, [fault("set-config", "kafka1")], (), changes)

    assert (safe.flushed, safe.unclean) == (True, False)  # it did not happen
    assert (changed.flushed, changed.unclean) == (False, True)


def destroying(
    *nodes: str, isr: str = "123", verb: str = "lose-power", **more: Any
) -> dict[str, Any]:
    view = {"isr": {"0": [f"kafka{i}" for i in isr]}, "known": more.pop("known", True)}
    return {
        "verb": verb,
        "nodes": list(nodes),
        "step": 0,
        "invoke_ns": 10,
        "heal_ok_ns": 20,
        "before": json.dumps(view),
        **more,
    }


@pytest.mark.parametrize(
    ("whole", "faults"),
    [
        (False, [destroying("kafka1")]),
        (True, [destroying("kafka1", isr="1")]),
        (True, [destroying("kafka1", "kafka2", "kafka3")]),
        (True, [destroying("kafka1", "kafka2", isr="12")]),
        (True, [destroying("kafka1", isr="12"), destroying("kafka2", isr="12", invoke_ns=15)]),
        (
            False,
            [
                destroying("kafka1", isr="12"),
                destroying("kafka2", isr="12", invoke_ns=30, heal_ok_ns=40),
            ],
        ),
        (
            True,
            [
                destroying("kafka1", isr="12", heal_ok_ns=None),
                destroying("kafka2", isr="12", invoke_ns=30, heal_ok_ns=40),
            ],
        ),
        (False, [destroying("kafka1", isr="1", verb="kill")]),  # which keeps what it had written
        (True, [destroying("kafka1", known=False)]),
    ],
)
def test_the_whole_isr_is_hit_when_none_of_it_is_left_out(
    whole: bool, faults: list[dict[str, Any]]
) -> None:
    assert facts_of(_scenario(), {}, faults).whole_isr is whole


@pytest.mark.parametrize(
    ("level", "given"), [("read_uncommitted", True), ("read_committed", False), (None, False)]
)
def test_who_reads_uncommitted_is_given_what_was_aborted(level: str | None, given: bool) -> None:
    scenario = _scenario(producer={"transactional.id": "t"})
    plain = _scenario()
    for each in (scenario, plain):
        each["workload"]["consumer"] = {"isolation.level": level} if level else {}

    assert facts_of(scenario, {}).given_aborted is given
    assert facts_of(plain, {}).given_aborted is False


def test_a_fault_that_hit_nobody_is_none() -> None:
    assert facts_of(_scenario(), {}, [destroying()]).verbs == frozenset()


def test_the_page_is_generated() -> None:
    """`python -m analysis.verdict.promises` writes it; by hand it would not stay true."""
    assert PAGE.read_text() == promises.render()


def _scenario(**parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "topic": {"replication_factor": 3, "config": parts.get("topic", {})},
        "workload": {"producer": parts.get("producer", {})},
    }
