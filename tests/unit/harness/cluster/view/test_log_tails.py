"""The tail of a log: from which batch on it is copied, over segments, and how much at most."""

from __future__ import annotations

import struct

import pytest

from harness.cluster.view.log_files import BatchHead, read_head
from harness.cluster.view.log_tails import LogTail, leader_epochs, state, tail
from tests.support.log_segments import batch, segment

PLENTY = 10**6


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "t-0"
    made.mkdir()
    return made


def offsets(found: LogTail | None, tmp_path) -> list[int]:
    """The base offsets of the batches that were copied."""
    assert found is not None
    file, bases = tmp_path / "copied", []
    for _, data in found.parts:
        file.write_bytes(data)
        with file.open("rb") as opened:
            position, head = 0, None
            while (head := read_head(opened.fileno(), position, len(data))) is not None:
                assert isinstance(head, BatchHead)
                bases.append(head.base_offset)
                position = head.end
    return bases


def index(log, *entries: tuple[int, int], zeros: int = 0) -> None:
    """The index of a segment: a batch's last offset less the base, and where the batch begins."""
    pairs = b"".join(struct.pack(">ii", *entry) for entry in entries)
    log.with_suffix(".index").write_bytes(pairs + bytes(8 * zeros))


@pytest.mark.parametrize(
    ("from_offset", "wanted"),
    [(0, [0, 1, 4, 5]), (1, [1, 4, 5]), (3, [1, 4, 5]), (4, [4, 5]), (5, [5]), (6, []), (9, [])],
)
def test_it_begins_with_the_batch_that_has_the_offset(folder, tmp_path, from_offset, wanted):
    segment(folder, 0, batch(0), batch(1, 3), batch(4), batch(5))

    found = tail(folder, from_offset, PLENTY)

    assert offsets(found, tmp_path) == wanted
    assert found is not None
    assert (found.log_start, found.cut_short) == (0, False)
    assert found.parts[0][0] == (wanted or [6])[0]  # behind the last one, where there is none


def test_it_goes_over_as_many_segments_as_it_needs(folder, tmp_path):
    segment(folder, 0, batch(0))
    segment(folder, 1, batch(1), batch(2))
    segment(folder, 3, batch(3))
    segment(folder, 4)  # just rolled

    found = tail(folder, 2, PLENTY)

    assert offsets(found, tmp_path) == [2, 3]
    assert found is not None
    assert [first for first, _ in found.parts] == [2, 3, 4]


@pytest.mark.parametrize(("most", "wanted"), [(240, [1, 2, 3]), (239, [2, 3]), (80, [3]), (0, [])])
def test_older_batches_are_left_out_where_there_is_no_room(folder, tmp_path, most, wanted):
    segment(folder, 0, batch(0), batch(1))
    segment(folder, 2, batch(2), batch(3))

    found = tail(folder, 1, most)

    assert offsets(found, tmp_path) == wanted
    assert found is not None
    assert found.cut_short == (wanted != [1, 2, 3])
    assert found.size_bytes == 80 * len(wanted)


def test_what_is_still_being_written_is_copied_as_far_as_it_is_there(folder, tmp_path):
    segment(folder, 0, batch(0), batch(1)[:70])

    assert offsets(tail(folder, 0, PLENTY), tmp_path) == [0]


def test_the_index_tells_where_to_begin(folder, tmp_path):
    """All before it is passed over unread: here, what no broker wrote."""
    log = segment(folder, 10, b"\x77" * 80, batch(11), batch(12), batch(13))
    index(log, (1, 80), (2, 160), zeros=3)

    assert offsets(tail(folder, 12, PLENTY), tmp_path) == [12, 13]


@pytest.mark.parametrize("entries", [[(2, 33)], [(2, 10_000)], [(7, 160)]])
def test_an_index_that_leads_nowhere_is_not_believed(folder, tmp_path, entries):
    log = segment(folder, 0, batch(0), batch(1), batch(2), batch(3))
    index(log, *entries)

    assert offsets(tail(folder, 3, PLENTY), tmp_path) == [3]


def test_the_index_of_a_log_that_is_too_long_leads_to_what_there_is_room_for(folder, tmp_path):
    log = segment(folder, 0, *(batch(n) for n in range(9)))
    index(log, *((n, 80 * n) for n in (2, 4, 6, 8)))

    found = tail(folder, 1, 250)

    assert offsets(found, tmp_path) == [6, 7, 8]
    assert found is not None
    assert found.cut_short


def test_no_log_has_no_tail(tmp_path):
    assert tail(tmp_path / "t-0", 0, PLENTY) is None
    (tmp_path / "t-0").mkdir()
    assert tail(tmp_path / "t-0", 0, PLENTY) is None


def test_its_state_changes_with_it(folder):
    file = segment(folder, 0, batch(0))
    before = state(folder)
    assert state(folder) == before

    with file.open("ab") as more:
        more.write(batch(1))
    assert state(folder) != before


def test_the_checkpoint_tells_each_epoch_and_its_first_offset(folder):
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 4711\n")

    assert leader_epochs(folder) == [(0, 0), (3, 4711)]


@pytest.mark.parametrize("text", ["0\n1\n3 x\n", "0\n1\n3\n", "0\n1\n1 2 3\n"])
def test_another_file_is_no_checkpoint(folder, text):
    (folder / "leader-epoch-checkpoint").write_text(text)

    with pytest.raises(ValueError, match=r"."):
        leader_epochs(folder)
