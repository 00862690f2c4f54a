"""Lines as Kafka 3.9 logged them, and what is taken from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from harness.run.evidence.broker_words import RunClock, logged_events

AT = "[2026-11-23 11:45:42,291] INFO "
CLOCK = RunClock(
    monotonic_ns=5_000_000_000,
    utc=datetime(2026, 11, 23, 11, 45, 40, tzinfo=UTC),
    zone=UTC,
)
LED = (
    "[Broker id=2] Leader t-1-0 with topic id Some(zByb6_-CRHabXjfeMx56qg) starts at leader "
    "epoch 1 from offset 502 with partition epoch 1, high watermark 501, ISR [2,3], adding "
    "replicas [] and removing replicas [] . Previous leader Some(1) and previous leader epoch was "
    "0. (state.change.logger)"
)
FOLLOWED = (
    "[Broker id=1] Follower t-1-0 starts at leader epoch 1 from offset 503 with partition epoch 1 "
    "and high watermark 83. Current leader is 2. Previous leader Some(2) and previous leader epoch "
    "was 1. (state.change.logger)"
)
WHY = (
    "[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition t-1-0 with "
    "TruncationState(offset=502, completed=true) due to leader epoch and offset "
    "EpochEndOffset(errorCode=0, partition=0, leaderEpoch=0, endOffset=502) "
    "(kafka.server.ReplicaFetcherThread)"
)
CUT = (
    "[UnifiedLog partition=t-1-0, dir=/run/kafka1] Truncating to offset 502 (kafka.log.UnifiedLog)"
)
NO_EFFECT = (
    "[UnifiedLog partition=t-1-0, dir=/run/kafka1] Truncating to 0 has no effect as the largest "
    "offset in the log is -1 (kafka.log.UnifiedLog)"
)
REASON = (
    "due to leader epoch and offset EpochEndOffset(errorCode=0, partition=0, leaderEpoch=0, "
    "endOffset=502)"
)
HERE = {"topic": "t-1", "partition": 0, "logged_ms": 7291}


def said(*lines: str) -> list[dict[str, object]]:
    return list(logged_events([AT + line + "\n" for line in lines], ("t-1",), CLOCK))


def test_who_led_from_which_offset():
    assert said(LED) == [{"event": "led", "epoch": 1, "offset": 502, "watermark": 501, **HERE}]


def test_who_followed_whom_with_which_log_end():
    row = {"event": "followed", "epoch": 1, "offset": 503, "watermark": 83, "leader": 2}

    assert said(FOLLOWED) == [{**row, **HERE}]


def test_what_was_cut_off_and_why():
    assert said(WHY, CUT) == [{"event": "truncated", "offset": 502, "text": REASON, **HERE}]


def test_a_truncation_without_its_reason_is_one_all_the_same():
    assert said(CUT) == [{"event": "truncated", "offset": 502, **HERE}]


def test_the_reason_of_another_truncation_is_not_its_own():
    other = CUT.replace("502", "400")

    assert said(WHY, other, CUT) == [
        {"event": "truncated", "offset": 400, **HERE},
        {"event": "truncated", "offset": 502, **HERE},
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "[UnifiedLog partition=t-1-0, dir=/d] Truncate and start at offset 502, "
            "logStartOffset: 502 (kafka.log.UnifiedLog)",
            "Truncate and start at offset",
        ),
        (
            "[LogLoader partition=t-1-0, dir=/d] Corruption found in segment 0, truncating to "
            "offset 502 (org.apache.kafka.storage.internals.log.LogLoader)",
            "Corruption found in segment 0, truncating to offset",
        ),
    ],
)
def test_a_log_that_is_begun_anew_or_damaged_is_cut_off_as_well(line, text):
    assert said(line) == [{"event": "truncated", "offset": 502, "text": text, **HERE}]


def test_what_had_no_effect_is_none():
    assert said(NO_EFFECT) == []


def test_of_other_topics_nothing_is_told():
    """Nor of one whose name begins alike."""
    lines = (LED, FOLLOWED, WHY, CUT)

    assert said(*(line.replace("t-1-0", "__consumer_offsets-0") for line in lines)) == []
    assert said(*(line.replace("t-1-0", "t-1-0-0") for line in lines)) == []


def test_what_is_no_line_of_ours_is_passed_over():
    assert (
        list(logged_events(["", "Truncating", CUT, f"[no time] INFO {CUT}"], ("t-1",), CLOCK)) == []
    )


def test_the_time_is_that_of_the_brokers_zone():
    east = RunClock(
        monotonic_ns=CLOCK.monotonic_ns, utc=CLOCK.utc, zone=timezone(timedelta(hours=1))
    )

    (row,) = logged_events([AT + CUT], ("t-1",), east)
    assert row["logged_ms"] == 7291 - 3_600_000
