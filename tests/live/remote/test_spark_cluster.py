"""Runs in a store, checked by a Spark cluster whose workers see neither our disk nor our code.

The executors have Spark's jars and nothing else: no project, no NumPy, no PyArrow, no PySpark and
no Python that has them. The findings are those of the same runs checked in their folders.

The store is an HDFS; with TEST_S3=1 it is one that speaks S3, too (`make test-s3`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from bench.checker import histories
from harness.checkout import ROOT
from harness.model.exit_codes import BAD_ARGUMENTS, INVALID, UNKNOWN
from tests.support.commands import COMMAND, Ran, ran
from tests.support.labs.spark_cluster import HOST, MEMORY, SparkCluster, standalone
from tests.support.labs.stores import SPARK, Filled, hdfs, s3
from tests.support.two_tables import TwoTables, as_csv, sent, was_read

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

GOLDEN = "acks-1-leader-killed"
PLANTED = "planted"  # two of each anomaly, in transactions and groups; sealed with digests
HALF_LOST = "scattered-lost"  # more suspects than a plan has as rows
RUNS = (GOLDEN, PLANTED, HALF_LOST)
OPERATIONS = 30_000
MADE = ("analysis", "report.json", "report.html", "junit.xml")
# Short lives of little memory: as Spark starts for a small check on this machine.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.executor.memory": MEMORY,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.driver.extraJavaOptions": QUICK,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",  # 200 parts of few rows cost more than they save
}
MS = 10**6
STORY = TwoTables(
    sends=[
        sent(f"v{number}", number // 3, number % 3, start_ns=number * MS, end_ns=(number + 1) * MS)
        for number in range(300)
    ],
    reads=[was_read(f"v{number}", number // 3, number % 3) for number in range(300) if number != 5],
)
SUBMIT = Path(SPARK, "bin", "spark-submit")
WITH_S3 = pytest.mark.skipif("TEST_S3" not in os.environ, reason="690 MB of jars: make test-s3")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A store with runs, the same runs in folders, and a Spark cluster that sees only the store."""

    store: Filled
    cluster: SparkCluster
    folders: Path
    environment: dict[str, str]

    def check(self, *runs: str, master: bool = True) -> Ran:
        """`kafka-harness check` to its end."""
        where = ["--master", self.cluster.master] if master else []
        return self.call("check", *runs, *where)

    def call(self, *words: str) -> Ran:
        """Any command of `kafka-harness` to its end."""
        return ran([*COMMAND, *words], self.folders, limit_s=300, environment=self.environment)


@pytest.fixture(scope="module", params=[hdfs, pytest.param(s3, marks=WITH_S3)])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    scratch, folders = (tmp_path_factory.mktemp(name) for name in ("scratch", "it's results"))
    shutil.copytree(ROOT / "tests" / "golden" / GOLDEN, folders / GOLDEN)
    for shape in (PLANTED, HALF_LOST):
        histories.write(folders / shape, operations=OPERATIONS, shape=shape)
    hidden = [ROOT, folders, Path(sys.prefix), SPARK.parent]
    with request.param(scratch) as store, standalone(scratch, workers=2, hidden=hidden) as cluster:
        for name in RUNS:
            store.put(folders / name, f"/results/{name}")
        yield Place(
            store=store,
            cluster=cluster,
            folders=folders,
            environment=told(scratch / "conf", {**SETTINGS, **store.settings}),
        )


def told(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """The environment in which Spark is told so, as any user tells it."""
    folder.mkdir()
    lines = "".join(f"{key} {value}\n" for key, value in settings.items())
    (folder / "spark-defaults.conf").write_text(lines)
    return {
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_HOSTNAME": HOST,
    }


@pytest.fixture(scope="module")
def both(place: Place) -> tuple[Ran, Ran]:
    """The same check of the store by the cluster, and of the folders by this process."""
    away = place.check(*(f"{place.store.uri}/results/{name}" for name in RUNS))
    assert away.code == INVALID, away.out + away.err
    home = place.check(*(str(place.folders / name) for name in RUNS), master=False)
    for name in RUNS:
        for made in MADE:
            place.store.fetch(f"/results/{name}/{made}", place.folders / f"{name}-away" / made)
    return away, home


def report_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def rows_of(table: Path) -> list[str]:
    """All rows of a table, in any order."""
    return sorted(map(repr, ds.dataset(table, format="parquet").to_table().to_pylist()))


def test_both_come_to_the_same_end(both, place):
    away, home = both

    assert home.code == away.code, away.err + home.err
    assert "".join(home.out.replace(str(place.folders), "X").split()) == "".join(
        away.out.replace(f"{place.store.uri}/results", "X").split()
    )


@pytest.mark.parametrize("name", RUNS)
def test_the_findings_are_the_same(both, place, name):
    home, away = place.folders / name, place.folders / f"{name}-away"

    assert report_of(home) == report_of(away)
    for file in ("report.html", "junit.xml"):
        assert (home / file).read_text() == (away / file).read_text()


@pytest.mark.parametrize("name", RUNS)
def test_the_evidence_is_the_same_row_by_row(both, place, name):
    home, away = (place.folders / each / "analysis" for each in (name, f"{name}-away"))
    tables = sorted(each.name for each in home.iterdir())

    assert tables == sorted(each.name for each in away.iterdir())
    for table in tables:
        assert rows_of(home / table) == rows_of(away / table), table


def test_each_worker_computed(both, place):
    assert all(place.cluster.executors())


@pytest.mark.parametrize("name", RUNS)
def test_nothing_unfinished_is_left_in_the_store(both, place, name):
    there = {each.name for each in (place.folders / name).iterdir()} | {*MADE}

    assert there == place.store.names(f"/results/{name}")


def test_a_folder_that_executors_do_not_see_is_one_sentence(place):
    folder = place.folders / GOLDEN
    refused = place.check(str(folder))

    assert refused.code == BAD_ARGUMENTS
    assert f"the executors of {place.cluster.master} do not see this folder" in refused.err
    assert [] == list(folder.glob(".*"))


def test_a_question_to_such_a_folder_is_one_sentence_too(place):
    folder = place.folders / GOLDEN
    refused = place.call(
        "sql", "--master", place.cluster.master, str(folder), "select * from sends"
    )

    assert refused.code == BAD_ARGUMENTS
    assert (
        f"{folder}: the executors of {place.cluster.master} do not see this folder" in refused.err
    )
    assert "or ask without --master" in refused.err


@pytest.mark.parametrize("seen", [False, True])
def test_two_tables_become_a_run_only_where_executors_see_it(place, tmp_path, seen):
    sends, reads = STORY.files(tmp_path, as_csv)
    results = (tmp_path if seen else place.folders) / "of-tables"
    told = ("--sends", sends, "--reads", reads, "--final-read-is-complete")
    done = place.check(*told, "--results", str(results))

    assert done.code == (UNKNOWN if seen else BAD_ARGUMENTS), done.out + done.err
    assert results.exists() is seen
    if seen:
        [report] = results.glob("tables/2*/report.json")
        assert 1 == report_of(report.parent)["anomalies"]["lost"]["count"]
    else:
        assert f"{results}: the executors of {place.cluster.master} do not see" in done.err
        assert "300 sends" not in done.out


def test_the_job_of_one_file_checks_two_tables_of_the_store_on_the_cluster(place, tmp_path):
    """Nothing of ours is there but what the file has in it."""
    STORY.files(tmp_path / "tables", as_csv)
    place.store.put(tmp_path / "tables", "/tables")
    written = place.call("check", "--write-job", str(tmp_path / "job.py"))
    assert written.code == 0, written.err
    tables = f"{place.store.uri}/tables"
    words = f"--sends {tables}/sends.csv --reads {tables}/reads.csv --final-read-is-complete"
    done = ran(
        [str(SUBMIT), "--master", place.cluster.master, str(tmp_path / "job.py"), *words.split()],
        tmp_path,
        limit_s=300,
        environment=place.environment,
    )

    assert done.code == UNKNOWN, done.out + done.err
    assert [1] == [int(line.split()[1]) for line in done.out.splitlines() if line[:5] == "lost "]
    assert "unavailable for writes 0 times" in done.out
