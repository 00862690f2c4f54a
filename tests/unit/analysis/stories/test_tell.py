"""Many findings, damaged evidence, old runs: stories stay few, and never end a check."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.frames import schema
from analysis.stored.stored_run import Run, open_run
from analysis.stories.tell import MOST, RunStories, tell
from tests.support import story_runs
from tests.support.histories import Part, final_read, moved, ns_of, sent, stayed, story
from tests.support.story_parts.kept_logs import kept_log, led
from tests.support.story_runs import checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def a_run(folder: Path, *parts: Part, **settings: Any) -> Run:
    """A run with no more than a send and a final read beside these parts."""
    told = story(sent(0, at=0), final_read(0), *parts, acks="1", **settings)
    return open_run(story_runs.write_story(told, folder, "told/many"))


def lost(folder: Path, rows: Iterable[tuple[int, int, int]]) -> dict[str, Path]:
    """Evidence of lost records: value, offset, ms of the ack."""
    path = folder / "lost.parquet"
    path.mkdir()
    values, offsets, acks = zip(*rows, strict=True)
    acked_ns = [ns_of(ms) for ms in acks]
    columns = {"value": values, "offset": offsets, "acked_ns": acked_ns, "sent_ns": acked_ns}
    columns |= {"time_ns": acked_ns, "partition": [0] * len(values), "epoch": [0] * len(values)}
    columns |= {"leader": ["kafka1"] * len(values), "sent": ["acked"] * len(values)}
    known = schema.arrow(schema.EVIDENCE)
    table = pa.table(
        {
            field.name: pa.array(columns[field.name], type=field.type)
            if field.name in columns
            else pa.nulls(len(values), type=field.type)
            for field in known
        }
    )
    pq.write_table(table, path / "part-00000.parquet")
    return {"lost": path}


def test_a_hundred_thousand_lost_records_with_one_story_are_one_story(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", *moved(ms=9000), led(2, epoch=1, at=10, ms=9000))
    rows = ((n, n, 1000) for n in range(10, 100_010))

    told = tell(run, lost(tmp_path, rows), {"lost": [{"value": 10, "offset": 10, "partition": 0}]})

    [only] = told.stories
    assert (only["records"], only["first_offset"], only["last_offset"]) == (100_000, 10, 100_009)
    assert "kafka2 led with epoch 1 from log end 10 at 9.000 s" in only["sentence"]
    assert told.of_example == {"lost": [1]}
    assert len(json.dumps(only)) < 4000


def test_of_many_stories_the_largest_are_told_and_those_of_examples(tmp_path: Path) -> None:
    """Every second record is in a tail of its own, so each pair of offsets has a story."""
    tails = [
        kept_log(1, *range(20, 20 + n), begin=20, ms=2000 + n, epochs={n: 20}) for n in range(1, 31)
    ]
    run = a_run(tmp_path / "run", stayed(), *tails)
    rows = [(19 + n, 19 + n, 1000) for n in range(1, 31)] + [(60, 60, 1000), (61, 61, 1000)]

    told = tell(run, lost(tmp_path, rows), {"lost": [{"value": 49, "offset": 49, "partition": 0}]})

    assert MOST <= len(told.stories) <= MOST + 1
    assert told.more == 31 - len(told.stories)
    assert told.more_records + sum(each["records"] for each in told.stories) == 32
    [number] = told.of_example["lost"]
    [mine] = [each for each in told.stories if each["number"] == number]
    assert mine["first_offset"] == mine["last_offset"] == 49


def test_without_findings_nothing_is_read(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")

    assert tell(run, {}, {}) == RunStories()


def test_a_run_that_kept_nothing_by_its_scenario_says_so(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", stayed())
    run.scenario["check"]["evidence"] = False

    told = tell(run, lost(tmp_path, [(1, 1, 1000)]), {})

    assert told.missing == ("nothing of the brokers' own logs was kept: check.evidence = false",)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda file: file.write_bytes(b"PAR1 no"), "history/kept.parquet: cannot be read"),
        (lambda file: file.unlink(), "was kept with this run"),
        (
            lambda file: pq.write_table(
                pq.read_table(file).set_column(
                    0, "run_id", pa.array(["another"] * pq.read_table(file).num_rows)
                ),
                file,
            ),
            "rows of another run than told/many",
        ),
        (
            lambda file: pq.write_table(pq.read_table(file).drop_columns(["offset"]), file),
            "column offset is missing",
        ),
    ],
)
def test_damaged_evidence_is_said_and_no_error(tmp_path: Path, spoil: Any, words: str) -> None:
    run = a_run(tmp_path / "run", stayed(), kept_log(1, 0, 1, ms=2000))
    spoil(run.path / "history" / "kept.parquet")

    told = tell(run, lost(tmp_path, [(1, 1, 1000)]), {})

    assert words in told.missing[0]
    assert "in whose logs it was is not known" in told.stories[0]["sentence"]


def test_rows_that_lack_everything_are_passed_over(tmp_path: Path) -> None:
    names = ("kept-record", "kept-tail", "kept-epoch", "led", "followed", "truncated", "not-kept")
    empty = Part(table="kept", rows=tuple({"event": n, "topic": "harness"} for n in names), ms=1)
    run = a_run(tmp_path / "run", stayed(), empty)

    [only] = tell(run, lost(tmp_path, [(1, 1, 1000)]), {}).stories

    assert "is not known" in only["sentence"]


def test_a_damaged_table_changes_no_verdict(spark: SparkSession, tmp_path: Path) -> None:
    parts = (sent(0, at=0), sent(1, at=1), final_read(0), *moved(ms=1000), kept_log(1, 0, 1, ms=2))
    path = story_runs.write_story(story(*parts, acks="1"), tmp_path / "run", "told/damaged")
    [whole] = checked([path])
    (path / "history" / "kept.parquet").write_bytes(b"nothing")
    [damaged] = checked([path])

    assert damaged["verdict"] == whole["verdict"]
    assert damaged["reasons"] == whole["reasons"]
    assert "the brokers' own logs cannot be asked" in damaged["stories"]["missing"][0]
    assert "the brokers’ own logs" not in (path / "report.html").read_text()
    assert "Not all is known:" in (path / "report.html").read_text()
