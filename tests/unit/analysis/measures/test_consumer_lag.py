"""Consumer lag over time: the smallest histories, and their twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.measures.consumer_lag import Positions, lag
from analysis.measures.latency_and_rates import GROUP
from analysis.stored.stored_run import Run, open_run
from tests.support.histories import Part, final_read, looked_up, ns_of, polled, read, sent, story
from tests.support.story_runs import measured_rows, write_story


def told_run(folder: Path, *parts: Part, **record: Any) -> Run:
    told = story(*parts, final_read(), loaded=False, **record)
    return open_run(write_story(told, folder, "told/run"))


def lags(run: Run) -> dict[float, dict[str, int]]:
    """By the end of the slice: the load's 10 s have slices of 100 ms."""
    return {row["t_s"]: row["lag"] for row in lag(run, measured_rows(run, Positions))}


def test_a_reader_lags_by_what_was_acked_and_not_given_to_it(tmp_path: Path) -> None:
    """consumer-1 has all; a look-up neither reads the log nor says where it ends."""
    run = told_run(
        tmp_path / "run",
        *(sent(n, at=n, ms=100 + n, took=1) for n in range(10)),
        *(read(n, at=n, ms=150 + n) for n in range(5)),
        *(read(n, at=n, ms=150 + n, process="consumer-1") for n in range(10)),
        looked_up(9, at=50, ms=170),
        read(9, at=9, ms=5050),
        sent(11, at=99, ms=9999, took=50),
    )

    found = lags(run)

    assert found[0.1] == {"consumer-0": 0, "consumer-1": 0}
    assert found[0.2] == found[5.0] == {"consumer-0": 5, "consumer-1": 0}
    assert found[5.1] == found[10.0] == {"consumer-0": 0, "consumer-1": 0}
    assert len(found) == 100


def test_members_of_a_group_are_one_reader_and_partitions_add_up(tmp_path: Path) -> None:
    run = told_run(
        tmp_path / "run",
        *(sent(n, at=n, ms=100, took=1) for n in range(3)),
        *(sent(10 + n, at=n, ms=100, took=1, partition=1) for n in range(3)),
        polled(0, at=0, ms=110),
        polled(1, at=1, ms=120, process="group-consumer-1"),
        final_read(partition=1),
        partitions=2,
        commit="after",
    )

    assert lags(run)[0.2] == {GROUP: 1 + 3}


def test_a_log_that_lost_its_end_is_as_long_as_the_next_ack_says(tmp_path: Path) -> None:
    run = told_run(
        tmp_path / "run",
        *(sent(n, at=n, ms=100, took=1) for n in range(10)),
        *(read(n, at=n, ms=150) for n in range(7)),
        sent(20, at=7, ms=950, took=1),
        read(20, at=7, ms=970),
    )

    found = lags(run)

    assert found[0.2] == {"consumer-0": 3}
    assert found[1.0] == {"consumer-0": 0}


def test_what_came_before_the_load_is_where_it_begins(tmp_path: Path) -> None:
    run = told_run(
        tmp_path / "run",
        *(sent(n, at=n, ms=-500, took=1) for n in range(4)),
        read(0, at=0, ms=-400),
    )

    assert lags(run)[0.1] == {"consumer-0": 3}


def test_what_came_after_the_load_does_not_count_in_its_last_slice(tmp_path: Path) -> None:
    load = {"name": "load", "start_ns": ns_of(0), "end_ns": ns_of(9950)}
    run = told_run(
        tmp_path / "run",
        sent(1, at=0, ms=9910, took=1),
        read(1, at=0, ms=9920),
        sent(2, at=1, ms=9960, took=1),
        phases=[load],
    )

    assert lags(run)[9.95] == {"consumer-0": 0}


def test_without_a_reader_there_is_no_lag(tmp_path: Path) -> None:
    run = told_run(tmp_path / "run", sent(1, at=0), looked_up(1, at=0))

    assert lags(run) == {}
