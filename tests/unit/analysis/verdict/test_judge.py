"""The verdict: what convicts, what is demanded, and what makes a run unknown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import (
    client_error,
    damage,
    doubtful,
    failed,
    fault,
    final_read,
    moved,
    planned,
    sent,
    unasked,
    with_story,
)

Report = dict[str, Any]


# --- convictions and demands


@with_story(sent(1, at=0), final_read(1))
def test_a_run_in_which_nothing_is_missing_is_valid(report: Report) -> None:
    """One acknowledged record, read back by a complete final read."""
    assert (report["verdict"], report["exit_code"], report["reasons"]) == ("valid", 0, [])
    assert report["sentence"] == (
        "No data was lost: the only acknowledged record was read back, and no fault was injected. "
        "Writes never stopped for 0.5 s or longer."
    )


@with_story(sent(1, at=0), sent(2, at=1), final_read(1))
def test_a_forbidden_loss_convicts(report: Report) -> None:
    """acks=all and clean elections promise that nothing is lost."""
    assert (report["verdict"], report["exit_code"]) == ("invalid", 1)
    assert report["anomalies"]["lost"]["convicts"] is True
    assert report["reasons"] == ["lost: 1 seen, which this configuration forbids"]
    assert report["sentence"].startswith(
        "Data was lost: 1 of 2 acknowledged records is gone, and no fault was injected; "
        "with acks=all Kafka promises that this cannot happen."
    )


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    fault("kill", ms=50),
    *moved(ms=60),
    final_read(1),
    acks="1",
    expect={"lost": ">= 1"},
    plan=planned("kill"),
)
def test_a_permitted_and_demanded_loss_is_valid(report: Report) -> None:
    """The control: acks=1, the leader killed, and a record is gone."""
    assert report["verdict"] == "valid"
    assert report["anomalies"]["lost"]["demand_met"] is True
    assert (
        "Data was lost: 1 of 2 acknowledged records is gone after the leader was killed; "
        "with acks=1 Kafka allows this."
    ) in report["sentence"]


@with_story(
    sent(1, at=0),
    fault("kill", ms=50),
    final_read(1),
    acks="1",
    expect={"lost": ">= 1"},
    plan=planned("kill"),
)
def test_an_unmet_demand_is_invalid(report: Report) -> None:
    """The control did not lose anything: the experiment did not show what it is for."""
    assert report["verdict"] == "invalid"
    assert report["reasons"] == ["at least 1 lost record demanded, 0 seen"]
    assert "The scenario demands at least 1 lost record, but 0 were seen." in report["sentence"]


@with_story(sent(1, at=0), sent(2, at=1), final_read(1), expect={"lost": ">= 1"})
def test_a_demand_cannot_excuse_a_forbidden_anomaly(report: Report) -> None:
    """Demanded or not, acks=all promises that nothing is lost."""
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["lost"]["demand_met"] is True


@with_story(sent(1, at=0), final_read(1, 1), retries=3, expect={"duplicate": "0"})
def test_a_demand_can_forbid_what_the_configuration_permits(report: Report) -> None:
    """Retries may duplicate, but this scenario wants none."""
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["duplicate"]["forbidden"] is False
    assert report["reasons"] == ["0 duplicates demanded, 1 seen"]


@with_story(sent(1, at=0), final_read(complete=False), acks="1", expect={"lost": ">= 1"})
def test_an_unmet_demand_of_an_unknown_run_is_unknown(report: Report) -> None:
    """The final read did not get to the end: the record may be lost."""
    assert report["verdict"] == "unknown"
    assert report["anomalies"]["lost"]["demand_met"] is None


@with_story(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    final_read(),
    final_read(partition=1, complete=False),
    partitions=2,
)
def test_invalid_beats_unknown(report: Report) -> None:
    """Partition 0 was read to its end and lacks its record; a proven loss stays proven."""
    assert report["verdict"] == "invalid"
    assert "of 2 acknowledged records is gone" in report["sentence"]


# --- doubts


def _reasons(report: Report) -> list[str]:
    assert (report["verdict"], report["exit_code"]) == ("unknown", 2)
    assert "not known whether data was lost" in report["sentence"]
    reasons: list[str] = report["reasons"]
    return reasons


@with_story(final_read())
def test_a_run_without_sends_is_unknown(report: Report) -> None:
    """Silence proves nothing."""
    assert _reasons(report) == ["nothing was sent"]


@with_story(doubtful(1), failed(2), final_read())
def test_a_run_without_acks_is_unknown(report: Report) -> None:
    """Nothing was promised, so no promise was kept."""
    assert _reasons(report) == ["no send was acknowledged"]


@with_story(unasked(1), final_read(), acks="0")
def test_with_acks_0_something_must_have_arrived(report: Report) -> None:
    """No ack can come; an empty log proves nothing."""
    assert _reasons(report) == ["no send arrived"]


@with_story(sent(1, at=0), final_read(1), plan=planned("kill", "pause"))
def test_a_planned_fault_that_is_not_in_the_history_makes_unknown(report: Report) -> None:
    """Neither happened."""
    assert _reasons(report) == [
        "fault 0 (kill leader) was planned and did not happen",
        "fault 1 (pause leader) was planned and did not happen",
    ]


@with_story(
    sent(1, at=0),
    fault("kill", ms=1, nodes=(), error="there is no leader"),
    final_read(1),
    plan=planned("kill"),
)
def test_a_fault_that_found_no_target_makes_unknown(report: Report) -> None:
    """It says why."""
    assert _reasons(report) == [
        "fault 0 (kill leader) was planned and did not happen: there is no leader"
    ]


@with_story(
    sent(1, at=0),
    fault("kill", ms=1, evidence=None, error="pid 7 is still there"),
    final_read(1),
    plan=planned("kill"),
)
def test_a_fault_without_evidence_makes_unknown(report: Report) -> None:
    """Nobody knows whether it was in force."""
    assert _reasons(report) == [
        "fault 0 (kill leader) has no evidence that it took effect: pid 7 is still there"
    ]


@with_story(sent(1, at=0), fault("kill", ms=1, for_ms=None), final_read(1), plan=planned("kill"))
def test_a_fault_that_was_not_healed_makes_unknown(report: Report) -> None:
    """It may have lasted into the final read."""
    assert _reasons(report) == ["fault 0 (kill leader) has no evidence that it was healed"]


@with_story(sent(1, at=0), fault("kill", ms=1), final_read(1), plan=planned("kill"))
def test_a_proved_fault_leaves_no_doubt(report: Report) -> None:
    """The twin of them all."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(sent(1, at=0), final_read(1), workers=[{"process": "producer-9", "exit": 0}])
def test_a_worker_without_history_makes_unknown(report: Report) -> None:
    """It was started, and nothing of it is here."""
    assert _reasons(report) == ["worker producer-9 left no history"]


@with_story(sent(1, at=0), final_read(1), workers=[{"process": "producer-0", "exit": -9}])
def test_a_worker_that_died_makes_unknown(report: Report) -> None:
    """By SIGKILL, and no fault meant it."""
    assert _reasons(report) == ["worker producer-0 ended with exit code -9"]


@with_story(sent(1, at=0), final_read(1), damage("no-end", text="producer-0 has no end event"))
def test_a_history_without_end_makes_unknown(report: Report) -> None:
    """Its worker died before it could say so."""
    assert _reasons(report) == ["history of producer-0: producer-0 has no end event"]


@with_story(
    sent(1, at=0),
    final_read(1),
    damage("no-end"),
    fault("kill", "client", ms=1, nodes=("producer-0",)),
    workers=[{"process": "producer-0", "exit": -9}],
)
def test_a_worker_that_was_killed_on_purpose_leaves_no_doubt(report: Report) -> None:
    """The twin: a fault hit it."""
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    final_read(1),
    fault("pause", "client", ms=1, nodes=("producer-0",)),
    workers=[{"process": "producer-0", "exit": -9}],
)
def test_a_fault_that_ends_no_process_does_not_explain_a_worker_s_end(report: Report) -> None:
    """It was paused, and somebody else killed it."""
    assert _reasons(report) == ["worker producer-0 ended with exit code -9"]


@with_story(sent(1, at=0), final_read(1), damage("bad-record", text="record 7 is damaged"))
def test_damage_in_the_history_makes_unknown(report: Report) -> None:
    """What it was nobody knows."""
    assert _reasons(report) == ["history of producer-0: record 7 is damaged"]


@with_story(sent(1, at=0), final_read(1), damage("torn", count=2), client_error())
def test_torn_records_and_client_errors_are_counted_only(report: Report) -> None:
    """A torn record was never begun; a client's error shows in its sends."""
    assert report["verdict"] == "valid"
    assert report["counts"]["torn_records"] == 2
    assert report["counts"]["worker_errors"] == 1


@with_story(
    sent(1, at=0),
    final_read(1),
    state="incomplete",
    failure={"phase": "load", "error": "worker producer-0 died"},
)
def test_a_run_whose_harness_failed_is_unknown(report: Report) -> None:
    """Nothing forbidden was seen, but nobody knows what else would have been."""
    assert _reasons(report) == ["the run failed in phase load: worker producer-0 died"]


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    final_read(1),
    state="incomplete",
    failure={"phase": "collect", "error": "disk full"},
)
def test_a_forbidden_anomaly_convicts_even_where_the_harness_failed(report: Report) -> None:
    """The twin with a loss."""
    assert report["verdict"] == "invalid"


@with_story(sent(1, at=0), final_read(1), state="running", phases=[])
def test_a_run_that_never_ended_is_unknown(report: Report) -> None:
    """The harness was killed; the load's bounds come from the operations themselves."""
    assert _reasons(report) == ["the run did not end: its state is running"]
    assert report["rates"]["load_s"] == pytest.approx(0.005)
