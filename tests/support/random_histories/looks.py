"""Looks at replicas, leader epochs and reads that may contradict one another."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
OFFSETS = st.integers(0, 4)
MAYBE = st.one_of(st.none(), OFFSETS, OFFSETS, OFFSETS)
BROKERS = ("kafka1", "kafka2")
TIMES = st.integers(0, 20).map(lambda n: 500 * n)  # ms


@st.composite
def looked(draw: st.DrawFn) -> Row:
    """A case of two partitions: looks, states, reads (partition, offset, time) and ends."""
    looks: list[Row] = []
    for partition in range(2):
        for time in sorted(draw(st.sets(TIMES, max_size=10))):
            looks += draw(_look(partition, time))
    return {
        "looks": looks,
        "states": [state for partition in range(2) for state in draw(_states(partition))],
        "reads": draw(st.lists(st.tuples(st.integers(0, 1), OFFSETS, TIMES), max_size=4)),
        "ends": [{"committed_end": draw(MAYBE), "uncommitted_end": draw(MAYBE)} for _ in range(2)],
        "checkpoint": draw(st.sampled_from([100, 500])),
    }


@st.composite
def _look(draw: st.DrawFn, partition: int, time: int) -> list[Row]:
    told = draw(st.integers(0, 5)) > 0  # whether ZooKeeper answered
    leader = draw(st.sampled_from([*BROKERS, BROKERS[0]]))
    grown = min(4, time // 2000 + 1)  # most looks are in order
    offset = st.one_of(st.just(grown), st.just(grown), MAYBE)
    return [
        {
            "time": time,
            "partition": partition,
            "broker": broker,
            "leads": leader == broker if told else None,
            "in_isr": draw(st.integers(0, 4)) > 0 if told else None,
            "high_watermark": draw(offset),
            "log_end": draw(offset),
        }
        for broker in BROKERS
    ]


@st.composite
def _states(draw: st.DrawFn, partition: int) -> list[Row]:
    """One epoch after the other."""
    begins = sorted({0, *draw(st.sets(TIMES, max_size=1))})
    ends: list[int | None] = [*begins[1:], None]
    return [
        {
            "partition": partition,
            "leader": draw(st.sampled_from([*BROKERS, BROKERS[0]])),
            "epoch": number,
            "from": begin,
            "to": end,
        }
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]
