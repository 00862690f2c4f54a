"""What was kept of the brokers' evidence as rows of the table `kept`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_runs import sealed_rows, sealing_finds, write_side_file

AT = {"moment": "before-return", "broker": "kafka1", "topic": "t", "partition": 0}
BATCH: dict[str, Any] = {"event": "kept-batch", **AT, "epoch": 3, "records": [[4, 12], [5, 13]]}


def told(run: Path) -> list[dict[str, Any]]:
    """The rows, without what is null in them."""
    assert [] == sealing_finds(run)
    return [{k: v for k, v in row.items() if v is not None} for row in sealed_rows(run, "kept")]


def test_a_batch_is_a_row_for_each_record(run: Path) -> None:
    write_side_file(run, "kept", BATCH)

    each = {"time_ns": 1, "event": "kept-record", **AT, "epoch": 3}
    assert [{**each, "offset": 4, "value": 12}, {**each, "offset": 5, "value": 13}] == told(run)


def test_sequence_numbers_count_on_from_the_batchs_first(run: Path) -> None:
    """And begin again behind the largest."""
    write_side_file(
        run, "kept", {**BATCH, "producer_id": 7, "producer_epoch": 0, "sequence": 2**31 - 1}
    )

    assert [2**31 - 1, 0] == [row["sequence"] for row in told(run)]
    assert [7, 7] == [row["producer_id"] for row in told(run)]


def test_a_record_without_a_value_and_the_end_of_a_transaction_have_their_offset(run: Path) -> None:
    write_side_file(
        run, "kept", {**BATCH, "records": [[4, None]], "marker": "abort", "transactional": True}
    )

    (row,) = told(run)
    assert (4, "abort", True) == (row["offset"], row["marker"], row["transactional"])
    assert "value" not in row


def test_a_record_of_kafkas_own_topics_has_a_text(run: Path) -> None:
    write_side_file(
        run, "kept", {**BATCH, "event": "kept-entries", "records": [[4, "{}"], [5, None]]}
    )

    assert [(4, "{}"), (5, None)] == [(row["offset"], row.get("text")) for row in told(run)]


def test_a_checkpoint_is_a_row_for_each_epoch(run: Path) -> None:
    write_side_file(run, "kept", {"event": "kept-epochs", **AT, "epochs": [[0, 0], [3, 4711]]})

    each = {"time_ns": 1, "event": "kept-epoch", **AT}
    assert [
        {**each, "epoch": 0, "offset": 0},
        {**each, "epoch": 3, "offset": 4711},
    ] == told(run)


@pytest.mark.parametrize(
    "line",
    [
        {
            "event": "kept-tail",
            **AT,
            "log_start": 0,
            "begin": 4,
            "log_end": 9,
            "watermark": 5,
            "lowest": 4,
            "cut_short": False,
        },
        {"event": "truncated", **AT, "offset": 4, "logged_ms": 7, "text": "due to …"},
        {"event": "led", **AT, "offset": 4, "epoch": 3, "watermark": 3, "logged_ms": 7},
        {"event": "followed", **AT, "offset": 4, "epoch": 3, "leader": 2, "logged_ms": 7},
        {"event": "not-kept", "text": "the brokers' disks cannot be seen on this backend"},
    ],
)
def test_any_other_line_is_a_row(run: Path, line: dict[str, Any]) -> None:
    write_side_file(run, "kept", line)

    assert [{"time_ns": 1, **line}] == told(run)


@pytest.mark.parametrize(
    "changes",
    [
        {"records": None},
        {"records": [4, 12]},
        {"records": [[4]]},
        {"records": [["4", 12]]},
        {"records": [[4, 12], [5, 2**63]]},
        {"epoch": "3"},
        {"broker": 1},
    ],
)
def test_a_batch_that_cannot_be_used_is_a_finding_and_no_row(
    run: Path, changes: dict[str, Any]
) -> None:
    """As a whole: half a batch would tell of offsets that nobody has."""
    write_side_file(run, "kept", {**BATCH, **changes})

    assert [("kept", "bad-line", 1)] == sealing_finds(run)
    assert [] == sealed_rows(run, "kept")


def test_without_evidence_there_is_an_empty_table(run: Path) -> None:
    """Older harnesses keep none, and a scenario can ask for none."""
    assert [] == told(run)
