"""The kinds of workers: how many of each there are, what they do, how sentences name them."""

from __future__ import annotations

import pytest

from harness.checkout import ROOT
from harness.model.scenario import WorkloadPart
from harness.model.worker_kinds import (
    FINAL_READ,
    KINDS,
    WorkerKind,
    asked_for,
    asks_for_members,
    asks_for_transformers,
    can_be_hit,
    has_group,
    is_member,
    kind_named,
)

STREAM = WorkloadPart(kind="stream", producers=2, consumers=0, group_consumers=1)


def test_kinds_that_nobody_asked_for_are_left_out() -> None:
    assert {"producer": 2, "group-consumer": 1} == asked_for(STREAM)
    assert {"write-read": 1} == asked_for(WorkloadPart(kind="write-read"))


def test_a_run_makes_a_group_where_somebody_is_to_be_its_member() -> None:
    assert has_group(STREAM)
    assert not has_group(WorkloadPart(kind="stream"))


@pytest.mark.parametrize(
    ("stored", "members", "transformers"),
    [
        ({"group_consumers": 1, "transformers": 0}, True, False),
        ({"transformers": 2}, True, True),
        ({"producers": 1, "group_consumers": None}, False, False),
    ],
)
def test_a_stored_workload_asks_for_members_by_the_keys_of_their_kinds(
    stored: dict[str, int], members: bool, transformers: bool
) -> None:
    assert (members, transformers) == (asks_for_members(stored), asks_for_transformers(stored))
    keys = {kind.key for kind in KINDS.values() if kind.member}
    assert keys <= WorkloadPart.model_fields.keys()


def test_a_worker_s_kind_stands_in_its_name() -> None:
    assert kind_named("transformer-0-2") is KINDS["transformer"]
    assert kind_named("final-read-0") is None
    assert [name for name, kind in KINDS.items() if kind.transforms] == ["transformer"]


def test_a_fault_may_name_a_worker_but_not_the_one_that_is_alone_in_its_workload() -> None:
    assert {"producer": 2, "group-consumer": 1} == can_be_hit(STREAM)
    assert {} == can_be_hit(WorkloadPart(kind="write-read"))
    assert not FINAL_READ.hit_alone


def test_a_member_of_the_group_is_known_by_its_kind_and_a_kind_of_old_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = WorkerKind(name="slow-member", count=lambda _: 1, member=True)
    monkeypatch.setitem(KINDS, "slow-member", slow)

    assert [True, True, False, False] == [
        is_member(name) for name in ("group-consumer", "slow-member", "producer", "of-old")
    ]


def test_a_sentence_names_a_kind_by_its_name_or_as_it_says() -> None:
    assert ("a producer", "all producers") == (KINDS["producer"].one, KINDS["producer"].all)
    member = KINDS["group-consumer"]
    assert "a member of the consumer group" == member.one
    assert "all members of the consumer group" == member.all


def test_a_kind_stands_in_its_line_and_in_its_program_alone() -> None:
    """And in what is known of runs from before there were such lines."""
    packages = ("harness", "workloads", "analysis")
    files = [file for package in packages for file in (ROOT / package).rglob("*.py")]

    assert {"worker_kinds.py", "group_consumer.py", "old_runs.py"} == {
        file.name for file in files if "group-consumer" in file.read_text()
    }


def test_every_kind_has_its_program() -> None:
    files = [ROOT / "workloads" / f"{kind.module}.py" for kind in (*KINDS.values(), FINAL_READ)]

    assert [] == [file for file in files if not file.is_file()]


def test_every_kind_of_the_load_does_something() -> None:
    idle = [kind for kind in KINDS.values() if not (kind.sends or kind.follows or kind.member)]

    assert [] == idle
