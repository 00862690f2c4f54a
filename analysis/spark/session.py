"""A Spark session that starts fast: most of a small check is Spark's start.

For a check on this machine the JVM is started directly, without the two shells and the launcher JVM
of spark-submit, compiled by C1 only, with the serial collector, and with a class-data-sharing
archive where `python -m analysis.train_archive` has made one. A small history (below `SMALL`) does
without generated code, a big one (`BIG`) gets the second compiler and the parallel collector: there
the start no longer matters. With `master`, or when anything about the direct start is odd, Spark
starts in its ordinary way.

The JVM ends with this process, even when that is SIGKILLed: it reads the end of its standard
input, stops and removes its own folders. PySpark itself has the hook for an own JVM: the
variables PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET (pyspark/java_gateway.py).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

SMALL, BIG = 60_000, 2_000_000  # operations
HERE = "local[*]"
MOST_MIB = 1792  # of a check below BIG: enough for all of it by Spark alone
TRAINED_BY = "screens"  # another word makes the archive anew, where other queries are asked
START_LIMIT_S = 60.0
END_LIMIT_S = 20.0
ARCHIVE_LIMIT_S = 300.0  # to the end of a JVM that first writes 190 MB
LOOK_S = 0.005

# Packages that Spark 4 reaches into; its own launcher opens the same (JavaModuleOptions).
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
_PROPERTIES = (
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Djava.net.preferIPv4Stack=true",
)
_SMALL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_LARGE = ("-XX:+UseParallelGC",)

_ASKED_FOR = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
)

_ANYWHERE = {  # the rest is told by whoever runs the cluster
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    # Where in Python each column was made, told to the JVM: three quarters of all calls to it.
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
def session(
    master: str | None = None,
    operations: int = SMALL,
    *,
    started: SparkSession | None = None,
    archive_to: Path | None = None,
    scratch: Path | None = None,
) -> Iterator[SparkSession]:
    """The session that was started before or is active, else one of our own that is stopped at the
    end.

    `operations`: how many there are to check at once. `archive_to`: where the JVM leaves an archive
    of its classes. `scratch`: the folder in which Spark's temporary files are while it runs.
    """
    if started is not None:
        for key, value in _plans(operations).items():
            started.conf.set(key, value)
    there = started or SparkSession.getActiveSession()
    if there is not None:
        yield there
        return
    builder = SparkSession.builder.appName("kafka-harness check")
    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(no_warehouse())
        if master is None:
            java, *options = _command(operations, archive_to)
            process = _start([java, *stack.enter_context(_temporary(scratch)), *options])
            if process is not None:
                stack.callback(_end, process, ARCHIVE_LIMIT_S if archive_to else END_LIMIT_S)
        settings = {**_SETTINGS, **_sizes(operations)} if master is None else _ANYWHERE
        for key, value in {**settings, **warehouse}.items():
            builder = builder.config(key, value)
        spark = builder.master(master or HERE).getOrCreate()
        stack.callback(_stop, spark)
        _forget_gateway()
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


def archive_path() -> Path:
    """Where the class archive for this Java and this Spark belongs, in the user's cache."""
    java = _java()
    fingerprint = [pyspark.__version__, str(java), TRAINED_BY]
    # The JVM takes none that was made of jars of another time, of the same names or not.
    fingerprint += [f"{jar.name} {int(jar.stat().st_mtime)}" for jar in _jars()]
    with contextlib.suppress(OSError):
        fingerprint.append(str(Path(java).resolve().stat().st_mtime_ns))
    key = hashlib.sha256("\n".join(fingerprint).encode()).hexdigest()[:12]
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = os.environ.get("KAFKA_HARNESS_CACHE") or f"{base}/kafka-harness"
    return Path(folder).expanduser() / "class-archives" / f"spark-{pyspark.__version__}-{key}.jsa"


def make_room_for(spark: SparkSession, operations: int) -> None:
    """Tell a session that has started how much there is to check. For a big history Spark's own
    settings are right, or the user's."""
    if operations < BIG:
        for key, value in _plans(operations).items():
            spark.conf.set(key, value)


def _sizes(operations: int) -> Mapping[str, str]:
    """Spark's own settings for a big history; for a smaller one few tasks."""
    if operations >= BIG:
        return {}
    return {"spark.default.parallelism": "2", **_plans(operations)}


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


# The JVM


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else shutil.which("java") or "java"


def _jars() -> list[Path]:
    # Files only: one folder on the class path (there is jars/connect-repl) stops class sharing.
    return sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))


def _command(operations: int, archive_to: Path | None) -> list[str]:
    archive = archive_path()
    if archive_to is not None:
        sharing = [f"-XX:ArchiveClassesAtExit={archive_to}"]
    else:
        sharing = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**21  # MiB
    # Limits, not needs. Without one of its own a campaign's JVM grows by each check, up to half of
    # the memory that the next run's nodes live in.
    most = half if operations >= BIG else min(half, MOST_MIB)
    return [
        _java(),
        "-cp",
        ":".join(map(str, _jars())),
        f"-Xmx{max(512, most)}m",
        *(_SMALL if operations < BIG else _LARGE),
        "-XX:-UsePerfData",
        "-Xshare:auto",
        "-Xlog:disable",
        "-Xlog:all=off:stderr",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED",
        *sharing,
        *_PROPERTIES,
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "org.apache.spark.deploy.SparkSubmit",
        "pyspark-shell",
    ]


@contextlib.contextmanager
def _temporary(within: Path | None) -> Iterator[list[str]]:
    """The JVM's option for a folder of its own there, which is removed after it, however it ended.

    None for a path with a comma: Spark takes it for two folders.
    """
    if within is None or "," in str(within):
        yield []
        return
    with tempfile.TemporaryDirectory(
        prefix=".spark-", dir=within, ignore_cleanup_errors=True
    ) as folder:
        yield [f"-Djava.io.tmpdir={folder}"]


def _start(command: list[str]) -> subprocess.Popen[bytes] | None:
    """Start the JVM and tell PySpark of it; None if it does not start: then PySpark does."""
    folder = Path(tempfile.mkdtemp(prefix="kafka-harness-"))
    answer = folder / "gateway"
    environment = {
        **os.environ,
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONSAFEPATH": "1",  # of its Python workers: the user's folder has no packages of ours
    }
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            process_group=0,  # Ctrl-C at the terminal is not meant for it
        )
        if not _answered(process, answer):
            process.kill()
            process.wait()
            return None
        port, secret = _read_answer(answer.read_bytes())
    except OSError:
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret
    return process


def _answered(process: subprocess.Popen[bytes], answer: Path) -> bool:
    """Whether the JVM has written how to reach it, before it ended and in time."""
    deadline = time.monotonic() + START_LIMIT_S
    while not answer.exists():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
            return False
        if time.monotonic() > deadline:
            return False
    return True


def _read_answer(answer: bytes) -> tuple[int, str]:
    """Port and secret as PythonGatewayServer writes them: two big-endian ints, then the secret."""
    port, length = struct.unpack_from(">ii", answer)
    return port, answer[8 : 8 + length].decode()


def _forget_gateway() -> None:
    """PySpark has read it, and no child process of ours is meant to."""
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        os.environ.pop(name, None)


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


def _stop(spark: SparkSession) -> None:
    """Stop Spark, and the JVM as well if PySpark started it: it would idle until we end."""
    spark.stop()
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is None:
        return
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        _end(process)


def _end(process: subprocess.Popen[bytes], limit_s: float = END_LIMIT_S) -> None:
    """Let the JVM end by the end of its input, as it would without us."""
    _forget_gateway()
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
