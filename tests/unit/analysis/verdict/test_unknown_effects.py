"""A fault of which it is not known what it can do: it permits nothing, and convicts nobody."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.histories import fault, final_read, moved, planned, sent, with_story

Report = dict[str, Any]

FROBNICATE = fault("frobnicate", ms=50)
WHY = "step 0, frobnicate leader: what it can do is not known, so whether "


@with_story(sent(1, at=0), sent(2, at=1), FROBNICATE, final_read(1), acks="1")
def test_a_loss_that_it_may_have_permitted_is_unknown(report: Report) -> None:
    """With acks=1 a leader that goes may lose records; nobody knows whether it went."""
    assert (report["verdict"], report["exit_code"]) == ("unknown", 2)
    assert report["reasons"] == [f"{WHY}the lost record is permitted is unknown"]
    assert report["anomalies"]["lost"]["forbidden"] is True
    assert report["anomalies"]["lost"]["convicts"] is False
    assert (
        "Data was lost: 1 of 2 acknowledged records is gone after the leader was hit by "
        "frobnicate; whether Kafka allows this with acks=1 is unknown."
    ) in report["sentence"]
    assert report["sentence"].endswith(f"unknown: {report['reasons'][0]}.")


@with_story(sent(1, at=0), FROBNICATE, final_read(1), acks="1")
def test_a_run_in_which_nothing_is_missing_is_judged_as_ever(report: Report) -> None:
    """The twin without a loss."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(
    sent(1, at=0), sent(2, at=1), fault("kill", ms=50), *moved(ms=60), final_read(1), acks="1"
)
def test_what_a_known_fault_permits_is_permitted(report: Report) -> None:
    """The twin with a fault that is known to move leadership."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(sent(1, at=0), sent(2, at=1), fault("kill", ms=50), final_read(1), acks="1", plan=[])
def test_a_fault_that_is_not_in_the_plan_is_not_known_either(report: Report) -> None:
    """Whatever it is called."""
    assert report["reasons"] == [
        "step 0, kill leader: what it can do is not known, so whether the lost record is "
        "permitted is unknown"
    ]


def stated(effects: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A plan of today's schema: `kill` at the leader, which says of itself what it can do."""
    return [{**step, "effects": effects, "telling": None} for step in planned("kill")]


STRUCK = (sent(1, at=0), sent(2, at=1), fault("kill", ms=50), final_read(1))


@with_story(*STRUCK, acks="1", plan=stated({"takes": "all"}))
def test_what_the_plan_says_that_a_fault_can_do_is_believed(report: Report) -> None:
    """The twin of the next two."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(*STRUCK, acks="1", plan=stated({}))
def test_a_fault_that_says_it_can_do_nothing_permits_nothing_whatever_its_name(
    report: Report,
) -> None:
    assert report["verdict"] == "invalid"


@with_story(*STRUCK, acks="1", plan=stated(None))
def test_a_fault_that_does_not_say_what_it_can_do_is_unknown_whatever_its_name(
    report: Report,
) -> None:
    assert report["verdict"] == "unknown"
    assert "what it can do is not known" in report["reasons"][0]


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    fault("kill", ms=50),
    fault("frobnicate", ms=60, number=1),
    *moved(ms=60),
    final_read(1),
    acks="1",
)
def test_what_is_permitted_without_it_needs_no_excuse(report: Report) -> None:
    """The leader was killed as well."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(sent(1, at=0), FROBNICATE, final_read(1, 1), idempotent=True)
def test_what_no_fault_permits_is_forbidden_still(report: Report) -> None:
    """An idempotent producer's duplicates: nothing that a fault does could permit them."""
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["duplicate"]["convicts"] is True


@with_story(sent(1, at=0), sent(2, at=1), FROBNICATE, final_read(1, 1), idempotent=True, acks="1")
def test_a_conviction_beats_it(report: Report) -> None:
    """A loss that it may have permitted, and a duplicate that nothing permits."""
    assert report["verdict"] == "invalid"
    assert report["reasons"] == ["duplicate: 1 seen, which this configuration forbids"]


@with_story(
    *(sent(value, at=value - 1) for value in (1, 2, 3)),
    *(fault("frobnicate", ms=50 + n, number=n) for n in (0, 1, 2)),
    final_read(1),
)
def test_of_several_the_first_is_named_and_the_others_are_counted(report: Report) -> None:
    """acks=all as well: it may have allowed an unclean election."""
    assert report["reasons"] == [
        "step 0, frobnicate leader, and 2 more faults: what they can do is not known, so whether "
        "the 2 lost records are permitted is unknown"
    ]


@with_story(
    sent(1, at=0), sent(2, at=1), fault("frobnicate", ms=50, nodes=()), final_read(1), plan=[]
)
def test_a_fault_that_hit_nobody_excuses_nothing(report: Report) -> None:
    """There is nothing that it could have done."""
    assert report["verdict"] == "invalid"


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    FROBNICATE,
    final_read(1),
    acks="1",
    plan=planned("frobnicate"),
    expect={"lost": "0"},
)
def test_a_demand_is_broken_whoever_permits_what(report: Report) -> None:
    """The count is known: the scenario wants none."""
    assert report["verdict"] == "invalid"
    assert report["reasons"] == ["0 lost records demanded, 1 seen"]


@with_story(sent(1, at=0), sent(2, at=1), FROBNICATE, final_read(1), acks="1")
@pytest.mark.usefixtures("report")
def test_ci_is_told_that_it_was_not_put_to_the_test(run_folder: Any) -> None:
    """Neither red nor green, beside the verdict, which is red."""
    cases = ElementTree.parse(run_folder / "junit.xml").iter("testcase")
    (case,) = [case for case in cases if case.get("name") == "promise: no lost"]
    (end,) = case

    assert end.tag == "skipped"
    assert "whether it breaks this promise is unknown" in (end.get("message") or "")
