"""The plan is a pure function of faults and seed."""

from __future__ import annotations

from harness import scenario
from harness.nemesis import plan


def steps(name: str, seed: int = 1) -> tuple[plan.Step, ...]:
    return plan.make(scenario.load(name).faults, seed)


def test_the_same_scenario_and_seed_give_the_same_plan():
    assert steps("study-1-sure", 7) == steps("study-1-sure", 7)


def test_another_seed_changes_only_the_choices_of_targets():
    one, other = steps("study-1", 7), steps("study-1", 8)

    assert [s.seed for s in one] != [s.seed for s in other]
    assert [s.describe() for s in one] == [s.describe() for s in other]


def test_a_repeated_fault_becomes_one_step_each_period():
    assert [500.0 + 1000 * n for n in range(10)] == [step.at for step in steps("study-1")]


def test_each_fault_entry_is_a_series_of_its_own():
    assert [0, 0, 1, 1] == [step.series for step in steps("study-1-sure")]


def test_a_step_reads_as_a_sentence():
    assert steps("study-1")[1].describe() == (
        "kill leader after 1,500 rounds, until leadership moved"
    )
    assert steps("study-2-demanding-stream")[0].describe() == "pause leader at 3 s, for 2 s"


def test_a_step_survives_its_record():
    for step in steps("study-1-sure"):
        assert plan.Step(**step.as_record()) == step
