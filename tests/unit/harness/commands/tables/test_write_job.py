"""The one-file job: it needs PySpark alone, and finds what the check finds."""

from __future__ import annotations

import ast
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import py4j  # type: ignore[import-untyped]
import pyspark
import pytest
from rich.console import Console

from analysis.tables.job import main
from harness.commands.tables.check_tables import Asked, check_tables
from harness.commands.tables.write_job import MAIN, known, modules, write_job
from harness.foreign.about import About
from harness.foreign.imported_run import ImportRequest
from harness.model.exit_codes import BAD_ARGUMENTS, INVALID
from harness.model.runs.run_folder import StoreError
from tests.support.two_tables import TwoTables, as_csv, sent, was_read

SAFE = About(defaults=True, faults="none", producer={"acks": "all"}, replication_factor=1)
MS = 10**6
# Each send takes 5 ms, but the second waits for 900: nothing was acknowledged meanwhile.
SENT_MS = ((0, 5), (10, 910), (920, 925), (0, 905), (0, 5))
STORY = TwoTables(
    sends=[
        {**send, "start_ns": begun * MS, "end_ns": ended * MS}
        for send, (begun, ended) in zip(
            [sent("a", 0), sent("é,1", 1), sent("c", 2), sent("d", 0, 1), sent("e", 1, 2)],
            SENT_MS,
            strict=True,
        )
    ],
    reads=[
        {**row, "end_ns": 2000 * MS}
        for row in [
            *(was_read("a", 0), was_read("c", 2), was_read("c", 3), was_read("d", 0, 1)),
            *(was_read("e", 0, 2), was_read("e", 1, 2)),
        ]
    ],
    complete=True,
    about=SAFE,
)
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
# Spark's own settings are for many rows: 200 tasks a query, and code compiled for each.
FEW_ROWS = (
    *("--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
    *("--conf", "spark.sql.shuffle.partitions=1"),
    *("--conf", "spark.sql.codegen.wholeStage=false"),
)
LIMIT_S = 300


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, str]:
    """An environment whose Python has PySpark and nothing else of ours or of anybody's."""
    libraries, python = tmp_path / "libraries", tmp_path / "python"
    libraries.mkdir()
    for package in (pyspark, py4j):
        (libraries / package.__name__).symlink_to(Path(package.__file__ or "").parent)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n')
    python.chmod(0o755)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(libraries)}


def submit(job: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """What spark-submit says of a job, elsewhere."""
    elsewhere = job.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    command = [str(SUBMIT), "--master", "local[1]", *FEW_ROWS, str(job), *words]
    done = subprocess.run(
        command,
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert [] == list(elsewhere.iterdir())
    return done


def test_it_finds_what_the_check_finds_where_nothing_else_is_installed(tmp_path, spark, alone):
    sends, reads = STORY.files(tmp_path / "tables", as_csv)
    request = ImportRequest(name="t", results=tmp_path / "results", command="check", about=SAFE)
    asked = Asked(sends=sends, reads=reads, complete=True, request=request)
    code = check_tables(asked, Console(file=(tmp_path / "out").open("w")))
    [file] = (tmp_path / "results" / "t").glob("2*/report.json")
    report = json.loads(file.read_text())
    write_job(job := tmp_path / "job.py", SAFE)

    for package in ("harness", "analysis", "numpy", "pyarrow", "pydantic"):
        imported = subprocess.run(
            [alone["PYSPARK_PYTHON"], "-c", f"import {package}"], env=alone, cwd="/", check=False
        )
        assert imported.returncode == 1
    done = submit(job, alone, "--sends", sends, "--reads", reads, "--final-read-is-complete")

    lines = done.stdout.splitlines()
    table = {
        line.split()[0]: line.split()[1] for line in lines if line.split()[0] in report["anomalies"]
    }
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert {name: str(each["count"]) for name, each in report["anomalies"].items()} == table
    assert {"lost": 1, "duplicate": 1, "hole": 1} == {
        name: each["count"] for name, each in report["anomalies"].items() if each["count"]
    }
    assert [("duplicate", "c"), ("hole", None), ("lost", "é,1")] == [
        (row["anomaly"], row.get("value")) for row in found if "anomaly" in row
    ]
    windows = [row for row in found if "unavailable" in row]
    assert [(row["kind"], row["partition"], row["attempts"]) for row in report["windows"]] == [
        (row["unavailable"], row["partition"], row["attempts"]) for row in windows
    ]
    lengths = [(row["end_ns"] - row["start_ns"]) / 1e9 for row in windows]
    assert lengths == pytest.approx([row["length_s"] for row in report["windows"]])
    assert len(windows) == 2
    assert f"verdict  {report['verdict'].upper()}" in lines
    (note,) = report["configuration"]["notes"]
    assert note.startswith("1 record is below the first acknowledged offset of a partition, and an")
    assert note in lines
    assert INVALID == code == done.returncode


def test_bad_tables_have_their_sentence_and_exit_code(spark, monkeypatch, capsys):
    """Its `main` here, in the session that is there and goes on."""
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    monkeypatch.setattr(type(spark.sparkContext), "setLogLevel", lambda *_: None)

    code = main(["--sends", "no.csv", "--reads", "no.csv"], known(About()))

    assert BAD_ARGUMENTS == code
    assert "error: no.csv: there is no such file or folder\n" == capsys.readouterr().err


def test_bad_options_have_their_sentence_and_exit_code_before_there_is_a_spark(tmp_path, alone):
    write_job(job := tmp_path / "job.py", About())
    python = [alone["PYSPARK_PYTHON"], str(job), "--sends", "no.csv"]

    wrong = subprocess.run(python, env=alone, cwd="/", capture_output=True, text=True, check=False)

    assert BAD_ARGUMENTS == wrong.returncode
    assert "error: the following arguments are required: --reads" in wrong.stdout + wrong.stderr


def test_its_modules_import_pyspark_and_the_standard_library_alone():
    found = {
        name.split(".")[0]
        for file in modules().values()
        for node in ast.parse(file.read_text()).body
        for name in _imported(node)
    }

    others = found - set(sys.stdlib_module_names) - {"analysis", "harness"}
    assert {"pyspark", "py4j"} == others
    assert MAIN in modules()


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_the_same_sources_make_the_same_file(tmp_path):
    for name in ("one.py", "two.py"):
        write_job(tmp_path / name, SAFE)

    one, two = ((tmp_path / name).read_text() for name in ("one.py", "two.py"))
    assert one == two.replace("two.py", "one.py")


def test_a_place_where_no_file_can_be_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no file can be there"):
        write_job(tmp_path / "no" / "job.py", SAFE)
