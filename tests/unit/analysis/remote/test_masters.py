"""A cluster's URL is looked at before Spark is started with it."""

from __future__ import annotations

import contextlib
import socket
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from analysis.remote.masters import require_master, started
from analysis.remote.shared_place import is_local
from analysis.remote.trouble import Unreachable
from analysis.stored.run_files import CheckError


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize("master", ["nonsense", "sc://host:15002", "spark://", "spark://host", ""])
def test_what_is_no_clusters_url_is_told(master: str) -> None:
    with pytest.raises(CheckError, match=r"^--master .*no URL of a Spark cluster: give spark://"):
        require_master(master)


def test_a_master_that_does_not_answer_is_unreachable(port: int) -> None:
    with pytest.raises(Unreachable, match="nothing answers there"):
        require_master(f"spark://127.0.0.1:{port}")


class Fails(contextlib.AbstractContextManager[SparkSession]):
    """A session that cannot start."""

    def __enter__(self) -> SparkSession:
        raise PySparkRuntimeError("no such thing")

    def __exit__(self, *_: object) -> None:
        """It never started."""


@pytest.mark.parametrize(
    ("master", "kind", "words"),
    [
        ("nonsense", CheckError, "no URL of a Spark cluster"),
        ("spark://127.0.0.1:1", Unreachable, "nothing answers there"),
        ("local[2]", Unreachable, r"^--master local\[2\]: Spark could not start there \(no such"),
        (None, PySparkRuntimeError, "no such thing"),
    ],
)
def test_a_session_that_cannot_start_is_told_of_its_master(
    master: str | None, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words), started(master, Fails()):
        pass


def test_what_fails_in_a_session_that_started_is_not_its_master_s() -> None:
    start = contextlib.nullcontext(SparkSession.__new__(SparkSession))

    with pytest.raises(PySparkRuntimeError, match="later"), started("local", start):
        raise PySparkRuntimeError("later")


def test_one_of_several_masters_is_enough(port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_master(f"spark://127.0.0.1:{port},127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local-cluster[2,1,512]", "yarn", "k8s://x"]
)
def test_the_others_are_left_to_spark(master: str) -> None:
    require_master(master)


@pytest.mark.parametrize(
    ("master", "local"),
    [("local[2]", True), ("local", True), ("local-cluster[2,1,1024]", False), ("yarn", False)],
)
def test_spark_computes_here_where_its_master_says_so(master: str, local: bool) -> None:
    context = SimpleNamespace(sparkContext=SimpleNamespace(master=master))

    assert is_local(cast("SparkSession", context)) is local
