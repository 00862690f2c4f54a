"""What the faults of a run may have done: by their effects, whom they hit, and what was seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.run_facts.configuration import Facts, facts_of
from analysis.run_facts.faults import EVERYTHING, Done, Happened, done
from harness.model.old_runs import completed
from tests.support.safe_facts import forbidden
from tests.support.told_runs import NODES

LEADER_1 = '{"leader": {"0": "kafka1"}, "known": true}'


def happened(*faults: dict[str, Any], **more: Any) -> Happened:
    """A run with these faults; its plan says what they can do, as that of an old run does."""
    plan = completed({**each, "target": each.get("target", "one")} for each in faults)
    return Happened(**{"faults": faults, "plan": plan, "nodes": NODES, **more})


def leader_may_move(*faults: dict[str, Any], **more: Any) -> bool:
    return done(happened(*faults, **more)).leader_may_move


def facts(
    *faults: dict[str, Any],
    acks: str = "all",
    topic: dict[str, Any] | None = None,
    server: dict[str, Any] | None = None,
) -> Facts:
    scenario = {
        "topic": {"replication_factor": 3, "config": topic or {}},
        "workload": {"producer": {"acks": acks}},
    }
    return facts_of(scenario, server or {}, happened(*faults))


def fault(
    verb: str, *nodes: str, before: str | None = LEADER_1, step: int = 0, **more: Any
) -> dict[str, Any]:
    return {
        **more,
        "verb": verb,
        "nodes": list(nodes),
        "before": before,
        "step": step,
        "invoke_ns": 10 + step,
        "heal_ok_ns": 20,
    }


@pytest.mark.parametrize(
    ("one", "counts"),
    [
        (fault("kill", "kafka1"), True),
        (fault("kill", "kafka2"), False),  # a follower, or the controller
        (fault("kill", "kafka2", "kafka1"), True),
        (fault("kill", "zk1"), False),  # the two others go on
        (fault("kill", "zk1", "zk2"), True),  # the quorum is gone, and sessions may end unseen
        (fault("pause", "producer-0"), False),
        (fault("roll", "kafka2"), False),
        (fault("crash-loop", "kafka1"), True),
        (fault("kill", "kafka2", before=LEADER_1.replace("true", "false")), True),  # who knows
        (fault("kill", "kafka2", before=None), True),
        (fault("cut", "kafka2"), True),  # whom it keeps from ZooKeeper is not told
        (fault("reassign", "kafka2"), True),
        (fault("kill"), False),  # nobody was there
    ],
)
def test_a_process_that_is_hit_matters_where_it_leads(one: dict[str, Any], counts: bool) -> None:
    assert counts is leader_may_move(one)


def test_a_leader_that_was_seen_to_move_was_deposed_by_whatever_hit_a_node() -> None:
    views = [{"partition": 0, "leader": name} for name in ("kafka1", None, "kafka3")]

    assert leader_may_move(fault("pause", "zk1"), views=views)
    assert not leader_may_move(fault("kill", "consumer-0"), views=views)
    assert not leader_may_move(fault("pause", "zk1"), views=views[:2])


@pytest.mark.parametrize(
    ("second", "counts"),
    [
        (fault("pause", "zk2", step=1), True),
        (fault("pause", "zk2", step=15), False),
        (fault("kill", "zk1", step=1), False),
        (fault("kill", "kafka2", step=1), False),
    ],
)
def test_a_quorum_may_be_lost_by_several_faults(second: dict[str, Any], counts: bool) -> None:
    assert counts is leader_may_move(fault("kill", "zk1"), second)


def test_a_larger_ensemble_bears_more() -> None:
    assert not leader_may_move(fault("kill", "zk1", "zk2"), ensemble=5)
    assert leader_may_move(fault("kill", "zk1"), ensemble=2)
    assert leader_may_move(fault("kill", "zk1"), ensemble=1)


@pytest.mark.parametrize("verb", ["cut", "lose", "delay"])
@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"from": "clients"}, False),
        ({"from": " clients "}, False),
        ({}, True),
        ({"from": "clients, followers"}, True),
        ({"from": "zookeepers"}, True),
        ({"shape": "halves"}, True),
    ],
)
def test_a_bad_link_to_the_clients_alone_deposes_nobody(
    verb: str, options: dict[str, Any], counts: bool
) -> None:
    views = [{"partition": 0, "leader": name} for name in ("kafka1", "kafka3")]

    assert counts is leader_may_move(fault(verb, "kafka1", options=options))
    assert leader_may_move(fault(verb, "kafka1", options=options), views=views)


def test_what_the_plan_says_decides_what_is_forbidden() -> None:
    """acks=1 and clients cut from the leader: it stays, so what it acknowledged stays."""
    apart = fault("cut", "kafka1", options={"from": "clients"})
    alone = fault("cut", "kafka1", options={"from": "followers"})

    assert "lost" in forbidden(facts(apart, acks="1"))
    assert "lost" not in forbidden(facts(alone, acks="1"))


def test_a_setting_changed_at_run_time_counts_as_its_least_safe_value() -> None:
    changes = {"flush.messages": 500, "unclean.leader.election.enable": True}
    topic = {"flush.messages": 1}

    safe = facts(fault("set-config", options=changes), topic=topic)
    changed = facts(fault("set-config", "kafka1", options=changes), topic=topic)

    assert (safe.flushed, safe.unclean) == (True, False)  # it did not happen
    assert (changed.flushed, changed.unclean) == (False, True)


def test_a_brokers_setting_that_was_changed_counts_under_its_own_name() -> None:
    """flush.messages is called log.flush.interval.messages where it is the broker's."""
    options = {"on": "brokers", "log.flush.interval.messages": 500}
    brokers = {"log.flush.interval.messages": 1}

    safe = facts(fault("set-config", options=options), server=brokers)
    changed = facts(fault("set-config", "kafka1", options=options), server=brokers)

    assert safe.flushed
    assert not changed.flushed


def test_a_brokers_setting_that_was_changed_is_nothing_to_a_topic_that_has_its_own() -> None:
    """The twin: the topic goes on syncing each batch, so no loss is excused."""
    options = {"on": "brokers", "log.flush.interval.messages": 500}
    topic = {"flush.messages": 1}

    assert facts(fault("set-config", "kafka1", options=options), topic=topic).flushed


def destroying(
    *nodes: str, isr: str = "123", verb: str = "lose-power", **more: Any
) -> dict[str, Any]:
    view = {"isr": {"0": [f"kafka{i}" for i in isr]}, "known": more.pop("known", True)}
    return {
        "verb": verb,
        "nodes": list(nodes),
        "step": 0,
        "invoke_ns": 10,
        "heal_ok_ns": 20,
        "before": json.dumps(view),
        **more,
    }


@pytest.mark.parametrize(
    ("whole", "faults"),
    [
        (False, [destroying("kafka1")]),
        (True, [destroying("kafka1", isr="1")]),
        (True, [destroying("kafka1", "kafka2", "kafka3")]),
        (True, [destroying("kafka1", "kafka2", isr="12")]),
        (True, [destroying("kafka1", isr="12"), destroying("kafka2", isr="12", invoke_ns=15)]),
        (
            False,
            [
                destroying("kafka1", isr="12"),
                destroying("kafka2", isr="12", invoke_ns=30, heal_ok_ns=40),
            ],
        ),
        (
            True,
            [
                destroying("kafka1", isr="12", heal_ok_ns=None),
                destroying("kafka2", isr="12", invoke_ns=30, heal_ok_ns=40),
            ],
        ),
        (False, [destroying("kafka1", isr="1", verb="kill")]),  # which keeps what it had written
        (True, [destroying("kafka1", known=False)]),
    ],
)
def test_the_whole_isr_is_hit_when_none_of_it_is_left_out(
    whole: bool, faults: list[dict[str, Any]]
) -> None:
    assert done(happened(*faults)).whole_isr is whole


def test_a_fault_that_hit_nobody_did_nothing() -> None:
    assert done(happened(destroying())) == Done()


# --- what is not known


UNKNOWN = fault("frobnicate", "kafka1", step=2)


def test_a_fault_of_unknown_effects_counts_as_if_it_had_not_been() -> None:
    """Neither does its having hit somebody count: that permits a group to skip records."""
    assert done(happened(UNKNOWN)) == Done()
    assert [UNKNOWN] == happened(UNKNOWN).unknown()
    assert done(happened(fault("kill", "kafka1"), UNKNOWN)) == done(
        happened(fault("kill", "kafka1"))
    )


def test_a_fault_that_is_not_in_the_plan_has_unknown_effects() -> None:
    kill = fault("kill", "kafka1")

    assert [kill] == happened(kill, plan=()).unknown()
    assert [] == happened(kill).unknown()


def test_for_who_asks_what_it_could_have_done_it_did_everything() -> None:
    did = done(happened(UNKNOWN), unknown_did_all=True)

    assert (did.leader_may_move, did.takes, did.altered) == (True, "all", True)
    assert (did.whole_isr, did.disturbed) == (True, True)
    assert did.settings == (EVERYTHING.topic_settings,)


def test_what_hit_nobody_is_not_unknown() -> None:
    assert [] == happened(fault("frobnicate")).unknown()


@pytest.mark.parametrize(("role", "counts"), [("broker", True), ("client", False), (None, False)])
def test_who_was_hit_is_known_by_role_and_not_by_name(role: str | None, counts: bool) -> None:
    nodes = {"east-7": {"role": role}} if role else {}
    hit = fault("kill", "east-7", before=LEADER_1.replace("kafka1", "east-7"))

    assert counts is leader_may_move(hit, nodes=nodes)
