"""Misspellings: what is within two edits of a known word is a slip."""

from __future__ import annotations

import pytest

from harness.model.spelling import did_you_mean, edits, slip

KNOWN = ("num.partitions", "num.io.threads", "log.retention.ms", "log.retention.bytes")


@pytest.mark.parametrize(
    ("word", "other", "number"),
    [
        ("", "", 0),
        ("acks", "acks", 0),
        ("acks", "", 4),
        ("acks", "ack", 1),
        ("acks", "packs", 1),
        ("acks", "aces", 1),
        ("acks", "akcs", 1),  # two neighbours swapped
        ("acks", "kacs", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_edits_are_counted_either_way(word: str, other: str, number: int) -> None:
    assert number == edits(word, other) == edits(other, word)


@pytest.mark.parametrize(
    "word", ["num.partitons", "num.patritions", "nmu.partitinos", "numpartition"]
)
def test_up_to_two_edits_are_a_slip(word: str) -> None:
    assert "num.partitions" == slip(word, KNOWN)


@pytest.mark.parametrize("word", ["num.partitions", "num.prtitio", "my.plugin.key", ""])
def test_a_known_word_is_none_and_three_edits_are_none(word: str) -> None:
    assert slip(word, KNOWN) is None


def test_the_nearest_of_two_wins() -> None:
    assert "log.retention.ms" == slip("log.retention.mss", ["log.retention.us", *KNOWN])
    assert "rounds" == slip("rond", ["kind", "rounds"])  # two edits either way


def test_a_slip_is_asked_about_and_so_is_what_is_much_alike() -> None:
    assert " (did you mean 'num.io.threads'?)" == did_you_mean("num.io.thread", KNOWN)
    assert " (did you mean 'log.retention.bytes'?)" == did_you_mean("retention.bytes", KNOWN)
    assert did_you_mean("zzz", KNOWN) == ""
