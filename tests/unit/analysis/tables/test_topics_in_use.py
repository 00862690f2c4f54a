"""Two tables of a topic that may have been written before: what lies below the first acknowledged
offsets, partitions of which nobody tells, and sends of which nothing is known."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.tables.earlier_runs import earlier
from analysis.tables.validation import valid_tables
from harness.foreign.about import About
from harness.model.client_settings import leaves_one_copy
from harness.model.runs.earlier_runs import Parted
from harness.model.runs.run_folder import RunFolder
from harness.model.untold import COPIES, LANDED
from tests.support import foreign_lines
from tests.support.recorded_runs import sealed_operations
from tests.support.story_runs import checked
from tests.support.two_tables import (
    Row,
    TwoTables,
    as_csv,
    as_parquet,
    at_the_end,
    found_by_job,
    found_counts,
    reported_counts,
    run_of_tables,
    sent,
)

KNOWN = About(defaults=True, faults="none")
AGAIN = About(producer={"acks": "all", "retries": 5}, faults="none")
NEW = AGAIN.model_copy(update={"new_topic": True})
SENDS = [sent("a", 13, start_ns=1, end_ns=11), sent("b", 14, start_ns=2, end_ns=12)]
INFO: Row = {"value": "c", "type": "info", "partition": 0, "offset": None, "start_ns": 3}
FAIL: Row = {**INFO, "type": "fail", "end_ns": 13}
ANYWHERE = {**INFO, "partition": None}
IN_2 = sent("a", 0, 2, start_ns=1, end_ns=11)
IN_0 = sent("b", 0, 0, start_ns=1, end_ns=11)
NO_OFFSET = sent("c", None, start_ns=3, end_ns=13)


def read(*records: tuple[str, int], partition: int = 0) -> list[Row]:
    """What the final read has of a partition."""
    return [at_the_end(value, offset, partition, end_ns=100) for value, offset in records]


EARLIER = read(("old", 10), ("a", 11), ("b", 12))
OWN = read(("a", 13), ("b", 14))
LOST, KEPT, UNCLEAR = (
    "1 of 2 acknowledged records lost",
    "no acknowledged record lost",
    "not known whether data was lost",
)
# What is told -> what is found, and what happened to the data.
STORIES: dict[str, tuple[TwoTables, dict[str, int], str]] = {
    "earlier": (TwoTables(sends=SENDS, reads=EARLIER + OWN, about=KNOWN), {}, KEPT),
    "earlier, and a stranger later": (
        TwoTables(sends=SENDS, reads=[*EARLIER, *OWN, *read(("new", 15))], about=KNOWN),
        {"phantom": 1},
        f"{KEPT}, 1 phantom",
    ),
    "earlier, and twice": (
        TwoTables(sends=SENDS, reads=[*EARLIER, *OWN, *read(("a", 15))], about=KNOWN),
        {"duplicate": 1},
        f"{KEPT}, 1 duplicate",
    ),
    "in doubt": (TwoTables(sends=SENDS, reads=EARLIER + OWN, about=AGAIN), {}, KEPT),
    "was empty": (
        TwoTables(sends=SENDS, reads=EARLIER + OWN, about=NEW),
        {"duplicate": 2, "phantom": 1},
        f"{KEPT}, 2 duplicates, 1 phantom",
    ),
    "lost, with a copy": (
        TwoTables(sends=SENDS, reads=[*EARLIER, OWN[1]], about=KNOWN, complete=True),
        {"lost": 1, "hole": 2},
        LOST,
    ),
    "moved or lost": (
        TwoTables(sends=SENDS, reads=[*EARLIER, OWN[1]], about=AGAIN, complete=True),
        {"inconsistent-offset": 1},
        f"{UNCLEAR}, 1 inconsistent offset",
    ),
    "one partition told": (
        TwoTables(sends=[IN_2], reads=read(("a", 0), partition=2), about=KNOWN),
        {},
        KEPT,
    ),
    "a failed send anywhere": (
        TwoTables(sends=[IN_2, ANYWHERE], reads=read(("a", 0), partition=2), about=KNOWN),
        {},
        KEPT,
    ),
    "one partition not read": (
        TwoTables(sends=[IN_2, IN_0], reads=read(("a", 0), partition=2), about=KNOWN),
        {"unseen": 1},
        UNCLEAR,
    ),
    "all is there, though an ack has no offset": (
        TwoTables(sends=[*SENDS, NO_OFFSET], reads=[*OWN, *read(("c", 15))], about=KNOWN),
        {},
        KEPT,
    ),
    "not all is there, and an ack has no offset": (
        TwoTables(sends=[*SENDS, NO_OFFSET], reads=OWN, about=KNOWN),
        {"unseen": 1},
        UNCLEAR,
    ),
    "reads alone": (TwoTables(sends=[], reads=OWN, about=KNOWN), {}, UNCLEAR),
    "a send in doubt below": (
        TwoTables(sends=[*SENDS, INFO], reads=[*read(("c", 12)), *OWN], about=KNOWN),
        {},
        KEPT,
    ),
    "a send in doubt, and it was empty": (
        TwoTables(sends=[*SENDS, INFO], reads=[*read(("c", 12)), *OWN], about=NEW),
        {},
        KEPT,
    ),
    "a send that failed, and its value below": (
        TwoTables(sends=[*SENDS, FAIL], reads=[*read(("c", 12)), *OWN], about=KNOWN),
        {},
        "2 of 3 sends acknowledged; 1 failed (without an answer), 0 of these are in the log; none "
        "of the acknowledged is lost",
    ),
    "a send that failed, and it was empty": (
        TwoTables(sends=[*SENDS, FAIL], reads=[*read(("c", 12)), *OWN], about=NEW),
        {"phantom": 1},
        f"{KEPT}, 1 phantom",
    ),
}
# Those that the job is asked as well: each takes seconds.
BY_JOB = ("earlier, and twice", "in doubt", "was empty", "reads alone")
SEEDS = range(4)


@pytest.fixture(scope="module")
def reports(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """One job for all."""
    folder = tmp_path_factory.mktemp("tables")
    runs = [
        run_of_tables(spark, folder / f"story-{number}", story, form(name))
        for number, (name, (story, _, _)) in enumerate(STORIES.items())
    ]
    return dict(zip(STORIES, checked([run.path for run in runs]), strict=True))


def form(name: str) -> Any:
    """Parquet without rows would tell no types of columns here."""
    return as_csv if name == "reads alone" else as_parquet


@pytest.mark.parametrize("name", STORIES)
def test_what_is_found_and_what_happened_to_the_data(reports, name):
    report = reports[name]
    _, found, outcome = STORIES[name]

    assert found == reported_counts(report)
    assert outcome == report["outcome"]["words"]
    assert (COPIES in report["untold"]) == (name in {"in doubt", "moved or lost"})
    assert (LANDED in report["untold"]) == (name == "a send in doubt below")
    assert ("phantom" in report["anomalies"]) == (name != "reads alone")


@pytest.mark.parametrize("name", BY_JOB)
def test_the_one_file_job_finds_the_same(spark, tmp_path, reports, name):
    story, expected, _ = STORIES[name]

    found = found_by_job(spark, tmp_path, story, form(name))

    assert expected == found_counts(found)
    assert reports[name]["anomalies"].keys() == found.counts.keys()
    assert reports[name]["verdict"] == found.verdict
    notes = reports[name]["configuration"].get("notes", [])
    assert [*notes] == [*found.reasons][: len(notes)]
    assert bool(notes) == (name not in {"was empty", "reads alone"})


@pytest.mark.parametrize(
    ("name", "complete"),
    [
        ("one partition told", True),
        ("a failed send anywhere", True),
        ("one partition not read", False),
    ],
)
def test_a_partition_that_nobody_tells_of_lacks_nothing(reports, name, complete):
    report = reports[name]

    assert complete == report["final_read"]["complete"]
    assert complete == (not any("is not complete" in why for why in report["reasons"]))


@pytest.mark.parametrize(
    ("name", "landed", "undelivered"),
    [
        ("a send in doubt below", 0, 0),
        ("a send in doubt, and it was empty", 1, 0),
        ("a failed send anywhere", 0, 0),
    ],
)
def test_of_a_send_in_doubt_nothing_is_known_where_its_record_may_be_another_s(
    reports, name, landed, undelivered
):
    counts = reports[name]["counts"]

    assert 1 == counts["indeterminate"]
    assert (landed, undelivered) == (counts["indeterminate_landed"], counts["undelivered"])
    assert 0 == counts["indeterminate_not_landed"]


# --- by NumPy in lines and by Spark in tables


def any_history(seed: int) -> tuple[TwoTables, list[foreign_lines.Line], list[foreign_lines.Line]]:
    """One history of few values at few places, as tables and as lines."""
    chance = random.Random(seed)
    sends, told = [sent("sure", 9, 2)], [foreign_lines.acked(1, "sure", 9, 2)]
    for value in "abcdef":
        kind = chance.choice(["ok", "ok", "ok without offset", "info", "fail"])
        partition, offset = chance.randrange(2), chance.randrange(3, 9)
        if kind.startswith("ok"):
            offset = -1 if kind != "ok" else offset
            sends.append(sent(value, offset, partition))
            told.append(foreign_lines.acked(2, value, offset, partition))
        else:
            sends.append({**sent(value, None, partition), "type": kind})
            fields = {"partition": partition, "certain": kind == "fail"}
            told.append(foreign_lines.tool_line(2, "producer_send_error", value=value, **fields))
    places = [(offset, partition) for partition in range(2) for offset in range(10)]
    log = [(chance.choice("abcdefgh"), *place) for place in places if chance.random() < 0.8]
    about = About(producer={"acks": "all", "retries": seed % 2})
    said = [foreign_lines.read(3, *record) for record in log]
    return (
        TwoTables(sends=sends, reads=[at_the_end(*each) for each in log], about=about),
        told,
        said,
    )


@pytest.fixture(scope="module")
def both(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[RunFolder, Parted, list[tuple[int, int]]]]:
    """Of each history the run of its lines and, of its tables, what was taken out and where."""
    found = []
    for seed in SEEDS:
        folder = tmp_path_factory.mktemp("both")
        story, told, said = any_history(seed)
        run = foreign_lines.imported_pair(folder, told, said, story.about)
        tables = valid_tables(spark, *story.files(folder))
        once = leaves_one_copy(story.about.producer)
        others = earlier(tables, new_topic=False, once=once, keep=lambda frame: frame)
        assert others.records is not None
        records = others.records.orderBy("stranger").collect()
        assert [*range(len(records))] == [row["stranger"] for row in records]
        places = [(row["partition"], row["offset"]) for row in records]
        found.append((run, others.parted, places))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rule_takes_the_same_records_out_of_lines_and_of_tables(both, seed):
    run, parted, places = both[seed]
    strangers = [
        (row["partition"], row["offset"])
        for row in sealed_operations(run.path, "c")
        if row["value"] >= (3999 << 40) + 2**39
    ]

    assert sorted(strangers) == places
    assert run.read().notes == tuple(parted.notes)


@pytest.mark.parametrize("name", ["others", "doubtful", "landed"])
def test_the_histories_of_that_test_have_each_kind(both, name):
    """Otherwise equal would say little."""
    assert any(getattr(parted, name) for _, parted, _ in both)
