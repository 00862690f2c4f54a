"""When transactions are settled, against a second opinion on random histories."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from analysis.stored.stored_run import Run
from analysis.stored.transactions.settled import Settled, settled_in
from tests.support.oracles.settled import settled_ns
from tests.support.stored_runs import run_of
from tests.support.story_runs import write_rows

HISTORIES = 150
WORKERS = ("producer-0", "producer-0-2", "producer-1")
MOMENTS = range(1, 12)
Row = dict[str, Any]


def rows_of(random: Random) -> list[Row]:
    """Sends of transactions and readings of what they sent."""
    sends = [
        {
            "f": "send",
            "process": random.choice(WORKERS),
            "type": random.choice(["ok", "ok", "info", "fail"]),
            "transaction": random.choice([None, 0, 1, 2, 3]),
            "partition": random.randint(0, 1),
            "value": value,
            "end_ns": random.choice(MOMENTS),
        }
        for value in range(random.randint(0, 6))
    ]
    readings = [
        {
            "f": random.choice(["read", "poll", "lookup", "final-read"]),
            "process": "consumer-0",
            "type": random.choice(["ok", "ok", "info"]),
            "transaction": random.choice([None, 1]),
            "partition": random.randint(0, 1),
            "value": random.choice([None, *range(6)]),
            "end_ns": random.choice(MOMENTS),
        }
        for _ in range(random.randint(0, 5))
    ]
    return [*sends, *readings]


def notes_of(random: Random) -> list[Row]:
    """What workers tell; each begins its transactions in order."""
    notes = []
    for process in WORKERS:
        moments = sorted(random.sample(MOMENTS, random.randint(0, 4)))
        instances = sorted(random.randint(0, 1) for _ in moments)
        for number, (begun_ns, instance) in enumerate(zip(moments, instances, strict=True)):
            names = random.choice(
                [("commit-asked",), ("commit-asked", "committed"), ("abort-asked", "aborted"), ()]
            )
            for name in ("begun", *names):
                note: Row = {"event": "transaction", "process": process, "name": name}
                note |= {"transaction": number, "instance": instance, "time_ns": begun_ns}
                notes.append(note)
    return notes


def told_by(folder: Path, rows: list[Row], notes: list[Row], isolation: str) -> Settled:
    """What the check takes from such a history."""
    write_rows(folder / "a.parquet", rows)
    record = {"isolation": isolation, "history_format": 2}
    run: Run = run_of(events=notes, **record)
    return settled_in(replace(run, tables=(folder / "a.parquet",)))


def test_what_is_settled_is_what_a_second_opinion_says(tmp_path: Path) -> None:
    random, agreed = Random(7), 0  # the same histories in every test run
    for _ in range(HISTORIES):
        rows, notes = rows_of(random), notes_of(random)
        dirty = random.random() < 0.2
        found = told_by(tmp_path, rows, notes, "read_uncommitted" if dirty else "read_committed")
        for process, number, partition in product(WORKERS, range(4), range(2)):
            wanted = settled_ns(
                rows, notes, process=process, number=number, partition=partition, dirty=dirty
            )
            for moment in (*MOMENTS, 12):
                known = any(
                    each["sender"] == crc32(process.encode())
                    and each["partition"] in (None, partition)
                    and number <= each["transaction"]
                    for each in found.before(moment)
                )
                settled = wanted is not None and wanted < moment
                assert known == settled, (process, number, partition, moment, rows, notes)
                agreed += settled
    assert agreed > HISTORIES


def test_a_history_that_tells_no_transactions_settles_none(tmp_path: Path) -> None:
    rows = rows_of(Random(7))
    write_rows(tmp_path / "a.parquet", rows)
    run = replace(run_of(history_format=1), tables=(tmp_path / "a.parquet",))

    assert settled_in(run).before(12) == []
