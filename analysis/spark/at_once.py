"""Several queries at once: while one is planned, which takes one core, another is computed.

    with at_once(spark) as ask:
        counts = ask(lambda: table.groupBy("f").count().collect())
        first = ask(lambda: table.orderBy("start_ns").first())
        counts.result()

Half of a small check is planning.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from pyspark.sql import SparkSession

AT_ONCE = 2
LOOK_S = 0.1

Answer = TypeVar("Answer")


class Asking:
    """Called with a query, one of `AT_ONCE` threads answers it: in the order asked."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self.asked: list[Future[Any]] = []

    def __call__(self, query: Callable[[], Answer]) -> Future[Answer]:
        """Its answer, once it is there."""
        answer = self._threads.submit(query)
        self.asked.append(answer)
        return answer


@contextlib.contextmanager
def at_once(spark: SparkSession) -> Iterator[Asking]:
    """The block ends when all is answered. The first query's exception, or another that leaves the
    block, Ctrl-C too, is raised once what was under way has ended."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="query") as threads:
        asking = Asking(threads)
        try:
            yield asking
            for answer in wait(asking.asked, return_when=FIRST_EXCEPTION).done:
                answer.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            while not all(answer.done() for answer in asking.asked):
                spark.sparkContext.cancelAllJobs()  # again: a query may begin one more
                wait(asking.asked, timeout=LOOK_S)
            raise
