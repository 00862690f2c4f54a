"""How a table's cells are read: what is null, what is text, what is a number."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.tables.table_files import open_table
from analysis.tables.validation import valid_tables
from tests.support.two_tables import as_parquet, was_read


@pytest.fixture
def reads(tmp_path: Path) -> str:
    return str(as_parquet(tmp_path / "reads.parquet", [was_read("a", 0)]))


def test_a_quoted_empty_value_is_a_text_and_an_unquoted_one_is_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text('value,offset\n"",0\n,1\n"""",2\n"a""b",3\n" ",4\n')
    rows = open_table(spark, str(tmp_path / "t.csv")).rows.orderBy("offset").collect()

    assert ["", None, '"', 'a"b', " "] == [row["value"] for row in rows]


def test_a_file_that_quotes_all_has_nulls_where_no_text_can_be(
    spark: SparkSession, tmp_path: Path, reads: str
) -> None:
    (tmp_path / "sends.csv").write_text(
        '"value","type","partition","offset","end_ns","topic"\n'
        '"a","ok","0","0","5","t"\n'
        '"","info","","","",""\n'
    )
    tables = valid_tables(spark, str(tmp_path / "sends.csv"), reads)

    assert {"a", ""} == {row["value"] for row in tables.sends.collect()}
    assert (1, "t", 5) == (tables.without_partition, tables.topic, tables.last_ack_ns)


@pytest.mark.parametrize("name", ["start_ns", "seen_at"])
def test_timestamps_in_nanoseconds_are_whole_numbers_whoever_has_them(
    spark: SparkSession, tmp_path: Path, reads: str, name: str
) -> None:
    """As pandas writes them; also in a column that nobody looks at."""
    at = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
    columns = {"value": ["a"], "type": ["ok"], "partition": [0], "offset": [0]}
    pq.write_table(pa.table({**columns, name: at, "end_ns": at}), tmp_path / "sends.parquet")
    tables = valid_tables(spark, str(tmp_path / "sends.parquet"), reads)

    [sent] = tables.sends.collect()
    expected = 1_700_000_000_123_456_789
    assert (expected if name == "start_ns" else None, expected) == (
        sent["start_ns"],
        sent["end_ns"],
    )
