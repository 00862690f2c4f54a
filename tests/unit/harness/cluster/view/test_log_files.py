"""Log ends and watermarks as a broker's files tell them; a real broker's: tests/live."""

from __future__ import annotations

import pytest

from harness.cluster.view.log_files import CHECKPOINT, LogEnd, high_watermarks
from tests.support.log_segments import batch, segment


@pytest.fixture
def log(tmp_path):
    """The folder of a partition, and what follows its end."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    return folder, LogEnd(folder=folder)


def test_the_end_is_after_the_last_batch_and_follows_it(log):
    folder, end = log
    file = segment(folder, 0, batch(0), batch(1, 3))

    assert end.now() == 4
    with file.open("ab") as more:
        more.write(batch(4, 6))
    assert end.now() == 10


def test_a_batch_that_is_still_being_written_does_not_count(log):
    folder, end = log
    segment(folder, 0, batch(0), batch(1)[:70])
    assert end.now() == 1

    segment(folder, 0, batch(0), batch(1)[:20])
    assert end.now() == 1


def test_preallocated_zeros_are_no_batch(log):
    folder, end = log
    segment(folder, 0, batch(0), bytes(400))

    assert end.now() == 1


def test_a_segment_that_was_rolled_goes_on_where_the_old_one_ended(log):
    folder, end = log
    segment(folder, 0, batch(0), batch(1))
    end.now()
    segment(folder, 2)
    assert end.now() == 2  # nothing in it yet

    segment(folder, 2, batch(2))
    (folder / f"{5:020d}.log.deleted").touch()
    assert end.now() == 3


def test_a_truncated_log_ends_earlier(log):
    folder, end = log
    segment(folder, 0, batch(0), batch(1), batch(2))
    assert end.now() == 3

    segment(folder, 0, batch(0))
    assert end.now() == 1


def test_a_log_that_was_truncated_and_written_over_between_two_looks_is_read_anew(log):
    """As long as before, with other batches: bigger ones, so that reading on would be in the midst
    of one."""
    folder, end = log
    segment(folder, 0, *(batch(n) for n in range(6)))
    assert end.now() == 6

    segment(folder, 0, batch(0), batch(1, 2, epoch=1, size=220), batch(3, epoch=1, size=180))
    assert end.now() == 4


def test_old_formats_have_the_last_offset_in_front(log):
    folder, end = log
    segment(folder, 0, batch(0, magic=1), batch(4, 5, magic=1))  # of records 1 to 4

    assert end.now() == 5


def test_no_log_has_no_end(tmp_path):
    assert LogEnd(folder=tmp_path / "t-0").now() is None
    (tmp_path / "t-0").mkdir()
    assert LogEnd(folder=tmp_path / "t-0").now() is None


def test_the_checkpoint_tells_the_topic_s_watermarks(tmp_path):
    (tmp_path / CHECKPOINT).write_text("0\n3\nt 0 41\nother 0 9\nt 1 7\n")

    assert high_watermarks(tmp_path, "t") == {0: 41, 1: 7}
    assert high_watermarks(tmp_path / "gone", "t") == {}
