"""How Spark's JVM is started, and ended."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.spark import session
from harness.checkout import ROOT

HALF_MIB = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // 2


@pytest.mark.parametrize(
    ("operations", "most_mib"),
    [
        (0, min(HALF_MIB, session.MOST_MIB)),
        (session.BIG - 1, min(HALF_MIB, session.MOST_MIB)),
        (session.BIG, HALF_MIB),
    ],
)
def test_a_check_takes_half_of_the_memory_at_most(operations: int, most_mib: int) -> None:
    assert f"-Xmx{max(512, most_mib)}m" in session._command(operations, None)


@pytest.mark.parametrize(
    ("made", "train", "shared"),
    [
        (True, False, "-XX:SharedArchiveFile={}/made.jsa"),
        (False, False, None),
        (True, True, "-XX:ArchiveClassesAtExit={}/new.jsa"),
        (False, True, "-XX:ArchiveClassesAtExit={}/new.jsa"),
    ],
)
def test_classes_are_shared_where_an_archive_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: bool, train: bool, shared: str | None
) -> None:
    archive = tmp_path / "made.jsa"
    monkeypatch.setattr(session, "archive_path", lambda: archive)
    if made:
        archive.touch()
    command = session._command(0, tmp_path / "new.jsa" if train else None)

    expected = [] if shared is None else [shared.format(tmp_path)]
    assert [part for part in command if "Archive" in part] == expected


def test_the_jvm_s_answer_is_its_port_and_a_secret() -> None:
    """Whatever follows."""
    answer = struct.pack(">ii", 4321, 6) + b"secret" + b"and more"

    assert session._read_answer(answer) == (4321, "secret")


@pytest.mark.parametrize(("command", "answers"), [("sleep 0.1; : > $0; cat", True), ("", False)])
def test_an_answer_is_awaited_for_as_long_as_the_jvm_lives(
    tmp_path: Path, command: str, answers: bool
) -> None:
    answer = tmp_path / "gateway"
    with subprocess.Popen(["sh", "-c", command, str(answer)], stdin=subprocess.PIPE) as process:
        assert session._answered(process, answer) is answers


OF_A_MASTER = """
from analysis.spark.session import session
with session(master="local[1]") as spark:
    jvm = spark.sparkContext._gateway.proc
    assert jvm.poll() is None
assert jvm.poll() is not None
"""


@pytest.mark.jvm
def test_the_jvm_that_pyspark_started_for_a_master_ends_with_its_session() -> None:
    """It would idle for as long as we live."""
    subprocess.run([sys.executable, "-c", OF_A_MASTER], check=True, cwd=ROOT)


@pytest.mark.parametrize(("limit_s", "code"), [(0.01, -9), (60, 0)])
def test_a_jvm_that_does_not_end_in_time_is_killed(limit_s: float, code: int) -> None:
    """One that writes an archive is given more of it."""
    command = ["sh", "-c", "cat; sleep 0.3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        session._end(process, limit_s)

    assert process.returncode == code


@pytest.mark.jvm
def test_what_spark_needs_for_a_while_is_in_the_run_s_folder_and_removed(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from analysis.spark.session import session
run = Path({str(tmp_path)!r})
with session(scratch=run) as spark:
    [folder] = run.iterdir()
    assert folder.name.startswith(".spark-")
    assert any(folder.iterdir())
    (folder / "left by one that was killed").touch()
assert not list(run.iterdir())
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


ASKED_FOR_NOTHING_KNOWN = """
import contextlib, tempfile
from pathlib import Path
from pyspark.errors import AnalysisException
from analysis.spark.session import session
with session({master}) as spark:
    for query in ("select nosuch(1)", "select * from nosuch"):
        with contextlib.suppress(AnalysisException):
            spark.sql(query)
"""


@pytest.mark.jvm
@pytest.mark.parametrize("master", [None, "local[1]"])
def test_no_warehouse_is_left_where_the_user_is_nor_among_temporary_files(
    tmp_path: Path, master: str | None
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    subprocess.run(
        [sys.executable, "-c", ASKED_FOR_NOTHING_KNOWN.format(master=repr(master))],
        check=True,
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
    )

    assert [] == list(here.iterdir())
    assert [] == list(temporary.iterdir())


def test_a_folder_that_spark_would_take_for_two_is_not_used(tmp_path: Path) -> None:
    run = tmp_path / "a,b"
    run.mkdir()

    with session._temporary(run) as options:
        assert [] == options
        assert [] == list(run.iterdir())
    with session._temporary(tmp_path) as options:
        assert len(options) == len(list(tmp_path.glob(".spark-*"))) == 1


def test_spark_s_python_workers_take_no_package_of_the_user_s_folder(spark: SparkSession) -> None:
    """They are started as `python -m`, by a JVM that works in that folder."""
    asked = spark.sparkContext.parallelize(["__import__('sys').flags.safe_path"], 1)

    assert [True] == asked.map(eval).collect()
