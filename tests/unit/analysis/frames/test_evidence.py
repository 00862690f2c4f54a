"""What `rows` tells of an anomaly beside its evidence, to whoever judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from analysis.anomalies import ANOMALIES, BY_NAME
from analysis.checks.rules import Rules
from analysis.checks.run_row import run_row
from analysis.frames.evidence import Tables, rows
from analysis.frames.history import history_of
from analysis.stored.stored_run import open_run
from tests.support.histories import (
    aborted,
    committed,
    doubtful,
    failed,
    final_read,
    look,
    ns_of,
    polled,
    processed,
    read,
    sent,
    story,
)
from tests.support.story_runs import write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOLD = story(
    sent(1, at=0, ms=0),
    sent(2, at=0, ms=100),
    aborted(3, ms=200),
    failed(4, ms=300),
    doubtful(5, ms=400, took=None),
    read(2, at=0, ms=600),
    read(3, at=1, ms=610),
    read(4, at=2, ms=620),
    read(5, at=3, ms=700),
    sent(6, at=5, ms=800),
    sent(7, at=6, ms=810),
    look(4, 4, 4, ms=500),
    look(4, 3, 4, ms=720),
    polled(6, at=5, ms=900),
    polled(6, at=5, ms=910, process="group-consumer-1"),
    polled(7, at=6, ms=920, process="group-consumer-1"),
    processed(7, at=6, ms=930, process="group-consumer-1"),
    committed(7, ms=940),
    final_read({0: 1, 1: 3, 2: 4, 5: 6, 6: 7}),
    watched=True,
    commit="after",
    consumer={"auto.offset.reset": "latest"},
)


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The rows of some anomalies of the story."""
    run = open_run(write_story(TOLD, tmp_path_factory.mktemp("told") / "run", "told/1"))
    history = history_of(spark, [run], {run.run_id: run_row(run)})
    tables = Rules(history, ANOMALIES).tables
    names = ("inconsistent-offset", "phantom", "vanished", "skipped", "early-read")
    return {name: list(_rows(name, tables)) for name in names}


def _rows(name: str, tables: Tables) -> list[Any]:
    made = ((table(tables), rule()) for table, rule in BY_NAME[name].rules.items())
    return [
        row
        for table, rule in made
        if table is not None
        for row in rows(table, {name: rule}).orderBy("value").collect()
    ]


def test_a_contested_place_has_the_value_that_the_final_read_lacks_as_its_victim(found) -> None:
    """1 and 2 were acked at offset 0, and 1 is there: when 2 was sent, known to be there, read."""
    (row,) = found["inconsistent-offset"]

    assert [tuple(victim) for victim in row["victims"]] == [(ns_of(100), ns_of(105), True)]


def test_a_phantom_has_the_error_of_its_send(found) -> None:
    errors = {row["value"]: row["fail_error"] for row in found["phantom"]}

    assert errors == {3: "_ABORTED", 4: "_QUEUE_FULL"}


def test_a_row_has_the_end_of_its_send(found) -> None:
    """The send of 5 never ended, and it has vanished; that of 2 did."""
    ends = {row["value"]: row["ended_ns"] for row in found["vanished"]}

    assert ends == {2: ns_of(105), 5: None}


def test_a_skipped_record_has_its_last_poll_and_when_its_member_went_on(found) -> None:
    """The second member was given 6 as well, and processed 7."""
    (row,) = found["skipped"]
    keys = ("value", "polled_ns", "polled_by", "polled_partition", "polled_offset", "passed_ns")

    assert [row[key] for key in keys] == [6, ns_of(910), "group-consumer-1", 0, 5, ns_of(930)]


def test_an_early_read_has_the_end_of_the_look_that_shows_it(found) -> None:
    (row,) = found["early-read"]

    assert (row["value"], row["looked_until_ns"]) == (5, ns_of(722))
