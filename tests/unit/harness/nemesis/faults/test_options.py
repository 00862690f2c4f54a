"""Options of faults: what cannot be is said."""

from __future__ import annotations

from typing import Any

import pytest

from harness.nemesis.verbs import VERBS
from tests.support.scenarios import complaints

wrong_options = pytest.mark.parametrize(
    ("verb", "options", "problem"),
    [
        ("skew-clock", {}, "offset_s is missing: give the clock's jump in seconds"),
        ("skew-clock", {"offset_s": 2}, "at least 5"),
        ("skew-clock", {"offset_s": "9"}, "at least 5"),
        ("skew-clock", {"offset_s": 9, "by": 1}, "'by' is unknown"),
        ("slow-disk", {"delay_ms": 0}, "delay_ms is 0"),
        ("slow-disk", {"delay": 1}, "this verb takes delay_ms"),
        ("fail-disk", {"error": "EPIPE"}, "one of EIO, ENOSPC, EROFS"),
        ("lose-power", {"x": 1}, "takes none"),
        ("roll", {"how": "gently"}, "how is 'gently'"),
        ("roll", {"hw": "hard"}, "'hw' is unknown"),
        ("crash-loop", {"every_s": 0}, "every_s is 0"),
        ("set-config", {}, "at least one Kafka key"),
        ("set-config", {"min.insync.replica": 2}, "did you mean 'min.insync.replicas'?"),
        ("set-config", {"cleanup.policy": "compact"}, "cannot be changed on topic"),
        ("set-config", {"on": "both", "segment.ms": 1}, "on is 'both'"),
        ("set-config", {"on": "brokers", "segment.ms": 1}, "cannot be changed on brokers"),
        ("add-partitions", {"count": 0}, "count is 0"),
        ("elect", {"how": "x"}, "how is 'x', must be one of preferred, unclean"),
    ],
)


@wrong_options
def test_an_option_that_cannot_be_is_told(verb: str, options: Any, problem: str) -> None:
    assert any(problem in told for told in VERBS[verb].problems(options))


@wrong_options
def test_the_schema_marks_it_too(verb: str, options: Any, problem: str) -> None:
    assert complaints(with_fault(verb, options))


right_options = pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("skew-clock", {"offset_s": -60.5}),
        ("slow-disk", {"delay_ms": 2.5}),
        ("fail-disk", {"error": "EROFS"}),
        ("elect", {"how": "unclean"}),
        ("roll", {"how": "hard"}),
        ("crash-loop", {"every_s": 1.5}),
        ("add-partitions", {"count": 3}),
        ("set-config", {"on": "topic", "unclean.leader.election.enable": True}),
        *((name, verb.options.example()) for name, verb in VERBS.items()),
    ],
)


@right_options
def test_options_that_can_be_are_not_told(verb: str, options: Any) -> None:
    assert not VERBS[verb].problems(options)
    assert complaints(with_fault(verb, options)) == []


def with_fault(verb: str, options: Any) -> dict[str, Any]:
    """A scenario with one fault."""
    fault = {"verb": verb, "target": "leader", "at_s": 1, "options": options}
    return {"title": "t", "workload": {"kind": "stream"}, "faults": [fault]}
