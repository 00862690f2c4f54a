"""Which sends the page draws one by one: all of a small sort, some of a large one, the extremes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.measures.drawn_sends import DRAWS, EACH, Limits, Point, _hashed, drawn, limits, points
from analysis.stored.batches import batches
from analysis.stored.stored_run import Run, open_run
from tests.support.histories import Part, doubtful, failed, final_read, sent, story
from tests.support.story_runs import write_story

QUANTILES = {"p50": 2.0, "p95": 3.0, "p99": 4.0, "p999": 40.0, "max": 9000.0}
HASHES = [2059953863180365778, 4462846978235061203, 7394514381647837974]
NONE_BUT = dict.fromkeys(("others", "slow", "slowest", "unacked"), 0)


def counts(acked: int, failed: int = 0, doubtful: int = 0) -> dict[str, int]:
    return {"acked": acked, "failed": failed, "indeterminate": doubtful}


def told_run(folder: Path, *parts: Part) -> Run:
    return open_run(write_story(story(*parts, final_read(), loaded=False), folder, "told/run"))


def picked(run: Run, **limit: Any) -> list[Point]:
    few = Limits(**{"p99_ms": 4.0, "p999_ms": 40.0, "max_ms": 9000.0, **limit})
    return points(run, list(drawn((b for file in run.tables for b in batches(file)), few)))


def test_of_a_small_sort_all_are_drawn_and_of_a_large_one_about_a_thousand() -> None:
    limit = limits(counts(acked=10 * EACH, failed=7, doubtful=3), QUANTILES)

    assert (limit.others, limit.unacked) == (DRAWS // 10, DRAWS)
    assert (limit.slow, limit.slowest) == (DRAWS, DRAWS)


def test_of_ten_million_sends_no_sort_is_drawn_whole() -> None:
    limit = limits(counts(acked=10**7, failed=10**6), QUANTILES)

    assert limit.others < limit.slow < limit.slowest < DRAWS
    assert limit.unacked == DRAWS * EACH // 10**6


def test_a_run_without_acks_has_limits_too() -> None:
    limit = limits(counts(acked=0, doubtful=3), {})

    assert (limit.max_ms, limit.unacked) == (None, DRAWS)


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        ("others", [(1, 3.0, "ok"), (5, 9000.0, "ok")]),
        ("slow", [(2, 5.0, "ok"), (5, 9000.0, "ok")]),
        ("slowest", [(3, 50.0, "ok"), (5, 9000.0, "ok")]),
        ("unacked", [(5, 9000.0, "ok"), (6, 7.0, "fail"), (7, 8.0, "info"), (9, 9991.0, "info")]),
    ],
)
def test_each_sort_has_a_limit_of_its_own_and_the_slowest_ack_is_always_drawn(
    tmp_path: Path, limit: str, kept: list[tuple[int, float, str]]
) -> None:
    """One that never ended waited until the load ended, at 10 s."""
    run = told_run(
        tmp_path / "run",
        sent(1, at=0, ms=1, took=3),
        sent(2, at=1, ms=2, took=5),
        sent(3, at=2, ms=3, took=50),
        sent(5, at=4, ms=5, took=9000),
        failed(6, ms=6, took=7),
        doubtful(7, ms=7, took=8),
        doubtful(9, ms=9, took=None),
    )

    rows = picked(run, **NONE_BUT | {limit: DRAWS})

    assert [(round(r["due_s"] * 1000), r["ms"], r["type"]) for r in rows] == kept


def test_of_a_large_sort_the_same_ones_are_drawn_each_time_about_as_many_as_the_limit_says(
    tmp_path: Path,
) -> None:
    many = [sent(n, at=n, ms=n, took=1) for n in range(2000)]
    run = told_run(tmp_path / "run", *many)

    first, again = (picked(run, **NONE_BUT | {"others": DRAWS // 4}) for _ in range(2))

    assert first == again
    assert 400 < len(first) < 600
    assert {row["due_s"] < 1 for row in first} == {True, False}


def test_points_are_in_order_of_time_however_they_were_found(tmp_path: Path) -> None:
    run = told_run(tmp_path / "run", sent(1, at=0))
    start = run.load_start_ns
    rows: Any = [
        {"due_ns": start + n * 10**9, "end_ns": start + (n + 1) * 10**9, "type": "ok"}
        for n in (3, 1, 2)
    ]

    assert [row["due_s"] for row in points(run, rows)] == [1.0, 2.0, 3.0]


def test_a_send_is_drawn_by_the_hash_that_it_has_in_every_release() -> None:
    """Else a run's page would be another one. The numbers are those that Spark 4 has."""
    hashes = _hashed("producer-0", np.array([0, 1, 2**40]))

    assert hashes.view(np.int64).tolist() == HASHES
