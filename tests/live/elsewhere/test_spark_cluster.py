"""Runs in an HDFS, checked by a Spark cluster whose workers see neither our disk nor our code.

The executors have Spark's jars and nothing else: no project, no NumPy, no PyArrow, no PySpark and
no Python that has them. The findings are those of the same runs checked in their folders.
"""

from __future__ import annotations

import json
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
from harness.model.exit_codes import UNKNOWN
from tests.live.elsewhere.hdfs import SPARK, Hdfs, hdfs
from tests.live.elsewhere.standalone import HOST, MEMORY, SparkCluster, standalone
from tests.support.commands import COMMAND, Ran, ran

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

GOLDEN = ("acks-1-leader-killed", "partition-ap")
PLANTED = "planted"  # two of each anomaly, in transactions and groups; sealed with digests
RUNS = (*GOLDEN, PLANTED)
OPERATIONS = 20_000


@dataclass(frozen=True, kw_only=True)
class Place:
    """An HDFS with runs, the same runs in folders, and a Spark cluster that sees only the HDFS."""

    store: Hdfs
    cluster: SparkCluster
    folders: Path
    environment: dict[str, str]

    def check(self, *runs: str, master: bool = True, **environment: str) -> Ran:
        """`kafka-harness check` to its end."""
        where = ["--master", self.cluster.master] if master else []
        told = {**self.environment, **environment}
        argv = [*COMMAND, "check", *runs, *where]
        return ran(argv, self.folders, limit_s=300, environment=told)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    scratch, folders = (tmp_path_factory.mktemp(name) for name in ("scratch", "results"))
    for name in GOLDEN:
        shutil.copytree(ROOT / "tests" / "golden" / name, folders / name)
    histories.write(folders / PLANTED, operations=OPERATIONS, shape="planted")
    hidden = [ROOT, folders, Path(sys.prefix), SPARK.parent]
    settings = scratch / "conf"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(f"spark.executor.memory {MEMORY}\n")
    told = {"SPARK_CONF_DIR": str(settings), "SPARK_LOCAL_IP": HOST, "SPARK_LOCAL_HOSTNAME": HOST}
    with hdfs(scratch) as store, standalone(scratch, workers=2, hidden=hidden) as cluster:
        for name in RUNS:
            store.put(folders / name, f"/results/{name}")
        yield Place(store=store, cluster=cluster, folders=folders, environment=told)


@pytest.fixture(scope="module")
def both(place: Place) -> tuple[Ran, Ran]:
    """The same check of the store by the cluster, and of the folders by this process."""
    import time; t=time.time()
    away = place.check(*(f"{place.store.uri}/results/{name}" for name in RUNS))
    print("AWAY", time.time()-t); t=time.time()
    assert away.code == UNKNOWN, away.out + away.err
    home = place.check(*(str(place.folders / name) for name in RUNS), master=False)
    print("HOME", time.time()-t)
    for name in RUNS:
        for made in ("analysis", "report.json", "report.html", "junit.xml"):
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
    made = {"analysis", "report.json", "report.html", "junit.xml"}
    there = {each.name for each in (place.folders / name).iterdir()} | made

    assert there == place.store.names(f"/results/{name}")
