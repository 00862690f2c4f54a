"""Stops of group members: of which partitions, told by the events of a run."""

from __future__ import annotations

import pytest

from analysis.stored.groups.member_stops import Stop, stops_of
from tests.support.histories import ns_of
from tests.support.stored_runs import event, run_of

MEMBER = "group-consumer-0"


def stop(partition: int | None, words: str = "was revoked") -> Stop:
    return Stop(process=MEMBER, at_ns=ns_of(100), words=words, partition=partition)


@pytest.mark.parametrize(
    ("text", "partitions"), [("2, 3", [2, 3]), ("0", [0]), ("", [None]), (None, [None])]
)
def test_a_revocation_stops_a_member_in_the_partitions_that_it_names(
    text: str | None, partitions: list[int | None]
) -> None:
    """What it kept it must not skip; one that names none took all."""
    run = run_of(events=[event("revoked", MEMBER, 100, text)])

    assert stops_of(run) == tuple(stop(partition) for partition in partitions)


def test_a_death_stops_it_in_all() -> None:
    """Its text names where it had got to, and no partitions that it lost."""
    run = run_of(events=[event("dies", MEMBER, 100, "2 records polled, up to 0@501")])

    assert stops_of(run) == (stop(None, "died"),)
