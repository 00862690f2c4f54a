"""Watched replicas: how long nobody may look at them, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.verdict.watched_replicas import watch_doubts
from tests.support.histories import LOAD_MS, Part, look
from tests.support.stored_runs import run_of


def looks(*moments_ms: float, partition: int = 0, blind: tuple[float, ...] = ()) -> list[Part]:
    """Looks at these moments, of which ZooKeeper did not answer some."""
    return [
        look(1, 1, 1, ms=ms, partition=partition, isr=None if ms in blind else (1, 2, 3))
        for ms in moments_ms
    ]


EVERY_SECOND = tuple(range(0, LOAD_MS + 1001, 1000))


def doubts_of(*parts: Part, partitions: int = 1) -> list[str]:
    return list(watch_doubts(run_of(*parts, watched=True, partitions=partitions)))


def test_looks_that_cover_the_load_are_enough() -> None:
    assert doubts_of(*looks(*EVERY_SECOND)) == []


def test_looks_at_the_ends_only_are_not() -> None:
    assert doubts_of(*looks(0, LOAD_MS + 1)) == [
        "nobody looked at the replicas of partition 0 for 10.0 s from 0.0 s on"
    ]


@pytest.mark.parametrize(("gap_ms", "enough"), [(2000, True), (2001, False)])
def test_two_seconds_may_pass_between_two_looks(gap_ms: float, enough: bool) -> None:
    moments = [*EVERY_SECOND[:4], 3000 + gap_ms, *EVERY_SECOND[6:]]

    assert enough == (not doubts_of(*looks(*moments)))


@pytest.mark.parametrize("moments", [EVERY_SECOND[3:], (*EVERY_SECOND[:8], LOAD_MS + 1)])
def test_the_load_s_ends_count(moments: tuple[float, ...]) -> None:
    assert len(doubts_of(*looks(*moments))) == 1


def test_a_look_without_zookeeper_was_a_look() -> None:
    """It could not tell the ISR; a fault may want just that."""
    assert doubts_of(*looks(*EVERY_SECOND, blind=EVERY_SECOND[2:8])) == []


def test_each_partition_must_have_been_looked_at() -> None:
    assert doubts_of(*looks(*EVERY_SECOND), partitions=2) == [
        "the replicas' watermarks were not sampled in partition 1"
    ]
    both = (*looks(*EVERY_SECOND), *looks(*EVERY_SECOND, partition=1))
    assert doubts_of(*both, partitions=2) == []


def test_each_partition_must_have_been_looked_at_until_the_load_ended() -> None:
    early = (*looks(*EVERY_SECOND), *looks(*EVERY_SECOND[:6], partition=1))

    assert doubts_of(*early, partitions=2) == [
        "the replicas' watermarks were sampled until 5.0 s only in partition 1"
    ]


def test_looks_of_which_none_knew_the_isr_are_none() -> None:
    assert doubts_of(*looks(*EVERY_SECOND, blind=EVERY_SECOND)) == [
        "the replicas' watermarks were not sampled"
    ]


# --- looks that saw nothing


def changed(*parts: Part, **values: object) -> list[Part]:
    """The same looks with other values in every row."""
    return [replace(part, rows=tuple({**row, **values} for row in part.rows)) for part in parts]


def test_looks_that_saw_no_log_end_are_none() -> None:
    assert doubts_of(*changed(*looks(*EVERY_SECOND), log_end=None)) == [
        "the replicas' watermarks were not sampled"
    ]


@pytest.mark.parametrize("unseen", [{"log_end": None}, {"log_end": None, "high_watermark": None}])
def test_a_last_look_that_saw_them_does_not_make_up_for_the_others(unseen: dict[str, None]) -> None:
    blank = changed(*looks(*EVERY_SECOND[:-1]), **unseen)

    assert doubts_of(*blank, *looks(EVERY_SECOND[-1])) == [
        "nobody looked at the replicas of partition 0 for 10.0 s from 0.0 s on"
    ]


def test_looks_at_one_of_three_replicas_are_none() -> None:
    one = [replace(part, rows=part.rows[:1]) for part in looks(*EVERY_SECOND)]

    assert doubts_of(*one) == ["the replicas' watermarks were not sampled"]


def test_a_member_of_the_isr_whose_log_end_is_unknown_for_a_while_is_no_gap() -> None:
    """Its disk is gone, and it is in the ISR still."""
    without = [
        replace(part, rows=(part.rows[0], *({**row, "log_end": None} for row in part.rows[1:])))
        for part in looks(*EVERY_SECOND[:-1])
    ]

    assert doubts_of(*without, *looks(EVERY_SECOND[-1])) == []
    assert len(doubts_of(*without)) == 1  # but the last look must have known all


def test_more_brokers_than_replicas_may_have_been_looked_at() -> None:
    assert list(watch_doubts(run_of(*looks(*EVERY_SECOND), watched=True, replicas=2))) == []
