"""Proved faults: each one that happened is judged by its own row."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from analysis.stored.stored_run import Run
from analysis.verdict.proved_faults import fault_doubts
from tests.support.histories import fault, planned
from tests.support.stored_runs import run_of

NAME = "fault 0 (kill leader)"
UNPROVED = [f"{NAME} has no evidence that it took effect"]
UNHEALED = [f"{NAME} has no evidence that it was healed"]


def with_row(run: Run, **changes: Any) -> Run:
    """The run with other values in the row of its only fault."""
    row: Any = {**run.faults[0], **changes}
    return replace(run, faults=(row,))


def test_a_fault_that_is_proved_and_healed_leaves_no_doubt() -> None:
    assert [] == list(fault_doubts(run_of(fault(ms=1))))


def test_ok_without_evidence_proves_nothing() -> None:
    run = with_row(run_of(fault(ms=1)), evidence=None)

    assert run.faults[0]["ok_ns"] is not None
    assert UNPROVED == list(fault_doubts(run))


def test_nor_does_evidence_without_ok() -> None:
    assert UNPROVED == list(fault_doubts(with_row(run_of(fault(ms=1)), ok_ns=None)))


def test_what_was_never_healed_is_doubt() -> None:
    assert UNHEALED == list(fault_doubts(run_of(fault(ms=1, for_ms=None))))


def test_nor_is_healed_what_nobody_proved_to_be() -> None:
    run = with_row(run_of(fault(ms=1)), heal_evidence=None)

    assert run.faults[0]["heal_ok_ns"] is not None
    assert UNHEALED == list(fault_doubts(run))


@pytest.mark.parametrize(
    ("changes", "doubts"),
    [
        ({}, []),
        ({"evidence": None}, UNPROVED),
        ({"heal_ok_ns": None}, UNHEALED),
        ({"nodes": [], "ok_ns": None}, []),  # it hit nobody
    ],
)
def test_one_that_was_not_planned_is_judged_as_well(
    changes: dict[str, Any], doubts: list[str]
) -> None:
    assert doubts == list(fault_doubts(with_row(run_of(fault(ms=1), plan=[]), **changes)))


def test_a_second_fault_of_a_step_does_not_hide_the_first() -> None:
    first, second = fault(ms=1, evidence=None), fault(ms=2000)

    assert UNPROVED == list(fault_doubts(run_of(first, second, plan=planned("kill"))))


@pytest.mark.parametrize(
    ("verb", "target"), [("pause", "leader"), ("kill", "kafka1"), ("pause", "kafka1")]
)
def test_another_fault_than_planned_is_doubt(verb: str, target: str) -> None:
    run = run_of(fault(verb, target, ms=1), plan=planned("kill"))

    assert [f"{NAME} was planned, but {verb} {target} was injected"] == list(fault_doubts(run))


# --- whom it hit


def at(target: str, *nodes: str, **before: Any) -> list[str]:
    """The doubts of a fault that hit these nodes while this was so."""
    run = run_of(fault("kill", target, ms=1, nodes=nodes))
    return list(fault_doubts(with_row(run, before=json.dumps(before) if before else None)))


LED = {"leader": {"0": "kafka1"}, "isr": {"0": ["kafka1", "kafka2"]}, "controller": "kafka3"}


@pytest.mark.parametrize(
    ("target", "right", "wrong"),
    [
        ("leader", ["kafka1"], ["kafka2"]),
        ("follower", ["kafka2"], ["kafka1"]),
        ("follower", ["kafka2"], ["kafka3"]),
        ("controller", ["kafka3"], ["kafka1"]),
        ("leader-not-controller", ["kafka1"], ["kafka3"]),
        ("kafka2", ["kafka2"], ["kafka1"]),
        ("all", ["kafka1", "kafka2", "kafka3"], ["kafka1"]),
        ("one", ["kafka2"], ["zk1"]),
        ("zk-leader", ["zk2"], ["kafka2"]),
        ("producer", ["producer-0"], ["consumer-0"]),
    ],
)
def test_a_fault_at_another_node_than_its_target_then_is_doubt(
    target: str, right: list[str], wrong: list[str]
) -> None:
    assert [] == at(target, *right, **LED)
    assert [
        f"fault 0 (kill {target}) hit {', '.join(wrong)}, which by the view of then "
        "(leader kafka1, controller kafka3) cannot have been its target"
    ] == at(target, *wrong, **LED)


def test_a_leader_that_was_the_controller_was_not_meant_as_one_that_is_not() -> None:
    assert [] != at("leader-not-controller", "kafka1", **{**LED, "controller": "kafka1"})
    assert [] == at("leader-and-controller", "kafka1", **{**LED, "controller": "kafka1"})


@pytest.mark.parametrize("target", ["leader", "follower", "controller", "leader-and-controller"])
def test_where_the_view_does_not_tell_nothing_is_said(target: str) -> None:
    assert [] == at(target, "kafka2")


@pytest.mark.parametrize(
    "before",
    [
        {"isr": {"0": 5}},
        {"elr": {"0": 5}},
        {"leader": {"0": {}}},
        {"leader": {"0": ["x"]}},
        {"controller": [1]},
    ],
)
@pytest.mark.parametrize("target", ["leader", "follower", "last-isr", "controller"])
def test_a_view_that_no_harness_writes_tells_nothing(before: object, target: str) -> None:
    run = run_of(fault(ms=1, target=target), plan=[{**planned("kill")[0], "target": target}])

    assert [] == list(fault_doubts(with_row(run, before=json.dumps(before))))
