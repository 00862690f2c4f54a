"""Starts Spark in the background, while the run to check still ends or the check's modules load.

    with Ahead(scratch=folder) as ahead:
        ahead.start()                                    # returns at once
        ...
        ahead.wait_for_imports()                         # before anything else imports pyspark
        check(runs, ahead=ahead)                         # waits for the start

Most of a small check is Spark's start, and most of the rest is the first load of each class and the
first run of each plan. So if there is time, Spark rehearses a check (analysis.job.train_archive). A
request for the session ends the rehearsal at once; loaded classes stay loaded.

This module imports nothing slow before the JVM has started. Two threads must not import packages
with cyclic imports, such as pyspark, at the same time: Python then returns a half-made module. So
this thread imports all of them first, and every other importer waits for it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.spark.jvm import BIG, Jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_S = 0.05

Rehearsal = Callable[["SparkSession", Path], None]  # the folder is the scratch
Load = Callable[[], Rehearsal]  # imports what it needs


class Ahead(contextlib.AbstractContextManager["Ahead"]):
    """At most one session, on this machine, stopped at the end of the block.

    `scratch`: the folder in which its temporary files are meanwhile. `rehearsal`: gives what is
    done in it until it is asked for.
    """

    def __init__(self, *, scratch: Path, rehearsal: Load | None = None) -> None:
        self._scratch, self._load = scratch, rehearsal
        self._imported = threading.Event()
        self._stack = contextlib.ExitStack()
        self._spark: SparkSession | None = None
        self._thread: threading.Thread | None = None
        self._jvm: Jvm | None = None
        self._asked = threading.Event()

    def start(self) -> None:
        """Begin to start it, unless that was done."""
        if self._thread is None:
            self._jvm = self._stack.enter_context(Jvm(scratch=self._scratch))
            self._thread = threading.Thread(target=self._start, name="spark-ahead")
            self._thread.start()

    def wait_for_imports(self) -> None:
        """Wait until its thread imports nothing any more, if it was started."""
        if self._thread is not None:
            self._imported.wait()

    def spark(self, operations: int) -> SparkSession | None:
        """The session, once it has started, for so many operations; None: it was not asked for,
        could not start, or has too little memory for them."""
        self._join()
        if operations >= BIG:
            self._close()
        return self._spark

    def close(self) -> None:
        """Stop it. May be called again."""
        self._join()
        self._close()

    def __exit__(self, *_: object) -> None:
        self.close()

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
            try:
                from analysis.spark.session import session  # noqa: PLC0415  slow to import

                rehearse = self._load() if self._load is not None else None
            finally:
                self._imported.set()
            start = session(operations=0, scratch=self._scratch, jvm=self._jvm)
            self._spark = self._stack.enter_context(start)
            if rehearse is not None and not self._asked.is_set():
                rehearse(self._spark, self._scratch)
