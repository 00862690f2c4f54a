"""Plans from before their steps said what they can do."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.effects import Effects
from harness.model.runs.old_runs import complete_steps, effects_of


def step(verb: str, target: str = "leader", **options: Any) -> dict[str, Any]:
    return {"step": 0, "verb": verb, "target": target, "options": options}


def test_a_step_that_says_nothing_gets_its_effects_and_its_words() -> None:
    (made,) = complete_steps([step("kill", "followers")])

    assert made["effects"]["leadership"] == "where-it-hits"
    assert made["telling"] == {
        "done": "killed",
        "who": "all followers",
        "many": True,
        "kind": "broker",
    }


def test_a_step_that_says_that_its_effects_are_not_known_is_left_alone() -> None:
    known = {**step("kill"), "effects": None, "telling": None}

    assert [known] == complete_steps([known])


def test_a_clock_once_did_not_say_how_far_it_was_off() -> None:
    step = {"verb": "skew-clock", "target": "leader", "options": {"offset_s": -60}}
    told = {**step, "effects": {"leadership": "where-it-hits"}}

    (bare,), (half,) = complete_steps([step]), complete_steps([told])
    assert bare["effects"]["skews_clock_s"] == half["effects"]["skews_clock_s"] == -60
    now = {**step, "effects": {"leadership": "where-it-hits", "skews_clock_s": 5.0}}
    assert complete_steps([now]) == [now]


def test_of_a_verb_that_nobody_knew_the_effects_are_not_known() -> None:
    (made,) = complete_steps([step("frobnicate", "kafka2")])

    assert made["effects"] is None
    assert made["telling"] == {
        "done": "hit by frobnicate",
        "who": "kafka2",
        "many": False,
        "kind": "broker",
    }


@pytest.mark.parametrize(
    ("verb", "options", "effects"),
    [
        ("cut", {}, Effects(leadership="anywhere")),
        ("cut", {"from": " clients"}, Effects(leadership="if-seen")),
        ("lose", {"from": "clients, followers"}, Effects(leadership="anywhere")),
        ("throttle", {"from": "clients"}, Effects(leadership="anywhere")),  # it has no such option
        ("flip-bit", {}, Effects(alters_stored_bytes=True)),
        (
            "lose-power",
            {},
            Effects(leadership="anywhere", takes="unsynced", ends_processes=True),
        ),
        ("lose-disk", {}, Effects(leadership="anywhere", takes="all", ends_processes=True)),
        ("cut-answers", {}, Effects()),
        (
            "set-config",
            {"flush.messages": 1, "unclean.leader.election.enable": True, "on": "topic"},
            Effects(
                topic_settings={"flush.messages": "1", "unclean.leader.election.enable": "true"}
            ),
        ),
        ("command", {"inject": ["true"]}, Effects(leadership="anywhere")),
    ],
)
def test_effects_follow_from_verb_and_options(
    verb: str, options: dict[str, Any], effects: Effects
) -> None:
    assert effects == effects_of(verb, "leader", options)


def test_who_ends_a_worker_touches_clients_alone() -> None:
    assert Effects(clients_only=True, ends_processes=True) == effects_of("kill", "producer-0", {})
    assert Effects(clients_only=True, halts_processes=True) == effects_of(
        "pause", "group-consumers", {}
    )
    assert Effects(clients_only=True) == effects_of("cut", "producers", {})


@pytest.mark.parametrize(
    "step", [7, {"verb": "kill"}, {"verb": "cut", "target": "x", "options": 7}]
)
def test_what_is_no_step_is_left_to_who_validates_it(step: Any) -> None:
    assert [step] == complete_steps([step])
