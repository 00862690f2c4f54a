"""The plan is a pure function of faults and seed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from harness.model.plan import Step
from harness.model.scenario import FaultPart, MixedPart
from harness.nemesis import plan
from harness.nemesis.target import Setting
from harness.scenario import file

SETTING = Setting(
    brokers=3,
    zookeepers=3,
    partitions=1,
    replicas=3,
    workers={"producer": 2, "consumer": 2},
    transactions=False,
)


def steps(name: str, seed: int = 1) -> tuple[Step, ...]:
    return make(file.read_scenario(name).faults, seed)


def make(*faults_and_seed: Any) -> tuple[Step, ...]:
    return plan.make(*faults_and_seed, setting=SETTING)


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
        assert Step(**step.as_record()) == step


def mixed(seed: int, **changes: Any) -> tuple[Step, ...]:
    entries = tuple(FaultPart(verb=verb, target="leader") for verb in ("kill", "pause", "stop"))
    said: dict[str, Any] = {"faults": entries, "period_s": 10.0, "until_s": 400.0, **changes}
    part = MixedPart(**said)
    return make((), seed, part)


def test_mixed_faults_follow_from_the_seed_alone():
    assert mixed(3) == mixed(3)
    assert mixed(3) != mixed(4)


def test_mixed_faults_begin_and_end_within_their_period():
    for step in mixed(5):
        assert step.at // 10 == (step.at + step.for_s) // 10
        assert step.at + step.for_s < 400


def test_about_a_quarter_of_the_periods_is_quiet_and_none_has_more_than_the_most():
    by_period = Counter(int(step.at // 10) for step in mixed(6, until_s=10_000.0, most=3))

    assert set(by_period.values()) == {1, 2, 3}
    assert 0.2 < 1 - len(by_period) / 1000 < 0.3


def test_one_period_draws_no_fault_twice():
    steps = mixed(7, most=3)
    drawn = [(int(step.at // 10), step.verb) for step in steps]

    assert len(drawn) == len(set(drawn))
    assert [step.series for step in steps] == list(range(len(steps)))


def test_drawn_faults_leave_the_others_as_they_were():
    faults = file.read_scenario("study-1-sure").faults
    part = MixedPart(faults=(FaultPart(verb="kill", target="leader"),), until_s=90.0)

    together = make(faults, 1, part)

    assert together[:4] == make(faults, 1)
    assert [step.step for step in together] == list(range(len(together)))


def test_a_step_that_waits_for_a_trigger_says_so():
    fault = FaultPart(verb="kill", target="leader", when="isr-alone", after_acks=500)

    assert make((fault,), 1)[0].describe() == (
        "kill leader after 500 acks, counted from when the leader is alone in its ISR"
    )


def lasts_s(*faults: FaultPart) -> float:
    return plan.lasts_s(make(faults, 1), 100.0)


def fault(**changes: Any) -> FaultPart:
    said: dict[str, Any] = {"verb": "kill", "target": "leader", **changes}
    return FaultPart(**said)


def test_a_plan_lasts_until_the_last_fault_of_its_timetable_is_over():
    assert lasts_s() == 0
    assert lasts_s(fault(at_s=3.0, for_s=4.0), fault(at_s=5.0, for_s=1.0)) == 7
    assert lasts_s(fault(at_s=1.0, every_s=10.0, times=3, for_s=2.0)) == 23


def test_faults_of_one_entry_wait_for_each_other():
    assert lasts_s(fault(at_s=1.0, every_s=2.0, times=3, for_s=5.0)) == 16


def test_what_waits_for_the_entry_before_begins_then():
    first = fault(at_s=2.0, for_s=6.0)

    assert lasts_s(first, fault(when="healed", at_s=1.0, for_s=3.0)) == 12
    assert lasts_s(first, fault(when="in-force", at_s=1.0, for_s=9.0)) == 12


def test_sends_and_acks_take_the_time_of_the_stated_rate():
    assert lasts_s(fault(after_rounds=500, for_s=1.0), fault(after_acks=700)) == 7
