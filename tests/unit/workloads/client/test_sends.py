"""Offsets of acks: those that a broker cannot have given are not believed."""

from __future__ import annotations

from workloads.client.sends import AckedOffsets


def test_offsets_counted_from_none_are_not_believed() -> None:
    """A batch answered DUPLICATE_SEQUENCE_NUMBER, between two that were appended."""
    offsets = AckedOffsets()
    told = [41, None, 0, 1, 42, 43, 2]

    assert [41, None, None, None, 42, 43, 2] == [offsets.real_offset(0, each) for each in told]


def test_partitions_are_judged_apart() -> None:
    """What one partition's batch lacks says nothing of another's."""
    offsets = AckedOffsets()

    assert None is offsets.real_offset(0, None)
    assert 0 == offsets.real_offset(1, 0)
    assert None is offsets.real_offset(0, 0)
