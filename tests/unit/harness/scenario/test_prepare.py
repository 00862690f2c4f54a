"""What is decided and said before a run begins."""

from __future__ import annotations

import shlex

from harness.scenario.overrides import parse_override
from harness.scenario.prepare import Request, command_line, prepare


def notes(scenario: str, **settings: object) -> tuple[str, ...]:
    return prepare(Request(scenario=scenario, seed=1, settings=settings)).notes


def test_a_plan_that_outlasts_the_load_is_said_and_not_refused():
    assert notes("slow-follower") == ()
    assert notes("slow-follower", **{"faults.0.for_s": 20}) == (
        "the plan takes at least 24 s, longer than workload.duration_s = 15: the load continues "
        "until the last fault is healed",
    )


def test_rounds_have_no_length():
    assert notes("study-1") == ()


def test_the_command_that_runs_it_again_gives_every_setting_back():
    settings = {
        "workload.rounds": 5,
        "topic.leader": "kafka1",
        "mixed.faults": [{"verb": "cut", "target": "one", "options": {"from": "clients", "n": 1}}],
        "check.replicas": True,
    }
    words = shlex.split(command_line(Request(scenario="s", seed=1, settings=settings)))

    given = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert settings == dict(map(parse_override, given))
