"""What is decided and said before a run begins."""

from __future__ import annotations

from harness.prepare import Request, prepare


def notes(scenario: str, **settings: object) -> tuple[str, ...]:
    return prepare(Request(scenario=scenario, seed=1, settings=settings)).notes


def test_a_plan_that_outlasts_the_load_is_said_and_not_refused():
    assert notes("slow-follower") == ()
    assert notes("slow-follower", **{"faults.0.for_s": 20}) == (
        "the plan goes on until 24 s at least, workload.duration_s is 15: the load goes on until "
        "the last fault is healed",
    )


def test_rounds_have_no_length():
    assert notes("study-1") == ()
