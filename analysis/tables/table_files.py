"""Opens a table by its name: Parquet or CSV at any URI that Spark reads, or a Spark table.

    sends.parquet    hdfs://nn/runs/sends    s3a://bucket/reads.csv    shop.sends    orc.`/data/x`

A name with `/` or `:`, one that ends in .csv or .parquet, and an existing file are paths; any other
name is a Spark table's. The first bytes decide whether a file is Parquet, its name whether it is
CSV. CSV follows RFC 4180 and has a line of names: every cell is text, an empty cell is null unless
it is quoted, and `""` is the empty text.

Nanosecond timestamps, as pandas writes them, become whole numbers, nanoseconds since 1970: Spark by
itself refuses a table that has them.

Every problem is one sentence with the table, what is wrong, and a remedy. A store that does not
answer is no problem of the table's (`Unreachable`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from analysis.remote.java_errors import TROUBLE, nobody_answers, unreachable

_MAGIC: Final = (0x50, 0x41, 0x52, 0x31)  # PAR1
_CSV: Final = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")
_PARQUET: Final = (".parquet", ".parq")
_DEEPEST: Final = 8  # folders of partitions within each other
_LONGEST, _SHOWN = 300, 60  # characters of an error, of a row
_NANOSECONDS: Final = "spark.sql.legacy.parquet.nanosAsLong"
_CSV_READER: Final = {
    "header": "true",
    "multiLine": "true",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "mode": "FAILFAST",
    "enforceSchema": "false",
    "escape": '"',
}
_MALFORMED: Final = re.compile(r"Malformed CSV record: (.*)")
# What surrounds Spark's own sentence: Java's class, the name of the condition, its number.
_AROUND: Final = re.compile(
    r"^(?:(?:[\w$]+\.)+[\w$]+: )?(?:\[[A-Z0-9_.]+\] )?|\.? SQLSTATE: \w{5}.*$"
)


class TableError(Exception):
    """A table that cannot be checked: one sentence with table, column and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A table that Spark can read."""

    name: str  # as the user wrote it
    rows: DataFrame
    texts: bool = False  # every cell is text: CSV


def open_table(spark: SparkSession, name: str) -> Opened:
    """The table of that name. Raises TableError and Unreachable."""
    spark.conf.set(_NANOSECONDS, "true")  # not reset: rows are read later
    with errors_as_sentences(name):
        if not is_path(name):
            return Opened(name=name, rows=spark.table(name))
        uri = name if _has_scheme(name) else f"file:{Path(name).absolute()}"
        reader = spark.read.option("__globPaths__", "false")
        if _is_parquet(spark, name, uri):
            return Opened(name=name, rows=reader.parquet(uri))
        # Spark reads an empty cell as this, and this as null: no quoted cell equals it.
        reader = reader.options(**_CSV_READER, nullValue=uuid4().hex)
        return Opened(name=name, rows=reader.csv(uri), texts=True)


def is_path(name: str) -> bool:
    """Whether a name is a path."""
    if "`" in name:
        return False
    named = "/" in name or ":" in name or name.endswith((*_CSV, *_PARQUET))
    return named or Path(name).exists()


@contextlib.contextmanager
def errors_as_sentences(name: str) -> Iterator[None]:
    """Raise Spark's errors about this table as TableError or Unreachable."""
    try:
        yield
    except TROUBLE as error:
        if "://" in name and nobody_answers(error):
            raise unreachable(name, error) from None
        raise TableError(f"{name}: {_why(error)}") from None


def _has_scheme(name: str) -> bool:
    scheme, colon, _ = name.partition(":")
    return bool(colon) and "/" not in scheme


def _is_parquet(spark: SparkSession, name: str, uri: str) -> bool:
    """Whether a file, or the first file in a folder, is Parquet. Raises TableError."""
    assert spark._jvm is not None
    path = spark._jvm.org.apache.hadoop.fs.Path(uri)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    file = _first_file(system, system.getFileStatus(path), 0)
    if file is None:
        raise TableError(f"{name}: it has no files: expected is Parquet or CSV")
    if not file.getLen():
        raise TableError(f"{name}: it is empty: expected are columns and rows")
    found = str(file.getPath().getName())
    if _begins_as_parquet(system, file.getPath()):
        return True
    if found.endswith(_CSV):
        return False
    raise TableError(
        f"{name}: {found} is no Parquet by its first bytes, and no CSV by its name: give one of "
        "these, or the name of a Spark table"
    )


def _first_file(system: Any, status: Any, depth: int) -> Any:
    if not status.isDirectory():
        return status
    inside = sorted(system.listStatus(status.getPath()), key=lambda entry: str(entry.getPath()))
    visible = [entry for entry in inside if not entry.getPath().getName().startswith(("_", "."))]
    files = (_first_file(system, entry, depth + 1) for entry in visible if depth < _DEEPEST)
    return next((file for file in files if file is not None), None)


def _begins_as_parquet(system: Any, path: Any) -> bool:
    opened = system.open(path)
    try:
        return all(opened.read() == byte for byte in _MAGIC)
    finally:
        opened.close()


def _why(error: Exception) -> str:
    """Why Spark or Hadoop could not read, with a remedy where one is known."""
    words = _words(error)
    sentence = _AROUND.sub("", words)
    if "No FileSystem for scheme" in words or "ClassNotFoundException" in words:
        return (
            f"Spark has no connector for it ({words}): give Spark its jar, such as "
            "`--packages org.apache.hadoop:hadoop-aws:…` of spark-submit, or spark.jars.packages "
            "in spark-defaults.conf"
        )
    if "FILE_NOT_EXIST" in str(error):
        return (
            "Spark's executors do not see what is here: put it into a store that they reach "
            "(hdfs://…, s3a://…)"
        )
    if row := _MALFORMED.search(sentence):
        return (
            "a row has not as many cells as the line of names, or a quote that nothing ends "
            f"({row[1][:_SHOWN]!r}): quote a cell that has a comma, a quote or the end "
            "of a line in it"
        )
    if "FileNotFoundException" in words or "PATH_NOT_FOUND" in words:
        return "there is no such file or folder"
    if "TABLE_OR_VIEW_NOT_FOUND" in words or "PARSE_SYNTAX_ERROR" in words:
        return "there is no such table, and no file: a path has a / or ends in .csv or .parquet"
    return f"Spark cannot read it: {sentence}"


def _words(error: Exception) -> str:
    """The first line of the root cause."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.toString())
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
