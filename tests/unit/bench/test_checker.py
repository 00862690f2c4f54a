"""The history that a check is timed with: as today's recorder leaves one."""

import pyarrow.parquet as pq

from analysis.stored.stored_run import open_run
from bench import checker
from harness.history import tables


def test_the_timed_history_has_every_column(tmp_path):
    folder = checker.make(tmp_path, 400)
    for process, count in (("producer-0", 200), ("consumer-0", 100), ("final-read-0", 200)):
        table = pq.read_table(folder / "history/operations" / f"{process}.parquet")
        assert table.schema.equals(tables.schema(tables.OPERATION_COLUMNS))
        assert table.num_rows == count
        assert table.column("instance").to_pylist() == [0] * count
    events = pq.read_table(folder / "history/events.parquet")
    assert events.column("event").to_pylist() == ["ends"]


def test_nothing_of_it_is_left_out(tmp_path):
    """A damaged table would be judged by nobody, and cost nothing."""
    assert () == open_run(checker.make(tmp_path, 400)).suspect
