"""Batches as they are on disk, and what is written down of them."""

from __future__ import annotations

from harness.run.evidence.batches import batches
from tests.support.log_segments import GZIP, batch, marker, old, records


def lines(*data: bytes) -> list[dict[str, object]]:
    return [each.fields for each in batches(b"".join(data))]


def test_a_batch_has_its_epoch_and_the_value_of_each_offset():
    assert lines(records(4711, [12, 13], epoch=3)) == [
        {"epoch": 3, "records": [[4711, 12], [4712, 13]]}
    ]


def test_it_takes_the_offsets_from_its_first_to_its_last_record():
    (found,) = batches(records(5, [1, 2, 3]))

    assert (found.base_offset, found.last_offset) == (5, 7)


def test_who_wrote_it_is_known_where_the_producer_has_an_id():
    assert lines(records(0, [1], producer=(7, 2, 40), transactional=True)) == [
        {
            "epoch": 0,
            "producer_id": 7,
            "producer_epoch": 2,
            "sequence": 40,
            "transactional": True,
            "records": [[0, 1]],
        }
    ]


def test_the_end_of_a_transaction_takes_an_offset_and_has_no_value():
    committed, aborted = lines(marker(8, commit=True, epoch=2), marker(9, commit=False))

    assert (committed["marker"], committed["records"], committed["epoch"]) == (
        "commit",
        [[8, None]],
        2,
    )
    assert (aborted["marker"], aborted["records"]) == ("abort", [[9, None]])


def test_the_format_before_has_neither_epoch_nor_producer():
    assert lines(old(6, 77), old(7, 78)) == [{"records": [[6, 77]]}, {"records": [[7, 78]]}]


def test_a_payload_of_somebody_else_has_no_value():
    (found,) = lines(records(0, ["foreign", "9" * 19, "12 34", str(2**63 - 1)]))

    assert found["records"] == [[0, None], [1, None], [2, 12], [3, 2**63 - 1]]


def test_compressed_records_are_read():
    assert lines(records(3, [1, 2], codec=GZIP)) == [{"epoch": 0, "records": [[3, 1], [4, 2]]}]


def test_what_cannot_be_read_keeps_its_offsets_and_says_why():
    """A batch of which only the head is whole; its head says that it has three records."""
    damaged, whole = lines(batch(5, 3, epoch=1), records(8, [1]))

    assert damaged["records"] == [[5, None], [6, None], [7, None]]
    assert str(damaged["text"]).startswith("its records cannot be read: ")
    assert whole["records"] == [[8, 1]]


def test_a_codec_that_is_not_installed_is_named():
    compressed = bytearray(records(3, [1, 2]))
    compressed[22] |= 4  # zstd

    (found,) = lines(bytes(compressed))
    assert found["records"] == [[3, None], [4, None]]
    assert "zstd" in str(found["text"])
    assert found["epoch"] == 0


def test_a_batch_that_is_cut_short_and_preallocated_zeros_are_none():
    assert lines(records(0, [1]), records(1, [2])[:-1]) == [{"epoch": 0, "records": [[0, 1]]}]
    assert lines(records(0, [1]), bytes(300)) == [{"epoch": 0, "records": [[0, 1]]}]
    assert lines(b"") == []
