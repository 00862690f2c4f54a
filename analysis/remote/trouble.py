"""Errors of a store, each as one sentence, by the Java classes of the error and its causes.

    UnsupportedFileSystemException: No FileSystem for scheme "s3a"    =>  no connector
    ConnectException, UnknownHostException, …                         =>  cannot be reached
    FileNotFoundException                                             =>  no run there
    AccessControlException                                            =>  may not be read or written

A store that cannot be reached is no wrong argument: `Unreachable`, and the command exits with 255.
All others are CheckErrors: it exits with 254.
"""

from __future__ import annotations

import re

from analysis.remote.java_errors import (
    CANNOT_BE_REACHED,
    DENIED,
    IS_IT_UP,
    MISSING,
    SILENT,
    TROUBLE,
    Unreachable,
    lines_of,
    named,
    reason_of,
)
from analysis.stored.run_files import CheckError

__all__ = ["TROUBLE", "Unreachable", "reason_of", "store_error"]

_NO_CONNECTOR = re.compile(r"No (?:Abstract)?FileSystem .*scheme|Class \S+ not found")
_S3 = "org.apache.hadoop:hadoop-aws"

# The first match counts: what is wrong, the pattern, the error, and the remedy.
_SORTS: dict[str, tuple[re.Pattern[str], type[Exception], str]] = {
    "may not be read or written": (
        DENIED,
        CheckError,
        "give Spark the right to, or its credentials",
    ),
    "no run there": (MISSING, CheckError, "give the folder that holds a run.json"),
    CANNOT_BE_REACHED: (SILENT, Unreachable, IS_IT_UP),
    "no store for runs": (
        named("UnsupportedOperation"),
        CheckError,
        "give a URI that Spark reads and writes",
    ),
    "not a URI of a run": (
        re.compile(r"^\w*(?:IllegalArgument|URISyntax|InvalidPath)\w*:|Incomplete HDFS URI", re.M),
        CheckError,
        "write scheme://where/folder",
    ),
}


def store_error(uri: str, error: Exception) -> Exception:
    """The error to raise instead."""
    lines = lines_of(error)
    if _NO_CONNECTOR.search(lines):
        return CheckError(_without_connector(uri))
    for what, (pattern, kind, remedy) in _SORTS.items():
        if pattern.search(lines):
            return kind(f"{uri}: {what} ({reason_of(error)}): {remedy}")
    return Unreachable(f"{uri}: cannot be read or written ({reason_of(error)})")


def _without_connector(uri: str) -> str:
    scheme = uri.split(":", 1)[0]
    also = "; Spark's name for Amazon's is s3a" if scheme == "s3" else ""
    return (
        f"{uri}: Spark has no connector for {scheme}{also}: name its package in "
        f"spark.jars.packages (for s3a: {_S3} in the version of Spark's own Hadoop), in "
        "$SPARK_CONF_DIR/spark-defaults.conf or by PYSPARK_SUBMIT_ARGS"
    )
