"""How Spark's JVM is started, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.spark.jvm import BIG
from analysis.spark.session import session
from harness.checkout import ROOT

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


def test_spark_s_python_workers_take_no_package_of_the_user_s_folder(spark: SparkSession) -> None:
    """They are started as `python -m`, by a JVM that works in that folder."""
    asked = spark.sparkContext.parallelize(["__import__('sys').flags.safe_path"], 1)

    assert [True] == asked.map(eval).collect()


@pytest.mark.parametrize(("operations", "asked"), [(BIG, 2), (BIG - 1, 0)])
def test_before_a_big_history_a_live_session_lets_go_of_what_is_left(
    monkeypatch: pytest.MonkeyPatch, operations: int, asked: int
) -> None:
    """A small check would wait for it."""
    calls: list[str] = []
    system = SimpleNamespace(gc=lambda: calls.append("gc"))
    there: Any = SimpleNamespace(_jvm=SimpleNamespace(System=system))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: there)

    with session(operations=operations) as found:
        assert found is there
    assert asked == len(calls)
