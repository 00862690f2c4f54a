"""Several queries of one session at once, and how they end together."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from functools import partial

import pytest
from pyspark.sql import SparkSession

from analysis.spark.at_once import AT_ONCE, at_once

FOR_EVER = 10**15  # rows: counting them ends by being cancelled only


def test_so_many_are_asked_at_once_and_each_has_its_answer(spark: SparkSession) -> None:
    together = threading.Barrier(AT_ONCE)

    def counted(rows: int) -> int:
        together.wait()
        return int(spark.range(rows).count())

    with at_once(spark) as ask:
        answers = [ask(partial(counted, rows)) for rows in range(3 * AT_ONCE)]

    assert [answer.result() for answer in answers] == list(range(3 * AT_ONCE))


def test_an_answer_may_be_needed_by_a_later_query(spark: SparkSession) -> None:
    with at_once(spark) as ask:
        first = ask(lambda: spark.range(3).count())
        last = [ask(lambda: spark.range(first.result()).count()) for _ in range(2 * AT_ONCE)]

    assert {answer.result() for answer in last} == {3}


def test_one_that_fails_ends_the_others(spark: SparkSession) -> None:
    later: list[Future[int]] = []

    def asked() -> None:
        with at_once(spark) as ask:
            ask(lambda: spark.range(FOR_EVER).count())
            ask(lambda: int("odd"))
            later.extend(ask(lambda: spark.range(FOR_EVER).count()) for _ in range(AT_ONCE))

    with pytest.raises(ValueError, match="odd"):
        asked()

    assert all(answer.done() for answer in later)
    assert spark.range(3).count() == 3  # the session goes on


def test_ctrl_c_ends_all_of_them(spark: SparkSession) -> None:
    begun = threading.Event()

    def counted() -> int:
        begun.set()
        return spark.range(FOR_EVER).count()

    def asked() -> None:
        with at_once(spark) as ask:
            ask(counted)
            begun.wait()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked()
