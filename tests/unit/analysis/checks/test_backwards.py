"""What must not go back, and partitions that nobody owns: the smallest histories, and twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import (
    LOAD_MS,
    Part,
    event,
    fault,
    final_read,
    look,
    ns_of,
    polled,
    processed,
    read,
    sent,
    view,
    with_story,
)

Report = dict[str, Any]
NINE = (*(sent(n, at=n, ms=n) for n in range(9)), final_read(*range(9)))
LAST = look(9, 9, 9, ms=LOAD_MS + 1)  # somebody looked until the load had ended
WATCHED: dict[str, Any] = {"watched": True}


def seen(report: Report, anomaly: str) -> list[tuple[int, int]]:
    """To where and from where it went."""
    rows = report["anomalies"][anomaly]["examples"]
    return [(row["offset"], row["other_offset"]) for row in rows]


# The committed end


@with_story(*NINE, look(9, 8, 9, ms=100, marks=[7, 7, 7]), look(6, 6, 6, ms=200), LAST, **WATCHED)
def test_log_ends_below_an_earlier_watermark_went_back(report: Report) -> None:
    assert seen(report, "end-back") == [(6, 7)]
    assert report["verdict"] == "invalid"
    assert "1 log end was below what had been committed before" in report["sentence"]


@with_story(
    *NINE,
    look(9, 8, 9, ms=100, marks=[7, 7, 7]),
    *(look(6, 6, 6, ms=200 + n) for n in range(0, 500, 100)),
    look(8, 8, 8, ms=800),
    look(7, 7, 7, ms=900),
    LAST,
    **WATCHED,
)
def test_one_row_where_it_begins(report: Report) -> None:
    """Back to 6 once, and from a watermark of 8 to 7 once more."""
    assert seen(report, "end-back") == [(6, 7), (7, 8)]


@with_story(*NINE, look(9, 8, 9, ms=100, marks=[7, 7, 7]), look(7, 7, 8, ms=200), LAST, **WATCHED)
def test_what_was_not_committed_may_be_cut_off(report: Report) -> None:
    assert report["anomalies"]["end-back"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    *NINE,
    look(9, 8, 9, ms=100, marks=[7, 7, 7]),
    look(9, 6, 9, ms=200, marks=[7, 6, 7], isr=(1, 3)),
    look(9, 6, 9, ms=300, marks=[7, 6, 7], isr=None),
    LAST,
    **WATCHED,
)
def test_who_is_not_in_the_isr_may_lack_anything(report: Report) -> None:
    assert report["anomalies"]["end-back"]["count"] == 0


@with_story(
    *NINE,
    look(9, 8, 9, ms=100, marks=[7, 7, 7]),
    look(6, 6, 6, ms=200, marks=[7, 6, 6]),
    LAST,
    **WATCHED,
)
def test_a_watermark_of_the_same_look_is_ahead_and_not_told_twice(report: Report) -> None:
    assert report["anomalies"]["end-back"]["count"] == 0
    assert report["anomalies"]["watermark-ahead"]["count"] == 1


@with_story(
    *NINE,
    look(9, 8, 9, ms=100, marks=[7, 7, 7], partition=1),
    look(6, 6, 6, ms=200),
    LAST,
    partitions=2,
    **WATCHED,
)
def test_each_partition_has_its_own_end(report: Report) -> None:
    assert report["anomalies"]["end-back"]["count"] == 0


# A leader's watermark

SOON = {"server": {"replica.high.watermark.checkpoint.interval.ms": 100}, "watched": True}
LED = view("kafka1", ms=500, isr=("kafka1", "kafka2", "kafka3"), epoch=3)


def marked(mark: int, ms: float) -> Part:
    """A look at which kafka1 leads with that watermark."""
    return look(9, 9, 9, ms=ms, marks=[mark, mark, mark])


@with_story(*NINE, LED, marked(9, 4000), marked(8, 5000), LAST, **SOON)
def test_a_watermark_of_one_leader_went_back(report: Report) -> None:
    assert seen(report, "watermark-back") == [(8, 9)]
    assert report["verdict"] == "invalid"
    assert "1 high watermark of a leader went back" in report["sentence"]


@with_story(*NINE, LED, marked(8, 4000), marked(8, 4500), marked(9, 5000), LAST, **SOON)
def test_one_that_grows_did_not(report: Report) -> None:
    assert report["anomalies"]["watermark-back"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    *NINE,
    LED,
    marked(9, 4000),
    marked(8, 5000),
    view("kafka1", ms=4500, isr=("kafka1", "kafka2", "kafka3"), epoch=4),
    LAST,
    **SOON,
)
def test_another_epoch_may_begin_lower(report: Report) -> None:
    assert report["anomalies"]["watermark-back"]["count"] == 0


@with_story(*NINE, LED, marked(9, 2600), marked(8, 2650), marked(8, 5000), LAST, **SOON)
def test_a_checkpoint_may_be_of_the_time_before(report: Report) -> None:
    assert report["anomalies"]["watermark-back"]["count"] == 0


@with_story(*NINE, LED, marked(9, 4000), marked(8, 5000), LAST, **WATCHED)
def test_by_default_checkpoints_are_seconds_old(report: Report) -> None:
    """Five seconds: nothing of this epoch counts before 12.5 s."""
    assert report["anomalies"]["watermark-back"]["count"] == 0


@with_story(
    *NINE,
    LED,
    look(9, 9, 9, ms=4000, marks=[8, 9, 9]),
    look(9, 9, 9, ms=5000, marks=[8, 7, 9]),
    LAST,
    **SOON,
)
def test_followers_may_learn_of_a_lower_one(report: Report) -> None:
    assert report["anomalies"]["watermark-back"]["count"] == 0


# The last stable offset

COMMITTED: dict[str, Any] = {"isolation": "read_committed", "history_format": 2}


def ends(committed_end: int, uncommitted_end: int) -> Part:
    """A final read that got to the last stable offset."""
    values = range(min(9, committed_end))
    part = final_read(*values, complete=False, position=committed_end)
    told_ends = {"committed_end": committed_end, "uncommitted_end": uncommitted_end}
    rows = tuple({**row, **told_ends} if "event" in row else row for row in part.rows)
    return replace(part, rows=rows)


SENT = tuple(sent(n, at=n, ms=n) for n in range(9))


@with_story(*SENT, read(7, 7, ms=100), ends(5, 9), **COMMITTED)
def test_a_stable_offset_below_what_was_read_as_committed_went_back(report: Report) -> None:
    assert seen(report, "stable-back") == [(7, 5)]
    assert report["verdict"] == "invalid"


FLIPPED = fault(
    "flip-bit",
    ms=50,
    for_ms=None,
    evidence="byte 9 of harness-0/00000000000000000000.log of kafka1 was 0x0a and is 0x0b",
)


@with_story(*SENT, FLIPPED, read(7, 7, ms=100), ends(5, 9), **COMMITTED)
def test_a_record_may_have_been_read_at_another_offset(report: Report) -> None:
    """The twin is the story above."""
    assert report["anomalies"]["stable-back"]["judged"]["permitted"] == 1


@with_story(*SENT, read(4, 4, ms=100), ends(5, 9), **COMMITTED)
def test_one_above_it_may_stand(report: Report) -> None:
    assert report["anomalies"]["stable-back"]["count"] == 0


@with_story(*SENT, read(7, 7, ms=100), ends(5, 5), **COMMITTED)
def test_where_the_log_is_shorter_records_have_vanished(report: Report) -> None:
    assert report["anomalies"]["stable-back"]["count"] == 0


@with_story(*SENT, read(7, 7, ms=100), ends(5, 9), isolation="read_uncommitted", history_format=2)
def test_readers_of_uncommitted_records_prove_nothing(report: Report) -> None:
    assert "stable-back" not in report["anomalies"]


# A partition without an owner

GROUP: dict[str, Any] = {
    "commit": "after",
    "history_format": 2,
    "partitions": 2,
    "consumer": {"session.timeout.ms": 1000},
}
LONG_MS = 11_100  # a session and ten seconds, from the first 50 ms on
ONE, OTHER = "group-consumer-0", "group-consumer-1"
READ = (
    *(part for n in range(9) for part in (polled(n, at=n), processed(n, at=n))),
    final_read(partition=1),
)


def given(text: str, process: str, generation: int = 3, ms: float = 50) -> Part:
    """A member is given its partitions."""
    return event("assigned", ms=ms, process=process, text=text, generation=generation)


def long_load(ms: float) -> dict[str, Any]:
    """A load that lasts."""
    return {"phases": [{"name": "load", "start_ns": ns_of(0), "end_ns": ns_of(ms)}]}


@with_story(*NINE, *READ, given("0", ONE), **GROUP, **long_load(LONG_MS))
def test_a_partition_that_nobody_has_is_unowned(report: Report) -> None:
    row = report["anomalies"]["unowned-partition"]["examples"][0]
    assert (row["partition"], round(row["lasted_s"], 3)) == (1, 11.05)
    assert report["anomalies"]["unowned-partition"]["convicts"]
    assert "1 partition had no owner" in report["sentence"]


@with_story(*NINE, *READ, given("0", ONE), given("1", OTHER), **GROUP, **long_load(LONG_MS))
def test_one_that_another_member_has_is_not(report: Report) -> None:
    assert report["anomalies"]["unowned-partition"]["count"] == 0


@with_story(*NINE, *READ, given("0", ONE), **GROUP, **long_load(11_000))
def test_a_member_may_have_died_before_it_told(report: Report) -> None:
    """The generation lasted a session and 9.95 s."""
    assert report["anomalies"]["unowned-partition"]["count"] == 0


@with_story(
    *NINE,
    *READ,
    given("0", ONE),
    given("1", OTHER, generation=4, ms=9000),
    event("member", ms=9000, process=ONE, generation=4),
    **GROUP,
    **long_load(LONG_MS),
)
def test_nor_in_a_generation_that_is_short(report: Report) -> None:
    assert report["anomalies"]["unowned-partition"]["count"] == 0


@with_story(*NINE, *READ, given("0", ONE), process_ms=1, **GROUP, **long_load(LONG_MS))
def test_a_member_that_is_busy_tells_later(report: Report) -> None:
    assert report["anomalies"]["unowned-partition"]["count"] == 0


# Where a fault permits it

LATER = fault("power-loss", ms=50, nodes=("kafka1", "kafka2", "kafka3"))


@with_story(
    *NINE,
    LATER,
    look(9, 8, 9, ms=40, marks=[7, 7, 7]),
    look(6, 6, 6, ms=200),
    LAST,
    plan=[{"step": 0, "verb": "power-loss", "target": "leader"}],
    **WATCHED,
)
def test_power_that_was_lost_permits_it(report: Report) -> None:
    back = report["anomalies"]["end-back"]
    assert (back["count"], back["convicts"]) == (1, False)
