"""A Spark session that starts fast: most of a small check is Spark's start.

For a check on this machine Spark runs in a JVM of our own (analysis.spark.jvm), with few tasks, and
for a small history (below `SMALL`) without generated code. With `master`, or if our own start
fails, Spark starts in its ordinary way."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import SparkContext
from pyspark.errors.exceptions.captured import install_exception_handler
from pyspark.sql import SparkSession

from analysis.spark.jvm import BIG, Jvm, end, forget_gateway

SMALL = 60_000  # operations
HERE = "local[*]"

_ASKED_FOR = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
)

_ANYWHERE = {  # the cluster's own settings decide the rest
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    # The JVM need not know where in Python each column was made: three quarters of all calls.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_SETTINGS = {
    **_ANYWHERE,
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
}


@contextlib.contextmanager
def session(  # noqa: PLR0913  where Spark is, or what it is made of
    master: str | None = None,
    operations: int = SMALL,
    *,
    started: SparkSession | None = None,
    scratch: Path | None = None,
    jvm: Jvm | None = None,
    first: Callable[[Any], None] | None = None,
) -> Iterator[SparkSession]:
    """The session that was started before or is active, else one of our own that is stopped at the
    end.

    `operations`: how many there are to check at once. `scratch`: the folder in which Spark's
    temporary files are while it runs. `jvm`: one that is starting already; it ends with the
    session, or at once where it is too small. `first`: done with the classes of a JVM on this
    machine before Spark is made in it, which takes longer than the JVM's own start.
    """
    if started is not None:
        for key, value in _plans(operations).items():
            started.conf.set(key, value)
    there = started or SparkSession.getActiveSession()
    if there is not None:
        java: Any = there._jvm if operations >= BIG else None
        if java is not None:
            # What the checks before have left would stand beside what this one needs. The first
            # collection frees what holds Spark's pools of memory, the second the pools.
            java.System.gc()
            java.System.gc()
        yield there
        return
    builder = SparkSession.builder.appName("kafka-harness check")
    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(no_warehouse())
        if master is None:
            if jvm is not None and operations >= BIG and not jvm.is_big:
                jvm.close()
                jvm = None
            jvm = jvm or Jvm(operations, scratch=scratch)
            stack.enter_context(jvm).tell_pyspark()
            if first is not None:
                stack.callback(_leave_java)
                first(_java())
        settings = {**_SETTINGS, **_sizes(operations)} if master is None else _ANYWHERE
        for key, value in {**settings, **warehouse}.items():
            builder = builder.config(key, value)
        spark = builder.master(master or HERE).getOrCreate()
        stack.callback(_stop, spark)
        forget_gateway()
        _remember(spark.sparkContext._jvm)
        yield spark


@contextlib.contextmanager
def no_warehouse() -> Iterator[Mapping[str, str]]:
    """The setting by which Spark makes no `spark-warehouse` in the user's folder, as it does once
    it is asked for a table or a function that it does not know. What it makes instead is removed.
    """
    folder = Path(tempfile.gettempdir(), f"kafka-harness-{uuid4().hex}")
    try:
        yield {"spark.sql.warehouse.dir": f"file:{folder}"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_room_for(spark: SparkSession, operations: int) -> None:
    """Tell a session that has started how much there is to check. For a big history Spark's own
    settings are right, or the user's."""
    if operations < BIG:
        for key, value in _plans(operations).items():
            spark.conf.set(key, value)


def _sizes(operations: int) -> Mapping[str, str]:
    """Spark's own settings for a big history; for a smaller one few tasks with little memory each.
    On two cores Spark gives a task memory by the 16 MB, and a broadcast by the 4 MB, however little
    is in it: the heap fills, and is collected again and again."""
    if operations >= BIG:
        return {}
    return {
        "spark.default.parallelism": "2",
        "spark.buffer.pageSize": "1m",
        "spark.broadcast.blockSize": "128k",
        **_plans(operations),
    }


def _plans(operations: int) -> Mapping[str, str]:
    """Those that a session may be told later. For a small history no plan is made anew between
    stages, nothing is concluded from what a plan's rows satisfy, no code is generated, and each
    stage is one task: all of it costs more than it saves."""
    if operations < SMALL:
        return {
            "spark.sql.constraintPropagation.enabled": "false",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.files.minPartitionNum": "1",
            "spark.sql.files.openCostInBytes": "0",
        }
    return {
        "spark.sql.constraintPropagation.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.minPartitionNum": "2",
        "spark.sql.files.openCostInBytes": str(4 * 2**20),  # Spark's own
    }


class _Asked:
    """A Java class whose members are asked for once."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._java, name)
        setattr(self, name, member)
        return member


def _remember(jvm: Any) -> None:
    """Ask for the classes that PySpark asks for with each column only once. Py4J remembers none,
    and the JVM looks through all jars for a class of that name in each package that it knows."""
    for name in _ASKED_FOR:
        setattr(jvm, name, _Asked(getattr(jvm, name)))


def _java() -> Any:
    """The JVM's classes, whose exceptions are raised as PySpark's from now on."""
    SparkContext._ensure_initialized()
    install_exception_handler()
    return SparkContext._jvm


def _stop(spark: SparkSession) -> None:
    spark.stop()
    _leave_java()


def _leave_java() -> None:
    """Let go of the JVM, and end it if PySpark started it: it would idle until we end."""
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is None:
        return
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        end(process)
