"""What is forbidden under which configuration: one test a row of the table, and the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict import promises
from analysis.verdict.expectations import ANOMALIES, OF_GROUPS
from analysis.verdict.facts import Facts
from analysis.verdict.promises import TABLE
from harness.checkout import DOCS
from tests.support.safe_facts import SAFE, forbidden

PAGE = DOCS / "promises.md"
KILL, CUT_ANSWERS, LOSE_DISK = (
    frozenset({"kill"}),
    frozenset({"cut-answers"}),
    frozenset({"lose-disk"}),
)
FLIP_BIT = frozenset({"flip-bit"})
LOSE_POWER = frozenset({"lose-power"})
SHRINKS = "unclean election allowed, or no leader epochs, and a fault that can move leadership"
NO_COPY = "a fault that takes what a node had written, and it hit the whole ISR, or acks=1"


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


def test_the_page_is_generated() -> None:
    """`python -m analysis.verdict.promises` writes it; by hand it would not stay true."""
    assert PAGE.read_text() == promises.render()
