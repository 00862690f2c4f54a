"""Options that are wrong are refused in a sentence that names the key and what would be right."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from harness.nemesis.options import Options, problems
from harness.nemesis.verbs import VERBS
from tests.support.scenarios import complaints


class Trial(Options):
    """One option of each kind."""

    percent: Annotated[
        float, Field(gt=0, description="the share of packets, above 0", examples=[30])
    ]
    how: Literal["soft", "hard"] = Field("soft", description="by which signal")
    shape: Literal["ring", "halves"] | None = Field(None, description="of the cut")
    words: Annotated[str, Field(alias="from", description="whom")] = "others"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ["percent is missing: give the share of packets, above 0, as in percent = 30"]),
        (
            {"percent": 0},
            ["percent is 0, must be the share of packets, above 0, as in percent = 30"],
        ),
        ({"percent": True}, ["percent is True, must be the share of packets, above 0, as in"]),
        ({"percent": float("inf")}, ["percent is inf, must be"]),
        ({"percent": [1]}, ["percent is [1], must be the share"]),
        ({"percent": 1, "how": "gently"}, ["how is 'gently', must be one of soft, hard"]),
        ({"percent": 1, "shape": "star"}, ["shape is 'star', must be one of ring, halves"]),
        ({"percent": 1, "from": 3}, ["from is 3, must be whom"]),
        (
            {"percent": 1, "form": "x"},
            ["'form' is unknown (did you mean 'from'?): this verb takes percent, how, shape, from"],
        ),
        ({"percent": 1, "words": "x"}, ["'words' is unknown"]),
        ({"percent": -1, "how": 1}, ["percent is -1", "how is 1, must be one of soft, hard"]),
    ],
)
def test_each_wrong_option_has_a_sentence(given: dict[str, Any], said: list[str]) -> None:
    told = problems(Trial, given)

    assert len(told) == len(said)
    assert all(sentence.startswith(begin) for sentence, begin in zip(told, said, strict=True))


def test_right_options_have_none_and_are_kept_as_given() -> None:
    given = {"percent": 12, "from": "clients"}

    assert problems(Trial, given) == []
    assert Trial.of(given).as_given() == given
    assert Trial.of(given).words == "clients"


def test_what_is_read_already_is_not_read_again() -> None:
    read = Trial.of({"percent": 1})

    assert Trial.of(read) is read
    assert Options.of(read) is read


def test_options_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Trial.of({"percent": 1}).how = "hard"


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ([], "effects is [], must be a list of one or several of nothing, moves-leadership,"),
        ("takes-all", "effects is 'takes-all', must be a list of one or several of nothing,"),
        (
            ["take-all"],
            "effects: 'take-all' is unknown (did you mean 'takes-all'?): use some of nothing",
        ),
        (["take-all"], "(did you mean 'takes-all'?)"),
        (
            ["unknown", "takes-all"],
            "effects: 'unknown' cannot be combined: remove it, or all others",
        ),
        (["nothing", "takes-all"], "effects: 'nothing' cannot be combined"),
        (
            ["takes-all", "takes-unsynced"],
            "effects: 'takes-unsynced' contradicts 'takes-all': remove one",
        ),
        (
            ["moves-leadership", "moves-leadership-where-it-hits"],
            "effects: 'moves-leadership' contradicts 'moves-leadership-where-it-hits'",
        ),
        (
            ["clients-only", "takes-all"],
            "effects: 'clients-only' (no node is touched) contradicts 'takes-all'",
        ),
    ],
)
def test_effects_of_a_command_that_mean_nothing_are_refused(effects: Any, said: str) -> None:
    options = {"inject": ["a"], "heal": ["b"], "effects": effects}

    (told,) = VERBS["command"].problems(options)
    assert said in told


@pytest.mark.parametrize(
    ("verb", "options", "said"),
    [
        ("cut", {"from": "clients, kafk1"}, "from names 'kafk1', must be of followers"),
        ("set-config", {"segment.mss": 1}, "'segment.mss' cannot be changed on topic"),
        ("set-config", {"segment.ms": 1, "segment.mss": 1}, "'segment.mss' cannot be changed on"),
        ("set-config", {"on": "brokers", "segment.ms": 1}, "'segment.ms' cannot be changed on"),
        ("set-config", {"on": "topic"}, "name at least one Kafka key"),
        ("kill", {"how": "hard"}, "'how' is unknown: this verb takes none"),
        ("cut", {"direction": ["in"]}, "direction is ['in'], must be one of both, in, out"),
        ("delay", {"ms": 5, "from": 3}, "from is 3, must be one or several of"),
        ("set-config", {"segment.ms": [1]}, "segment.ms is [1], must be one text, number or"),
        ("command", {"inject": ["a"], "heal": ["b"], "bit": []}, "bit is [], must be a list of"),
        ("command", {"inject": [1], "heal": ["b"]}, "inject is 1, must be a list of arguments"),
    ],
)
def test_a_verb_s_own_options_are_refused_as_well(
    verb: str, options: dict[str, Any], said: str
) -> None:
    told = VERBS[verb].problems(options)
    fault = {"verb": verb, "target": "leader", "at_s": 1, "options": options}

    assert len(told) == 1
    assert said in told[0]
    assert complaints({"extends": "baseline", "faults": [fault]}), "the schema marks it too"
