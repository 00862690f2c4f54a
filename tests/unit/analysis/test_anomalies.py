"""What is forbidden under which configuration: one test a row of the promises."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from analysis.anomalies import ANOMALIES, BY_NAME, NAMES, promised
from analysis.causes.run_facts.configuration import Facts
from harness.checkout import DOCS
from tests.support.permitting import SAFE


def with_(**changes: Any) -> Facts:
    return replace(SAFE, **changes)


def test_a_safe_configuration_forbids_whatever_kafka_promises() -> None:
    """Of a group there is nothing to judge, nor of replicas that nobody looked at."""
    rows = promised(SAFE)
    kept = ("lost", "vanished", "duplicate", "phantom", "inconsistent-offset")
    assert all(rows[name][-1].forbids for name in kept)
    assert not any(rows[name][-1].forbids for name in ("unseen", "stale-read"))
    group = {"skipped", "reprocessed", "two-owners"}
    commits = {"commit-back", "zombie-commit"}
    assert {*group, *commits, "unacknowledged-lost", "diverged"}.isdisjoint(promised(SAFE))
    assert group <= promised(with_(commit="auto")).keys()
    assert commits.isdisjoint(promised(with_(commit="auto")))
    assert {*group, *commits} <= promised(with_(commit="after")).keys()
    assert {*group, *commits} <= promised(with_(commit="transaction")).keys()
    made = {"no-output", "two-outputs"}
    assert made.isdisjoint(promised(with_(commit="after")))
    assert made <= promised(with_(commit="after", transforms=True)).keys()
    old = with_(commit="after", transforms=True, history_format=1)
    assert made.isdisjoint(promised(old))
    static = promised(with_(commit="after", one_generation=False))
    assert {"zombie-commit", "two-owners"}.isdisjoint(static)


GONE, NOT_KNOWN = ("after-strike", "offsets-gone"), ("begin-unknown",)
STRUCK, AS_ANOTHER, ANY_LOG = "leader-struck", "read-as-another", "any-log-set-back"
FORGOTTEN = "producer-forgotten"
UNSTABLE = with_(commit="transaction", transactional=True, uncommitted=True, transforms=True)
# Anomaly, the kinds of causes that permit some of its records, whether all others are forbidden.
CASES: list[tuple[str, tuple[str, ...], bool, Facts]] = [
    ("lost", (STRUCK,), True, SAFE),
    ("lost", ("unclean-election", STRUCK), True, with_(unclean=True)),
    ("lost", (STRUCK,), True, with_(unclean=True, replicas=1)),
    ("lost", ("old-isr", STRUCK), True, with_(set_back=True)),
    ("lost", ("not-replicated", STRUCK), True, with_(epochs=False)),
    ("lost", ("not-replicated", STRUCK), True, with_(acks="1")),
    ("lost", ("not-replicated", STRUCK), True, with_(acks="1", replicas=1)),
    ("lost", (STRUCK, "unsettled-transaction"), True, with_(transactional=True)),
    ("vanished", ("truncation", "strike", "bit-at-the-end"), True, with_(unclean=True)),
    ("vanished", ("strike",), True, with_(acks="1", checks_crcs=True)),
    ("unseen", ("configuration",), False, SAFE),
    ("duplicate", ("read-apart", AS_ANOTHER, FORGOTTEN), True, SAFE),
    ("duplicate", ("read-apart", "read-apart", AS_ANOTHER, FORGOTTEN), True, with_(unclean=True)),
    (
        "duplicate",
        ("read-apart", AS_ANOTHER, "configuration"),
        False,
        with_(idempotent=False, retries=1),
    ),
    (
        "duplicate",
        ("read-apart", AS_ANOTHER, "leader-moved-meanwhile"),
        True,
        with_(idempotent=False, retries=0),
    ),
    ("duplicate", ("read-apart", AS_ANOTHER), True, with_(idempotent=False, retries=0, acks="1")),
    ("phantom", ("bit-when-read",), True, SAFE),
    ("phantom", (), True, with_(checks_crcs=True)),
    (
        "phantom",
        ("bit-when-read", "aborted", "abort-marker-cut"),
        True,
        with_(transactional=True, uncommitted=True),
    ),
    ("phantom", ("bit-when-read", "abort-marker-cut"), True, with_(transactional=True)),
    ("circular-flow", ("internal-topics",), True, with_(transactional=True, transforms=True)),
    (
        "circular-flow",
        ("configuration",),
        False,
        with_(transactional=True, transforms=True, uncommitted=True),
    ),
    ("inconsistent-offset", (STRUCK, "flipped-bit", AS_ANOTHER), True, SAFE),
    (
        "inconsistent-offset",
        ("truncation", STRUCK, "flipped-bit", AS_ANOTHER),
        True,
        with_(epochs=False),
    ),
    (
        "inconsistent-offset",
        (STRUCK, "ack-of-another-leader", "flipped-bit", AS_ANOTHER),
        True,
        with_(acks="1"),
    ),
    (
        "inconsistent-offset",
        (STRUCK, "ack-of-another-leader", "copy-of-another-leader", "flipped-bit", AS_ANOTHER),
        True,
        with_(acks="1", idempotent=False),
    ),
    ("reordered", (STRUCK, "bit-at-the-end"), True, SAFE),
    ("reordered", ("truncation", STRUCK, "bit-at-the-end"), True, with_(unclean=True)),
    (
        "reordered",
        (STRUCK, "bit-at-the-end"),
        True,
        with_(idempotent=False, transactional=True, in_flight=5),
    ),
    (
        "reordered",
        (STRUCK, "bit-at-the-end", "configuration"),
        False,
        with_(idempotent=False, in_flight=2),
    ),
    (
        "reordered",
        (STRUCK, "bit-at-the-end", "configuration"),
        False,
        with_(idempotent=False, retries=0),
    ),
    (
        "reordered",
        (STRUCK, "bit-at-the-end", "leader-moved-meanwhile", "stale-metadata"),
        True,
        with_(idempotent=False, in_flight=1),
    ),
    (
        "reordered",
        (STRUCK, "bit-at-the-end", "another-leader", "leader-moved-meanwhile", "stale-metadata"),
        True,
        with_(idempotent=False, in_flight=1, acks="1"),
    ),
    (
        "reordered",
        (STRUCK, "bit-at-the-end"),
        True,
        with_(idempotent=False, in_flight=1, replicas=1),
    ),
    ("real-time-violation", (STRUCK,), True, SAFE),
    ("real-time-violation", (STRUCK,), True, with_(idempotent=False)),
    ("real-time-violation", ("truncation", STRUCK), True, with_(unclean=True)),
    ("real-time-violation", (STRUCK, "another-leader"), True, with_(acks="1", idempotent=False)),
    ("stale-read", ("configuration",), False, SAFE),
    ("poll-skip", ("after-strike", "flipped-bit"), True, SAFE),
    *(
        (name, ("after-truncation", "after-strike", "flipped-bit"), True, with_(unclean=True))
        for name in ("poll-skip", "poll-back", "epoch-back")
    ),
    ("hole", ("after-strike", "bit-at-the-end"), True, SAFE),
    ("corrupt", ("bit-when-read",), True, SAFE),
    ("corrupt", (), True, with_(checks_crcs=True)),
    (
        "skipped",
        ("after-truncation", *GONE, *NOT_KNOWN, AS_ANOTHER),
        True,
        with_(commit="after", unclean=True),
    ),
    (
        "skipped",
        (*GONE, "reset-to-latest", *NOT_KNOWN, AS_ANOTHER, "member-stopped"),
        True,
        with_(commit="auto", resets="latest"),
    ),
    ("skipped", (*GONE, *NOT_KNOWN, AS_ANOTHER, "member-stopped"), True, with_(commit="before")),
    ("reprocessed", ("internal-topics",), True, with_(commit="before")),
    ("commit-back", ("internal-topics",), True, with_(commit="after")),
    ("zombie-commit", ("internal-topics",), True, with_(commit="before")),
    ("two-owners", ("internal-topics",), True, with_(commit="auto")),
    (
        "reprocessed",
        ("after-truncation", "internal-topics"),
        True,
        with_(commit="before", unclean=True),
    ),
    ("reprocessed", ("internal-topics", "configuration"), False, with_(commit="auto")),
    ("reprocessed", ("internal-topics", "configuration"), False, with_(commit="after")),
    (
        "skipped",
        (*GONE, "unsettled-transaction", *NOT_KNOWN, AS_ANOTHER),
        True,
        with_(commit="transaction"),
    ),
    (
        "skipped",
        (*GONE, *NOT_KNOWN, AS_ANOTHER, "member-stopped", "processing-failed"),
        True,
        with_(commit="before", transforms=True),
    ),
    ("reprocessed", ("internal-topics",), True, with_(commit="transaction")),
    *(
        (name, (*kinds, "internal-topics", "configuration"), False, UNSTABLE)
        for name, kinds in (("reprocessed", ()), ("commit-back", ()), ("two-outputs", (ANY_LOG,)))
    ),
    *(
        ("two-outputs", (ANY_LOG, "internal-topics", *more), not more, with_(**said))
        for said, more in (
            ({"transforms": True, "commit": "transaction"}, ()),
            ({"transforms": True, "commit": "before"}, ()),
            ({"transforms": True, "commit": "after"}, ("configuration",)),
            ({"transforms": True, "commit": "auto"}, ("configuration",)),
        )
    ),
    *(
        (
            "no-output",
            (ANY_LOG, "offsets-gone", *unsettled, "flipped-bit", *more),
            not more,
            with_(transforms=True, commit=commit),
        )
        for commit, unsettled, more in (
            ("transaction", ("unsettled-transaction",), ()),
            ("after", (), ()),
            ("before", (), ("configuration",)),
            ("auto", (), ("configuration",)),
        )
    ),
    ("diverged", ("strike",), True, with_(compared=True)),
    ("diverged", ("another-leader", "strike"), True, with_(compared=True, epochs=False)),
    *(
        case
        for name in ("watermark-ahead", "early-read")
        for case in (
            (name, ("after-strike", "replica-struck"), True, with_(watched=True)),
            (
                name,
                ("after-truncation", "after-strike", "replica-struck"),
                True,
                with_(watched=True, unclean=True),
            ),
        )
    ),
    ("unacknowledged-lost", ("configuration",), False, with_(acks="0", idempotent=False)),
    *(
        (name, ("configuration",), False, with_(outputs=True))
        for name in ("no-output", "two-outputs", "strange-output", "not-passed")
    ),
]


@pytest.mark.parametrize(("anomaly", "kinds", "forbidden_else", "facts"), CASES)
def test_each_row_permits_its_kind_of_cause(
    anomaly: str, kinds: tuple[str, ...], forbidden_else: bool, facts: Facts
) -> None:
    rows = promised(facts)[anomaly]

    assert tuple(row.by.name for row in rows if row.by is not None) == kinds
    assert rows[-1].forbids is forbidden_else


def test_every_row_of_every_anomaly_holds_somewhere() -> None:
    held = {(name, row.why) for name, _, _, facts in CASES for row in promised(facts)[name]}
    special = {
        ("lost", "With acks=0 nothing is acknowledged, so nothing acknowledged can be lost.")
    }

    every = {(name, row.why) for name, _ in held for row in BY_NAME[name].promises}
    assert every == held | special


def test_every_row_has_its_reason_and_names_its_source() -> None:
    """That each of them decides somewhere is a matter of tests/baseline."""
    rows = [row for each in ANOMALIES for row in each.promises]

    assert all(row.source and row.why.endswith(".") for row in rows)


def test_every_anomaly_has_a_name_of_its_own() -> None:
    assert len(NAMES) == len(ANOMALIES)


def test_every_anomaly_stands_in_the_list_of_the_report_s_page() -> None:
    listed = (DOCS / "report.md").read_text().split("\n## anomalies\n")[1].split("\n\n")[0]

    assert set(NAMES) == set(re.findall(r"`([\w-]+)`", listed))


def test_every_anomaly_has_its_smallest_history_its_twin_and_its_limits() -> None:
    """One that shows it, and one that shows nothing."""
    page = {part.partition("\n")[0]: part for part in _sections("anomalies.md")}
    ends = {name: re.findall(r"^    .*=>  (.*)$", page.get(name, ""), re.M) for name in NAMES}

    assert [] == [name for name in NAMES if len(ends[name]) < 2]
    assert [] == [name for name in NAMES if not any("nothing" in end for end in ends[name])]
    assert [] == [name for name in NAMES if "Cannot see:" not in page[name]]


def test_every_anomaly_has_its_promises() -> None:
    assert set() == {*NAMES} - {part.partition("\n")[0] for part in _sections("promises.md")}


def _sections(page: str) -> list[str]:
    return (DOCS / page).read_text().split("\n## ")
