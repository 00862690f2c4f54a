"""What Java says went wrong: its exceptions, and their causes. PySpark is all that is needed here.

    SparkException: Job aborted
      caused by ConnectException: Connection refused    =>  nobody answers; "Connection refused"

`trouble` makes sentences of it, for runs; analysis.tables does, for tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

TROUBLE: Final = (Py4JError, PySparkException)  # PySpark turns some of Java's into its own
_MOST_CAUSES: Final = 20  # Java's may go round in a circle


class Unreachable(Exception):
    """A store or a Spark cluster does not answer; one sentence with what and the remedy."""


def named(*parts: str) -> re.Pattern[str]:
    """A line of an exception whose class has one of these in its name."""
    return re.compile(rf"^\w*(?:{'|'.join(parts)})\w*:", re.MULTILINE)


DENIED: Final = named("AccessControl", "AccessDenied", "NoAuth", "Credential", "Permission")
MISSING: Final = named("FileNotFound", "NoSuchFile", "UnknownStore", "NoSuchBucket")
SILENT: Final = named(
    *("UnknownHost", "Connect", "NoRouteToHost", "SocketTimeout", "SocketException"),
    *("EOFException", "StandbyException", "Timeout", "SdkClientException"),
)
CANNOT_BE_REACHED: Final = "cannot be reached"
IS_IT_UP: Final = "is the store up, and its name right?"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
    """One of Java's exceptions."""

    name: str  # its class, without the package
    words: str

    @property
    def line(self) -> str:
        """As Java prints it."""
        return f"{self.name}: {_first_line(self.words)}"


def lines_of(error: Exception) -> str:
    """A line for Java's exception, one for its cause, …"""
    return "\n".join(cause.line for cause in _causes(error))


def reason_of(error: Exception) -> str:
    """What is wrong, as the one who found it said it."""
    found = next(_causes(error), None)
    return _first_line(found.words or found.name if found else str(error))


def nobody_answers(error: Exception) -> bool:
    """Whether it is that a store does not answer."""
    lines = lines_of(error)
    known = any(pattern.search(lines) for pattern in (DENIED, MISSING))
    return not known and SILENT.search(lines) is not None


def unreachable(uri: str, error: Exception) -> Unreachable:
    """What to raise where it does not."""
    return Unreachable(f"{uri}: {CANNOT_BE_REACHED} ({reason_of(error)}): {IS_IT_UP}")


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
