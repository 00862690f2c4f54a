"""What a member of the group had: other members' now, or not yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.history.recorder import Lines
from harness.run.load.worker_nodes import events_in, moved

Event = dict[str, Any]


def given(text: str) -> Event:
    return {"event": "assigned", "text": text}


def taken(text: str) -> Event:
    return {"event": "revoked", "text": text}


JOINED: Event = {"event": "member", "name": "m", "generation": 1}


@pytest.mark.parametrize(
    ("theirs", "others", "so"),
    [
        ([given("0, 1")], [given("2")], False),
        ([given("0, 1")], [given("2"), given("0")], False),
        ([given("0, 1")], [given("2"), JOINED, given("0, 1")], True),
        ([given("0, 1")], [given("2"), given("0, 1"), taken("0")], False),
        ([given("0, 1"), taken("0, 1")], [given("2")], False),  # it left, and nobody has them
        ([given("0, 1"), taken("0, 1")], [given("0, 1, 2")], True),
        ([given("0, 1"), taken("1")], [given("0")], True),  # it had let one go before
        ([JOINED], [given("0")], False),  # it never had any
        ([], [], False),
    ],
)
def test_all_that_it_had_last_is_other_members(
    theirs: list[Event], others: list[Event], so: bool
) -> None:
    assert moved([theirs], [others]) is so


def test_two_others_may_share_it() -> None:
    assert moved([[given("0, 1")]], [[given("0")], [given("1")]])
    assert not moved([[given("0, 1")]], [])


def test_who_was_told_of_two_awaits_both() -> None:
    assert not moved([[given("0")], [given("1")]], [[given("0")]])
    assert moved([[given("0")], [given("1")]], [[given("0, 1")]])


def test_what_a_worker_told_is_read_while_it_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "group-consumer-0.jsonl"
    lines = Lines(file)
    lines.write("assigned", text="0, 1", generation=3)

    assert [(told["event"], told["text"]) for told in events_in(file)] == [("assigned", "0, 1")]
