"""What a leader acknowledged alone is known only where somebody saw who was in the ISR."""

from __future__ import annotations

from typing import Any

from tests.support.histories import blind, final_read, sent, view, with_story

Report = dict[str, Any]
ALONE = (
    view("kafka1", ms=0),
    view("kafka1", ms=2000, isr=("kafka1",)),
    view("kafka1", ms=6000),
)
REFUSES: dict[str, Any] = {"expect": {"acked-isr-alone": "0"}}


@with_story(sent(1, at=0, ms=1000), sent(2, at=1), final_read(1, 2), views=False, **REFUSES)
def test_without_a_view_nobody_knows_what_a_leader_acknowledged_alone(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [
        "acked-isr-alone: 2 records were acknowledged while nobody saw who was in the ISR"
    ]


@with_story(
    sent(1, at=0, ms=1000), blind(ms=2000), sent(2, at=1, ms=2500), final_read(1, 2), **REFUSES
)
def test_nor_what_it_did_while_nobody_could_tell(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [
        "acked-isr-alone: 1 record was acknowledged while nobody saw who was in the ISR"
    ]


@with_story(
    sent(1, at=0, ms=1000), blind(ms=2000), sent(2, at=1, ms=3500), final_read(1, 2), **REFUSES
)
def test_a_blind_stretch_without_an_ack_hides_none(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(
    sent(1, at=0, ms=1000),
    sent(2, at=1, ms=3500),
    sent(3, at=2, ms=7000),
    blind(ms=6500),
    *ALONE,
    final_read(1, 2, 3),
    **REFUSES,
)
def test_a_broken_demand_stays_broken_whatever_nobody_saw(report: Report) -> None:
    assert report["reasons"] == ["acked-isr-alone: 0 demanded, 1 was seen"]
