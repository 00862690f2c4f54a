"""Eligible leaders (KIP-966): who is in the ELR may lead, and has all that is committed."""

from __future__ import annotations

from typing import Any

from analysis.causes.run_facts.kafka import Kafka
from analysis.verdict.permission import Permission
from harness.model.sections.kafka_releases import ELR
from tests.support.clusters import hit, kraft, led, seen_by, verdict

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "2"}
SAFE = {"min.insync.replicas": "2"}
# kafka1 is alone in the ISR from 50 on, kafka2 is eligible, kafka3 is not.
ALONE = (led(1, 0, (1, 2), elr=()), led(1, 50, (1,), elr=(2,)))
DEAD = [hit("kill", [1], 90)]
ANOMALIES = ("lost", "vanished", "inconsistent-offset")


def run(*views: Any, kafka: Kafka | None = None, topic: Any = None, **more: Any) -> Permission:
    configured = {"topic": UNCLEAN if topic is None else topic, "faults": DEAD, **more}
    return seen_by(*ALONE, *views, kafka=kafka or kraft(), **configured)


def test_an_election_from_the_elr_is_clean() -> None:
    clean = run(led(2, 100, (2,), elr=(1,), epoch=1))

    for anomaly in ANOMALIES:
        assert verdict(clean, anomaly, 55, 60) == "forbidden"


def test_one_from_outside_isr_and_elr_is_not() -> None:
    unclean = run(led(3, 100, (3,), elr=(), epoch=1))

    for anomaly in ANOMALIES:
        assert verdict(unclean, anomaly, 55, 60) == "permitted"
    assert verdict(run(led(3, 100, (3,), elr=(), epoch=1), topic=SAFE), "lost", 55) == "forbidden"


def test_who_left_the_elr_lacks_what_was_acked_since() -> None:
    """It was registered after a shutdown that was not clean; the ISR was large enough later."""
    out = (led(1, 60, (1,), elr=()), led(1, 70, (1, 3), elr=()), led(2, 100, (2,), elr=(), epoch=1))

    assert verdict(run(*out), "lost", 52, 58) == "forbidden"
    assert verdict(run(*out), "lost", 71, 75) == "permitted"


def test_an_empty_isr_is_a_state_where_the_elr_is_told() -> None:
    """And elsewhere it is not known, as ever."""
    nobody = led(None, 91, (), elr=(1, 2), epoch=1)

    assert verdict(run(nobody, led(2, 100, (2,), elr=(1,), epoch=2)), "lost", 55) == "forbidden"
    assert verdict(run(nobody, led(3, 100, (3,), elr=(), epoch=2)), "lost", 55, 60) == "permitted"
    beside = (led(1, 0, (1, 2)), led(None, 91, (), epoch=1), led(2, 100, (2,), epoch=2))
    assert verdict(seen_by(*beside, topic=UNCLEAN, faults=DEAD), "lost", 55) == "forbidden"


def test_who_was_in_the_isr_until_nobody_was_eligible_is_out_since_then() -> None:
    """An ISR and an ELR that are empty say so; the twin's ELR has it still."""
    both = (led(1, 0, (1, 3), elr=()),)
    gone, kept = (led(None, 91, (), elr=elr, epoch=1) for elr in ((), (3,)))
    last = led(3, 100, (3,), elr=(), epoch=2)

    def judged(nobody: Any) -> str:
        found = seen_by(*both, nobody, last, topic=UNCLEAN, faults=[], kafka=kraft())
        return verdict(found, "lost", 55, 95)

    assert judged(gone) == "permitted"
    assert judged(kept) == "forbidden"


def test_where_nobody_told_who_was_eligible_an_election_is_in_doubt() -> None:
    untold = (led(1, 0, (1, 2)), led(1, 50, (1,)), led(2, 100, (2,), epoch=1))

    def judged(kafka: Kafka, topic: Any = UNCLEAN) -> str:
        found = seen_by(*untold, topic=topic, faults=DEAD, kafka=kafka)
        return verdict(found, "lost", 55, 60)

    assert judged(kraft()) == "in-doubt"
    assert judged(kraft("4.0.2")) == "permitted"  # it remembers none
    assert judged(kraft(), {**UNCLEAN, "min.insync.replicas": "1"}) == "permitted"


# Strikes


def struck(nodes: Any, *views: Any, verb: str = "lose-disk", **more: Any) -> Permission:
    faults = more.pop("faults", [hit(verb, nodes, 60, healed_ms=more.pop("healed_ms", None))])
    return run(*views, faults=faults, topic=SAFE, **more)


def test_a_strike_counts_that_hit_all_of_isr_and_elr() -> None:
    assert verdict(struck([1, 2]), "lost", 10, 15) == "permitted"
    assert verdict(struck([1]), "lost", 10, 15) == "forbidden"
    assert verdict(struck([2]), "lost", 10, 15) == "forbidden"


def test_without_eligible_leaders_the_last_replica_standing_is_all() -> None:
    """What KIP-966 is about: ISR 1, and its disk is lost."""
    views = (led(1, 0, (1, 2), elr=()), led(1, 50, (1,), elr=()))
    faults = [hit("lose-disk", [1], 60)]

    for kafka in (kraft("3.9.2"), kraft("4.0.2"), None):
        assert verdict(seen_by(*views, faults=faults, kafka=kafka), "lost", 10) == "permitted"


def test_a_strike_at_who_is_eligible_counts_while_nobody_is_in_sync() -> None:
    nobody = led(None, 55, (), elr=(1, 2), epoch=1)

    assert verdict(struck([1, 2], nobody), "lost", 10, 15) == "permitted"
    assert verdict(struck([1], nobody), "lost", 10, 15) == "forbidden"


def test_the_fault_s_own_view_counts_with_its_elr() -> None:
    def judged(before: Any) -> str:
        fault = hit("lose-disk", [1], 49.5, before={"known": True, **before})
        return verdict(struck([1], faults=[fault]), "lost", 10)

    assert judged({"isr": {"0": ["kafka1"]}, "elr": {"0": []}}) == "permitted"
    assert judged({"isr": {"0": ["kafka1"]}, "elr": {"0": ["kafka2"]}}) == "forbidden"
    # By the view before, kafka2 was in the ISR that it has left.
    assert judged({"isr": {"0": ["kafka1"]}}) == "forbidden"


def test_a_fault_without_a_view_of_its_own_tells_no_isr() -> None:
    """Where nobody looked the ISR may have been any: the one of before it is no longer sure."""
    views = (led(1, 0, (1, 2), elr=()), led(1, 50, (1,), elr=()))
    later = led(1, 80, (1,), elr=(), epoch=6)

    def judged(*seen: Any, **more: Any) -> str:
        faults = [hit("lose-disk", [1], 70, heal_ms=90, healed_ms=95)]
        return verdict(seen_by(*views, *seen, faults=faults, kafka=kraft(), **more), "lost", 10)

    assert judged() == "permitted"
    assert judged(later, blind=[(60, 79)]) == "in-doubt"


def test_where_nobody_told_who_was_eligible_a_strike_is_in_doubt() -> None:
    views = (led(1, 0, (1, 2)), led(1, 50, (1,)))
    faults = [hit("lose-disk", [1], 60)]

    found = seen_by(*views, faults=faults, kafka=kraft(), topic=SAFE)
    assert verdict(found, "lost", 10, 15) == "in-doubt"
    enough = seen_by(led(1, 0, (1, 2)), faults=[hit("lose-disk", [1, 2], 60)], kafka=kraft())
    assert verdict(enough, "lost", 10, 15) == "permitted"


# The last known leader

NOBODY = (led(None, 91, (), elr=(), epoch=1),)
LAST = (*NOBODY, led(1, 120, (1,), elr=(), epoch=2))


def test_the_last_known_leader_loses_nothing() -> None:
    """ISR and ELR are empty, so Kafka elects it, allowed or not: it had everything."""
    killed = [hit("kill", [1, 2], 90, heal_ms=100, healed_ms=121)]

    for topic in (SAFE, UNCLEAN):
        found = run(*LAST, faults=killed, topic=topic)
        for anomaly in ANOMALIES:
            assert verdict(found, anomaly, 55, 60) == "forbidden"


def test_unless_its_disk_was_struck() -> None:
    lost = [hit("kill", [2], 80, healed_ms=99), hit("lose-disk", [1], 90, heal_ms=100)]

    for anomaly in ANOMALIES:
        assert verdict(run(*LAST, faults=lost, topic=SAFE), anomaly, 55, 60) == "permitted"
    assert verdict(run(*NOBODY, faults=lost, topic=SAFE), "lost", 55, 60) == "forbidden"
    others = [hit("lose-disk", [2], 90, heal_ms=100)]
    assert verdict(run(*LAST, faults=others, topic=SAFE), "lost", 55, 60) == "forbidden"


def test_another_broker_than_the_last_leader_is_no_last_known_one() -> None:
    other = (*NOBODY, led(3, 120, (3,), elr=(), epoch=2))

    assert verdict(run(*other), "lost", 55, 60) == "permitted"  # unclean elections are allowed
    assert verdict(run(*other, topic=SAFE), "lost", 55, 60) == "forbidden"


def test_4_0_may_elect_it_while_it_is_still_fenced() -> None:
    """KAFKA-19522: it leads on paper, and again when it is there."""
    kafka = kraft("4.0.2", features={ELR: 1})
    paper = (*NOBODY, led(1, 95, (1,), elr=(), epoch=2))
    there = (*paper, led(None, 110, (), elr=(), epoch=3), led(1, 120, (1,), elr=(), epoch=4))
    killed = [hit("kill", [1], 90, heal_ms=100, healed_ms=121)]
    lost = [hit("lose-disk", [1], 90, heal_ms=100, healed_ms=121)]

    assert verdict(run(*there, faults=killed, topic=SAFE, kafka=kafka), "lost", 55) == "forbidden"
    assert verdict(run(*paper, faults=lost, topic=SAFE, kafka=kafka), "lost", 55) == "forbidden"
    assert verdict(run(*there, faults=lost, topic=SAFE, kafka=kafka), "lost", 55) == "permitted"


# What nobody saw


def test_two_changes_of_the_isr_that_nobody_saw_leave_doubt() -> None:
    """The leader's epoch does not rise when the ISR shrinks; the partition's own does."""
    views = (led(1, 0, (1, 2), elr=(), changed=4), led(1, 60, (1, 2), elr=(), changed=6))
    one = (led(1, 0, (1, 2), elr=(), changed=4), led(1, 60, (1, 2), elr=(), changed=5))
    faults = [hit("lose-disk", [1], 45)]

    def judged(views: Any) -> str:
        found = seen_by(*views, faults=faults, blind=[(40, 59)], kafka=kraft())
        return verdict(found, "lost", 10, 15)

    assert judged(views) == "in-doubt"
    assert judged(one) == "forbidden"


# A struck broker that leads while others are eligible: as it registered Kafka knew of it

POWERLESS = hit("lose-power", [1], 60, heal_ms=80)


def leads_again(view: Any, *before: Any, **more: Any) -> str:
    """Of what was acked long before it was struck."""
    views = (led(1, 0, (1, 2), elr=(), changed=1), led(1, 50, (1,), elr=(2,), changed=2))
    told = {"topic": SAFE, "kafka": kraft(), "faults": [POWERLESS], **more}
    return verdict(seen_by(*views, *before, view, **told), "lost", 10, 15)


def test_a_struck_broker_that_leads_though_others_are_eligible_is_no_strike_s_doing() -> None:
    """The last replica standing, in a Kafka that promises to remember the others."""
    again = led(1, 100, (1,), elr=(2,), epoch=1, changed=3)

    assert leads_again(again) == "forbidden"
    assert leads_again(again, kafka=kraft("4.0.2")) == "permitted"
    assert leads_again(again | {"elr": None}, led(1, 61, (1,), changed=2)) == "permitted"


def test_where_nobody_else_is_eligible_any_more_it_is() -> None:
    """Whoever else was there came back from no clean shutdown; or the list was cleared."""
    alone = led(None, 90, (), elr=(1,), epoch=1, changed=4)

    assert leads_again(led(1, 100, (1,), elr=(), epoch=2, changed=5), alone) == "permitted"


def test_changes_that_nobody_saw_leave_doubt_whether_others_were_eligible() -> None:
    assert leads_again(led(1, 100, (1,), elr=(), epoch=1, changed=5)) == "in-doubt"
    unseen = led(1, 100, (1,), elr=(), epoch=1, changed=3, since_ms=70)
    assert leads_again(unseen, blind=[(80, 95)]) == "in-doubt"


def test_an_unclean_election_or_forgotten_metadata_may_choose_it() -> None:
    again = led(1, 100, (1,), elr=(2,), epoch=1, changed=3)
    forgot = led(1, 90, (1,), elr=(2,), changed=2, went_back=True)

    assert leads_again(again, topic=UNCLEAN) == "permitted"
    assert leads_again(again, forgot) == "permitted"
