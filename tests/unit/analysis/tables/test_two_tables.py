"""Two tables are checked: what is found in them, as a run and by the one-file job, is the same, and
the same as of the same history in lines."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from harness.foreign.about import About
from tests.support import foreign_lines
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
    values_of,
    was_read,
)

SAFE = About(defaults=True, faults="none", producer={"acks": "all"}, replication_factor=1)
MS = 10**6


def timed(rows: list[Row], first: int) -> list[Row]:
    """With times, one after the other; sends take 5 ms."""
    told = []
    for number, row in enumerate(rows):
        begin = (first + 10 * number) * MS
        times = {"start_ns": begin} if "type" in row else {}
        told.append({**row, **times, "end_ns": begin + (5 * MS if times else 0)})
    return told


WHOLE = [sent("a", 0), sent("b", 1), sent("c", 2)]
ALL_READ = [was_read("a", 0), was_read("b", 1), was_read("c", 2)]
FAILED = {"value": "f", "type": "fail", "partition": 3, "offset": None}
MAYBE = {"value": "m", "type": "info", "partition": None, "offset": None}
# In each partition one thing; each value with its partition.
ODD_SENDS = [
    *(sent("whole", 0, 0), sent("lost", 0, 1), sent("kept", 1, 1), sent("twice", 0, 2), FAILED),
    *(sent("first", 1, 4), sent("second", 0, 4), sent("lost there", 0, 5), sent("instead", 0, 5)),
    *(MAYBE, {**MAYBE, "value": "strayed", "partition": 6}),
]
ODD_READS = [
    *(was_read("whole", 0, 0), was_read("kept", 1, 1), was_read("twice", 0, 2)),
    *(was_read("twice", 1, 2), was_read("f", 0, 3), was_read("nobody's", 1, 3)),
    *(was_read("second", 0, 4), was_read("first", 1, 4), was_read("instead", 0, 5)),
    *(was_read("m", 0, 6), was_read("strayed", 2, 0)),
]
# What is told -> what is found.
STORIES: dict[str, tuple[TwoTables, dict[str, int]]] = {
    "everything is in order": (
        TwoTables(sends=timed(WHOLE, 10), reads=timed(ALL_READ, 100), complete=True, about=SAFE),
        {},
    ),
    "all sorts": (
        TwoTables(
            sends=timed(ODD_SENDS, 10), reads=timed(ODD_READS, 500), complete=True, about=SAFE
        ),
        {
            "lost": 2,
            "duplicate": 1,
            "phantom": 2,
            "inconsistent-offset": 2,
            "hole": 2,
            "reordered": 1,
            "real-time-violation": 1,
        },
    ),
    "the same, and no times": (
        TwoTables(sends=ODD_SENDS, reads=ODD_READS, complete=True),
        {"lost": 2, "duplicate": 1, "inconsistent-offset": 2},
    ),
    "numbers, and not all offsets": (
        TwoTables(
            sends=[sent(7, None), sent(8, -1), sent(9, 1), sent(10, None)],
            reads=[*map(was_read, (7, 9, 7), range(3))],
            complete=True,
            about=About(new_topic=True),
        ),
        {"lost": 2, "duplicate": 1},
    ),
    "a read that got to the end of one partition by its signs, and not of the other": (
        TwoTables(
            sends=[sent("a", 0), sent("b", 1), sent("c", 1), sent("d", 0, 1), sent("e", 1, 1)],
            reads=[
                *(at_the_end("a", 0), at_the_end("c", 1), at_the_end("d", 0, 1)),
                was_read("a", 0, f="read"),
            ],
        ),
        {"lost": 1, "inconsistent-offset": 1, "unseen": 1},
    ),
    "it ended before the last ack": (
        TwoTables(
            sends=timed([sent("a", 0), sent("b", 1)], 10),
            reads=[at_the_end("a", 0, end_ns=16 * MS)],
        ),
        {"unseen": 1},
    ),
    "it began behind the first ack, and has an ack without offset": (
        TwoTables(
            sends=[*WHOLE, sent("d", None, 1), sent("e", 0, 1)],
            reads=[at_the_end("b", 1), at_the_end("c", 2), at_the_end("e", 0, 1)],
        ),
        {"unseen": 1},
    ),
    "no final read": (TwoTables(sends=WHOLE, reads=ALL_READ[:2]), {"unseen": 3}),
    "values that are not told": (
        TwoTables(sends=WHOLE, reads=[was_read("a", 0), was_read(None, 1)], complete=True),
        {"unseen": 2},
    ),
    "read, and gone at the end": (
        TwoTables(
            sends=timed([*WHOLE, MAYBE], 10),
            reads=[
                *timed([at_the_end(*each) for each in (("a", 0), ("b", 1), ("c", 2))], 100),
                was_read("m", 3, f="read", end_ns=90 * MS),
            ],
            complete=True,
            about=SAFE,
        ),
        {"vanished": 1, "hole": 1},
    ),
    "acks=0": (
        TwoTables(
            sends=WHOLE, reads=ALL_READ[:2], complete=True, about=About(producer={"acks": "0"})
        ),
        {"unacknowledged-lost": 1},
    ),
    "two producers, in no order between them": (
        TwoTables(
            sends=[
                {**sent("a", 1), "process": "p-0", "start_ns": 10, "end_ns": 30},
                {**sent("b", 0), "process": "p-1", "start_ns": 20, "end_ns": 40},
            ],
            reads=timed([was_read("b", 0, process="p-0"), was_read("a", 1, process="r")], 100),
            complete=True,
            about=SAFE,
        ),
        {},
    ),
}
# Those that the job is asked as well: each takes seconds.
BY_JOB = (
    "the same, and no times",
    "a read that got to the end of one partition by its signs, and not of the other",
    "values that are not told",
    "acks=0",
)
BESIDE = ("all sorts", "read, and gone at the end")  # these are asked beside a random history
SEEDS = range(2)


def random_history(
    seed: int,
) -> tuple[TwoTables, list[foreign_lines.Line], list[foreign_lines.Line]]:
    """One history, as tables and as lines: some losses, copies, wrong places, reads of nobody's."""
    chance = random.Random(seed)
    sends, log, told, next_offset = [], [], [], [0, 0]
    for number in range(60):
        ms, partition = 10 * number + 10, chance.randrange(2)
        value = chance.choice(["", "é ", "'\"", "a,b\n"]) + str(number)
        offset = next_offset[partition]
        kind = chance.choices(["ok", "lost", "twice", "info", "fail"], [80, 8, 4, 4, 4])[0]
        told.append(foreign_lines.began(ms, value))
        type_ = kind if kind in ("info", "fail") else "ok"
        row = {"value": value, "type": type_, "partition": partition, "process": "p"}
        row |= {"offset": offset if type_ == "ok" else None}
        sends.append({**row, "start_ns": _ns(ms), "end_ns": _ns(ms + 5)})
        if type_ == "ok":
            told.append(foreign_lines.acked(ms + 5, value, offset, partition))
        else:
            told.append(
                foreign_lines.tool_line(
                    ms + 5,
                    "producer_send_error",
                    value=value,
                    partition=partition,
                    certain=type_ == "fail",
                )
            )
        lands = {"ok": 1, "twice": 2, "lost": 0, "info": chance.randrange(2), "fail": 0}[kind]
        for _ in range(lands if chance.random() < 0.97 else 1):
            log.append((value, next_offset[partition], partition))
            next_offset[partition] += 1
    log.append(("nobody's", next_offset[0], 0))
    chance.shuffle(log)
    ms = 5000
    reads = [at_the_end(*each, process="c", end_ns=_ns(ms)) for each in log]
    in_order = sorted(log, key=lambda each: each[1])  # as a reader reads, which never goes back
    said = [
        foreign_lines.read(ms, value, offset, partition) for value, offset, partition in in_order
    ]
    given = [foreign_lines.assigned(ms - 1, 0, 1)]
    return TwoTables(sends=sends, reads=reads, about=SAFE), told, [*given, *said]


def _ns(ms: int) -> int:
    return (foreign_lines.ZERO_MS + ms) * MS


def everything() -> TwoTables:
    """A random history, and after it all sorts and what was read and is gone, each with values,
    processes and partitions of its own."""
    told = random_history(SEEDS[0])[0]
    sends, reads = [*told.sends], [*told.reads]
    for number, name in enumerate(BESIDE, 1):
        story, first = STORIES[name][0], foreign_lines.ZERO_MS + 10_000 * number
        sends += timed([_apart(row, number, f"p-{number}") for row in story.sends], first)
        finals = [_apart({"f": "final-read", **row}, number, "c") for row in story.reads]
        reads += timed(finals, first + 5_000)
    return TwoTables(sends=sends, reads=reads, complete=True, about=SAFE)


def _apart(row: Row, number: int, process: str) -> Row:
    partition = None if row["partition"] is None else 10 * number + row["partition"]
    return {**row, "value": f"{row['value']} {number}", "partition": partition, "process": process}


@pytest.fixture(scope="module")
def reports(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One job for all: each story as tables, each history as tables and as lines."""
    folder = tmp_path_factory.mktemp("tables")
    runs = {}
    for number, (name, (story, _)) in enumerate(STORIES.items()):
        runs[name] = run_of_tables(spark, folder / f"story-{number}", story, _form(number))
    for seed in SEEDS:
        story, sends, reads = random_history(seed)
        runs[f"tables {seed}"] = run_of_tables(spark, folder / f"random-{seed}", story)
        (folder / f"lines-{seed}").mkdir()
        runs[f"lines {seed}"] = foreign_lines.imported_pair(
            folder / f"lines-{seed}", sends, reads, SAFE
        )
    runs["everything"] = run_of_tables(spark, folder / "everything", everything(), as_csv)
    found = checked([run.path for run in runs.values()])
    return dict(zip(runs, found, strict=True))


def _form(number: int) -> Any:
    """Every other story is told as CSV."""
    return as_csv if number % 2 else as_parquet


@pytest.mark.parametrize("name", STORIES)
def test_what_two_tables_show_is_found_and_nothing_is_green(reports, name):
    report = reports[name]

    assert STORIES[name][1] == reported_counts(report)
    assert report["verdict"] in ("invalid", "unknown")
    assert not any("left no history" in reason for reason in report["reasons"])


@pytest.mark.parametrize("name", BY_JOB)
def test_the_one_file_job_finds_the_same(spark, tmp_path, reports, name):
    story, expected = STORIES[name]

    found = found_by_job(spark, tmp_path, story, _form([*STORIES].index(name)))

    assert expected == found_counts(found)
    assert reports[name]["verdict"] == found.verdict
    assert reports[name]["anomalies"].keys() == found.counts.keys()


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_and_lines_of_one_history_say_the_same(reports, seed):
    of_lines, of_tables = (reports[f"{form} {seed}"] for form in ("lines", "tables"))

    assert reported_counts(of_lines)
    assert reported_counts(of_lines) == reported_counts(of_tables)
    assert of_lines["verdict"] == of_tables["verdict"]
    assert of_lines["counts"] == of_tables["counts"]


def test_the_one_file_job_says_the_same_of_everything_and_knows_its_texts(spark, tmp_path, reports):
    story, report = everything(), reports["everything"]

    found = found_by_job(spark, tmp_path, story, as_csv)

    apart = [reports[name] for name in (f"tables {SEEDS[0]}", *BESIDE)]
    assert found_counts(found) == sum((Counter(reported_counts(each)) for each in apart), Counter())
    assert reported_counts(report) == found_counts(found)
    assert report["verdict"] == found.verdict
    assert report["anomalies"].keys() == found.counts.keys()
    assert report["counts"]["acked_below_log_start"] == found.below_log_start
    acked = {row["value"] for row in story.sends if row["type"] == "ok"}
    lost = acked - {row["value"] for row in story.reads}
    assert {"é ", "a,b\n"} <= {value.rstrip("0123456789") for value in lost}
    assert lost == {value for anomaly, value in values_of(found) if anomaly == "lost"}


def test_nothing_known_convicts_nobody_and_what_nothing_could_permit_does(reports):
    named = ("the same, and no times", "all sorts")

    assert ["unknown", "invalid"] == [reports[name]["verdict"] for name in named]
