"""Faults that cannot both be carried out as the file says are refused; all others are not."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.scenario import FaultPart
from harness.nemesis.targets import Setting
from harness.scenario.overlaps import contradictions

SETTING = Setting(
    brokers=3,
    zookeepers=3,
    partitions=1,
    replicas=2,
    workers={"producer": 2, "consumer": 1},
    transactions=False,
)


def fault(verb: str = "kill", target: str = "kafka1", **changes: Any) -> FaultPart:
    return FaultPart(verb=verb, target=target, **changes)


def refused(*faults: FaultPart) -> list[str]:
    return contradictions(faults, SETTING)


LONG = fault(at_s=3.0, for_s=4.0)


def test_the_sentence_names_both_entries_what_they_need_and_the_remedy():
    assert refused(LONG, fault("pause", at_s=5.0, for_s=1.0)) == [
        "second [[faults]]: pause kafka1 at 5 s for 1 s overlaps the first, kill kafka1 at 3 s for "
        "4 s, and both need exclusive use of the process of kafka1: start it when the other is "
        "healed "
        '(when = "healed"), or choose another target'
    ]


@pytest.mark.parametrize(
    "second",
    [
        fault("kill", at_s=3.0),
        fault("pause", at_s=1.0, for_s=3.0),
        fault("slow-disk", at_s=6.5),
        fault("kill", "all", at_s=5.0),
        fault("pause", at_s=1.0, every_s=4.0, times=2),
        fault("stop", when="in-force", at_s=3.0),
    ],
)
def test_what_needs_the_process_of_a_node_while_another_has_it_is_refused(second):
    assert refused(LONG, second)


@pytest.mark.parametrize(
    "second",
    [
        fault("kill", "kafka2", at_s=5.0),
        fault("kill", at_s=7.0),
        fault("kill", at_s=1.0, for_s=2.0),
        fault("kill", "leader", at_s=5.0),  # another leads by then
        fault("kill", "zk-all", at_s=5.0),
        fault("cut", at_s=5.0),
        fault("skew-clock", at_s=5.0, options={"offset_s": 60}),
        fault("stop", when="in-force", at_s=4.0),
        fault("stop", when="healed"),
        fault("stop", when="isr-alone"),
        fault("stop", after_acks=100),
    ],
)
def test_what_may_come_to_pass_is_not(second):
    assert refused(LONG, second) == []


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (
            fault("skew-clock", "zk1", at_s=1.0, for_s=3.0),
            fault("skew-clock", "zk1", at_s=2.0),
            "clock of zk1",
        ),
        (fault("delay", at_s=1.0, for_s=3.0), fault("delay", at_s=2.0), "ingress of kafka1"),
        (
            fault("reassign", "all", at_s=1.0, for_s=3.0),
            fault("move-leader", "leader", at_s=2.0),
            "assignment of the topic",
        ),
        (
            fault("kill", "producers", at_s=1.0, for_s=3.0),
            fault("stop", "producer-1", at_s=2.0),
            "process of producer-1",
        ),
        (fault("kill", after_acks=100), fault("stop", after_acks=100), "process of kafka1"),
    ],
)
def test_whatever_two_faults_cannot_share_is_named(first, second, what):
    (sentence,) = refused(first, second)

    assert f"both need exclusive use of the {what}" in sentence


def test_only_the_entry_before_is_certainly_in_force():
    """What comes between may have taken any time."""
    between = fault("cut", "kafka2", when="in-force")

    assert refused(LONG, between, fault("stop", when="in-force")) == []
