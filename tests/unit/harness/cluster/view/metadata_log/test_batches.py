"""Batches of the metadata log: whole ones, torn ones, control batches, compressed ones."""

from __future__ import annotations

import pytest

from harness.cluster.view.metadata_log.batches import whole_batches
from harness.cluster.view.metadata_log.encoding import Misread
from harness.cluster.view.metadata_log.records import Feature, LeaderChange, TopicMade
from tests.support.labs import metadata_logs as logs
from tests.support.log_segments import GZIP

FIRST = logs.batch(0, 3, logs.leader_change(102))
SECOND = logs.batch(1, 3, logs.no_op(), logs.topic("t"), logs.feature("kraft.version", 1))
T = TopicMade(name="t", id=logs.id_of("t"))


def offsets(data: bytes) -> list[tuple[int, int]]:
    return [(batch.base_offset, batch.last_offset) for batch in whole_batches(data)]


def test_batches_have_offsets_epoch_and_records():
    first, second = whole_batches(FIRST + SECOND)

    assert (first.base_offset, first.last_offset, first.epoch, first.control) == (0, 0, 3, True)
    assert (second.base_offset, second.last_offset, second.epoch) == (1, 3, 3)
    assert not second.control
    assert list(first.records()) == [(0, LeaderChange(leader=102))]
    assert list(second.records()) == [(2, T), (3, Feature(name="kraft.version", level=1))]


@pytest.mark.parametrize("bytes_there", [0, 1, 12, 60, 61, len(SECOND) - 1])
def test_a_batch_that_is_still_being_written_ends_it(bytes_there):
    assert offsets(FIRST + SECOND[:bytes_there]) == [(0, 0)]


def test_preallocated_zeros_end_it():
    assert offsets(FIRST + bytes(500)) == [(0, 0)]


def test_a_torn_batch_of_the_right_length_ends_it():
    """A power loss can leave the length and lose the bytes."""
    torn = SECOND[:70] + bytes(len(SECOND) - 70)

    assert offsets(FIRST + torn + logs.batch(4, 3, logs.no_op())) == [(0, 0)]


def test_a_compressed_batch_is_read():
    (batch,) = whole_batches(logs.batch(7, 1, logs.topic("t"), codec=GZIP))

    assert list(batch.records()) == [(7, T)]


def test_a_batch_of_another_codec_than_there_is_says_so():
    data = bytearray(SECOND)
    data[22] |= 5  # no codec has this number
    (batch,) = whole_batches(logs.with_checksum(data))

    with pytest.raises(Misread, match="the batch at offset 1"):
        list(batch.records())


def test_a_record_that_cannot_be_read_names_its_batch():
    (batch,) = whole_batches(logs.batch(7, 1, logs.topic("t")[:-2]))

    with pytest.raises(Misread, match="offset 7: metadata record 2"):
        list(batch.records())
