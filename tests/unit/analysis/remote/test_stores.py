"""Runs in a store are checked as those in a folder are, and what is wrong with them is told so.

The store is Hadoop's viewfs, which shows a folder of this machine under a URI: no server, and the
same way through the file systems of Spark's JVM.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.job import job
from analysis.remote.shared_place import SharedPlace
from analysis.remote.store import Store
from harness.checkout import ROOT
from tests.support.story_runs import checked

GOLDEN = ROOT / "tests" / "golden" / "acks-1-leader-killed"
MADE = {"analysis", "report.json", "report.html", "junit.xml"}


@pytest.fixture
def uri(spark: SparkSession, tmp_path: Path) -> str:
    """Of a run in the folder `run` beside the test."""
    shutil.copytree(GOLDEN, tmp_path / "run")
    name = tmp_path.name.replace("_", "-")
    link = f"fs.viewfs.mounttable.{name}.link./results"
    hadoop(spark).set(link, f"file://{tmp_path}")
    return f"viewfs://{name}/results/run"


def hadoop(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.hadoopConfiguration()


def refused(uri: str, spark: SparkSession, kind: type[Exception] = job.CheckError) -> str:
    with pytest.raises(kind) as told:
        checked([uri], started=spark)
    sentence = str(told.value)
    assert sentence.startswith(uri.rstrip("/")), sentence
    assert "\n" not in sentence
    return sentence


def test_a_run_in_a_store_has_the_report_of_its_folder(spark, uri, tmp_path, golden_runs):
    """What another check made there is replaced."""
    before = {each.name for each in (tmp_path / "run").iterdir()}
    odd = tmp_path / "run" / "analysis" / "of-another-release.parquet"
    odd.mkdir(parents=True)
    (tmp_path / "run" / "report.json").write_text("old")
    [there] = checked([f"{uri}/"], started=spark)

    assert not odd.exists()
    assert there == json.loads((tmp_path / "run" / "report.json").read_text())
    for name in ("report.json", "report.html", "junit.xml"):
        here = golden_runs / GOLDEN.name / name
        assert here.read_text() == (tmp_path / "run" / name).read_text()
    left = {each.name for each in (tmp_path / "run").iterdir() if not each.name.endswith(".crc")}
    assert left == before | MADE


def test_a_damaged_table_is_damage_there_too(spark, uri, tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "same")
    for name in ("run", "same"):
        [table, *_] = sorted((tmp_path / name / "history" / "operations").iterdir())
        table.write_bytes(table.read_bytes()[:-100])
    [there] = checked([uri], started=spark)
    [here] = checked([tmp_path / "same"], started=spark)

    assert here == there
    assert "unknown" == there["verdict"]


def test_a_folder_without_a_run_is_told(spark, uri, tmp_path):
    (tmp_path / "run" / "run.json").unlink()

    assert "no run there: give the folder that holds a run.json" in refused(uri, spark)


def test_a_history_that_is_not_sealed_is_told(spark, uri, tmp_path):
    (tmp_path / "run" / "history" / "sealed.json").unlink()

    assert "its history is not sealed" in refused(uri, spark)


def test_a_sentence_about_the_scratch_folder_names_the_uri(spark, uri, tmp_path):
    (tmp_path / "run" / "run.json").write_text("{")

    assert f"{uri}/run.json" in refused(uri, spark)


@pytest.mark.parametrize("scheme", ["s3a", "s3", "abc"])
def test_a_store_without_its_connector_is_told(spark, scheme):
    sentence = refused(f"{scheme}://bucket/run", spark)

    assert f"Spark has no connector for {scheme}" in sentence
    assert "spark.jars.packages" in sentence


def test_a_store_that_nobody_answers_for_is_unreachable(spark):
    hadoop(spark).set("ipc.client.connect.max.retries", "0")

    assert "cannot be reached" in refused("hdfs://127.0.0.1:1/run", spark, job.Unreachable)
    assert "cannot be reached" in refused("hdfs://no-host.invalid:1/r", spark, job.Unreachable)


@pytest.mark.parametrize("uri", ["hdfs://", "hdfs:///run"])
def test_a_uri_that_names_nobody_is_told(spark, uri):
    assert "not a URI of a run" in refused(uri, spark)


def test_what_cannot_hold_files_is_told(spark):
    assert "no store for runs" in refused("http://127.0.0.1:1/run", spark)


def test_rows_that_executors_wrote_elsewhere_are_missed(spark, tmp_path):
    """As on a disk that is not shared: Spark says that it has written them, and they are not
    here."""

    class Nowhere(Store):
        def fetch(self, name: str, to: Path) -> None:
            assert (tmp_path / name).is_dir()

    store = Nowhere(uri=str(tmp_path), files=None, jvm=None)
    place = SharedPlace(folder=tmp_path / "here", store=store, shared=False)
    with pytest.raises(job.CheckError, match="wrote 3 rows of evidence there, and 0 are found"):
        list(place.take(spark.range(3), few=False))


def test_a_store_of_objects_never_shows_a_report_of_other_evidence(spark, uri, monkeypatch):
    """What cannot be renamed in one step is taken away first, and put last."""
    steps: list[tuple[str, str]] = []

    def noted(name: str) -> Callable[..., None]:
        real = getattr(Store, name)

        def call(self: Store, *given: Any) -> None:
            steps.append((name, given[-1]))
            real(self, *given)

        return call

    monkeypatch.setattr(Store, "has_renames", False)
    for name in ("remove", "put_folder", "put"):
        monkeypatch.setattr(Store, name, noted(name))
    checked([uri], started=spark)

    assert ("remove", "report.json") == steps[0]
    assert ("put", "report.json") == [step for step in steps if not step[1].startswith(".")][-1]
