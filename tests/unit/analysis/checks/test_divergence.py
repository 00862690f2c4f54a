"""Diverged: the smallest history that shows it, and its twins."""

from __future__ import annotations

from typing import Any

from tests.support.histories import final_read, replica, sent, told

Report = dict[str, Any]
OLD = {"inter.broker.protocol.version": "0.10.2"}


@told(
    sent(1, at=0),
    sent(2, at=1),
    final_read(1, 2),
    replica(1, 1, 2),
    replica(2, 1, 2),
    replica(3, 1, 7),
    compared=True,
    server=OLD,
)
def test_two_values_at_one_offset_of_two_replicas_have_diverged(report: Report) -> None:
    """kafka3 has another record at offset 1; no fault moved the leader, so it is forbidden."""
    found = report["anomalies"]["diverged"]
    assert (found["count"], found["convicts"]) == (1, True)
    row = found["examples"][0]
    assert (row["offset"], row["value"], row["other_value"]) == (1, 2, 7)
    assert "1 record is not the same on every replica" in report["sentence"]
    assert report["anomalies"]["phantom"]["count"] == 0


@told(
    sent(1, at=0),
    sent(2, at=1),
    final_read(1, 2),
    replica(1, 1, 2),
    replica(2, 1, 2),
    replica(3, 1),
    compared=True,
)
def test_a_shorter_log_has_not_diverged(report: Report) -> None:
    """A copy may be late."""
    assert report["anomalies"]["diverged"]["count"] == 0
    assert report["verdict"] == "valid"


@told(sent(1, at=0), final_read(1), compared=True)
def test_replicas_that_were_not_compared_prove_nothing(report: Report) -> None:
    """The run was to compare them."""
    assert report["reasons"] == ["the replicas' logs were not compared"]


@told(sent(1, at=0), final_read(1))
def test_runs_that_do_not_compare_replicas_do_not_speak_of_them(report: Report) -> None:
    """Neither as found nor as looked for."""
    assert "diverged" not in report["anomalies"]
