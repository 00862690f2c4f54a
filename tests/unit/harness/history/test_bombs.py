"""Files that are small, or seem so, and would fill the memory are refused before that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.history import stored_tables
from harness.history.sealing import seal
from harness.history.segments import read_segment
from harness.history.stored_tables import (
    MOST_BYTES,
    MOST_GROUP_ROWS,
    MOST_SMALL_ROWS,
    Columns,
    TableError,
    read_bytes,
    row_groups,
    rows_in,
)
from harness.history.tables import OPERATION_COLUMNS, SMALL_TABLES, schema
from tests.support.recorded_runs import RUN_ID, record_sends, sealing_finds

EVENTS = SMALL_TABLES["events"]
FINDINGS = SMALL_TABLES["findings"]


def repeated(file: Path, columns: Columns, rows: int, **row: Any) -> Path:
    """A table of one row, so many times, in one row group."""
    one = pa.Table.from_pylist([row], schema(columns))
    many = one.take(pa.array(memoryview(bytes(8 * rows)).cast("q")))
    pq.write_table(many, file, compression="zstd", row_group_size=rows)
    return file


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(TableError) as refused:
        read()
    return str(refused.value)


def test_a_small_table_of_millions_of_rows_is_refused(tmp_path: Path) -> None:
    file = repeated(tmp_path / "t", EVENTS, MOST_SMALL_ROWS + 1, event="x")

    assert file.stat().st_size < 200_000
    assert refusal(lambda: rows_in(file.read_bytes(), EVENTS)) == (
        "it has 2,000,001 rows in one row group, more than any table of ours"
    )


def test_so_are_as_many_in_several_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_tables, "MOST_SMALL_ROWS", 3)
    file = tmp_path / "t"
    table = pa.Table.from_pylist([{"event": "x"}] * 4, schema(EVENTS))
    pq.write_table(table, file, row_group_size=2)

    assert refusal(lambda: rows_in(file.read_bytes(), EVENTS)).startswith("it has 4 rows, more")


def test_one_text_many_times_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row would get a copy of its own."""
    monkeypatch.setattr(stored_tables, "MOST_GROUP_BYTES", 1_000_000)
    file = repeated(tmp_path / "t", EVENTS, 1001, text=1000 * "x")

    assert refusal(lambda: rows_in(file.read_bytes(), EVENTS)).startswith(
        "its texts unpack to 1,001,000 bytes"
    )


def test_a_table_of_a_reasonable_size_is_read(tmp_path: Path) -> None:
    """The twin of all three."""
    file = repeated(tmp_path / "t", EVENTS, 1000, event="x", text=1000 * "x")

    assert len(rows_in(file.read_bytes(), EVENTS)) == 1000


@pytest.mark.parametrize(("rows", "kept"), [(4, True), (3, False)])
def test_findings_of_an_earlier_sealing_that_are_too_many_are_kept_unread(
    run: Path, monkeypatch: pytest.MonkeyPatch, rows: int, kept: bool
) -> None:
    """No row group of theirs is too big; as many as ours may be are told again."""
    monkeypatch.setattr(stored_tables, "MOST_SMALL_ROWS", 3)
    finding = {"run_id": RUN_ID, "process": "p", "kind": "torn", "text": "slot 0"}
    earlier = [{**finding, "count": n} for n in range(rows)]
    table = pa.Table.from_pylist(earlier, schema(FINDINGS))
    pq.write_table(table, run / "history/findings.parquet", row_group_size=2)

    sealed = seal(run)
    assert (rows, kept) == (sealed.findings, sealed.tables["findings.parquet"].kept)


def test_a_row_group_of_millions_of_operations_is_refused(tmp_path: Path) -> None:
    file = repeated(tmp_path / "t", OPERATION_COLUMNS, MOST_GROUP_ROWS + 1, run_id="r")

    assert "rows in one row group" in refusal(lambda: list(row_groups(file, OPERATION_COLUMNS)))


def test_one_as_big_as_sealing_makes_it_is_read(tmp_path: Path) -> None:
    """The twin."""
    file = repeated(tmp_path / "t", OPERATION_COLUMNS, MOST_GROUP_ROWS, run_id="r")

    assert sum(group.num_rows for group in row_groups(file, OPERATION_COLUMNS)) == MOST_GROUP_ROWS


def test_a_file_that_is_mostly_hole_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "views.parquet"
    with file.open("wb") as opened:
        opened.truncate(MOST_BYTES + 1)

    assert "none of ours has 2,147,483,648" in refusal(lambda: read_bytes(file))


def test_of_a_segment_no_more_is_read_than_one_has(run: Path, tmp_path: Path) -> None:
    """It is damage, as any segment that is longer than it says."""
    segment = record_sends(run, sends=4)
    with segment.open("r+b") as opened:
        opened.truncate(20 * 2**30)

    content = read_segment(segment, "p", first_id=0, last=True)
    assert (len(content.ids), [each.kind for each in content.findings]) == (
        4,
        ["truncated-segment"],
    )
    assert sealing_finds(run) == [("p", "truncated-segment", 1)]
