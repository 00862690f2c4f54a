"""Spark that is made ready before there is anything to check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.checkout import ROOT
from tests.support import histories, story_runs

pytestmark = pytest.mark.jvm

READY = """
import sys
from pathlib import Path
from analysis.job import job
from analysis.spark import ahead
from analysis.spark.jvm import BIG
from analysis.spark.session import SMALL, session
with ahead.Ahead(scratch=Path(sys.argv[1])) as made:
    made.start()
    spark = made.spark(operations=3)
    report = job.check([Path(sys.argv[1])], started=spark)[0]
    print(report.verdict, spark.conf.get("spark.sql.codegen.wholeStage"))
    job.check([Path(sys.argv[1])], started=spark)  # it goes on
    with session(operations=SMALL, started=spark):  # a history that is no small one
        print(spark.conf.get("spark.sql.codegen.wholeStage"))
    assert made.spark(operations=BIG) is None  # its memory is a small check's
    print(job.check([Path(sys.argv[1])])[0].verdict)  # as if there had been none
"""
LONG = """
import sys, threading
from pathlib import Path
from analysis.spark import ahead
begun = threading.Event()
def rehearse(spark, scratch):
    begun.set()
    spark.range(10**15).count()
with ahead.Ahead(scratch=Path(sys.argv[1]), rehearsal=lambda: rehearse) as made:
    made.start()
    begun.wait()
    print(made.spark(operations=3).range(3).count())
"""
WITHOUT = """
import sys
from pathlib import Path
from analysis.spark import ahead
import analysis.spark.session
def odd(*args, **more):
    raise RuntimeError("no Spark today")
analysis.spark.session.session = odd
with ahead.Ahead(scratch=Path(sys.argv[1])) as made:
    made.start()
    print(made.spark(operations=3))
with ahead.Ahead(scratch=Path(sys.argv[1])) as made:
    print(made.spark(operations=3))
"""


def said(program: str, *words: str) -> list[str]:
    argv = [sys.executable, "-c", program, *words]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_check_goes_on_in_the_session_that_is_there(tmp_path: Path) -> None:
    story_runs.write_story(histories.story(histories.client_error()), tmp_path, "told/1")

    assert said(READY, str(tmp_path)) == ["unknown", "false", "true", "unknown"]


def test_who_asks_for_it_does_not_wait_for_the_made_up_run(tmp_path: Path) -> None:
    assert said(LONG, str(tmp_path)) == ["3"]


def test_where_it_could_not_start_or_was_not_asked_for_there_is_none(tmp_path: Path) -> None:
    assert said(WITHOUT, str(tmp_path)) == ["None", "None"]
