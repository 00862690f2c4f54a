"""Which partition a group's or a transaction's coordinator leads."""

from __future__ import annotations

import pytest

from harness.cluster.view.coordinators import java_hash, partition_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("hello", 99162322),
        ("study-1/20261121T021500Z-42/consumer-0", -1332193760),
        ("polygenelubricants", -2147483648),
        ("é😀", 31 * (31 * 233 + 0xD83D) + 0xDE00),
    ],
)
def test_the_hash_is_javas(text, value):
    assert value == java_hash(text)


def test_the_least_hash_belongs_to_the_first_partition():
    assert partition_of("polygenelubricants", 3) == 0
    assert partition_of("hello", 50) == 99162322 % 50
