"""When a leader certainly was alone in its ISR: a second after it was first seen so, until a second
before it was last."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.checks.run_row import run_row
from analysis.stored.stored_run import open_run
from tests.support.histories import Part, final_read, ns_of, sent, story, view
from tests.support.story_runs import write_story

Stretch = tuple[int, int, int]  # partition, from, to (ms)


def alone(folder: Path, *views: Part) -> set[tuple[int, int, int]]:
    parts = (sent(1, at=0), *views, final_read(1))
    run = open_run(write_story(story(*parts, partitions=2), folder / "run", "told/run"))
    return {(row["partition"], row["from_ns"], row["to_ns"]) for row in run_row(run)["alone"]}


def stretches(*told: Stretch) -> set[tuple[int, int, int]]:
    return {(partition, ns_of(from_ms), ns_of(to_ms)) for partition, from_ms, to_ms in told}


def test_a_second_is_left_out_at_either_end(tmp_path: Path) -> None:
    """A look comes late, and so does an ack."""
    views = (
        view("kafka1", ms=0),
        view("kafka1", ms=2000, isr=("kafka1",)),
        view("kafka1", ms=6000),
    )

    assert alone(tmp_path, *views) == stretches((0, 3000, 5000))


def test_the_last_view_holds_until_the_load_ends(tmp_path: Path) -> None:
    """At 10 s."""
    views = (view("kafka1", ms=0), view("kafka1", ms=4000, isr=("kafka1",)))

    assert alone(tmp_path, *views) == stretches((0, 5000, 9000))


@pytest.mark.parametrize(("until", "found"), [(4000, []), (4001, [(0, 3000, 3001)])])
def test_of_two_seconds_nothing_is_certain(
    tmp_path: Path, until: int, found: list[Stretch]
) -> None:
    views = (
        view("kafka1", ms=2000, isr=("kafka1",)),
        view("kafka1", ms=until),
    )

    assert alone(tmp_path, *views) == stretches(*found)


def test_partitions_are_told_apart_in_whichever_order_they_are_seen(tmp_path: Path) -> None:
    views = (
        view("kafka2", ms=5000, isr=("kafka2",), partition=1),
        view("kafka1", ms=1000, isr=("kafka1",)),
        view("kafka2", ms=0, partition=1),
        view("kafka1", ms=6000, isr=("kafka1", "kafka3")),
    )

    assert alone(tmp_path, *views) == stretches((0, 2000, 5000), (1, 6000, 9000))


@pytest.mark.parametrize(
    ("leader", "isr"),
    [("kafka2", ("kafka1",)), (None, ("kafka1",)), (None, ()), ("kafka1", ("kafka1", "kafka2"))],
)
def test_whoever_does_not_lead_or_has_company_is_not_alone(
    tmp_path: Path, leader: str | None, isr: tuple[str, ...]
) -> None:
    assert alone(tmp_path, view(leader, ms=0, isr=isr)) == set()
