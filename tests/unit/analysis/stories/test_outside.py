"""Whether who led next was outside the ISR: not the last known leader of KRaft's."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.stories.leaders import _outside


def view(leader: str | None, isr: tuple[str, ...], elr: tuple[str, ...] | None, epoch: int) -> Any:
    told = {"leader": leader, "isr": isr, "elr": elr, "leader_epoch": epoch}
    return {"partition": 0, "time_ns": epoch, **told}


@pytest.mark.parametrize(
    ("before", "outside"),
    [
        (view("a", ("a",), None, 1), True),
        (view("a", ("a", "b"), None, 1), False),
        (view("a", ("a",), ("b",), 1), False),
        (view("a", (), None, 1), False),  # nobody told
        (view("b", (), (), 1), False),  # the last known leader
        (view("a", (), (), 1), True),
    ],
)
def test_the_isr_and_the_elr_before_tell(before: Any, outside: bool) -> None:
    views = [before, view("b", ("b",), (), 2)]

    assert _outside("b", 2, 0, views) is outside


def test_nobody_led_for_a_while_before_the_last_known_leader_led_again() -> None:
    views = [view("b", ("b",), (), 1), view(None, (), (), 1), view("b", ("b",), (), 2)]

    assert not _outside("b", 2, 0, views)
    assert _outside("c", 2, 0, views)
