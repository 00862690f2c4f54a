"""A run's folder in a store, through the file systems of Spark's own JVM.

    store = connect(spark, "hdfs://namenode:8020/results/study-1/20261121T021500Z-7")
    store.names("history")              {"events.parquet": 5216, …}
    store.fetch("run.json", here)       to a file of this machine
    store.put(here, "report.json")      replaces an existing one

It works with any store that Spark reads and writes, by Spark's connectors and credentials, without
another library.

HDFS renames in one step: new files and folders are written beside the old ones and renamed. A store
of objects has no renames, but an object appears whole: it is overwritten. So a folder of several
objects is not replaced in one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from analysis.remote.trouble import TROUBLE, store_error

# Each object appears whole, and renaming one copies it.
OF_OBJECTS = frozenset({"s3a", "s3", "s3n", "gs", "oss", "cos", "cosn", "obs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The folder of one run; names are relative to it."""

    uri: str
    files: Any  # org.apache.hadoop.fs.FileSystem
    jvm: Any
    # Part of the names of unfinished files, unique to this check.
    token: str = field(default_factory=lambda: uuid4().hex[:12])

    @property
    def has_renames(self) -> bool:
        """Whether a rename is one step."""
        return self.uri.split(":", 1)[0].lower() not in OF_OBJECTS

    def names(self, folder: str) -> dict[str, int]:
        """File name -> bytes, of the files right below a folder of the run; empty without the
        folder."""
        with self._errors():
            where = self._path(folder)
            if not self.files.exists(where):
                return {}
            entries = self.files.listStatus(where)
            return {e.getPath().getName(): int(e.getLen()) for e in entries if e.isFile()}

    def fetch(self, name: str, to: Path) -> None:
        """Copy a file, or a folder with its contents, to this machine."""
        with self._errors():
            if self.files.exists(self._path(name)):
                # Straight into the file, without Hadoop's checksum file beside it.
                self.files.copyToLocalFile(False, self._path(name), self._local(to), True)

    def add(self, file: Path, name: str) -> None:
        """Copy a file of this machine to an unused name."""
        with self._errors():
            self._copy(file, name)

    def put(self, file: Path, name: str) -> None:
        """Copy a file of this machine into the store; it replaces one of this name."""
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
        """The same for a folder with its contents."""
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
            raise store_error(self.uri, error) from error


def connect(spark: SparkSession, uri: str) -> Store:
    """The store behind a URI, without a request to it. Raises CheckError and Unreachable."""
    uri = uri.rstrip("/")
    jvm: Any = spark.sparkContext._jvm
    try:
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        files = jvm.org.apache.hadoop.fs.Path(uri).getFileSystem(configuration)
    except TROUBLE as error:
        raise store_error(uri, error) from error
    return Store(uri=uri, files=files, jvm=jvm)
