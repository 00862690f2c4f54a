"""Records of Kafka's own topics, as Kafka 3.9 writes them, and what they say."""

from __future__ import annotations

import json
import struct

import pytest

from harness.run.evidence.internal_topics import OFFSETS, TRANSACTIONS, record_json

KEY = struct.pack(">hh1sh2si", 1, 1, b"g", 2, b"t0", 3)
VALUE = struct.pack(">hqihq", 3, 42, 5, 0, 1_700_000_000_000)
WHO = {"group": "g", "topic": "t0", "partition": 3}


def told(topic: str, key: bytes | None, value: bytes | None) -> object:
    return json.loads(record_json(topic, key, value) or "null")


def test_a_committed_offset():
    assert told(OFFSETS, KEY, VALUE) == {**WHO, "offset": 42, "leader_epoch": 5}


def test_one_of_an_older_version_has_no_epoch():
    assert told(OFFSETS, KEY, struct.pack(">hqhq", 1, 42, 0, 1)) == {
        **WHO,
        "offset": 42,
        "leader_epoch": None,
    }


def test_one_that_was_taken_back():
    assert told(OFFSETS, KEY, None) == {**WHO, "removed": True}


def test_the_members_of_a_group_are_not_decoded():
    assert told(OFFSETS, struct.pack(">hh1s", 2, 1, b"g"), b"members") == {"group": "g"}


@pytest.mark.parametrize(("number", "state"), [(1, "Ongoing"), (3, "PrepareAbort")])
def test_the_state_of_a_transaction(number, state):
    key = struct.pack(">hh3s", 0, 3, b"x-0")
    value = struct.pack(">hqhib", 0, 7, 2, 60_000, number)

    assert told(TRANSACTIONS, key, value) == {
        "transactional_id": "x-0",
        "producer_id": 7,
        "producer_epoch": 2,
        "state": state,
    }
    assert told(TRANSACTIONS, key, None) == {"transactional_id": "x-0", "removed": True}


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, None), (b"\0", b""), (KEY[:5], VALUE), (KEY, b"\0"), (b"\0\1\xff\xff", VALUE)],
)
def test_what_is_none_of_these_says_nothing(key, value):
    assert record_json(OFFSETS, key, value) is None


def test_a_state_that_nobody_knows_says_nothing():
    key, value = struct.pack(">hh1s", 0, 1, b"x"), struct.pack(">hqhib", 0, 7, 2, 6, 99)

    assert record_json(TRANSACTIONS, key, value) is None
