"""The check as a whole: what it leaves in a run's folder, and what it refuses in one sentence."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.anomalies import NAMES
from analysis.frames import schema
from analysis.job import job
from analysis.remote.shared_place import SharedPlace
from analysis.report import page
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import open_run
from harness.checkout import ROOT
from harness.history import tables
from tests.support.histories import fault, final_read, found, read, sent, story, with_story
from tests.support.story_runs import checked, write_story

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Report = dict[str, Any]
PARTS = (sent(1, at=0), sent(2, at=1), read(1, at=0), final_read(1))


# --- what it leaves


@with_story(*PARTS)
def test_every_table_is_there_empty_or_not(run_folder: Path) -> None:
    """One anomaly was found; the others have a table as well, with the same columns."""
    tables = {path.name: pq.read_table(path) for path in (run_folder / "analysis").iterdir()}

    assert set(tables) == {f"{name}.parquet" for name in (*NAMES, "windows", "timeline")}
    assert {name: tables[f"{name}.parquet"].num_rows for name in NAMES} == {
        **dict.fromkeys(NAMES, 0),
        "lost": 1,
    }
    for name in NAMES:
        assert tables[f"{name}.parquet"].schema.names == schema.EVIDENCE.names


@pytest.mark.parametrize("most", [0, 10_000])
def test_where_many_are_suspected_spark_writes_what_it_finds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """So that no more is held in memory than some rows at a time; the evidence is the same."""
    take, held = SharedPlace.take, []

    def taking(self: SharedPlace, rows: DataFrame, *, few: bool) -> Iterator[pa.Table]:
        held.append(few)
        return take(self, rows, few=few)

    monkeypatch.setattr(SharedPlace, "take", taking)
    monkeypatch.setattr(job, "FEW", most)
    (report,) = checked([write_story(story(*PARTS), tmp_path / "run", "told/1")])

    assert (held, found(report, "lost")) == ([most > 0], [2])


@with_story(*PARTS)
def test_the_report_is_written_as_returned(report: Report, run_folder: Path) -> None:
    """report.json says the same, and nothing unfinished is left beside it."""
    assert json.loads((run_folder / "report.json").read_text()) == report
    assert {path.name for path in run_folder.iterdir()} == {
        "run.json",
        "history",
        "analysis",
        "report.json",
        "report.html",
        "junit.xml",
    }


@with_story(*PARTS, fault(ms=5))
def test_every_key_of_the_report_is_documented(report: Report) -> None:
    """docs/report.md names each of them, down to the rows of its lists."""
    text = (ROOT / "docs" / "report.md").read_text()

    assert {key for key in _keys(report) if f"`{key}`" not in text} == set()


@with_story(*PARTS)
def test_the_timeline_has_no_holes(run_folder: Path) -> None:
    """A load of ten seconds in buckets of 100 ms; both acks are in the first."""
    rows = pq.read_table(run_folder / "analysis" / "timeline.parquet").to_pylist()

    assert [row["t_s"] for row in rows] == [n / 10 for n in range(101)]
    assert [row["acks"] for row in rows[:2]] == [2, 0]
    assert rows[0]["lost"] == 1
    assert rows[0]["ack_p50_ms"] == pytest.approx(5.0)
    assert rows[1]["ack_p50_ms"] is None


@with_story(
    *(sent(n, at=n, ms=n, took=n, due=0) for n in range(1, 101)),
    final_read({n: n for n in range(1, 101)}),
)
def test_latency_counts_from_the_time_a_send_was_due(report: Report) -> None:
    """All were due at 0; send n began at n ms and took n ms more."""
    assert report["latency_ms"]["ack"] == {
        "p50": 101.0,
        "p95": 190.1,
        "p99": 198.02,
        "p999": 199.8,
        "max": 200.0,
    }
    assert report["rates"]["acks_per_s"] == pytest.approx(10.0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of which one record is lost."""
    return write_story(story(*PARTS), tmp_path / "run", "told/run")


def test_a_second_check_replaces_the_first(spark: SparkSession, run: Path) -> None:
    """Nothing of the first is left when the second sees another history."""
    (first,) = checked([run])
    shutil.rmtree(run / "history")
    write_story(story(sent(1, at=0), final_read(1)), run, "told/run")
    (second,) = checked([run])

    assert (found(first, "lost"), found(second, "lost")) == ([2], [])
    assert pq.read_table(run / "analysis" / "lost.parquet").num_rows == 0
    assert "timeline" in (run / "report.html").read_text()


def test_a_check_that_fails_leaves_the_last_report(
    spark: SparkSession, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """report.json is the last thing written."""
    checked([run])
    before = (run / "report.json").read_text()

    def fail(*_: object) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(page, "render", fail)
    with pytest.raises(OSError, match="no space"):
        checked([run])

    assert (run / "report.json").read_text() == before
    assert [path for path in run.iterdir() if path.name.startswith(".")] == []


def test_runs_are_checked_together_and_kept_apart(spark: SparkSession, tmp_path: Path) -> None:
    """The same values in two runs; asked for twice, a run is reported twice."""
    losing = write_story(story(*PARTS), tmp_path / "a", "told/a")
    keeping = write_story(
        story(sent(1, at=0), sent(2, at=1), final_read(1, 2)), tmp_path / "b", "told/b"
    )
    reports = checked([losing, keeping, tmp_path / "." / "a"])

    assert [report["run_id"] for report in reports] == ["told/a", "told/b", "told/a"]
    assert [found(report, "lost") for report in reports] == [[2], [], [2]]


def test_an_empty_history_is_unknown(spark: SparkSession, run: Path) -> None:
    """No operation at all."""
    for file in (run / "history" / "operations").iterdir():
        file.unlink()
    (report,) = checked([run])

    assert report["verdict"] == "unknown"
    assert report["reasons"][0] == "nothing was sent"
    assert report["latency_ms"] == {"ack": None, "delivery": None}


# --- what it refuses


def _set(key: str, value: object) -> Callable[[Path], object]:
    def change(run: Path) -> None:
        record = json.loads((run / "run.json").read_text())
        record[key] = value
        (run / "run.json").write_text(json.dumps(record))

    return change


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def _spoil(file: Path) -> None:
    """Overwrite the pages and leave the footer."""
    content = bytearray(file.read_bytes())
    length = int.from_bytes(content[-8:-4], "little")
    content[4 : -8 - length] = b"\xff" * (len(content) - 12 - length)
    file.write_bytes(content)


def _without(column: str) -> Callable[[Path], object]:
    def change(run: Path) -> None:
        file = run / "history" / "operations" / "producer-0.parquet"
        pq.write_table(pq.read_table(file).drop_columns([column]), file)

    return change


OPERATIONS = Path("history") / "operations" / "producer-0.parquet"


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (shutil.rmtree, "not a run: it has no run.json"),
        (lambda run: (run / "run.json").write_text("{"), "run.json: cannot be read"),
        (lambda run: (run / "run.json").write_text("[]"), "not a run of this version"),
        (_set("schema", 99), "schema 1 or 2 expected"),
        (_set("scenario", {}), "scenario.title is missing"),
        (lambda run: shutil.rmtree(run / "history"), "history: missing"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_one_sentence(
    spark: SparkSession, run: Path, break_it: Callable[[Path], object], words: str
) -> None:
    break_it(run)

    with pytest.raises(CheckError) as refused:
        checked([run])
    assert words in str(refused.value)
    assert str(run) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (run / "report.json").exists()


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (_set("run_id", "other/1"), "producer-0.parquet: it holds what no worker records: rows "),
        (lambda run: (run / "history" / "faults.parquet").unlink(), "faults.parquet: missing"),
        (lambda run: (run / "history" / "views.parquet").write_text("no"), "views.parquet: cannot"),
        (lambda run: _cut(run / OPERATIONS), "producer-0.parquet: cannot be read as Parquet"),
        (_without("offset"), "producer-0.parquet: column offset is missing, expected int64"),
        (lambda run: _spoil(run / OPERATIONS), "producer-0.parquet: cannot be read as Parquet"),
    ],
)
def test_a_damaged_table_is_named_and_what_is_left_convicts_nobody(
    spark: SparkSession, run: Path, break_it: Callable[[Path], object], words: str
) -> None:
    break_it(run)
    (report,) = checked([run])

    assert report["verdict"] == "unknown"
    assert any(words in reason for reason in report["reasons"])
    assert "Data was lost" not in report["sentence"]


def test_a_demand_that_makes_no_sense_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """It names the file and the key, and the nearest right name."""
    run = write_story(story(*PARTS, expect={"losst": ">= 1"}), tmp_path / "run", "told/run")

    with pytest.raises(CheckError, match=r"run.json: scenario.expect.losst: .* did you mean lost"):
        checked([run])


def test_a_copy_beside_its_run_is_refused(run: Path, tmp_path: Path) -> None:
    """Two folders, one run_id: their operations could not be told apart."""
    copy = shutil.copytree(run, tmp_path / "copy")

    with pytest.raises(CheckError, match="are the same run told/run: check one of them"):
        checked([run, copy])


def test_no_run_at_all_is_no_work() -> None:
    assert checked([]) == []


# --- the tables


def test_operations_are_read_as_they_were_sealed() -> None:
    """Both lists of columns say the same."""
    names = {"bigint": "int64", "int": "int32", "string": "string"}
    columns = [(f.name, names[f.dataType.simpleString()]) for f in schema.OPERATIONS.fields]

    assert columns == list(tables.OPERATION_COLUMNS)


def test_the_load_of_a_killed_run_is_bounded_by_its_operations(tmp_path: Path) -> None:
    """Without phases: from the first send to the last end, the final read left out."""
    parts = (sent(1, at=0, ms=100), sent(2, at=1, ms=400, took=50), final_read(1, 2))
    run = open_run(write_story(story(*parts, phases=[]), tmp_path / "run", "told/run"))

    assert (run.load_end_ns - run.load_start_ns) / 1e6 == pytest.approx(350)


# --- Spark's start


OPEN_A_SESSION = """
import sys
from analysis.spark.session import session
with session() as spark:
    print(spark.range(3).count(), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.jvm
def test_the_jvm_of_a_parent_that_is_killed_ends_and_leaves_nothing(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", OPEN_A_SESSION],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={tmp_path}",
        },
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    assert parent.stdout.readline() == "3\n"
    (jvm,) = psutil.Process(parent.pid).children(recursive=True)
    parent.send_signal(signal.SIGKILL)
    parent.stdin.close()
    parent.wait()

    _, alive = psutil.wait_procs([jvm], timeout=60)
    assert alive == []
    assert list(tmp_path.iterdir()) == []


def _keys(value: object) -> set[str]:
    """Every key of the report's own making; the run's settings and names of readers are not."""
    if isinstance(value, list):
        return set().union(*map(_keys, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    if "consumer_lag" in value:
        value = {**value, "consumer_lag": list(value["consumer_lag"].values())}
    own = {key: v for key, v in value.items() if key not in NAMES}
    open_tables = {"configuration", "versions", "host", "before", "after"}
    inner = [_keys(v) for key, v in value.items() if key not in open_tables]
    return set(own).union(*inner)
