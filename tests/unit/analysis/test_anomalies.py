"""What is forbidden under which configuration: one test a row of the promises."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from analysis.anomalies import ANOMALIES, NAMES, promised
from analysis.run_facts.configuration import Facts
from harness.checkout import DOCS
from tests.support.safe_facts import SAFE, forbidden

STAYS: dict[str, Any] = {"leader_may_move": False}
SHRINKS = "unclean election allowed, or no leader epochs, and a fault that can move leadership"
NO_COPY = "a fault that destroys data on a node, and it hit the whole ISR, or acks=1"


def with_(**changes: Any) -> Facts:
    return replace(SAFE, **changes)


def test_a_safe_configuration_forbids_whatever_kafka_promises() -> None:
    """Of a group there is nothing to judge, nor of replicas that nobody looked at."""
    kept = {"lost", "vanished", "duplicate", "phantom", "inconsistent-offset"}
    assert kept <= forbidden(SAFE)
    assert {"unseen", "stale-read"}.isdisjoint(forbidden(SAFE))
    group = {"skipped", "reprocessed"}
    assert {*group, "unacknowledged-lost", "diverged"}.isdisjoint(promised(SAFE))
    assert group <= promised(with_(commit="auto")).keys()


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
    ("lost", False, NO_COPY, with_(whole_isr=True, takes="unsynced")),
    ("lost", True, "acks=1 otherwise", with_(acks="1", **STAYS)),
    ("lost", True, "acks=0: nothing is acknowledged", with_(acks="0")),
    ("lost", True, "otherwise", SAFE),
    (
        "vanished",
        False,
        SHRINKS,
        with_(unclean=True),
    ),
    ("vanished", False, NO_COPY, with_(replicas=1, takes="all")),
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
    ("duplicate", True, "otherwise", with_(idempotent=False, retries=0, **STAYS)),
    *(
        (
            anomaly,
            False,
            "a bit flipped on disk, and consumers that do not check CRCs",
            with_(altered=True),
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
    ("phantom", True, "otherwise", with_(checks_crcs=True, altered=True)),
    (
        "inconsistent-offset",
        False,
        SHRINKS,
        with_(epochs=False),
    ),
    ("inconsistent-offset", False, NO_COPY, with_(whole_isr=True, takes="all")),
    (
        "inconsistent-offset",
        False,
        "acks=1, and a fault that can move leadership",
        with_(acks="1", idempotent=False, retries=0),
    ),
    ("inconsistent-offset", True, "otherwise", with_(acks="1", idempotent=False, **STAYS)),
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
        "a fault that destroys data on a node",
        with_(commit="after", takes="all"),
    ),
    (
        "skipped",
        False,
        "offsets committed by enable.auto.commit, and a member that died or any fault",
        with_(commit="auto", members_died=True, **STAYS),
    ),
    (
        "skipped",
        False,
        "offsets committed before processing, and a member that died or any fault",
        with_(commit="before", disturbed=True, **STAYS),
    ),
    (
        "skipped",
        True,
        "offsets committed after processing",
        with_(commit="after", members_died=True),
    ),
    ("skipped", True, "otherwise", with_(commit="before", **STAYS)),
    ("skipped", True, "otherwise", with_(commit="auto", **STAYS)),
    (
        "reprocessed",
        False,
        SHRINKS,
        with_(commit="before", epochs=False),
    ),
    (
        "reprocessed",
        False,
        "a fault that destroys data on a node",
        with_(commit="before", takes="all"),
    ),
    ("reprocessed", False, "offsets committed by enable.auto.commit", with_(commit="auto")),
    ("reprocessed", False, "offsets committed after processing", with_(commit="after")),
    ("reprocessed", True, "otherwise", with_(commit="before", members_died=True)),
    (
        "diverged",
        False,
        "inter.broker.protocol.version below 0.11, and a fault that can move leadership",
        with_(compared=True, epochs=False),
    ),
    ("diverged", False, NO_COPY, with_(compared=True, whole_isr=True, takes="all")),
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
                "a fault that destroys data on a node",
                with_(watched=True, takes="all"),
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
    promise = promised(facts)[anomaly]

    assert (promise.forbidden, promise.when) == (is_forbidden, when)


def test_every_row_has_its_reason_and_names_its_source() -> None:
    """That each of them decides somewhere is a matter of tests/baseline."""
    rows = [row for each in ANOMALIES for row in each.promises]

    assert all(row.source and row.why.endswith(".") for row in rows)


def test_every_anomaly_has_a_name_of_its_own() -> None:
    assert len(NAMES) == len(ANOMALIES)


def test_every_anomaly_stands_in_the_list_of_the_report_s_page() -> None:
    listed = (DOCS / "report.md").read_text().split("\n## anomalies\n")[1].split("\n\n")[0]

    assert set(NAMES) == set(re.findall(r"`([\w-]+)`", listed))


@pytest.mark.parametrize(
    "facts",
    [
        with_(acks="1", **STAYS),  # nobody moved the leader
        with_(acks="1", replicas=1),  # there is nobody to move to
        with_(unclean=True, **STAYS),
        with_(takes="all"),  # two had every record
        with_(takes="unsynced"),
        with_(whole_isr=True, flushed=True, takes="unsynced"),  # all was synced
    ],
)
def test_loss_stays_forbidden_unless_a_row_permits_it(facts: Facts) -> None:
    assert "lost" in forbidden(facts)
