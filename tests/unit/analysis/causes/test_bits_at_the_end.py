"""What a bit that was not put back makes of the log that the final read shows."""

from __future__ import annotations

from typing import Any

from tests.support.clusters import hit, led, seen_by, verdict
from tests.support.histories import fault, final_read, sent, stayed, with_story
from tests.support.story_parts.judgements import judged

Report = dict[str, Any]
EVIDENCE = "byte 9 of harness-0/00000000000000000000.log of kafka1 was 0x0a and is 0x0b"
FLIPPED = fault("flip-bit", "leader", ms=5000, for_ms=None, evidence=EVIDENCE)
PUT_BACK = fault("flip-bit", "leader", ms=5000, for_ms=1000, evidence=EVIDENCE)
SWAPPED = (sent(1, at=1, ms=0), sent(2, at=0, ms=1), final_read(2, 1))
IDEMPOTENT = {"retries": 5, "idempotent": True, "history_format": 2}


@with_story(stayed(), *SWAPPED, FLIPPED, **IDEMPOTENT)
def test_records_may_be_read_in_another_order(report: Report) -> None:
    assert judged(report, "reordered") == "permitted"


@with_story(stayed(), *SWAPPED, PUT_BACK, **IDEMPOTENT)
def test_not_once_the_bit_was_put_back(report: Report) -> None:
    """The twin."""
    assert judged(report, "reordered") == "forbidden"


HOLE = (sent(1, at=0, ms=0), sent(2, at=2), final_read({0: 1, 2: 2}))


@with_story(stayed(), *HOLE, FLIPPED, **IDEMPOTENT)
def test_a_batch_may_be_passed_over(report: Report) -> None:
    assert judged(report, "hole") == "permitted"


@with_story(stayed(), *HOLE, PUT_BACK, **IDEMPOTENT)
def test_none_is_once_it_was_put_back(report: Report) -> None:
    """The twin."""
    assert judged(report, "hole") == "forbidden"


def test_a_bit_that_is_flipped_after_the_final_read_made_nothing_of_it() -> None:
    def told(read_ended_ms: float) -> str:
        flipped = hit("flip-bit", [1], 60, evidence=EVIDENCE)
        seen = seen_by(led(1, 0, (1, 2)), faults=[flipped], read_ended_ms=read_ended_ms)
        return verdict(seen, "hole", None)

    assert told(100) == "permitted"
    assert told(50) == "forbidden"
