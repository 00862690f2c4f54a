"""Options of the faults of disks, power and clocks: what cannot be is said."""

from __future__ import annotations

from typing import Any

import pytest

from harness.nemesis.verbs import VERBS


@pytest.mark.parametrize(
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
    ],
)
def test_an_option_that_cannot_be_is_told(verb: str, options: Any, problem: str) -> None:
    assert any(problem in told for told in VERBS[verb].problems(options))


def test_options_that_can_be_are_not_told() -> None:
    assert not VERBS["skew-clock"].problems({"offset_s": -60.5})
    assert not VERBS["slow-disk"].problems({"delay_ms": 2.5})
    assert not VERBS["fail-disk"].problems({"error": "EROFS"})
