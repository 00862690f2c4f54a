"""Stores for tests: an HDFS of one JVM, and a server that speaks S3.

    hdfs    Hadoop's own MiniDFSCluster, on the jars that PySpark ships and one more
    s3      moto's server in an environment of its own, reached through hadoop-aws

Both are filled and read by a JVM beside Spark's, with Hadoop's file systems. It ends with this
process, whatever becomes of it: it reads the end of its standard input.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pyspark
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

from harness.checkout import ROOT
from harness.commands.check_runs import tell_spark_of_java
from harness.distribution.jars_for_tests import MINICLUSTER, S3, Jars, fetch
from harness.waiting import wait_until
from tests.support.host_pace import bound_s

SPARK = Path(pyspark.__file__).parent
LIMIT_S = 60
BUCKET = "bucket"
_LISTENS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A store that runs, and how to reach it."""

    uri: str  # hdfs://localhost:39571, s3a://bucket
    files: Any  # org.apache.hadoop.fs.FileSystem
    jvm: Any
    settings: Mapping[str, str] = field(default_factory=dict)  # of Spark

    def put(self, folder: Path, where: str) -> None:
        """Copy a folder there."""
        self.files.copyFromLocalFile(False, True, self._local(folder), self._path(where))

    def fetch(self, where: str, to: Path) -> None:
        """Copy a file or folder from there."""
        self.files.copyToLocalFile(False, self._path(where), self._local(to), True)

    def names(self, where: str) -> set[str]:
        """What lies right below a folder."""
        return {each.getPath().getName() for each in self.files.listStatus(self._path(where))}

    def _path(self, where: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"{self.uri}{where}")

    def _local(self, path: Path) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"file://{path}")


@contextlib.contextmanager
def hdfs(folder: Path) -> Iterator[Filled]:
    """One with a name node and a data node, whose files are below the folder."""
    with _jvm(folder, MINICLUSTER) as jvm:
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        configuration.set("hdfs.minidfs.basedir", str(folder / "hdfs"))
        builder = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(configuration)
        running = builder.numDataNodes(1).format(True).build()
        running.waitActive()
        yield Filled(uri=running.getURI().toString(), files=running.getFileSystem(), jvm=jvm)


@contextlib.contextmanager
def s3(folder: Path) -> Iterator[Filled]:
    """One with an empty bucket."""
    with _moto(folder) as endpoint, _jvm(folder, S3) as jvm:
        known = {
            "fs.s3a.endpoint": endpoint,
            "fs.s3a.endpoint.region": "eu-west-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.access.key": "tests",
            "fs.s3a.secret.key": "tests",
            # moto says "100 Continue" twice, which Amazon's asynchronous client takes for the end:
            # https://github.com/getmoto/moto/pull/9975
            "fs.s3a.optimized.copy.from.local.enabled": "false",
            "fs.s3a.connection.expect.continue": "false",
            "fs.s3a.retry.limit": "2",
        }
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        for key, value in known.items():
            configuration.set(key, value)
        root = jvm.org.apache.hadoop.fs.Path(f"s3a://{BUCKET}/")
        jars = ":".join(map(str, S3.files()))
        settings = {f"spark.hadoop.{key}": value for key, value in known.items()}
        settings |= {f"spark.{who}.extraClassPath": jars for who in ("driver", "executor")}
        yield Filled(
            uri=f"s3a://{BUCKET}",
            files=root.getFileSystem(configuration),
            jvm=jvm,
            settings=settings,
        )


@contextlib.contextmanager
def _moto(folder: Path) -> Iterator[str]:
    """Its address. It is installed beside what is tested, whose packages stay as they are."""
    uv, python = str(Path(sys.executable).with_name("uv")), folder / "moto" / "bin" / "python"
    pins = str(ROOT / "requirements" / "s3.txt")
    install = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", str(python)]
    for command in ([uv, "venv", "--quiet", str(folder / "moto")], [*install, "-r", pins]):
        subprocess.run(command, check=True, timeout=300)
    log = folder / "moto.log"
    serve = ["setpriv", "--pdeathsig", "KILL", str(python), "-m", "moto.server", "-p", "0"]
    with log.open("w") as out:
        process = subprocess.Popen(
            serve,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        found = wait_until(
            lambda: _LISTENS.search(log.read_text()),
            timeout_s=bound_s(LIMIT_S),
            what=f"moto in {log}",
        )
        assert found is not None
        urlopen(Request(f"{found[1]}/{BUCKET}", method="PUT")).close()
        yield found[1]
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _jvm(folder: Path, more: Jars) -> Iterator[Any]:
    """A JVM with Spark's jars and these."""
    tell_spark_of_java()
    options: Sequence[str] = (
        *("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"),
        f"-Dtest.build.data={folder}",
    )
    with (folder / "store.log").open("w") as log:
        port, process = launch_gateway(
            jarpath=str(next((SPARK / "jars").glob("py4j-*.jar"))),
            classpath=":".join([*map(str, fetch(more)), f"{SPARK}/jars/*"]),
            javaopts=list(options),
            die_on_exit=True,
            return_proc=True,
            redirect_stdout=log,
            redirect_stderr=log,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        try:
            yield gateway.jvm
        finally:
            gateway.shutdown()
            process.stdin.close()
            try:
                process.wait(bound_s(LIMIT_S))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
