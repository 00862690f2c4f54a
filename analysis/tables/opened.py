"""A table that a user names, opened: Parquet and CSV at any URI that Spark reads, or a Spark table.

    sends.parquet    hdfs://nn/runs/sends    s3a://bucket/reads.csv    shop.sends    orc.`/data/x`

What holds `/` or `:`, ends in .csv or .parquet, or is there as a file, is a path; anything else is
a table's name, in Spark's words. Whether a file is Parquet is told by its first bytes, and CSV by
its name. CSV is as RFC 4180 has it, with a line of names: everything in it is text, what is empty
and not quoted is null, and `""` is a text, the empty one.

A column of nanosecond timestamps, as pandas writes them, is one of whole numbers: nanoseconds since
1970. Spark by itself refuses the whole table for it.

Every problem is one sentence with the table, what is wrong, and a remedy; that a store does not
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
# What stands around Spark's own sentence: Java's class, the name of the condition, its number.
_AROUND: Final = re.compile(
    r"^(?:(?:[\w$]+\.)+[\w$]+: )?(?:\[[A-Z0-9_.]+\] )?|\.? SQLSTATE: \w{5}.*$"
)


class TableError(Exception):
    """A table that cannot be checked: one sentence with table, column and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A table that can be asked."""

    name: str  # as the user wrote it
    rows: DataFrame
    texts: bool = False  # everything in it is text: CSV


def open_table(spark: SparkSession, name: str) -> Opened:
    """The table of that name. Raises TableError and Unreachable."""
    spark.conf.set(_NANOSECONDS, "true")  # for good: rows are read later
    with told(name):
        if not is_path(name):
            return Opened(name=name, rows=spark.table(name))
        uri = name if _has_scheme(name) else f"file:{Path(name).absolute()}"
        reader = spark.read.option("__globPaths__", "false")
        if _is_parquet(spark, name, uri):
            return Opened(name=name, rows=reader.parquet(uri))
        # An empty cell is read as this, and this as null: no quoted cell is it.
        reader = reader.options(**_CSV_READER, nullValue=uuid4().hex)
        return Opened(name=name, rows=reader.csv(uri), texts=True)


def is_path(name: str) -> bool:
    """Whether a name is that of files."""
    if "`" in name:
        return False
    named = "/" in name or ":" in name or name.endswith((*_CSV, *_PARQUET))
    return named or Path(name).exists()


@contextlib.contextmanager
def told(name: str) -> Iterator[None]:
    """What Spark says of this table's rows, made one sentence."""
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
    """What a file, or the first file in a folder, is. Raises TableError."""
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
    inside = sorted(system.listStatus(status.getPath()), key=lambda each: str(each.getPath()))
    there = [each for each in inside if not str(each.getPath().getName()).startswith(("_", "."))]
    found = (_first_file(system, each, depth + 1) for each in there if depth < _DEEPEST)
    return next((file for file in found if file is not None), None)


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
    if found := _MALFORMED.search(sentence):
        return (
            "a row has not as many cells as the line of names, or a quote that nothing ends "
            f"({found[1][:_SHOWN]!r}): quote a cell that has a comma, a quote or the end "
            "of a line in it"
        )
    if "FileNotFoundException" in words or "PATH_NOT_FOUND" in words:
        return "there is no such file or folder"
    if "TABLE_OR_VIEW_NOT_FOUND" in words or "PARSE_SYNTAX_ERROR" in words:
        return "there is no such table, and no file: a path has a / or ends in .csv or .parquet"
    return f"Spark cannot read it: {sentence}"


def _words(error: Exception) -> str:
    """The first line of what is at the bottom of an error."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.toString())
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
