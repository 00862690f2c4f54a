"""Lost, vanished and unseen: the smallest history of each, and its twin without it."""

from __future__ import annotations

from typing import Any

from histories import final_read, read, sent, told

Report = dict[str, Any]


def values(report: Report, anomaly: str) -> list[int]:
    return sorted(row["value"] for row in report["anomalies"][anomaly]["examples"])


@told(sent(1, at=0), sent(2, at=1), final_read(1))
def test_an_acked_record_missing_from_a_complete_final_read_is_lost(report: Report) -> None:
    """2 was acknowledged at offset 1; the final read reached the log's end and saw only 1."""
    assert values(report, "lost") == [2]
    assert report["anomalies"]["lost"]["split"] == {"delivered_before": 0, "never_delivered": 1}


@told(sent(1, at=0), sent(2, at=1), final_read(1, 2))
def test_an_acked_record_in_the_final_read_is_not_lost(report: Report) -> None:
    """The twin: the final read saw both."""
    assert values(report, "lost") == []


@told(sent(1, at=0), read(1, at=0), final_read())
def test_a_lost_record_that_a_consumer_had_is_told_apart(report: Report) -> None:
    """1 was delivered, so it is lost, delivered before, and vanished as well."""
    assert report["anomalies"]["lost"]["split"] == {"delivered_before": 1, "never_delivered": 0}
    assert values(report, "vanished") == [1]
