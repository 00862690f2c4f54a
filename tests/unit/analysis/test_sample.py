"""The run whose page README shows: it is judged again as it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from harness.checkout import DOCS, ROOT
from tests.support.story_runs import checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = DOCS / "sample" / "study-1"


def test_the_sample_s_report_is_what_a_check_makes_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """`kafka-harness check docs/sample/study-1` makes its page anew."""
    copy = tmp_path / "run"
    shutil.copytree(SAMPLE, copy)
    shutil.rmtree(copy / "analysis")
    shown = (copy / "report.html").read_text()

    [made] = checked([copy])

    assert made == json.loads((SAMPLE / "report.json").read_text())
    assert (copy / "report.html").read_text() == shown


def test_readme_shows_its_last_lines() -> None:
    report = json.loads((SAMPLE / "report.json").read_text())
    readme = (ROOT / "README.md").read_text()

    assert f"outcome  {report['outcome']['words']}\n" in readme
    assert f"verdict  {report['verdict'].upper()}: {report['verdict_words']}\n" in readme
    assert f"CAP      {report['cap']['words']}\n{report['sentence']}\n" in readme
