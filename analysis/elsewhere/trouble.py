"""What went wrong with a store, in one sentence: Java tells it in classes and their causes.

    UnsupportedFileSystemException: No FileSystem for scheme "s3a"    =>  no connector
    ConnectException, UnknownHostException, …                         =>  cannot be reached
    FileNotFoundException                                             =>  no run there
    AccessControlException                                            =>  may not be read or written

A place that cannot be reached is nobody's wrong argument: `Unreachable`, and the command ends with
255. All others are CheckErrors: it ends with 254.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from analysis.stored.run_files import CheckError

TROUBLE = (Py4JError, PySparkException)  # PySpark turns some of Java's into its own
_MOST_CAUSES = 20  # Java's may go round in a circle
_NO_CONNECTOR = re.compile(r"No (?:Abstract)?FileSystem .*scheme|Class \S+ not found")
_S3 = "org.apache.hadoop:hadoop-aws"


class Unreachable(Exception):
    """A store or a Spark cluster does not answer; one sentence with what and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
    """One of Java's exceptions."""

    name: str  # its class, without the package
    words: str

    @property
    def line(self) -> str:
        """As Java prints it."""
        return f"{self.name}: {_first_line(self.words)}"


def _named(*parts: str) -> re.Pattern[str]:
    """A line of an exception whose class has one of these in its name."""
    return re.compile(rf"^\w*(?:{'|'.join(parts)})\w*:", re.MULTILINE)


# First come, first served: what is wrong, how it is known, and the remedy.
_SORTS: dict[str, tuple[re.Pattern[str], type[Exception], str]] = {
    "may not be read or written": (
        _named("AccessControl", "AccessDenied", "NoAuth", "Credential", "Permission"),
        CheckError,
        "give Spark the right to, or its credentials",
    ),
    "no run there": (
        _named("FileNotFound", "NoSuchFile", "UnknownStore", "NoSuchBucket"),
        CheckError,
        "give the folder that holds a run.json",
    ),
    "cannot be reached": (
        _named(
            *("UnknownHost", "Connect", "NoRouteToHost", "SocketTimeout", "SocketException"),
            *("EOFException", "StandbyException", "Timeout", "SdkClientException"),
        ),
        Unreachable,
        "is the store up, and its name right?",
    ),
    "no store for runs": (
        _named("UnsupportedOperation"),
        CheckError,
        "give a URI that Spark reads and writes",
    ),
    "not a URI of a run": (
        re.compile(r"^\w*(?:IllegalArgument|URISyntax|InvalidPath)\w*:|Incomplete HDFS URI", re.M),
        CheckError,
        "write scheme://where/folder",
    ),
}


def told(uri: str, error: Exception) -> Exception:
    """What to raise in its stead."""
    lines = "\n".join(cause.line for cause in _causes(error))
    if _NO_CONNECTOR.search(lines):
        return CheckError(_without_connector(uri))
    for what, (known, kind, remedy) in _SORTS.items():
        if known.search(lines):
            return kind(f"{uri}: {what} ({reason_of(error)}): {remedy}")
    return Unreachable(f"{uri}: cannot be read or written ({reason_of(error)})")


def reason_of(error: Exception) -> str:
    """What is wrong, as the one who found it said it."""
    found = next(_causes(error), None)
    return _first_line(found.words or found.name if found else str(error))


def _without_connector(uri: str) -> str:
    scheme = uri.split(":", 1)[0]
    also = "; Spark's name for Amazon's is s3a" if scheme == "s3" else ""
    return (
        f"{uri}: Spark has no connector for {scheme}{also}: name its package in "
        f"spark.jars.packages (for s3a: {_S3} in the version of Spark's own Hadoop), in "
        "$SPARK_CONF_DIR/spark-defaults.conf or by PYSPARK_SUBMIT_ARGS"
    )


def _causes(error: Exception) -> Iterator[_Cause]:
    """Java's exception, its cause, that one's cause, …"""
    found: Any = getattr(error, "_origin", None)  # of PySpark's own
    if isinstance(error, Py4JJavaError):
        found = error.java_exception
    for _ in range(_MOST_CAUSES):
        if found is None:
            return
        yield _Cause(name=found.getClass().getSimpleName(), words=str(found.getMessage() or ""))
        found = found.getCause()


def _first_line(words: str) -> str:
    return words.strip().split("\n", 1)[0].rstrip(".; ")
