"""What is counted of each worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from analysis.measures.work_done import Work, WorkDone
from analysis.stored.stored_run import open_run
from tests.support import story_runs
from tests.support.histories import (
    LOAD_MS,
    Part,
    aborted,
    damage,
    doubtful,
    failed,
    fault,
    ns_of,
    read,
    sent,
    story,
    unasked,
)
from tests.support.stored_runs import did

KILL = fault("kill", ms=5000)  # healed at 6 s
STORIES: dict[str, tuple[Part, ...]] = {
    "kinds": (sent(1, at=0, ms=100), sent(2, at=1, ms=200), failed(3), read(1, at=0, ms=50)),
    "met": (KILL, doubtful(1, ms=4999, took=1), doubtful(2, ms=6001), doubtful(3, ms=4000)),
    "unmet": (KILL, doubtful(1, ms=4990, took=5), doubtful(2, ms=6001), failed(3, ms=5500)),
    "two": (KILL, fault("pause", ms=5500, number=1), doubtful(1, ms=6200), doubtful(2, ms=5600)),
    "answers": (doubtful(1), unasked(2), aborted(3), failed(4), KILL, doubtful(5, ms=5500)),
    "reader": (fault("pause", "consumer", ms=5000, nodes=["consumer-0"]), doubtful(1, ms=5500)),
    "producer": (fault("pause", "producer", ms=5000, nodes=["producer-0"]), doubtful(1, ms=5500)),
    "shortly": (KILL, sent(1, at=0, ms=3000, took=1)),
    "long ago": (KILL, sent(1, at=0, ms=2990, took=1), sent(2, at=1, ms=5001)),
    "refused": (KILL, failed(1, ms=4999)),
    "partitions": (sent(1, at=0, ms=0), sent(2, at=0, ms=100, partition=2), failed(3, partition=3)),
    "open": (sent(1, at=0, ms=0), doubtful(2, ms=10, took=None)),
    "killed while it waits": (
        fault("kill", ms=1500, for_ms=1000),
        fault("kill", "producer", ms=5000, number=1, nodes=["producer-0"]),
        sent(1, at=0, ms=0),
        doubtful(2, ms=10, took=None),
        damage("no-end"),
    ),
    "dead": (sent(1, at=0, ms=0), doubtful(2, ms=10, took=None), damage("no-end")),
}


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Work]:
    folder = tmp_path_factory.mktemp("work")

    def of(name: str) -> Work:
        told = story(*STORIES[name], loaded=False, partitions=4)
        if not (folder / name).exists():
            story_runs.write_story(told, folder / name, f"told/{name}")
        return Work(rows=story_runs.measured_rows(open_run(folder / name), WorkDone))

    return of


def test_operations_are_counted_by_worker_kind_and_end(worked: Callable[[str], Work]) -> None:
    work = worked("kinds")

    assert work.count() == 4
    assert work.count("producer-0", "send") == 3
    assert work.count("producer-0", "send", ended="ok") == 2
    assert work.count("consumer-0", "read", "poll") == 1
    assert work.count("consumer-1") == 0
    assert work.first_ns("producer-0", "send", ended="ok") == ns_of(100)
    assert work.last_ns("producer-0", "send", ended="ok") == ns_of(205)
    assert work.last_ns("consumer-1") == 0


@pytest.mark.parametrize(("name", "met"), [("met", {0}), ("unmet", set()), ("two", {0, 1})])
def test_the_faults_that_met_a_send_are_named(
    worked: Callable[[str], Work], name: str, met: set[int]
) -> None:
    """A send that ended when the fault began was outstanding then; one refused never was."""
    assert worked(name).met == met


def test_what_nobody_answered_beside_every_fault_is_unexplained(
    worked: Callable[[str], Work],
) -> None:
    work = worked("answers")

    assert work.refused == 1
    assert work.unexplained == 2


@pytest.mark.parametrize(("name", "unexplained"), [("reader", 1), ("producer", 0)])
def test_a_fault_at_one_that_only_reads_explains_no_missing_answer(
    worked: Callable[[str], Work], name: str, unexplained: int
) -> None:
    assert worked(name).unexplained == unexplained


@pytest.mark.parametrize(("name", "before"), [("shortly", True), ("long ago", False)])
def test_what_was_sent_within_two_seconds_before_a_fault_came_shortly_before(
    worked: Callable[[str], Work], name: str, before: bool
) -> None:
    assert worked(name).shortly_before(0, ["producer-0"]) == before
    assert not worked(name).shortly_before(0, ["producer-1"])
    assert not worked("refused").shortly_before(0, ["producer-0"])


def test_what_left_the_client_is_what_it_did_not_refuse(worked: Callable[[str], Work]) -> None:
    assert (worked("kinds").left("producer-0"), worked("refused").left("producer-0")) == (2, 0)
    assert Work(rows=[did("producer-0", count=5, refused=3)]).left("producer-0") == 2


def test_work_can_be_told_by_partition(worked: Callable[[str], Work]) -> None:
    """Those where something was acknowledged."""
    parts = worked("partitions").by_partition

    assert list(parts) == [0, 2]
    assert parts[2].acknowledged_ns == (ns_of(100), ns_of(105))
    assert worked("partitions").long_ns == 10**9


@pytest.mark.parametrize(
    ("name", "until_ms"), [("open", LOAD_MS), ("dead", 10), ("killed while it waits", 5000)]
)
def test_a_send_that_never_ended_lasts_until_its_producer_died_or_the_load_ended(
    worked: Callable[[str], Work], name: str, until_ms: float
) -> None:
    assert worked(name).loaded_until_ns == ns_of(until_ms)


def test_a_producer_that_waited_for_the_cluster_until_it_was_killed_met_what_kept_it_waiting(
    worked: Callable[[str], Work],
) -> None:
    """It recorded nothing any more: a commit that is not answered keeps it from sending."""
    assert worked("killed while it waits").met == {0, 1}


def test_a_run_without_sends_has_no_load() -> None:
    nothing: Any = Work()

    assert (nothing.loaded_from_ns, nothing.loaded_until_ns, nothing.met) == (None, None, set())
