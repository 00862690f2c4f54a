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

ASKED_FOR_NOTHING_KNOWN = """
import contextlib, psutil, sys
from pathlib import Path
from pyspark.errors import AnalysisException
from analysis.spark.session import session
def ask(spark):
    for query in ("select nosuch(1)", "select * from nosuch"):
        with contextlib.suppress(AnalysisException):
            spark.sql(query)
"""
OF_A_MASTER = """
with session(master="local[1]") as spark:
    jvm = spark.sparkContext._gateway.proc
    assert jvm.poll() is None
    ask(spark)
assert jvm.poll() is not None
"""
IN_A_RUN = """
run = Path(sys.argv[1])
with session(scratch=run) as spark:
    [jvm] = psutil.Process().children()
    ask(spark)
    [folder] = run.iterdir()
    assert folder.name.startswith(".spark-")
    assert any(folder.iterdir())
    (folder / "left by one that was killed").touch()
assert not list(run.iterdir())
assert not jvm.is_running()
"""


@pytest.mark.jvm
@pytest.mark.parametrize("code", [OF_A_MASTER, IN_A_RUN], ids=["of a master", "in a run"])
def test_a_session_ends_its_jvm_and_leaves_nothing(tmp_path: Path, code: str) -> None:
    """The JVM that PySpark starts for a master would idle for as long as we live; what Spark needs
    for a while is in the run's folder; no warehouse is left where the user is."""
    here, temporary, run = (tmp_path / name for name in ("here", "temporary", "run"))
    for folder in (here, temporary, run):
        folder.mkdir()
    subprocess.run(
        [sys.executable, "-c", ASKED_FOR_NOTHING_KNOWN + code, str(run)],
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
