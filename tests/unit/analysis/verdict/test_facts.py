"""What of a run decides its promises: its configuration, and the faults that mattered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.verdict.facts import facts_of, verbs_that_matter
from tests.support.safe_facts import forbidden

LEADER_1 = '{"leader": {"0": "kafka1"}, "known": true}'


@pytest.mark.parametrize(
    ("producer", "expected"),
    [
        ({"acks": "1", "retries": 5}, ("1", 5, False)),
        ({"acks": 1, "retries": "5"}, ("1", 5, False)),
        ({"acks": -1, "enable.idempotence": True}, ("all", 2147483647, True)),
        ({"request.required.acks": "all", "message.send.max.retries": 0}, ("all", 0, False)),
        ({"acks": "0", "enable.idempotence": "false"}, ("0", 2147483647, False)),
    ],
)
def test_facts_of_the_producer(producer: dict[str, Any], expected: tuple[str, int, bool]) -> None:
    facts = facts_of(_scenario(producer=producer), {})

    assert (facts.acks, facts.retries, facts.idempotent) == expected


@pytest.mark.parametrize(
    ("topic", "server", "expected"),
    [
        ({}, {}, (False, False)),
        (
            {},
            {"log.flush.interval.messages": 1, "unclean.leader.election.enable": True},
            (True, True),
        ),
        (
            {"flush.messages": "1", "unclean.leader.election.enable": "false"},
            {"log.flush.interval.messages": 9, "unclean.leader.election.enable": "true"},
            (True, False),
        ),
        ({"flush.messages": 2}, {"log.flush.interval.messages": 1}, (False, False)),
    ],
)
def test_the_topics_setting_goes_before_the_brokers(
    topic: dict[str, Any], server: dict[str, Any], expected: tuple[bool, bool]
) -> None:
    facts = facts_of(_scenario(topic=topic), server)

    assert (facts.flushed, facts.unclean) == expected


@pytest.mark.parametrize(
    ("version", "epochs"),
    [
        ("0.10.2", False),
        ("0.10.2-IV0", False),
        ("0.11.0", True),
        ("0.11", True),
        ("1.0", True),
        ("3.9-IV0", True),
    ],
)
def test_leader_epochs_came_with_0_11(version: str, epochs: bool) -> None:
    server = {"inter.broker.protocol.version": version}

    assert facts_of(_scenario(), server).epochs is epochs


def fault(verb: str, *nodes: str, before: str | None = LEADER_1, step: int = 0) -> dict[str, Any]:
    return {
        "verb": verb,
        "nodes": list(nodes),
        "before": before,
        "step": step,
        "invoke_ns": 10 + step,
        "heal_ok_ns": 20,
    }


@pytest.mark.parametrize(
    ("happened", "counts"),
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
def test_a_process_that_is_hit_matters_where_it_leads(
    happened: dict[str, Any], counts: bool
) -> None:
    assert counts is bool(verbs_that_matter([happened]))


def test_a_leader_that_was_seen_to_move_was_deposed_by_whatever_hit_a_node() -> None:
    views = [{"partition": 0, "leader": name} for name in ("kafka1", None, "kafka3")]

    assert verbs_that_matter([fault("pause", "zk1")], views) == {"pause"}
    assert not verbs_that_matter([fault("kill", "consumer-0")], views)
    assert not verbs_that_matter([fault("pause", "zk1")], views[:2])


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
    assert counts is bool(verbs_that_matter([fault("kill", "zk1"), second]))


def test_a_larger_ensemble_bears_more() -> None:
    assert not verbs_that_matter([fault("kill", "zk1", "zk2")], ensemble=5)
    assert verbs_that_matter([fault("kill", "zk1")], ensemble=2)
    assert verbs_that_matter([fault("kill", "zk1")], ensemble=1)


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
    happened = [fault(verb, "kafka1")]

    assert counts is bool(verbs_that_matter(happened, (), {0: options}))
    assert verbs_that_matter(happened, views, {0: options}) == {verb}


def test_what_the_plan_says_decides_what_is_forbidden() -> None:
    """acks=1 and clients cut from the leader: it stays, so what it acknowledged stays."""
    scenario = _scenario(producer={"acks": "1"})
    happened = [fault("cut", "kafka1")]
    apart = facts_of(scenario, {}, happened, (), {0: {"from": "clients"}})
    alone = facts_of(scenario, {}, happened, (), {0: {"from": "followers"}})

    assert "lost" in forbidden(apart)
    assert "lost" not in forbidden(alone)


def test_a_setting_changed_at_run_time_counts_as_its_least_safe_value() -> None:
    changes = {0: {"flush.messages": 500, "unclean.leader.election.enable": True}}
    scenario = _scenario(topic={"flush.messages": 1})

    safe = facts_of(scenario, {}, [fault("set-config")], (), changes)
    changed = facts_of(scenario, {}, [fault("set-config", "kafka1")], (), changes)

    assert (safe.flushed, safe.unclean) == (True, False)  # it did not happen
    assert (changed.flushed, changed.unclean) == (False, True)


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
    assert facts_of(_scenario(), {}, faults).whole_isr is whole


@pytest.mark.parametrize(
    ("level", "given"), [("read_uncommitted", True), ("read_committed", False), (None, False)]
)
def test_who_reads_uncommitted_is_given_what_was_aborted(level: str | None, given: bool) -> None:
    scenario = _scenario(producer={"transactional.id": "t"})
    plain = _scenario()
    for each in (scenario, plain):
        each["workload"]["consumer"] = {"isolation.level": level} if level else {}

    assert facts_of(scenario, {}).given_aborted is given
    assert facts_of(plain, {}).given_aborted is False


def test_a_fault_that_hit_nobody_is_none() -> None:
    assert facts_of(_scenario(), {}, [destroying()]).verbs == frozenset()


def _scenario(**parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "topic": {"replication_factor": 3, "config": parts.get("topic", {})},
        "workload": {"producer": parts.get("producer", {})},
    }
