"""A payload is its value, and foreign ones have none."""

from __future__ import annotations

import pytest

from workloads.client import payload


@pytest.mark.parametrize("value", [0, 7, (5 << 40) + 12, 2**63 - 1])
def test_a_payload_is_its_value(value: int) -> None:
    """Padded to its width, and longer where the number is."""
    wire = payload.of(value, 100)

    assert (100, value) == (len(wire), payload.parse(wire))
    assert str(value).encode() == payload.of(value, 1)


@pytest.mark.parametrize("wire", [None, b"", b"   ", b"x", b"-1", b"9223372036854775808", b"\xff"])
def test_what_no_producer_of_ours_writes_has_no_value(wire: bytes | None) -> None:
    """It is recorded as unparsable, never as some number."""
    assert payload.parse(wire) is None
