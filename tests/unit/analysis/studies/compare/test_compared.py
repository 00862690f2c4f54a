"""Two sets of runs: what is called different, what is worse, and what differs in their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analysis.studies.compare.compared import compare, settings_that_differ, versions_that_differ


def runs(cell: str, lost: Sequence[int], **more: Any) -> list[Any]:
    return [
        {
            "cell": cell,
            "seed": seed,
            "verdict": "valid",
            "anomalies": {"lost": each},
            "produce_gaps_s": [],
            "consume_gaps_s": [],
            "starved_in_load": {"pressure_some_percent": 10.0},
            **more,
        }
        for seed, each in enumerate(lost)
    ]


def gaps(cell: str, lengths_s: Sequence[float], percent: float = 10.0) -> list[Any]:
    starved = {"pressure_some_percent": percent}
    return [
        {**one, "produce_gaps_s": [0.5, gap_s], "starved_in_load": starved}
        for one, gap_s in zip(runs(cell, [0] * len(lengths_s)), lengths_s, strict=True)
    ]


def test_a_loss_that_came_is_worse_and_one_that_went_is_not() -> None:
    clean, lossy = runs("c", [0] * 20), runs("c", [0, 3] * 10)

    rise, fall = compare(clean, lossy), compare(lossy, clean)

    assert rise.alarms == ["c: lost: 0 of 20 before, 10 of 20 now"]
    assert ["lost"] == [each.what for each in fall.changed]
    assert fall.alarms == []


def test_one_loss_in_twenty_runs_is_no_change() -> None:
    found = compare(runs("c", [0] * 20), runs("c", [1, *[0] * 19]))

    assert (found.changed, found.alarms) == ([], [])
    assert found.could_have_seen(found.cells[0]) == "5 of 20"


def test_what_is_forbidden_is_worse_however_often_new_or_not() -> None:
    clean, bad = runs("c", [0] * 3), runs("c", [1], forbidden=["lost"])

    assert compare(clean, [*clean[1:], *bad]).alarms == [
        "c: lost, which is forbidden, newly: seed 0"
    ]
    assert "as before" in compare(bad, bad).alarms[0]
    assert "newly" in compare(clean, [*clean, *runs("another", [1], forbidden=["lost"])]).alarms[0]


def test_unknown_runs_that_became_more_are_worse() -> None:
    unknown = runs("c", [0] * 10, verdict="unknown")

    assert compare(runs("c", [0] * 10), unknown).alarms == [
        "c: unknown: 0 of 10 before, 10 of 10 now"
    ]


def test_a_run_without_a_verdict_is_unknown_and_in_no_share() -> None:
    failed: list[Any] = [{"cell": "c", "seed": seed, "exit": 255} for seed in range(10)]

    assert compare(runs("c", [0] * 10), failed).alarms == [
        "c: unknown: 0 of 10 before, 10 of 10 now"
    ]


@pytest.mark.parametrize(
    ("now_s", "factor", "worse"), [(4.0, 1.5, True), (4.0, 3.0, False), (1.0, 1.5, False)]
)
def test_a_gap_is_worse_where_it_grew_beyond_the_factor(
    now_s: float, factor: float, worse: bool
) -> None:
    old = gaps("c", [2.0 + each / 100 for each in range(10)])
    new = gaps("c", [now_s + each / 100 for each in range(10)])

    found = compare(old, new, gap_factor=factor)

    assert ["no ack for"] == [each.what for each in found.changed]
    assert bool(found.alarms) is worse


def test_gaps_of_a_starved_host_are_not_compared() -> None:
    found = compare(gaps("c", [2.0] * 10), gaps("c", [9.0] * 10, percent=99.0))

    assert found.alarms == []
    assert "no ack for" not in [each.what for each in found.tested]


def test_cells_of_one_side_are_named() -> None:
    found = compare(runs("a", [0]), [*runs("b", [0]), *runs("a", [0], backend="docker")])

    assert (found.only_old, found.only_new) == (["a"], ["b", "a on docker"])


def test_settings_that_differ_are_told_and_compared_all_the_same() -> None:
    old = runs("c", [0] * 20, configuration="one")
    new = runs("c", [1] * 20, configuration="two")
    key = "scenario.topic.config.min.insync.replicas"
    told = {"one": {key: 2, "same": True}, "two": {key: 1, "same": True}}

    found = compare(old, new)

    assert settings_that_differ(found.cells[0], told) == [
        "topic.config.min.insync.replicas: 2 before, 1 now"
    ]
    assert "not recorded" in settings_that_differ(found.cells[0], {})[0]
    assert found.alarms
    assert settings_that_differ(compare(old, old).cells[0], told) == []


def test_versions_that_differ_are_told() -> None:
    lines: list[Any] = [{"versions": {"kafka": v, "java": "17"}} for v in ("3.9.1", "3.9.2")]

    assert versions_that_differ(lines[:1], lines[1:]) == ["kafka: 3.9.1 before, 3.9.2 now"]
