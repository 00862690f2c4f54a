"""What is read back of the evidence that Spark wrote."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.frames import schema
from analysis.report.found import EXAMPLES
from analysis.report.results import _finding

# Acked at the same moment, as one answer of a broker acknowledges a batch; the last is unknown.
ROWS = [(1000, value, 0, value) for value in range(EXAMPLES)] + [(None, 0, 1, 7)]


@pytest.mark.parametrize("turned", [False, True])
def test_examples_are_the_same_however_spark_has_divided_them(tmp_path: Path, turned: bool) -> None:
    """Files and rows come in any order; what is shown goes by time, then by value and place."""
    wanted = schema.arrow(schema.EVIDENCE)
    names = ("time_ns", "value", "partition", "offset")
    found = [dict(zip(names, row, strict=True)) for row in (ROWS[::-1] if turned else ROWS)]
    for number, part in enumerate((found[::2], found[1::2])):
        table = pa.Table.from_pylist(part, schema=wanted)
        pq.write_table(table, tmp_path / f"part-{number}.parquet")

    finding = _finding("lost", tmp_path)

    assert finding.count == len(ROWS)
    told = [tuple(row[name] for name in names) for row in finding.examples]
    assert told == ROWS[:EXAMPLES]
