"""Integrity: corrupt records and epochs that fall; the smallest history of each, and its twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.support.histories import (
    Part,
    event,
    fault,
    final_read,
    polled,
    read,
    sent,
    split,
    view,
    with_story,
)

Report = dict[str, Any]
TWO = (sent(1, at=0), sent(2, at=1))
GARBLED = (*TWO, read(None, 0), read(2, 1), final_read(1, 2))
CORRUPT = event("corrupt-payload", partition=0, position=0, text="b'1 …'")


def of_epoch(epochs: Mapping[int, int] | int, part: Part) -> Part:
    """What was read, with the leader's epoch: one for all, or by offset."""
    known = epochs if isinstance(epochs, Mapping) else {}
    default = None if isinstance(epochs, Mapping) else epochs
    rows = [{**row, "epoch": known.get(row.get("offset", -1), default)} for row in part.rows]
    return replace(part, rows=tuple(rows))


# --- corrupt


@with_story(*GARBLED, CORRUPT, history_format=2)
def test_a_record_whose_checksum_is_wrong_is_corrupt(report: Report) -> None:
    row = report["anomalies"]["corrupt"]["examples"][0]

    assert (row["partition"], row["offset"], row["value"]) == (0, 0, 1)
    assert report["anomalies"]["phantom"]["count"] == 0
    assert report["verdict"] == "invalid"


@with_story(*GARBLED, history_format=2)
def test_a_payload_that_is_none_of_ours_is_a_phantom(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["corrupt"]["count"] == 0
    assert split(report, "phantom")["unparsable"] == 1


@with_story(*TWO, read(1, 0), read(2, 1), final_read(1, 2), CORRUPT, history_format=2)
def test_what_nobody_was_given_corrupt_is_not(report: Report) -> None:
    """An event without its record."""
    assert report["anomalies"]["corrupt"]["count"] == 0


@with_story(*GARBLED, event("corrupt-payload", partition=0, position=1), history_format=2)
def test_a_corrupt_record_at_another_place_explains_no_foreign_one(report: Report) -> None:
    assert split(report, "phantom")["unparsable"] == 1


FLIPPED = fault(
    "flip-bit",
    ms=5,
    for_ms=500,
    evidence="byte 7 of harness-0/00000000000000000000.log of kafka1 was 0x32 and is 0x33",
)


@with_story(*GARBLED, CORRUPT, FLIPPED, history_format=2)
def test_a_flipped_bit_permits_it(report: Report) -> None:
    assert report["anomalies"]["corrupt"]["judged"]["permitted"] == 1
    assert report["verdict"] == "valid"


@with_story(*GARBLED, CORRUPT, FLIPPED, consumer={"check.crcs": True}, history_format=2)
def test_a_consumer_that_checks_crcs_is_never_given_it(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["corrupt"]["convicts"]


# --- epoch-back


@with_story(
    *TWO, of_epoch(2, read(1, 0)), of_epoch(1, read(2, 1)), final_read(1, 2), history_format=2
)
def test_a_later_record_of_an_earlier_leader_is_an_epoch_back(report: Report) -> None:
    row = report["anomalies"]["epoch-back"]["examples"][0]

    assert (row["value"], row["offset"], row["other_value"], row["other_offset"]) == (2, 1, 1, 0)
    assert report["verdict"] == "invalid"


@with_story(
    *TWO, of_epoch(1, read(1, 0)), of_epoch(2, read(2, 1)), final_read(1, 2), history_format=2
)
def test_epochs_may_grow(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["epoch-back"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(*TWO, of_epoch({0: 2, 1: 1}, final_read(1, 2)), history_format=2)
def test_the_final_read_is_looked_at_too(report: Report) -> None:
    assert report["anomalies"]["epoch-back"]["count"] == 1


@with_story(
    *TWO,
    of_epoch(2, read(2, 1)),
    event("position", partition=0, position=0),
    of_epoch(1, read(1, 0)),
    final_read(1, 2),
    history_format=2,
)
def test_an_earlier_record_may_have_an_earlier_epoch(report: Report) -> None:
    assert report["anomalies"]["epoch-back"]["count"] == 0


@with_story(*TWO, of_epoch(2, polled(1, 0)), polled(2, 1), final_read(1, 2), history_format=2)
def test_logs_without_epochs_tell_nothing(report: Report) -> None:
    assert report["anomalies"]["epoch-back"]["count"] == 0


@with_story(
    *TWO,
    view("kafka1", ms=0, isr=("kafka1",), epoch=2),
    fault("kill", ms=10, for_ms=5000),
    view("kafka2", ms=20, isr=("kafka2",), epoch=3),
    of_epoch(2, read(1, 0, ms=30)),
    of_epoch(1, read(2, 1, ms=40)),
    final_read(1, 2),
    topic={"unclean.leader.election.enable": "true"},
    history_format=2,
)
def test_after_an_unclean_election_an_older_log_may_be_read(report: Report) -> None:
    assert report["anomalies"]["epoch-back"]["judged"]["permitted"] == 1
