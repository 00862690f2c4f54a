"""The made-up run that Spark's class archive is trained with."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.job.train_archive import training_run
from analysis.stored.stored_run import final_ends, open_run


def test_it_is_whole_so_that_every_query_has_something_to_do(tmp_path: Path) -> None:
    """A damaged table would be left out."""
    run = open_run(training_run(tmp_path))

    assert run.suspect == ()
    assert [file.stem for file in run.tables] == ["consumer-0", "final-read-0", "producer-0"]
    assert run.operations == 148
    assert [(end["complete"], end["position"]) for end in final_ends(run)] == [(True, 50)]


@pytest.mark.parametrize(
    ("process", "first", "at_s"),
    [("producer-0", 0, 0), ("consumer-0", 1, 1), ("final-read-0", 1, 60)],
)
def test_one_record_is_sent_and_never_read(
    tmp_path: Path, process: str, first: int, at_s: int
) -> None:
    file = training_run(tmp_path) / f"history/operations/{process}.parquet"
    rows = pq.read_table(file, partitioning=None).to_pylist()

    assert [row["value"] for row in rows] == [row["offset"] for row in rows] == [*range(first, 50)]
    starts_s = [1 + at_s + value / 10 for value in range(first, 50)]
    assert [row["start_ns"] / 1e9 for row in rows] == pytest.approx(starts_s)
