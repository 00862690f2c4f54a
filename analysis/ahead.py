"""Spark made ready in the background, while the run that it is to check still ends.

    with Ahead(scratch=folder) as ahead:
        ahead.start()                                    # returns at once
        ...
        check(runs, started=ahead.spark(operations))     # waits for the start

Most of a small check is Spark's start, and most of the rest is that each class is loaded and each
plan made for the first time: so a made-up run is checked first, as far as there is time. Who asks
for the session ends that at once: what was loaded by then stays loaded.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from pathlib import Path

from pyspark.sql import SparkSession

from analysis import job
from analysis.spark.jvm import BIG
from analysis.spark.session import session
from analysis.train_archive import training_run

LOOK_S = 0.05


class Ahead(contextlib.AbstractContextManager["Ahead"]):
    """At most one session, stopped at the end of the block; `scratch`: the folder in which its
    temporary files are meanwhile."""

    def __init__(self, *, scratch: Path) -> None:
        self._scratch = scratch
        self._stack = contextlib.ExitStack()
        self._spark: SparkSession | None = None
        self._thread: threading.Thread | None = None
        self._asked = threading.Event()

    def start(self) -> None:
        """Begin to start it, unless that was done."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._start, name="spark-ahead")
            self._thread.start()

    def spark(self, operations: int) -> SparkSession | None:
        """The session, once it has started, for so many operations; None: it was not asked for,
        could not start, or has too little memory for them."""
        self._join()
        if operations >= BIG:
            self._close()
        return self._spark

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._join()
        self._close()

    def _join(self) -> None:
        self._asked.set()
        while self._thread is not None and self._thread.is_alive():
            if self._spark is not None:
                self._spark.sparkContext.cancelAllJobs()  # again: it may begin one more
            self._thread.join(LOOK_S)

    def _close(self) -> None:
        self._spark = None
        self._stack.close()

    def _start(self) -> None:
        with contextlib.suppress(Exception):  # the check will start its own, and say what is wrong
            self._spark = self._stack.enter_context(session(operations=0, scratch=self._scratch))
            if not self._asked.is_set():
                _rehearse(self._spark, self._scratch)


def _rehearse(spark: SparkSession, scratch: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=scratch) as folder:
        job.check([training_run(Path(folder))], started=spark)
