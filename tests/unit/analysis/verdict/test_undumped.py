"""Replicas that were not dumped: what of them is not known at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict.doubts import undumped
from tests.support.histories import final_read
from tests.support.stored_runs import run_of


def said(*names: str, log_start: int | None = 0, **record: Any) -> list[str]:
    """What is said of a run, these brokers' replicas of which were dumped."""
    run = run_of(final_read(1), **{"compared": True, **record})
    dumps: Any = ({"partition": 0, "name": name, "log_start": log_start} for name in names)
    return undumped(replace(run, dumps=tuple(dumps)))


@pytest.mark.parametrize(
    ("names", "where"),
    [
        (["kafka1", "kafka2", "kafka3"], None),
        (["kafka1", "kafka2"], "kafka3"),
        (["kafka2"], "kafka1 and kafka3"),
        (["kafka1", "kafka1"], "kafka2 and kafka3"),
    ],
)
def test_who_was_not_dumped_is_named(names: list[str], where: str | None) -> None:
    expected = [f"the replica of partition 0 on {where} was not dumped"] if where else []

    assert said(*names) == expected


def test_where_not_every_broker_has_a_replica_they_are_counted() -> None:
    assert said("kafka1", replicas=2) == ["1 of 2 replicas of partition 0 were dumped"]
    assert said("kafka1", "kafka3", replicas=2) == []


def test_a_dump_that_does_not_say_where_its_log_begins_is_none() -> None:
    assert said("kafka1", "kafka2", "kafka3", log_start=None) == [
        "the replica of partition 0 on kafka1 and kafka2 and kafka3 was not dumped"
    ]


@pytest.mark.parametrize(("names", "compared"), [(["kafka1"], False), ([], True)])
def test_replicas_that_were_not_compared_are_spoken_of_elsewhere(
    names: list[str], compared: bool
) -> None:
    assert said(*names, compared=compared) == []
