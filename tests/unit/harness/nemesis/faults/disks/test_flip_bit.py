"""flip-bit: one bit among the records of a closed segment."""

from __future__ import annotations

from random import Random

from harness.nemesis.faults.disks import flip_bit
from harness.nemesis.verbs import VERBS
from tests.support.disk_nodes import KAFKA1, Nodes, at


def batch(records: bytes) -> bytes:
    return bytes(8) + (49 + len(records)).to_bytes(4) + bytes(49) + records


def test_a_bit_is_flipped_in_the_records_of_a_closed_segment_and_restored(nodes: Nodes) -> None:
    folder = nodes.data_folder(KAFKA1) / "t-0"
    closed = folder / "00.log"
    whole = batch(b"a" * 30) + batch(b"b" * 40)
    injection, verb = at(nodes), VERBS["flip-bit"]
    closed.write_bytes(whole)
    verb.inject(injection)
    assert verb.proof_in_force(injection) is None  # it is the active one
    assert closed.read_bytes() == whole
    (folder / "09.log").touch()

    assert verb.proof_in_force(injection) is None
    assert " was 0x6" in str(verb.proof_in_force(injection))
    differ = [
        i for i, (old, new) in enumerate(zip(whole, closed.read_bytes(), strict=True)) if old != new
    ]
    assert len(differ) == 1
    verb.heal(injection)
    assert closed.read_bytes() == whole
    assert "again" in str(verb.healed(injection))


def test_only_records_of_whole_batches_are_chosen() -> None:
    segment = batch(b"a" * 5) + batch(b"") + batch(b"b" * 5)[:-1]

    assert list(flip_bit.batches(segment)) == [(0, 66)]
    assert {flip_bit.pick(segment, Random(i)) for i in range(40)} == {61, 62, 63, 64, 65}
