"""A payload tells its value, when it was due, its transaction; foreign and damaged ones do not."""

from __future__ import annotations

import pytest

from tests.support.log_segments import of_ours
from workloads.client import payload


@pytest.mark.parametrize("value", [0, 7, (5 << 40) + 12, 2**63 - 1])
@pytest.mark.parametrize("transaction", [-1, 0, 2**31 - 1])
def test_a_payload_tells_its_value_and_its_send(value: int, transaction: int) -> None:
    """Padded to its width, and longer where the numbers are."""
    wire = payload.of(value, 81_234_567_890, transaction, 100)

    assert len(wire) == 100
    assert payload.parse(wire) == (value, 81_234_567_890, transaction)
    assert payload.parse(wire.decode()) == payload.parse(wire)
    assert payload.of(value, 81_234_567_890, transaction, 1) == wire.rstrip()
    assert wire.split()[0] == str(value).encode()
    assert not payload.is_corrupt(wire)


@pytest.mark.parametrize(
    "wire",
    [
        None,
        b"",
        b"   ",
        b"x",
        b"-1",
        b"7",  # as payloads were before they told more
        b"9223372036854775808",
        b"\xff",
        b"2026 11 23 5",
        b'{"value": 7, "due": 12345678901234567890}',
    ],
)
def test_what_no_producer_of_ours_writes_has_no_value_and_is_not_corrupt(
    wire: bytes | None,
) -> None:
    """It is recorded as unparsable, never as some number."""
    assert payload.parse(wire) is None
    assert not payload.is_corrupt(wire)


def test_every_flipped_bit_is_noticed_and_is_not_foreign() -> None:
    """The checksum is of all that is told; padding tells nothing, and is none of ours when it is
    something else."""
    told = of_ours((1 << 40) + 77, 1, intended_ns=81_234_567_890, transaction=3)
    wire = told.ljust(100)
    for at in range(len(wire)):
        for bit in range(8):
            flipped = bytearray(wire)
            flipped[at] ^= 1 << bit
            assert payload.parse(bytes(flipped)) is None, (at, bit)
            assert payload.is_corrupt(bytes(flipped)), (at, bit)


def test_another_key_is_a_corrupt_record() -> None:
    """Ours have none."""
    assert payload.parse(of_ours(7), b"key") is None
    assert payload.is_corrupt(of_ours(7, intended_ns=10**12), b"key")


def test_a_number_too_large_for_any_record_is_none() -> None:
    """Its checksum may be right all the same."""
    assert payload.parse(payload.of(2**63, 1, -1, 1)) is None
    assert payload.parse(payload.of(1, 0, -1, 1)) is None
