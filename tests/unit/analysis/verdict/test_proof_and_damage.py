"""A fault counts as proved with its moment *and* its evidence; of a worker that a fault hit only
its missing end is excused, not what else is wrong with its history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import Part, damage, fault, final_read, planned, sent, with_story

Report = dict[str, Any]


def changed(part: Part, **columns: Any) -> Part:
    """A part with other values in these columns."""
    return replace(part, rows=tuple({**row, **columns} for row in part.rows))


def unproved(report: Report) -> list[str]:
    """The reasons that speak of the fault's evidence."""
    return [reason for reason in report["reasons"] if "evidence" in reason]


@with_story(
    sent(1, at=0),
    changed(fault("kill", ms=1), evidence=None),
    final_read(1),
    plan=planned("kill"),
)
def test_an_ok_without_evidence_proves_no_fault(report: Report) -> None:
    """A moment is told, and nothing that was seen at it."""
    assert report["verdict"] == "unknown"
    assert any("kill leader" in reason for reason in unproved(report))


@with_story(sent(1, at=0), changed(fault("kill", ms=1), evidence=""), final_read(1))
def test_empty_evidence_is_none(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert unproved(report)


@with_story(
    sent(1, at=0), changed(fault("kill", ms=1), ok_ns=None), final_read(1), plan=planned("kill")
)
def test_evidence_without_an_ok_proves_no_fault(report: Report) -> None:
    """A sentence is there, and nobody said when it held."""
    assert report["verdict"] == "unknown"
    assert any("kill leader" in reason for reason in unproved(report))


@with_story(sent(1, at=0), fault("kill", ms=1), final_read(1), plan=planned("kill"))
def test_an_ok_with_evidence_proves_it(report: Report) -> None:
    """The twin of all three."""
    assert unproved(report) == []


HIT = fault("kill", "client", ms=1, nodes=("producer-0",))
DIED = {"workers": [{"process": "producer-0", "exit": -9}]}


@with_story(
    sent(1, at=0),
    final_read(1),
    damage("bad-record", text="record 7 of producer-0 is damaged"),
    HIT,
    **DIED,
)
def test_damage_of_a_worker_that_a_fault_hit_is_damage(report: Report) -> None:
    """The fault ended its process, which damages no record."""
    assert report["verdict"] == "unknown"
    assert any("record 7 of producer-0 is damaged" in reason for reason in report["reasons"])


@with_story(
    sent(1, at=0),
    final_read(1),
    damage("no-end"),
    damage("truncated-segment", text="producer-0.0001.seg is cut short"),
    HIT,
    **DIED,
)
def test_its_missing_end_excuses_no_missing_records(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert any("producer-0.0001.seg is cut short" in reason for reason in report["reasons"])


@with_story(
    sent(1, at=0), final_read(1), damage("no-end", text="producer-0 has no end"), HIT, **DIED
)
def test_its_missing_end_is_what_was_meant(report: Report) -> None:
    """The twin of both."""
    assert not any("producer-0 has no end" in reason for reason in report["reasons"])
