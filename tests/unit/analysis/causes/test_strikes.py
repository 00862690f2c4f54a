"""Strikes: which records a fault that takes what was written permits to be gone."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.permission import Permission
from tests.support.clusters import hit, led, seen_by, verdict

BOTH = (led(1, 0, (1, 2)),)


def struck(*faults: Any, views: Any = BOTH, **more: Any) -> Permission:
    return seen_by(*views, faults=faults, **more)


def power(nodes: Any, ms: float, **more: Any) -> Any:
    return hit("lose-power", nodes, ms, **more)


ANOMALIES = ("lost", "vanished", "inconsistent-offset", "diverged")


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_a_strike_at_the_whole_isr_permits_what_was_begun_before_it_was_done(anomaly: str) -> None:
    run = struck(power([1, 2], 50, ok_ms=60), compared=True)

    assert verdict(run, anomaly, 59, 65) == "permitted"
    assert verdict(run, anomaly, 60, 65) == "forbidden"


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_a_strike_that_left_a_member_of_the_isr_out_permits_nothing(anomaly: str) -> None:
    assert verdict(struck(power([2], 50), compared=True), anomaly, 10, 15) == "forbidden"


def test_two_strikes_that_overlap_unhealed_count_together() -> None:
    first, second = power([1], 50, healed_ms=80), power([2], 70, ok_ms=75)

    assert verdict(struck(first, second), "lost", 74, 76) == "permitted"
    assert verdict(struck(first, power([2], 80)), "lost", 10, 15) == "forbidden"
    assert verdict(struck(power([1], 50), second), "lost", 76, 78) == "forbidden"


def test_another_partition_s_isr_and_an_empty_one_do_not_count() -> None:
    views = (led(1, 0, (1, 2)), led(3, 0, (3,), partition=1))

    assert verdict(struck(power([3], 50), views=views, partitions=2), "lost", 10) == "forbidden"
    empty = (led(1, 0, (1, 2)), led(None, 51, ()), led(1, 60, (1, 2)))
    assert verdict(struck(power([2], 50, ok_ms=55), views=empty), "lost", 10, 15) == "forbidden"


def test_any_isr_from_the_strike_s_begin_until_it_was_done_counts() -> None:
    shrunk = (led(1, 0, (1, 2)), led(1, 55, (1,)))

    assert verdict(struck(power([1], 50, ok_ms=60), views=shrunk), "lost", 10) == "permitted"
    assert verdict(struck(power([1], 50, ok_ms=54), views=shrunk), "lost", 10) == "forbidden"


def test_the_fault_s_own_view_counts_unless_it_is_an_old_one() -> None:
    before = {"isr": {"0": ["kafka1"]}, "known": True}
    old = {**before, "known": False}

    assert verdict(struck(power([1], 50, before=before)), "lost", 10) == "permitted"
    assert verdict(struck(power([1], 50, before=old)), "lost", 10) == "forbidden"


def test_an_isr_that_nobody_could_see_leaves_doubt() -> None:
    views = (led(1, 0, (1, 2)), led(1, 90, (1, 2), epoch=3))

    assert verdict(struck(power([2], 50), views=views, blind=[(40, 89)]), "lost", 10) == "in-doubt"
    same = (led(1, 0, (1, 2)),)
    assert verdict(struck(power([2], 50), views=same, blind=[(40, 89)]), "lost", 10) == "forbidden"


@pytest.mark.parametrize("last", [led(2, 60, (2,), epoch=1), led(2, 60, (2, 1), epoch=1)])
def test_a_struck_broker_that_comes_to_lead_anew_lacks_what_it_lost(last: Any) -> None:
    run = struck(power([2], 50), views=(*BOTH, last))

    assert verdict(run, "lost", 10, 15) == "permitted"


def test_a_struck_broker_that_left_the_isr_and_came_back_has_copied_all_again() -> None:
    views = (*BOTH, led(1, 55, (1,)), led(1, 70, (1, 2)), led(2, 90, (2,), epoch=1))

    assert verdict(struck(power([2], 50), views=views), "lost", 10, 15) == "forbidden"


def test_the_same_leader_in_the_next_epoch_leads_anew() -> None:
    again = (*BOTH, led(None, 55, (1, 2), epoch=1), led(1, 60, (1, 2), epoch=2))

    assert verdict(struck(power([1], 50), views=again), "lost", 10, 15) == "permitted"
    assert verdict(struck(power([1], 50), views=BOTH), "lost", 10, 15) == "forbidden"


def test_a_struck_broker_leads_anew_only_once_it_was_started() -> None:
    """The controller drops another replica meanwhile, which is a new epoch of who is down."""
    dropped = (led(1, 0), led(1, 60, (1, 2), epoch=1), led(2, 70, (2,), epoch=2))
    down = struck(power([1], 50, heal_ms=80, healed_ms=90), views=dropped)

    assert verdict(down, "lost", 10, 15) == "forbidden"
    back = (*dropped, led(1, 95, (1, 2), epoch=3, since_ms=85))
    assert verdict(struck(power([1], 50, heal_ms=80), views=back), "lost", 10, 15) == "permitted"
    early = (*dropped, led(1, 95, (1, 2), epoch=3, since_ms=75))
    assert verdict(struck(power([1], 50, heal_ms=80), views=early), "lost", 10, 15) == "in-doubt"


def test_under_acks_1_a_strike_at_the_leader_permits_what_was_acked() -> None:
    run = struck(power([1], 50), acks="1")

    assert verdict(run, "lost", 10, 15) == "permitted"
    assert verdict(run, "vanished", 10, 15) == "forbidden"
    assert verdict(run, "inconsistent-offset", 10, 15) == "permitted"
    assert verdict(run, "inconsistent-offset", 10, 15, delivered=True) == "forbidden"
    assert verdict(struck(power([2], 50), acks="1"), "lost", 10, 15) == "forbidden"


def test_lost_power_takes_nothing_that_every_write_has_synced_but_a_lost_disk_does() -> None:
    synced = {"flush.messages": "1"}

    assert verdict(struck(power([1, 2], 50), topic=synced), "lost", 10) == "forbidden"
    disk = hit("lose-disk", [1, 2], 50)
    assert verdict(struck(disk, topic=synced), "lost", 10) == "permitted"


def test_a_flipped_bit_is_a_strike_when_its_broker_starts_anew() -> None:
    alone = (led(1, 0, (1,)),)
    bit, start = hit("flip-bit", [1], 20), hit("kill", [1], 40, heal_ms=50, healed_ms=60)

    assert verdict(struck(bit, start, views=alone), "lost", 59, 65) == "permitted"
    assert verdict(struck(bit, start, views=alone), "lost", 60, 65) == "forbidden"
    assert verdict(struck(bit, views=alone), "lost", 10, 15) == "forbidden"
    put_back = hit("flip-bit", [1], 20, healed_ms=45)
    assert verdict(struck(put_back, start, views=alone), "lost", 10, 15) == "forbidden"
    elsewhere = hit("flip-bit", [2], 20)
    assert verdict(struck(elsewhere, start, views=alone), "lost", 10, 15) == "forbidden"


def test_a_start_within_a_fault_that_starts_what_it_ended_lies_anywhere_in_it() -> None:
    """The twins: the bit was put back before the fault, or meanwhile; another broker was rolled."""
    alone, bit = (led(1, 0, (1,)),), hit("flip-bit", [1], 20)

    def rolled(node: int = 1, **back: Any) -> Permission:
        roll = hit("roll", [node], 40, ok_ms=55, heal_ms=59, healed_ms=60)
        return struck({**bit, **back}, roll, views=alone)

    assert verdict(rolled(), "lost", 39, 45) == "permitted"
    assert verdict(rolled(), "lost", 45, 50) == "in-doubt"
    assert verdict(rolled(), "lost", 60, 65) == "forbidden"
    assert verdict(rolled(2), "lost", 10, 15) == "forbidden"
    before, meanwhile = (
        hit("flip-bit", [1], 20, healed_ms=30),
        hit("flip-bit", [1], 20, healed_ms=50),
    )
    assert verdict(rolled(**before), "lost", 10, 15) == "forbidden"
    assert verdict(rolled(**meanwhile), "lost", 10, 15) == "in-doubt"


def test_a_flipped_bit_is_what_readers_are_given_who_do_not_check_crcs() -> None:
    bit = hit("flip-bit", [1], 20, healed_ms=40, evidence="byte 7 of t-0/0.log of kafka1 was 1")

    assert verdict(struck(bit), "phantom", None, 30, outcome="unparsable") == "permitted"
    assert verdict(struck(bit), "phantom", None, 50, outcome="unparsable") == "forbidden"
    assert verdict(struck(bit), "phantom", None, 30, partition=1) == "forbidden"
    assert verdict(struck(bit), "vanished", 10, 15) == "forbidden"  # it was put back
    assert verdict(struck(hit("flip-bit", [1], 20)), "vanished", 10, 15) == "permitted"
    checked = struck(bit, consumer={"check.crcs": True})
    assert verdict(checked, "phantom", None, 30, outcome="unparsable") == "forbidden"


def test_a_fault_of_which_nobody_knows_what_it_can_do_leaves_doubt() -> None:
    assert verdict(struck(hit("frobnicate", ["zk1"], 50)), "lost", 10, 15) == "in-doubt"
    done = hit("frobnicate", ["zk1"], 50, healed_ms=60)
    assert verdict(struck(done), "lost", 70, 75) == "forbidden"


def test_what_hangs_on_internal_topics_is_permitted_after_any_strike() -> None:
    run = struck(power([3], 50), commit="before", transactional=True)

    assert verdict(run, "reprocessed", 10, 15, shown_ns=51_000_000) == "permitted"
    assert verdict(run, "reprocessed", 10, 15, shown_ns=49_000_000) == "forbidden"
    assert verdict(run, "lost", 10, 15) == "permitted"  # a commit was answered, and forgotten
    assert verdict(run, "lost", 10, 15, settled_ns=49_000_000) == "forbidden"
    assert verdict(struck(power([3], 50), commit="before"), "lost", 10, 15) == "forbidden"


@pytest.mark.parametrize(
    ("reset", "word"),
    [("latest", "permitted"), ("end", "permitted"), (None, "in-doubt"), ("earliest", "forbidden")],
)
@pytest.mark.parametrize("anomaly", ["skipped", "no-output"])
def test_a_group_passes_over_records_where_it_goes_on_at_the_end(
    anomaly: str, reset: str | None, word: str
) -> None:
    """Committed offsets that were set back make records come again."""
    consumer = {} if reset is None else {"auto.offset.reset": reset}
    run = struck(power([3], 50), commit="after", transforms=True, consumer=consumer)

    assert verdict(run, anomaly, 10, 15, shown_ns=51_000_000) == word


@pytest.mark.parametrize("anomaly", ["skipped", "no-output"])
def test_commits_in_transactions_may_have_been_forgotten_until_they_are_settled(
    anomaly: str,
) -> None:
    consumer = {"auto.offset.reset": "earliest"}
    run = struck(power([3], 50), commit="transaction", transforms=True, consumer=consumer)

    for settled_ms, word in ((None, "permitted"), (50, "permitted"), (49, "forbidden")):
        settled_ns = None if settled_ms is None else settled_ms * 1_000_000
        told = {"shown_ns": 51_000_000, "settled_ns": settled_ns}
        assert verdict(run, anomaly, 10, 15, **told) == word


def test_a_fault_that_moves_leaders_does_so_where_the_brokers_default_is_unclean() -> None:
    kill = hit("kill", [3], 50)
    unclean = {"unclean.leader.election.enable": "true"}
    own = {"unclean.leader.election.enable": "false"}

    assert verdict(struck(kill, commit="before"), "reprocessed", 10, 15) == "forbidden"
    run = struck(kill, commit="before", server=unclean, topic=own)
    assert verdict(run, "reprocessed", 10, 15) == "permitted"
    worker = struck(hit("kill", ["producer-0"], 50), commit="before", server=unclean, topic=own)
    assert verdict(worker, "reprocessed", 10, 15) == "forbidden"
