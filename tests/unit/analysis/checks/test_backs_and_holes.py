"""Steps back and holes: the smallest history of each, and its twin."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    doubtful,
    event,
    fault,
    final_read,
    read,
    sent,
    split,
    view,
    with_story,
)

Report = dict[str, Any]
THREE = (sent(1, at=0), sent(2, at=1), sent(3, at=2))
ELECTION = (
    view("kafka1", ms=0, isr=("kafka1",)),
    fault("kill", ms=20, for_ms=5000),
    view("kafka2", ms=30, isr=("kafka2",), epoch=1),
)


def backs(report: Report) -> dict[str, int]:
    """The same of steps back."""
    return {name: n for name, n in split(report, "poll-back").items() if n}


# --- poll-back

BACK = tuple(read(value, value - 1) for value in (3, 1, 2, 3))


@with_story(*THREE, *BACK, final_read(1, 2, 3), history_format=2)
def test_a_reader_that_is_given_what_it_had_passed_goes_back(report: Report) -> None:
    """It reads 2, 0, 1."""
    row = report["anomalies"]["poll-back"]["examples"][0]

    assert backs(report) == {"went_back": 1}
    assert (row["value"], row["offset"], row["other_offset"], row["reader"]) == (
        *(1, 0, 2),
        "consumer-0",
    )
    assert report["verdict"] == "invalid"


@with_story(*THREE, *BACK[1:], final_read(1, 2, 3), history_format=2)
def test_a_reader_that_goes_forth_does_not_go_back(report: Report) -> None:
    """The twin."""
    assert backs(report) == {}
    assert report["verdict"] == "valid"


@with_story(*THREE, BACK[1], BACK[1], *BACK[2:], final_read(1, 2, 3), history_format=2)
def test_a_reader_that_is_given_a_record_again_repeats(report: Report) -> None:
    assert backs(report) == {"repeats": 1}


@with_story(*THREE, read(3, 2), read(1, 0), read(2, 1), read(3, 2), final_read(1, 2, 3))
def test_format_1_does_not_tell_what_moves_a_reader(report: Report) -> None:
    assert "poll-back" not in report["anomalies"]
    assert "poll-back" in report["not_recorded"]
    assert report["verdict"] == "valid"


@with_story(
    *THREE,
    BACK[0],
    event("position", partition=0, position=0),
    *BACK[1:],
    final_read(1, 2, 3),
    history_format=2,
)
def test_a_reader_that_is_put_elsewhere_does_not_go_back(report: Report) -> None:
    assert backs(report) == {}


@with_story(
    *THREE,
    BACK[0],
    event("reset", partition=0, text="…"),
    *BACK[1:],
    final_read(1, 2, 3),
    history_format=2,
)
def test_a_reader_that_resets_its_position_does_not_go_back(report: Report) -> None:
    assert backs(report) == {}


@with_story(
    *THREE,
    *BACK,
    event("reset", partition=0, ms=900),
    final_read(1, 2, 3),
    history_format=2,
)
def test_a_client_may_tell_of_a_reset_late(report: Report) -> None:
    assert backs(report) == {}


@with_story(
    *THREE,
    *BACK,
    event("reset", partition=0, ms=1100),
    final_read(1, 2, 3),
    history_format=2,
)
def test_a_later_reset_explains_no_step_back(report: Report) -> None:
    """The twin."""
    assert backs(report) == {"went_back": 1}


@with_story(
    *THREE,
    BACK[0],
    event("position", partition=1, position=0),
    *BACK[1:],
    final_read(1, 2, 3),
    final_read(partition=1),
    partitions=2,
    history_format=2,
)
def test_a_seek_in_another_partition_explains_no_step_back(report: Report) -> None:
    """The twin."""
    assert backs(report) == {"went_back": 1}


@with_story(
    sent(1, at=0, ms=1),
    doubtful(2, ms=2),
    read(1, 0, ms=12),
    read(2, 1, ms=13),
    *ELECTION,
    sent(3, at=1, ms=40),
    read(3, 1, ms=50),
    final_read(1, 3),
    topic={"unclean.leader.election.enable": "true"},
    history_format=2,
)
def test_after_an_unclean_election_a_reader_may_go_back(report: Report) -> None:
    assert report["anomalies"]["poll-back"]["judged"]["permitted"] == 1


# --- hole


@with_story(sent(1, at=0), sent(2, at=2), final_read({0: 1, 2: 2}))
def test_an_offset_without_a_record_is_a_hole(report: Report) -> None:
    row = report["anomalies"]["hole"]["examples"][0]

    assert (row["value"], row["offset"], row["other_offset"]) == (None, 1, 2)
    assert report["verdict"] == "invalid"


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, 2))
def test_a_log_without_one_has_no_hole(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["hole"]["count"] == 0


@with_story(sent(1, at=3), sent(2, at=9), final_read({3: 1, 9: 2}, position=11))
def test_each_stretch_is_one_hole(report: Report) -> None:
    """At the log's start, in its middle, and at its end."""
    rows = report["anomalies"]["hole"]["examples"]

    assert sorted((row["offset"], row["other_offset"]) for row in rows) == [
        (0, 3),
        (4, 9),
        (10, 11),
    ]


@with_story(final_read(position=2))
def test_a_final_read_without_any_record_shows_no_hole(report: Report) -> None:
    """Its table may not be here."""
    assert report["anomalies"]["hole"]["count"] == 0


@with_story(sent(1, at=0), sent(2, at=2), final_read({0: 1, 2: 2}, complete=False))
def test_an_incomplete_final_read_shows_no_hole(report: Report) -> None:
    assert report["anomalies"]["hole"]["count"] == 0


@with_story(
    sent(1, at=0), sent(2, at=2), final_read({0: 1, 2: 2}), topic={"cleanup.policy": "compact"}
)
def test_compaction_makes_holes(report: Report) -> None:
    assert "hole" not in report["anomalies"]


@with_story(sent(1, at=0), sent(2, at=2), final_read({0: 1, 2: 2}), isolation="read_committed")
def test_transactions_make_holes(report: Report) -> None:
    assert "hole" not in report["anomalies"]


@with_story(
    sent(1, at=5), sent(2, at=6), final_read(1, 2, log_start=5), topic={"retention.ms": "1"}
)
def test_what_was_deleted_is_no_hole(report: Report) -> None:
    assert report["anomalies"]["hole"]["count"] == 0
