"""Strikes and flipped bits that permitted too much, or too little: found by random stories."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.permission import Permission
from tests.support.clusters import MS, hit, led, seen_by, verdict

BOTH = (led(1, 0, (1, 2)),)


def struck(*faults: Any, views: Any = BOTH, **more: Any) -> Any:
    return seen_by(*views, faults=faults, **more)


def power(nodes: Any, ms: float, **more: Any) -> Any:
    return hit("lose-power", nodes, ms, **more)


def bit(ms: float, partition: int = 0, **more: Any) -> Any:
    flipped = hit("flip-bit", [1], ms, **more)
    return {**flipped, "evidence": f"byte 9 of t-{partition}/00000000000000000000.log of kafka1"}


def test_a_broker_that_was_started_with_a_flipped_bit_is_whole_again_when_that_is_healed() -> None:
    """Although nobody ever put the bit back."""
    kill, later = hit("kill", [1], 20, heal_ms=25, healed_ms=30), hit("lose-disk", [2], 60)

    assert verdict(struck(bit(10), kill, later), "lost", 40, 45) == "forbidden"
    overlapping = hit("lose-disk", [2], 28)
    assert verdict(struck(bit(10), kill, overlapping), "lost", 5, 8) == "permitted"


def test_a_start_with_a_flipped_bit_cuts_the_log_of_its_partition_only() -> None:
    views = (led(1, 0, (1,)), led(1, 0, (1,), partition=1))
    kill = hit("kill", [1], 20, heal_ms=25, healed_ms=30)
    here = struck(bit(10), kill, views=views, partitions=2)
    there = struck(bit(10, partition=1), kill, views=views, partitions=2)

    assert verdict(here, "lost", 5, 8) == "permitted"
    assert verdict(there, "lost", 5, 8) == "forbidden"


def test_a_broker_that_was_never_started_again_cut_nothing() -> None:
    views = (led(1, 0, (1,)),)

    assert verdict(struck(bit(10), hit("kill", [1], 20), views=views), "lost", 5, 8) == "forbidden"


def test_under_acks_1_a_leader_that_was_struck_earlier_is_no_leader_struck_now() -> None:
    first = power([1], 50, ok_ms=51, heal_ms=55)

    assert verdict(struck(first, power([3], 70), acks="1"), "lost", 60, 61) == "forbidden"
    assert verdict(struck(first, power([1], 70), acks="1"), "lost", 60, 61) == "permitted"


def test_strikes_that_may_have_been_none_make_no_sure_one_together() -> None:
    unknown = hit("frobnicate", [3], 40)

    assert verdict(struck(unknown, hit("lose-disk", [2], 50)), "lost", 10, 15) == "in-doubt"
    assert verdict(struck(hit("lose-disk", [2], 50)), "lost", 10, 15) == "forbidden"


def test_a_strike_that_was_never_proved_leaves_doubt() -> None:
    unproved = {**power([1, 2], 50), "ok_ns": None}

    assert verdict(struck(unproved), "lost", 10, 15) == "in-doubt"
    assert verdict(struck(power([1, 2], 50)), "lost", 10, 15) == "permitted"


def test_two_strikes_of_which_either_may_have_come_last_permit_until_the_later_one_was_done() -> (
    None
):
    long, short = power([1], 50, ok_ms=80), power([2], 60, ok_ms=70)

    assert verdict(struck(long, short), "lost", 75, 76) == "permitted"
    assert verdict(struck(long), "lost", 75, 76) == "forbidden"


def test_who_came_back_before_it_was_struck_has_not_copied_what_it_lost() -> None:
    views = (led(1, 0, (1,)), led(1, 55, (1, 2)), led(2, 90, (1, 2), epoch=1))

    assert verdict(struck(power([2], 50, ok_ms=60), views=views), "lost", 40, 45) == "permitted"
    assert verdict(struck(power([2], 50, ok_ms=54), views=views), "lost", 40, 45) == "forbidden"


def test_who_may_have_led_unseen_before_it_came_back_leaves_doubt() -> None:
    def run(epoch: int) -> Any:
        out, back = led(1, 100, (1,), epoch=epoch), led(1, 120, (1, 2), epoch=epoch)
        return struck(power([2], 50), views=(*BOTH, out, back))

    assert verdict(run(3), "lost", 40, 45) == "in-doubt"
    assert verdict(run(1), "lost", 40, 45) == "forbidden"


def test_an_isr_that_may_have_held_at_the_strike_leaves_doubt() -> None:
    """It was seen afterwards, and nobody had looked since before the strike."""
    blind = (led(1, 0, (1, 2)), led(1, 100, (1,), since_ms=40))
    seen = (led(1, 0, (1, 2)), led(1, 100, (1,), since_ms=95))

    assert verdict(struck(power([1], 50), views=blind), "lost", 10, 15) == "in-doubt"
    assert verdict(struck(power([1], 50), views=seen), "lost", 10, 15) == "forbidden"


def test_what_comes_after_the_final_read_explains_nothing_in_it() -> None:
    both = power([1, 2], 50)
    again = (*BOTH, led(2, 60, (1, 2), epoch=1))

    assert verdict(struck(both, read_ended_ms=49), "lost", 10, 15) == "forbidden"
    assert verdict(struck(both, read_ended_ms=55), "lost", 10, 15) == "permitted"
    late = struck(power([2], 50), views=again, read_ended_ms=59)
    assert verdict(late, "lost", 10, 15) == "forbidden"
    assert verdict(struck(power([2], 50), views=again), "lost", 10, 15) == "permitted"


def test_a_zookeeper_holds_no_records() -> None:
    assert verdict(struck(hit("lose-disk", ["zk1"], 50), views=()), "lost", 10) == "forbidden"
    assert verdict(struck(hit("lose-disk", [1], 50), views=()), "lost", 10) == "in-doubt"


def test_a_setting_that_was_changed_after_the_power_was_lost_unsynced_nothing() -> None:
    flushed = {"flush.messages": "1"}
    seldom = {"flush.messages": "500"}
    before, after = (hit("set-config", [1], ms, options=seldom) for ms in (40, 100))

    assert verdict(struck(power([1, 2], 50), after, topic=flushed), "lost", 10) == "forbidden"
    assert verdict(struck(before, power([1, 2], 50), topic=flushed), "lost", 10) == "permitted"


def test_a_bit_was_in_no_record_that_was_begun_after_it_was_flipped() -> None:
    run = struck(bit(10))

    assert verdict(run, "vanished", 5, 15) == "permitted"
    assert verdict(run, "vanished", 12, 15) == "forbidden"


def test_what_a_bit_made_of_a_record_may_look_like_any_value_whenever_that_was_sent() -> None:
    """The other value at the offset may be one that was sent later, or read before."""
    for begun, known in ((5, 7), (12, 15), (None, 15)):
        assert verdict(struck(bit(10)), "inconsistent-offset", begun, known) == "permitted"
    later = seen_by(led(1, 0), faults=[bit(10)], read_ended_ms=9)
    assert verdict(later, "inconsistent-offset", 5, 7) == "forbidden"


# --- nobody looked


def test_an_isr_that_only_held_until_nobody_looked_is_doubt() -> None:
    """The twin: the strike came before the stretch."""
    views = (led(1, 0, (1,)), led(1, 201, (1, 2, 3), epoch=2, since_ms=9))
    dark, seen = (
        seen_by(*views, blind=[(10, 200)], faults=[hit("lose-power", [1], ms)]) for ms in (100, 8)
    )

    assert verdict(dark, "lost", 2, 5) == "in-doubt"
    assert verdict(seen, "lost", 2, 5) == "permitted"


def test_a_leader_that_only_led_until_nobody_looked_is_doubt() -> None:
    views = (led(1, 0), led(1, 201, epoch=2, since_ms=9))
    dark, seen = (
        seen_by(*views, blind=[(10, 200)], faults=[hit("lose-power", [1], ms)], acks="1")
        for ms in (100, 8)
    )

    assert verdict(dark, "lost", 2, 5) == "in-doubt"
    assert verdict(seen, "lost", 2, 5) == "permitted"


def test_where_nobody_else_can_have_led_the_leader_was_in_every_isr() -> None:
    """kafka1 leads before and after, one epoch later: no ISR was kafka3 alone."""
    views = (led(1, 0), led(1, 90, (1, 2), epoch=1, since_ms=39))

    def struck_in_the_dark(node: int, **more: Any) -> Permission:
        return seen_by(*views, blind=[(40, 89)], faults=[hit("lose-power", [node], 50)], **more)

    assert verdict(struck_in_the_dark(3), "lost", 10, 15) == "forbidden"
    assert verdict(struck_in_the_dark(3, acks="1"), "lost", 10, 15) == "forbidden"
    assert verdict(struck_in_the_dark(1), "lost", 10, 15) == "in-doubt"


def test_the_first_view_shows_no_election() -> None:
    """The twin: it was seen to lead before, and another in between."""
    first = seen_by(led(1, 50, (1, 2)), faults=[hit("lose-power", [1], 10, ok_ms=20)])
    anew = seen_by(
        led(1, 0, (1, 2)),
        led(1, 50, (1, 2), epoch=1),
        faults=[hit("lose-power", [1], 10, ok_ms=20)],
    )

    assert verdict(first, "lost", 5, 8) == "in-doubt"
    assert verdict(anew, "lost", 5, 8) == "permitted"


def test_who_came_to_lead_when_nobody_looked_may_have_led_before_it_was_struck() -> None:
    views = (led(1, 0), led(2, 201, epoch=1, since_ms=9))
    dark, later = (
        seen_by(*views, blind=[(10, 200)], faults=[hit("lose-power", [2], ms)]) for ms in (100, 5)
    )

    assert verdict(dark, "lost", 2, 3) == "in-doubt"
    assert verdict(later, "lost", 2, 3) == "permitted"


# --- who is hit, and where


@pytest.mark.parametrize("anomaly", ["skipped", "reprocessed", "early-read", "watermark-ahead"])
def test_a_node_without_records_loses_none(anomaly: str) -> None:
    """The twin is a broker."""
    zookeeper, broker = (
        seen_by(
            led(1, 0),
            faults=[hit("lose-disk", [node], 50, healed_ms=60)],
            commit="before",
            consumer={"auto.offset.reset": "latest"},
            watched=True,
        )
        for node in ("zk1", "kafka3")
    )

    assert verdict(zookeeper, anomaly, 100, 105, shown_ns=110 * MS) == "forbidden"
    assert verdict(broker, anomaly, 100, 105, shown_ns=110 * MS) == "permitted"


@pytest.mark.parametrize("anomaly", ["skipped", "reprocessed", "early-read", "watermark-ahead"])
def test_a_start_with_a_flipped_bit_shows_in_its_partition_only(anomaly: str) -> None:
    flipped, started = bit(10), hit("kill", [1], 20, heal_ms=25, healed_ms=30)
    views = (led(1, 0), led(1, 0, partition=1))
    run = seen_by(*views, faults=[flipped, started], partitions=2, commit="before", watched=True)

    assert verdict(run, anomaly, 100, 105, partition=1, shown_ns=110 * MS) == "forbidden"
    if anomaly in ("early-read", "watermark-ahead"):
        assert verdict(run, anomaly, 100, 105, shown_ns=110 * MS) == "permitted"


def test_a_strike_after_the_final_read_shows_nothing() -> None:
    def lost_at(ms: float) -> Permission:
        struck_then = hit("lose-power", [1, 2, 3], ms)
        return seen_by(led(1, 0), faults=[struck_then], read_ended_ms=5000, transactional=True)

    assert verdict(lost_at(9000), "lost", 10, 15) == "forbidden"
    assert verdict(lost_at(5000), "lost", 10, 15) == "forbidden"
    assert verdict(lost_at(4000), "lost", 10, 15) == "permitted"


# --- what a bit makes of a record


def test_what_only_the_final_read_had_was_not_read_while_the_bit_was_flipped() -> None:
    put_back, stayed = bit(20, healed_ms=40), bit(20)
    last: dict[str, Any] = {"known": (2**63 - 1) / MS, "outcome": "unparsable"}

    assert verdict(seen_by(led(1, 0), faults=[put_back]), "phantom", None, **last) == "forbidden"
    assert verdict(seen_by(led(1, 0), faults=[stayed]), "phantom", None, **last) == "permitted"


@pytest.mark.parametrize(
    ("anomaly", "outcome", "another"),
    [
        ("duplicate", "in_reads", "in_log"),
        ("skipped", "never_polled", "polled"),
        ("inconsistent-offset", "other_partition", None),
    ],
)
def test_a_record_that_is_read_as_another_one_is_missed_and_found_elsewhere(
    anomaly: str, outcome: str, another: str | None
) -> None:
    """The twins: another outcome, another partition, and consumers that check: these are given
    none of the batch."""
    faults = [bit(20, healed_ms=40)]
    said: dict[str, Any] = {"idempotent": True, "commit": "after", "faults": faults}
    run = seen_by(led(1, 0), led(1, 0, partition=1), partitions=2, **said)

    assert verdict(run, anomaly, 10, 30, outcome=outcome) == "permitted"
    assert verdict(run, anomaly, 10, 30, outcome=outcome, partition=1) == "forbidden"
    if another:
        assert verdict(run, anomaly, 10, 30, outcome=another) == "forbidden"
    checked = seen_by(led(1, 0), consumer={"check.crcs": True}, **said)
    word = "permitted" if anomaly == "skipped" else "forbidden"
    assert verdict(checked, anomaly, 10, 30, outcome=outcome) == word
    before = {"outcome": outcome, "shown_ns": 19_000_000}
    assert verdict(run, anomaly, 10, 15, **before) == "forbidden"


ACROSS = "byte 9 of t-{}/0.log of kafka1 was 0x20 and is 0x21; byte 9 of t-{}/0.log of kafka2 was"


def test_a_fault_may_flip_a_bit_on_each_of_several_disks() -> None:
    """The twin: both bits are in one partition."""
    views = (led(1, 0), led(2, 0, partition=1))
    apart, together = (
        hit("flip-bit", [1, 2], 20, healed_ms=40, evidence=ACROSS.format(*parts))
        for parts in ((0, 1), (0, 0))
    )

    def judged(bits: dict[str, Any]) -> list[str]:
        run = seen_by(*views, faults=[bits], partitions=2, history_format=2)
        return [verdict(run, "corrupt", 10, 30, partition=partition) for partition in (0, 1)]

    assert judged(apart) == ["permitted", "permitted"]
    assert judged(together) == ["permitted", "forbidden"]


def test_a_start_with_flipped_bits_on_several_disks_cuts_what_is_on_the_one_that_was_started() -> (
    None
):
    bits = hit("flip-bit", [1, 2], 20, evidence=ACROSS.format(0, 1))
    views = (led(1, 0, (1,)), led(2, 0, (2,), partition=1))
    started = hit("kill", [1], 40, heal_ms=50, healed_ms=60)
    checked = {"check.crcs": True}
    run = seen_by(*views, faults=[bits, started], partitions=2, consumer=checked)

    assert verdict(run, "lost", 10, 15) == "permitted"
    assert verdict(run, "lost", 10, 15, partition=1) == "forbidden"


def test_a_proof_that_names_an_impossible_partition_names_none() -> None:
    odd = hit("flip-bit", [1], 10, evidence=f"byte 9 of t-{'9' * 5000}/0.log of kafka1")

    assert verdict(seen_by(led(1, 0), faults=[odd]), "lost", 5, 8) == "forbidden"
