"""Checks the URL of a Spark cluster at once: Spark itself fails after a minute, with a Java stack.

spark://host:7077, spark://one:7077,two:7077    is anything listening on one of them?
yarn, k8s://…, local[4], local-cluster[…]       left to Spark
sc://…                                          Spark Connect has no JVM of ours: refused
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from pyspark.sql import SparkSession

from analysis.remote.trouble import TROUBLE, Unreachable, reason_of
from analysis.stored.run_files import CheckError

ANSWERS_WITHIN_S = 5.0
_STANDALONE = "spark://"
_KNOWN = re.compile(
    r"local(?:-cluster)?(?:\[.*\])?$|yarn$|k8s://.|spark://[^/:]+:\d+(?:,[^/:]+:\d+)*$"
)


def require_master(master: str) -> None:
    """Raise CheckError for a wrong URL, Unreachable for a cluster that does not answer."""
    if not _KNOWN.match(master):
        raise CheckError(
            f"--master {master}: no URL of a Spark cluster: give spark://HOST:PORT, k8s://URL, "
            "yarn or local[N]"
        )
    if not master.startswith(_STANDALONE):
        return
    hosts = [each.rpartition(":") for each in master.removeprefix(_STANDALONE).split(",")]
    if not any(_answers(host.strip("[]"), port) for host, _, port in hosts):
        raise Unreachable(
            f"--master {master}: nothing answers there: is the Spark master up, and its name right?"
        )


@contextmanager
def started(
    master: str | None, start: AbstractContextManager[SparkSession]
) -> Iterator[SparkSession]:
    """A session that `start` starts, on `master` if there is one. Raises CheckError and
    Unreachable."""
    if master is not None:
        require_master(master)
    with ExitStack() as stack:
        with starting(master):
            spark = stack.enter_context(start)
        yield spark


@contextmanager
def starting(master: str | None) -> Iterator[None]:
    """Inside the block a session starts; raises Unreachable if the master does not let it."""
    try:
        yield
    except TROUBLE as error:
        if master is None:
            raise
        raise Unreachable(
            f"--master {master}: Spark could not start there ({reason_of(error)})"
        ) from error


def _answers(host: str, port: str) -> bool:
    with suppress(OSError, OverflowError), socket.create_connection((host, port), ANSWERS_WITHIN_S):
        return True
    return False
