"""Unavailability windows and stale reads: the smallest history of each, and its twin."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import (
    damage,
    doubtful,
    fault,
    final_read,
    found,
    looked_up,
    read,
    sent,
    split,
    view,
    with_story,
)

Report = dict[str, Any]


def windows(report: Report, kind: str = "produce") -> list[tuple[float, float | None]]:
    return [(w["start_s"], w["end_s"]) for w in report["windows"] if w["kind"] == kind]


# --- produce


@with_story(sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=1200, took=1800), final_read(1, 2))
def test_a_send_outstanding_without_any_ack_is_a_window(report: Report) -> None:
    """Acks at 1.0 s and 3.0 s; the send was outstanding from 1.2 s on."""
    assert windows(report) == [(1.2, 3.0)]
    assert report["windows"][0]["attempts"] == 1
    assert report["longest_window_s"]["produce"] == pytest.approx(1.8)


@with_story(sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=2900, took=100), final_read(1, 2))
def test_without_an_attempt_there_is_no_window(report: Report) -> None:
    """The twin: the same acks, but nobody tried before 2.9 s."""
    assert windows(report) == []


@with_story(sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=1001, took=498), final_read(1, 2))
def test_a_stretch_below_the_threshold_is_no_window(report: Report) -> None:
    """498 ms, and the threshold is 500."""
    assert windows(report) == []


@with_story(sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=1000, took=500), final_read(1, 2))
def test_a_stretch_as_long_as_the_threshold_is_a_window(report: Report) -> None:
    """500 ms exactly."""
    assert windows(report) == [(1.0, 1.5)]


@with_story(
    sent(1, at=0, ms=1000, took=0),
    sent(2, at=1, ms=1000, took=300),
    final_read(1, 2),
    threshold_ms=200,
)
def test_the_threshold_is_the_scenarios(report: Report) -> None:
    """300 ms are a window where the scenario says 200."""
    assert windows(report) == [(1.0, 1.3)]


@with_story(
    sent(1, at=0, ms=1000, took=0),
    sent(2, at=1, ms=1000, took=2000),
    sent(3, at=2, ms=1900, took=10),
    final_read(1, 2, 3),
)
def test_an_ack_divides_a_window(report: Report) -> None:
    """Something was acked at 1.91 s; before and after nothing was."""
    assert windows(report) == [(1.0, 1.91), (1.91, 3.0)]


@with_story(sent(1, at=0, ms=0, took=2000), final_read(1))
def test_the_time_before_the_first_ack_counts(report: Report) -> None:
    """From the start of the load."""
    assert windows(report) == [(0.0, 2.0)]


@with_story(sent(1, at=0, ms=1000, took=0), doubtful(2, ms=2000, took=3000), final_read(1))
def test_a_window_that_no_ack_ends_is_open(report: Report) -> None:
    """The send gave up after 3 s, and nothing was acked any more."""
    assert windows(report) == [(2.0, None)]
    assert report["windows"][0]["length_s"] == pytest.approx(3.0)


@with_story(
    sent(1, at=0, ms=1000, took=0), sent(2, ended="info", ms=4000, took=None), final_read(1)
)
def test_a_send_that_never_ended_is_outstanding_until_the_load_ends(report: Report) -> None:
    """Its worker died; the load ended at 10 s."""
    assert windows(report) == [(4.0, None)]
    assert report["windows"][0]["length_s"] == pytest.approx(6.0)


@with_story(
    sent(1, at=0, ms=1000, took=0),
    *(doubtful(n, ms=1000 + 400 * n, took=1) for n in range(2, 12)),
    sent(20, at=1, ms=6000, took=0),
    final_read(1, 20),
)
def test_pauses_below_the_threshold_do_not_end_a_window(report: Report) -> None:
    """A client that fails at once and tries again every 400 ms is in an outage."""
    assert windows(report) == [(1.8, 5.401)]
    assert report["windows"][0]["attempts"] == 10


@with_story(
    sent(1, at=0, ms=1000, took=0),
    doubtful(2, ms=1000, took=700),
    doubtful(3, ms=2200, took=800),
    sent(4, at=1, ms=9000, took=0),
    final_read(1, 4),
)
def test_a_pause_as_long_as_the_threshold_ends_a_window(report: Report) -> None:
    """Nobody tried between 1.7 s and 2.2 s; both stretches are before the ack at 9 s."""
    assert windows(report) == [(1.0, 1.7), (2.2, 3.0)]


@with_story(
    sent(1, at=0, ms=1000, took=0),
    sent(2, at=0, ms=1000, took=3000, partition=1),
    sent(3, at=1, ms=1500, took=0),
    final_read(1, 3),
    final_read(2, partition=1),
    partitions=2,
)
def test_each_partition_has_its_own_windows(report: Report) -> None:
    """Partition 1 was out while partition 0 was acked."""
    assert [w["partition"] for w in report["windows"] if w["kind"] == "produce"] == [1]


@with_story(
    sent(1, at=0, ms=1000, took=0),
    sent(2, at=1, ms=1200, took=1800),
    fault(ms=1150, for_ms=2000),
    final_read(1, 2),
)
def test_a_window_names_the_fault_in_force_and_the_time_to_the_first_ack(report: Report) -> None:
    """Injected at 1.15 s, healing begun at 3.05 s: the ack at 3.0 s did not wait for it."""
    window = report["windows"][0]

    assert window["faults"] == [0]
    assert window["injection_to_first_ack_s"] == pytest.approx(1.85)
    assert window["heal_to_first_ack_s"] is None


@with_story(
    sent(1, at=0, ms=1000, took=0),
    sent(2, at=1, ms=1200, took=2800),
    fault(ms=1150, for_ms=2000),
    final_read(1, 2),
)
def test_a_window_that_lasts_beyond_healing_counts_from_it(report: Report) -> None:
    """Healing began at 3.05 s, the first ack came at 4.0 s."""
    assert report["windows"][0]["heal_to_first_ack_s"] == pytest.approx(0.95)


@with_story(
    sent(1, at=0, ms=5000, took=0),
    sent(2, at=1, ms=6000, took=1000),
    fault(ms=100, for_ms=200, number=0),
    fault(ms=1000, for_ms=500, number=1),
    final_read(1, 2),
)
def test_a_window_without_a_fault_in_force_names_the_one_before(report: Report) -> None:
    """Both were healed long before; the last one is the nearest."""
    assert report["windows"][0]["faults"] == [1]


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=1000, took=0),
    doubtful(3, ms=1000, took=None),
    final_read(1, 2),
)
def test_an_open_send_is_an_attempt_as_long_as_its_producer_lives(report: Report) -> None:
    """It never ended, and nothing else did."""
    assert windows(report) == [(1.0, None)]


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=1000, took=0),
    doubtful(3, ms=1000, took=None),
    damage("no-end"),
    final_read(1, 2),
)
def test_a_dead_producer_tries_nothing(report: Report) -> None:
    """The twin: the producer was killed, and with it its open send."""
    assert windows(report) == []


# --- consume


@with_story(
    sent(1, at=0, ms=1000, took=0),
    read(1, at=0, ms=1010),
    sent(2, at=1, ms=2000, took=0),
    read(2, at=1, ms=3500),
    final_read(1, 2),
    consumers=1,
)
def test_an_acked_record_that_nobody_delivers_is_a_window(report: Report) -> None:
    """Acked at 2.0 s, delivered at 3.5 s, nothing in between."""
    assert windows(report, "consume") == [(2.0, 3.5)]


@with_story(
    sent(1, at=0, ms=1000, took=0),
    read(1, at=0, ms=1010),
    sent(2, at=1, ms=2000, took=0),
    read(2, at=1, ms=2020),
    final_read(1, 2),
    consumers=1,
)
def test_a_record_delivered_at_once_is_no_window(report: Report) -> None:
    """The twin: a second without reads, but nothing waited to be read."""
    assert windows(report, "consume") == []


@with_story(
    sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=2000, took=0), final_read(1, 2), consumers=0
)
def test_without_a_consumer_there_are_no_consume_windows(report: Report) -> None:
    """Nobody meant to read during the load."""
    assert windows(report, "consume") == []


@with_story(
    sent(1, at=0, ms=1000, took=0), sent(2, at=1, ms=2000, took=0), final_read(1, 2), consumers=1
)
def test_a_consumer_that_never_reads_is_out(report: Report) -> None:
    """The twin: there is a consumer, and it was never given anything."""
    assert windows(report, "consume") == [(1.0, None)]
    assert report["windows"][0]["attempts"] == 2


@with_story(sent(1, at=0, ms=1000, took=0), final_read(), consumers=1)
def test_a_lost_record_waits_for_nobody(report: Report) -> None:
    """What is provably gone cannot be delivered: that is loss, not unavailability."""
    assert windows(report, "consume") == []


@with_story(read(1, at=0, ms=1000), sent(1, at=0, ms=990, took=700), final_read(1), consumers=1)
def test_a_record_delivered_before_its_ack_never_waited(report: Report) -> None:
    """The consumer was faster than the producer's ack."""
    assert windows(report, "consume") == []


@with_story(
    sent(1, at=0, ms=1000, took=5),
    looked_up(1, ms=1005, took=1000),
    read(1, at=0, ms=2400),
    final_read(1),
    kind="write-read",
)
def test_write_read_has_consume_windows_too(report: Report) -> None:
    """Its consumer follows the log; the record came after 1.395 s."""
    assert windows(report, "consume") == [(1.005, 2.4)]


# --- stale read


@with_story(
    sent(1, at=0, ms=1000),
    looked_up(1, ms=1005, took=1000),
    read(1, at=0, ms=2400),
    final_read(1),
    kind="write-read",
)
def test_a_look_up_that_misses_an_acked_record_is_stale(report: Report) -> None:
    """It appeared later, and the evidence says when."""
    row = report["anomalies"]["stale-read"]["examples"][0]

    assert split(report, "stale-read") == {"appeared": 1, "late": 0, "never": 0}
    assert row["delivered_s"] == pytest.approx(2.4)
    assert row["lasted_s"] == pytest.approx(1.395)
    assert report["anomalies"]["stale-read"]["lasted_s"] == {"p50": 1.395, "max": 1.395}
    assert report["counts"]["lookups_not_found"] == 1
    assert report["anomalies"]["stale-read"]["forbidden"] is False


@with_story(
    sent(1, at=0, ms=1000), looked_up(1, at=0, ms=1005, took=10), final_read(1), kind="write-read"
)
def test_a_look_up_that_finds_the_record_is_not_stale(report: Report) -> None:
    """The twin."""
    assert found(report, "stale-read") == []
    assert report["counts"]["lookups"] == 1


@with_story(
    *(
        part
        for n, late in ((1, 400), (2, 800), (3, 1200), (4, -1))
        for part in (
            sent(n, at=n - 1, ms=1000 * n, took=5),
            looked_up(n, ms=1000 * n + 5, took=300),
            read(n, at=n - 1, ms=1000 * n + 5 + late),
        )
    ),
    sent(5, at=4, ms=6000),
    looked_up(5, ms=6005, took=300),
    final_read(1, 2, 3, 4, 5),
    kind="write-read",
)
def test_how_long_misses_lasted_is_told_of_those_that_ended(report: Report) -> None:
    """4 had been read before its ack was there; 5 never was."""
    stale = report["anomalies"]["stale-read"]

    assert [row["lasted_s"] for row in stale["examples"]] == [0.4, 0.8, 1.2, 0.0, None]
    assert stale["lasted_s"] == {"p50": 0.6, "max": 1.2}


@with_story(sent(1, at=0), looked_up(1, took=1000), final_read(1), kind="write-read")
def test_a_stale_record_may_show_in_the_final_read_only(report: Report) -> None:
    """No consumer was given it during the load."""
    assert split(report, "stale-read")["late"] == 1
    assert report["anomalies"]["stale-read"]["lasted_s"] is None
    assert report["anomalies"]["stale-read"]["examples"][0]["lasted_s"] is None


@with_story(sent(1, at=0), looked_up(1, took=1000), final_read(), kind="write-read")
def test_a_stale_record_that_never_appears_is_lost(report: Report) -> None:
    """The look-up saw first what the final read proves."""
    assert split(report, "stale-read")["never"] == 1
    assert found(report, "lost") == [1]


@with_story(sent(1, at=0), doubtful(2), looked_up(2, took=1000), final_read(1), kind="write-read")
def test_missing_a_record_that_was_never_acked_is_not_stale(report: Report) -> None:
    """Nobody said that it is there."""
    assert found(report, "stale-read") == []


@with_story(sent(1, at=0), looked_up(1, took=None), final_read(1), kind="write-read")
def test_a_look_up_that_never_ended_says_nothing(report: Report) -> None:
    """Its worker died."""
    assert found(report, "stale-read") == []


# Acks of a leader that is alone in its ISR, from 2 s to 6 s


ALONE = (
    view("kafka1", ms=0),
    view("kafka1", ms=2000, isr=("kafka1",)),
    view("kafka1", ms=6000),
)


@with_story(
    sent(1, at=0, ms=1000),
    sent(2, at=1, ms=3500),
    sent(3, at=2, ms=7000),
    *ALONE,
    final_read(1, 2, 3),
    expect={"acked-isr-alone": "0"},
)
def test_what_a_leader_acknowledges_alone_breaks_the_demand_that_it_refuse(report: Report) -> None:
    assert report["counts"]["acked_isr_alone"] == 1
    assert report["reasons"] == ["acked-isr-alone: 0 demanded, 1 was seen"]


@with_story(
    sent(1, at=0, ms=1000),
    sent(2, at=1, ms=2300),
    sent(3, at=2, ms=5500),
    sent(4, at=3, ms=7000),
    *ALONE,
    final_read(1, 2, 3, 4),
    expect={"acked-isr-alone": "0"},
)
def test_acks_where_an_isr_may_be_seen_late_are_nobodys(report: Report) -> None:
    assert report["counts"]["acked_isr_alone"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0, ms=5000),
    view("kafka1", ms=0),
    view("kafka2", ms=2000, isr=("kafka1",)),
    final_read(1),
)
def test_who_does_not_lead_is_not_alone(report: Report) -> None:
    assert report["counts"]["acked_isr_alone"] == 0
