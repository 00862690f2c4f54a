"""An HDFS of one JVM: Hadoop's own MiniDFSCluster, on the jars that PySpark ships and one more.

The JVM ends with this process, whatever becomes of it: it reads the end of its standard input.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

from harness.commands.check import tell_spark_of_java
from harness.distribution.jars_for_tests import MINICLUSTER, fetch

SPARK = Path(pyspark.__file__).parent
END_LIMIT_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Hdfs:
    """A file system that runs."""

    uri: str  # hdfs://localhost:39571
    files: Any  # org.apache.hadoop.fs.FileSystem
    jvm: Any

    def put(self, folder: Path, where: str) -> str:
        """Copy a folder there; its URI."""
        self.files.copyFromLocalFile(False, True, self._local(folder), self._path(where))
        return f"{self.uri}{where}"

    def fetch(self, where: str, to: Path) -> None:
        """Copy a file or folder from there."""
        self.files.copyToLocalFile(False, self._path(where), self._local(to), True)

    def names(self, where: str) -> set[str]:
        """What lies right below a folder."""
        return {each.getPath().getName() for each in self.files.listStatus(self._path(where))}

    def remove(self, where: str) -> None:
        """A file, or a folder with all in it."""
        assert self.files.delete(self._path(where), True)

    def _path(self, where: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(where)

    def _local(self, path: Path) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"file://{path}")


@contextlib.contextmanager
def hdfs(folder: Path) -> Iterator[Hdfs]:
    """One with a name node and a data node, whose files are below the folder."""
    tell_spark_of_java()
    jars = [*map(str, fetch(MINICLUSTER)), f"{SPARK}/jars/*"]
    with (folder / "hdfs.log").open("w") as log:
        port, process = launch_gateway(
            jarpath=str(next((SPARK / "jars").glob("py4j-*.jar"))),
            classpath=":".join(jars),
            javaopts=[
                *("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"),
                f"-Dtest.build.data={folder}",
            ],
            die_on_exit=True,
            return_proc=True,
            redirect_stdout=log,
            redirect_stderr=log,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        try:
            yield _started(gateway.jvm, folder)
        finally:
            gateway.shutdown()
            process.stdin.close()
            _wait(process)


def _started(jvm: Any, folder: Path) -> Hdfs:
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    configuration.set("hdfs.minidfs.basedir", str(folder / "hdfs"))
    cluster = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(configuration)
    running = cluster.numDataNodes(1).format(True).build()
    running.waitActive()
    return Hdfs(uri=running.getURI().toString(), files=running.getFileSystem(), jvm=jvm)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
