"""What a fault saw of the cluster: the table of views must show it too, or it is not whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.stored.fault_views import NEAR_NS, unseen, view_in

S = 10**9
START_NS = 100 * S


def saw(leader: str | None, *, known: bool = True, partition: int = 0) -> str:
    return json.dumps({"leader": {str(partition): leader}, "known": known})


def fault(before: str | None = None, after: str | None = None, **more: Any) -> Any:
    """A fault from 5 s to 8 s."""
    told = {"fault": 0, "verb": "kill", "target": "leader", "before": before, "after": after}
    return {**told, "invoke_ns": START_NS + 5 * S, "heal_ok_ns": START_NS + 8 * S, **more}


def led(leader: str | None, s: float, partition: int = 0) -> Any:
    return {"partition": partition, "leader": leader, "time_ns": START_NS + int(s * S)}


FIRST = led("kafka1", -1)
THEN = led("kafka2", 6)


def test_a_leader_that_no_view_shows_is_missing_there() -> None:
    assert unseen([fault(saw("kafka1"), saw("kafka2"))], [FIRST], []) == (
        "fault 0 (kill leader) saw kafka2 lead partition 0, and no view of that time does"
    )
    assert unseen([fault(saw("kafka2"))], [FIRST], []) is not None


def test_one_that_they_show_is_not() -> None:
    """The twin."""
    assert unseen([fault(saw("kafka1"), saw("kafka2"))], [FIRST, THEN], []) is None


@pytest.mark.parametrize(
    ("leader", "known", "partition"), [("kafka2", False, 0), (None, True, 0), ("kafka1", True, 0)]
)
def test_what_nobody_saw_need_not_be_there(leader: str | None, known: bool, partition: int) -> None:
    """A view of earlier, no leader at all, or the one who led before."""
    assert unseen([fault(None, saw(leader, known=known, partition=partition))], [FIRST], []) is None


@pytest.mark.parametrize(("from_s", "to_s"), [(6, 7), (6, None), (-20, 6)])
def test_nothing_is_missing_where_nobody_could_be_asked(from_s: int, to_s: int | None) -> None:
    ends = None if to_s is None else START_NS + to_s * S
    blind: Any = [{"start_ns": START_NS + from_s * S, "end_ns": ends}]

    assert unseen([fault(None, saw("kafka2"))], [FIRST], blind) is None


def test_a_blind_stretch_long_before_hides_nothing() -> None:
    """The twin."""
    blind: Any = [{"start_ns": START_NS - 40 * S, "end_ns": START_NS - 30 * S}]

    assert unseen([fault(None, saw("kafka2"))], [FIRST], blind) is not None


@pytest.mark.parametrize(("s", "missing"), [(8, False), (8 + NEAR_NS / S, False), (20, True)])
def test_the_views_may_show_it_a_little_later(s: float, missing: bool) -> None:
    found = unseen([fault(None, saw("kafka2"))], [FIRST, led("kafka2", s)], [])

    assert (found is not None) == missing


def test_a_fault_that_was_never_healed_may_have_seen_it_at_any_time_after() -> None:
    views = [FIRST, led("kafka2", 60)]

    assert unseen([fault(None, saw("kafka2"), heal_ok_ns=None)], views, []) is None


def test_who_led_another_partition_does_not_count() -> None:
    assert unseen([fault(saw("kafka2"))], [FIRST, led("kafka2", 5, partition=1)], []) is not None


NOTHING: dict[str, Any] = {"leader": {}, "isr": {}, "elr": {}, "controller": None, "known": None}


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ({"isr": {"0": 5}}, NOTHING),
        ({"isr": {"0": ["kafka1", 2]}}, NOTHING),
        ({"isr": ["kafka1"]}, NOTHING),
        ({"elr": {"0": 5}}, NOTHING),
        ({"elr": {"0": [], "1": ["kafka1", 2]}}, {**NOTHING, "elr": {"0": []}}),
        ({"leader": {"0": {}}}, NOTHING),
        ({"leader": {"0": ["kafka1"]}}, NOTHING),
        ({"controller": 3}, NOTHING),
        (5, {}),
        ({"leader": {"0": "kafka1", "1": None}}, {**NOTHING, "leader": {"0": "kafka1"}}),
        ({"isr": {"0": ["kafka1"], "1": None}}, {**NOTHING, "isr": {"0": ["kafka1"]}}),
    ],
)
def test_what_is_no_view_is_left_out(text: object, view: dict[str, Any]) -> None:
    assert view_in({"before": json.dumps(text)}, "before") == view


@pytest.mark.parametrize("text", [None, "", "{", "[" * 100_000, '{"x": NaN}', '{"a": "\\ud800"}'])
def test_what_cannot_be_read_is_no_view(text: str | None) -> None:
    assert not any(view_in({"before": text}, "before").values())
