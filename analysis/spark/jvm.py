"""Spark's JVM for a check on this machine, started directly: without the two shells and the
launcher JVM of spark-submit, with the C1 compiler only, with the serial collector, and with a
class-data-sharing archive if `python -m analysis.job.train_archive` has made one. For a big history
(`BIG`), where the start hardly matters, it has the C2 compiler and the parallel collector.

    with Jvm(scratch=folder) as jvm:      # returns at once
        ...                               # PySpark and Arrow are imported meanwhile
        session(None, operations, jvm=jvm)

It ends with this process, even by SIGKILL: it reads the end of its standard input, stops and
removes its own folders. PySpark uses such a JVM by the variables PYSPARK_GATEWAY_PORT and
PYSPARK_GATEWAY_SECRET (pyspark/java_gateway.py).

This module imports the standard library only, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

BIG = 2_000_000  # operations
MOST_MIB = 1280  # of a check below BIG: enough for all of it by Spark alone
TRAINED_BY = "few suspects"  # another word makes the archive anew, where other queries are asked
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
_SMALL = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # What a check no longer needs goes back to the system where it is collected (session.session).
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=25",
)
_LARGE = ("-XX:+UseParallelGC",)


class Jvm(contextlib.AbstractContextManager["Jvm"]):
    """One JVM, from its start to its end."""

    def __init__(
        self,
        operations: int = 0,
        *,
        archive_to: Path | None = None,
        scratch: Path | None = None,
    ) -> None:
        """Start it. `operations`: how many it is to check at once. `archive_to`: where it leaves an
        archive of its classes. `scratch`: the folder in which its temporary files are meanwhile."""
        self.is_big = operations >= BIG
        self._limit_s = ARCHIVE_LIMIT_S if archive_to else END_LIMIT_S
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.ExitStack() as stack:
            java, *options = _command(operations, archive_to)
            own = stack.enter_context(_temporary(scratch))
            self._answer = Path(tempfile.mkdtemp(prefix="kafka-harness-")) / "gateway"
            stack.callback(self._forget_answer)
            with contextlib.suppress(OSError):
                self._process = _start([java, *own, *options], self._answer)
            self._may_be_killed = bool(own)  # as long as it has done nothing: that folder goes
            self._stack = stack.pop_all()

    def tell_pyspark(self) -> None:
        """Wait until it can be reached, and tell PySpark how. Where it did not start, nothing is
        told: PySpark starts one in its ordinary way."""
        process = self._process
        if process is None:
            return
        if _answered(process, self._answer):
            port, secret = _read_answer(self._answer.read_bytes())
            os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
            os.environ["PYSPARK_GATEWAY_SECRET"] = secret
            self._may_be_killed = False
        else:
            self._process = None
            _kill(process)
        self._forget_answer()

    def close(self) -> None:
        """Let it end, and remove what it left. May be called again."""
        process, self._process = self._process, None
        with self._stack:
            forget_gateway()
            if process is not None and self._may_be_killed:
                _kill(process)
            elif process is not None:
                end(process, self._limit_s)

    def _forget_answer(self) -> None:
        shutil.rmtree(self._answer.parent, ignore_errors=True)

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()


def archive_path() -> Path:
    """Where the class archive for this Java and this Spark belongs, in the user's cache."""
    java, version = _java(), importlib.metadata.version("pyspark")
    fingerprint = [version, str(java), TRAINED_BY]
    # The JVM takes none that was made of jars elsewhere or of another time, of the same names or
    # not, and says nothing.
    fingerprint.append(str(jars_folder()))
    fingerprint += [f"{jar.name} {int(jar.stat().st_mtime)}" for jar in _jars()]
    with contextlib.suppress(OSError):
        fingerprint.append(str(Path(java).resolve().stat().st_mtime_ns))
    key = hashlib.sha256("\n".join(fingerprint).encode()).hexdigest()[:12]
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = os.environ.get("KAFKA_HARNESS_CACHE") or f"{base}/kafka-harness"
    return Path(folder).expanduser() / "class-archives" / f"spark-{version}-{key}.jsa"


def archive_fits() -> bool:
    """Whether the JVM really takes the archive, tried: 0.2 s."""
    java, *options = (each for each in _command(0, None)[:-2] if each != "-Xshare:auto")
    if not any(each.startswith("-XX:SharedArchiveFile") for each in options):
        return False
    command = [java, "-Xshare:on", *options, "-version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def forget_gateway() -> None:
    """PySpark has read it, and no child process of ours is meant to."""
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        os.environ.pop(name, None)


def end(process: subprocess.Popen[bytes], limit_s: float = END_LIMIT_S) -> None:
    """Let a JVM end by the end of its input, as it would without us."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _spark_home() -> Path:
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else shutil.which("java") or "java"


def jars_folder() -> Path:
    """Where Spark's jars lie."""
    return _spark_home() / "jars"


def _jars() -> list[Path]:
    # Files only: one folder on the class path (there is jars/connect-repl) stops class sharing.
    return sorted(jars_folder().glob("*.jar"))


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


def _start(command: Sequence[str], answer: Path) -> subprocess.Popen[bytes]:
    """It writes to `answer` how it is reached."""
    environment = {
        **os.environ,
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
        "SPARK_HOME": str(_spark_home()),
        "PYTHONSAFEPATH": "1",  # of its Python workers: the user's folder has no packages of ours
    }
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        process_group=0,  # Ctrl-C at the terminal is not meant for it
    )


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
