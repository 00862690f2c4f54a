"""A run's folder in a store, through the file systems of Spark's own JVM.

    store = connect(spark, "hdfs://namenode:8020/results/study-1/20261121T021500Z-7")
    store.names("history")              {"events.parquet": 5216, …}
    store.fetch("run.json", here)       to a file of this machine
    store.put(here, "report.json")      in place of the one that is there, if any

So whatever Spark reads and writes can be used, with the connectors and the credentials that Spark
was given, and no library beside it.

What can be replaced in one step depends on the store. HDFS renames in one step: files and folders
are put beside first. A store of objects has no renames, but an object appears whole: it is
overwritten; a folder of several objects is then not replaced in one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from analysis.remote.trouble import TROUBLE, told

# Each object appears whole, and renaming one copies it.
OF_OBJECTS = frozenset({"s3a", "s3", "s3n", "gs", "oss", "cos", "cosn", "obs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The folder of one run; names are relative to it."""

    uri: str
    files: Any  # org.apache.hadoop.fs.FileSystem
    jvm: Any
    # Part of the name of what is not finished: no other check has it, on whichever machine.
    token: str = field(default_factory=lambda: uuid4().hex[:12])

    @property
    def has_renames(self) -> bool:
        """Whether a rename is one step."""
        return self.uri.split(":", 1)[0].lower() not in OF_OBJECTS

    def names(self, folder: str) -> dict[str, int]:
        """The bytes of each file right below a folder of the run; nothing where there is none."""
        with self._errors():
            where = self._path(folder)
            if not self.files.exists(where):
                return {}
            found = self.files.listStatus(where)
            return {each.getPath().getName(): int(each.getLen()) for each in found if each.isFile()}

    def fetch(self, name: str, to: Path) -> None:
        """Copy a file, or a folder with all that is in it, to this machine."""
        with self._errors():
            if self.files.exists(self._path(name)):
                # Straight into the file, without Hadoop's checksum file beside it.
                self.files.copyToLocalFile(False, self._path(name), self._local(to), True)

    def add(self, file: Path, name: str) -> None:
        """Copy a file of this machine to a name that nobody knows yet."""
        with self._errors():
            self._copy(file, name)

    def put(self, file: Path, name: str) -> None:
        """Copy a file of this machine into the store, in place of one of this name."""
        with self._errors():
            if not self.has_renames:
                self._copy(file, name)
                return
            beside = f".{name}.{self.token}"
            try:
                self._copy(file, beside)
                self._rename_over(beside, name)
            finally:
                self.files.delete(self._path(beside), True)

    def put_folder(self, folder: Path, name: str) -> None:
        """The same of a folder with all that is in it."""
        with self._errors():
            if not self.has_renames:
                self.files.delete(self._path(name), True)
                self._copy(folder, name)
                return
            beside, old = f".{name}-{self.token}", f".{name}-old-{self.token}"
            try:
                self._copy(folder, beside)
                if self.files.exists(self._path(name)):
                    self.files.rename(self._path(name), self._path(old))
                self.files.rename(self._path(beside), self._path(name))
            finally:
                self.files.delete(self._path(beside), True)
                self.files.delete(self._path(old), True)

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        with self._errors():
            self.files.delete(self._path(name), True)

    def _copy(self, here: Path, name: str) -> None:
        self.files.copyFromLocalFile(False, True, self._local(here), self._path(name))

    def _rename_over(self, before: str, name: str) -> None:
        rename = self.jvm.org.apache.hadoop.fs.Options.Rename
        overwrite = self.jvm.java.lang.reflect.Array.newInstance(rename.OVERWRITE.getClass(), 1)
        self.jvm.java.lang.reflect.Array.set(overwrite, 0, rename.OVERWRITE)
        context = self.jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self.files.getUri(), self.files.getConf()
        )
        context.rename(self._path(before), self._path(name), overwrite)

    def _path(self, name: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"{self.uri}/{name}" if name else self.uri)

    def _local(self, path: Path) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"file://{path}")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except TROUBLE as error:
            raise told(self.uri, error) from error


def connect(spark: SparkSession, uri: str) -> Store:
    """The store behind a URI, asked nothing yet. Raises CheckError and Unreachable."""
    uri = uri.rstrip("/")
    jvm: Any = spark.sparkContext._jvm
    try:
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        files = jvm.org.apache.hadoop.fs.Path(uri).getFileSystem(configuration)
    except TROUBLE as error:
        raise told(uri, error) from error
    return Store(uri=uri, files=files, jvm=jvm)
