"""What a flipped bit makes of a record that is read meanwhile, and what it does not explain."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    Part,
    committed,
    fault,
    final_read,
    polled,
    processed,
    read,
    sent,
    with_story,
)

Report = dict[str, Any]
PROOF = "byte 7 of harness-0/00000000000000000000.log of kafka1 was 0x32 and is 0x33"


def bit() -> Part:
    """Flipped at 100 ms, put back at 600 ms."""
    return fault("flip-bit", ms=100, for_ms=500, evidence=PROOF)


def judged(report: Report) -> dict[str, tuple[int, int]]:
    """How many of each anomaly are permitted, and forbidden."""
    return {
        name: (found["judged"]["permitted"], found["judged"]["forbidden"])
        for name, found in report["anomalies"].items()
        if found["count"]
    }


READ = (sent(10, at=0), sent(12, at=1), bit(), read(10, 0, ms=290))


@with_story(*READ, read(19, 1, ms=300), final_read(10, 12))
def test_a_number_that_a_bit_made_of_another_is_a_phantom_that_cannot_vanish(
    report: Report,
) -> None:
    assert judged(report) == {"phantom": (1, 0), "inconsistent-offset": (1, 0)}
    assert report["verdict"] == "valid"


@with_story(*READ, read(12, 1, ms=300), final_read(10))
def test_what_was_sent_and_read_vanishes_as_ever(report: Report) -> None:
    """The twin: no record was changed."""
    assert judged(report) == {"lost": (0, 1), "vanished": (0, 1)}


@with_story(sent(1, at=0), sent(2, at=1), bit(), final_read(1, 2, 77))
def test_what_only_the_final_read_has_no_bit_has_made_that_was_put_back(report: Report) -> None:
    assert judged(report) == {"phantom": (0, 1)}
    assert report["verdict"] == "invalid"


# A record of each of two partitions, and that of partition 0 read as the other one.
ELSEWHERE = (
    sent(12, at=0),
    sent(13, at=0, partition=1),
    read(13, 0, ms=300),
    final_read(12),
    final_read(13, partition=1),
)


@with_story(*ELSEWHERE, bit(), partitions=2)
def test_a_record_may_be_read_as_one_of_another_partition(report: Report) -> None:
    assert judged(report) == {"inconsistent-offset": (2, 0)}


@with_story(*ELSEWHERE, partitions=2)
def test_without_a_bit_nothing_explains_another_partition(report: Report) -> None:
    """The twin."""
    assert judged(report) == {"inconsistent-offset": (0, 2)}


@with_story(
    sent(10, at=0),
    sent(12, at=1),
    sent(14, at=2),
    bit(),
    polled(10, 0, ms=290),
    processed(10, 0, ms=291),
    polled(19, 1, ms=300),
    processed(19, 1, ms=301),
    polled(14, 2, ms=310),
    processed(14, 2, ms=311),
    committed(3, ms=320),
    final_read(10, 12, 14),
    commit="after",
)
def test_a_record_that_is_read_as_another_one_is_never_given_to_the_group(report: Report) -> None:
    assert judged(report)["skipped"] == (1, 0)


PASSED_AT_ONCE = (
    sent(10, at=0),
    sent(12, at=1),
    polled(12, 1, ms=300),
    processed(12, 1, ms=301),
    committed(2, ms=320),
    final_read(10, 12),
)
EARLIEST = {"commit": "after", "consumer": {"auto.offset.reset": "earliest", "check.crcs": True}}


@with_story(*PASSED_AT_ONCE, bit(), **EARLIEST)
def test_a_batch_that_is_passed_over_may_be_the_first(report: Report) -> None:
    """Readers that check CRCs pass over it."""
    assert judged(report)["skipped"] == (1, 0)


@with_story(*PASSED_AT_ONCE, fault("flip-bit", ms=5000, for_ms=500, evidence=PROOF), **EARLIEST)
def test_a_later_bit_explains_nothing_that_was_passed_over_before(report: Report) -> None:
    """The twin."""
    assert judged(report)["skipped"] == (0, 1)
