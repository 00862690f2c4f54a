"""What damage suspends: what rests on what is damaged proves nothing, the rest convicts as ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.anomalies import NAMES
from analysis.stored.damage import Damage, of_finding
from analysis.stored.table_rows import Finding
from analysis.verdict.demands import parse
from analysis.verdict.judge import Gap
from analysis.verdict.suspended import ALL, RESTS_ON, recorded_by, suspends, unproved
from tests.support.histories import (
    damage,
    fault,
    final_read,
    found,
    read,
    sent,
    story,
    view,
    with_story,
)
from tests.support.story_runs import checked, write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = dict[str, Any]
# acks=all: that record 2 is gone is forbidden. A consumer was given the other one.
LOSS = (sent(1, at=0), sent(2, at=1), read(1, at=0), final_read(1))


def of(process: str | None) -> list[Damage]:
    return [Damage(file="history/x", why="missing", process=process)]


def suspended_by(process: str | None, *, complete: bool = True) -> set[str]:
    return {name for name in NAMES if suspends(of(process), name, complete=complete)}


# --- which anomalies rest on what


def test_every_anomaly_says_what_it_rests_on() -> None:
    assert set(RESTS_ON) == set(NAMES)


def test_one_that_does_not_rests_on_everything() -> None:
    assert suspends(of("consumer-0"), "late-ack", complete=True) is not None


@pytest.mark.parametrize("process", [None, "nemesis", "views", "some-new-worker-0", "p"])
def test_what_is_no_known_workers_suspends_everything(process: str | None) -> None:
    """Events, faults and views; or a worker that might have recorded anything."""
    assert suspended_by(process) == set(NAMES)


@pytest.mark.parametrize(
    ("process", "records"),
    [
        ("producer-1", {"send"}),
        ("consumer-0", {"delivery"}),
        ("write-read-0", {"send", "delivery"}),
        ("group-consumer-12", {"group"}),
        ("producer-0-2", {"send"}),  # the successor of one that a fault ended
        ("group-consumer-1-3", {"group"}),
        ("final-read-0", {"final-read"}),
        ("replicas-0", {"replica"}),
        ("unheard-of-0", ALL),
    ],
)
def test_what_a_worker_records_goes_by_its_kind(process: str, records: set[str]) -> None:
    assert recorded_by(process) == records


@pytest.mark.parametrize(
    ("process", "anomaly", "suspended"),
    [
        ("producer-0", "lost", True),
        ("final-read-0", "lost", True),
        ("consumer-0", "lost", False),
        ("group-consumer-0", "lost", False),
        ("producer-0", "phantom", True),
        ("final-read-0", "duplicate", True),
        ("producer-0", "duplicate", False),
        ("consumer-0", "duplicate", False),
        ("consumer-0", "vanished", True),
        ("producer-0", "vanished", False),
        ("group-consumer-0", "skipped", True),
        ("consumer-0", "skipped", False),
        ("replicas-0", "diverged", True),
        ("replicas-0", "lost", False),
    ],
)
def test_a_workers_table_suspends_what_rests_on_it(
    process: str, anomaly: str, suspended: bool
) -> None:
    assert (anomaly in suspended_by(process)) == suspended


def test_where_the_final_read_is_not_complete_duplicates_rest_on_reads() -> None:
    assert "duplicate" in suspended_by("consumer-0", complete=False)


def test_the_reason_names_the_file() -> None:
    why = suspends(of("producer-0"), "lost", complete=True)

    assert why == "lost: history/x is damaged, so what was seen may be damage too"


def finding(kind: str, text: str) -> Finding:
    return {"run_id": "told/1", "process": "p", "kind": kind, "count": 1, "text": text}


@pytest.mark.parametrize("kind", ["truncated-segment", "bad-record", "bad-line", "kept", "new"])
def test_what_sealing_found_is_damage_of_its_worker(kind: str) -> None:
    text = "p.0000.seg: 3 of 4 slots are present"

    assert of_finding(finding(kind, text)) == Damage(
        file="history/p.0000.seg", why="3 of 4 slots are present", process="p"
    )


@pytest.mark.parametrize("kind", ["torn", "no-end"])
def test_what_a_killed_worker_leaves_is_none(kind: str) -> None:
    assert of_finding(finding(kind, "")) is None


# --- findings


@with_story(*LOSS)
def test_a_loss_in_a_whole_history_convicts(report: Report) -> None:
    """The twin of all that follow."""
    assert (report["verdict"], report["anomalies"]["lost"]["convicts"]) == ("invalid", True)


@with_story(
    *LOSS, damage("truncated-segment", text="producer-0.0000.seg: 3 of 4 slots are present")
)
def test_a_producer_with_a_missing_segment_convicts_nobody(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["reasons"][-1] == (
        "lost: history/producer-0.0000.seg is damaged, so what was seen may be damage too"
    )
    assert report["sentence"].startswith("It is not known whether data was lost: history of ")
    assert "Data was lost" not in report["sentence"]
    assert found(report, "lost") == [2]  # as far as it goes


@with_story(read(9, at=0), final_read(9), damage("truncated-segment"))
def test_a_record_whose_send_may_be_missing_is_not_never_sent(report: Report) -> None:
    assert (report["verdict"], report["anomalies"]["phantom"]["count"]) == ("unknown", 1)


@with_story(sent(1, at=0), read(9, at=1), final_read(1, 9))
def test_a_record_that_nobody_sent_convicts(report: Report) -> None:
    """The twin."""
    assert report["verdict"] == "invalid"


@with_story(*LOSS, damage("bad-record", process="consumer-0", text="consumer-0.0000.seg: slot 3"))
def test_a_damaged_consumer_suspends_no_loss(report: Report) -> None:
    """What it read is not what the loss is proved by."""
    assert report["verdict"] == "invalid"


@with_story(
    *LOSS, damage("bad-record", process="final-read-0", text="final-read-0.0000.seg: slot 3")
)
def test_a_finding_on_the_final_read_revokes_complete(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["final_read"]["complete"] is False
    assert report["anomalies"]["lost"]["count"] == 0
    assert report["anomalies"]["unseen"]["count"] == 1


@with_story(
    sent(1, at=0),
    final_read(1),
    damage("bad-record", text="producer-0.0000.seg: slot 3"),
    fault("kill", "client", ms=1, nodes=("producer-0",)),
    workers=[{"process": "producer-0", "exit": -9}],
)
def test_a_fault_that_killed_a_worker_excuses_no_damage(report: Report) -> None:
    """A killed worker leaves half a record at most."""
    assert report["verdict"] == "unknown"
    assert report["reasons"] == ["history of producer-0: producer-0.0000.seg: slot 3"]


@with_story(*LOSS, damage("no-end", process="final-read-0"))
def test_a_final_read_without_its_end_is_not_complete(report: Report) -> None:
    """Its segments may be missing as well as its end."""
    assert (report["verdict"], report["final_read"]["complete"]) == ("unknown", False)


@with_story(
    *LOSS,
    final_read(1, process="final-read-1"),
    damage("bad-record", process="final-read-0", text="final-read-0.0000.seg: slot 3"),
)
def test_another_pass_may_be_complete_all_the_same(report: Report) -> None:
    """But the damaged one is a final read too, and what it has may be missing."""
    assert report["final_read"]["complete"] is True
    assert (report["verdict"], report["anomalies"]["lost"]["count"]) == ("unknown", 1)


@with_story(*LOSS, damage("truncated-segment"), expect={"lost": "0", "acked-isr-alone": "0"})
def test_a_demand_broken_by_damage_is_not_broken(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["anomalies"]["lost"]["demand_met"] is None
    assert report["count_demands"]["acked-isr-alone"]["demand_met"] is None


@with_story(*LOSS, acks="1", expect={"lost": "0"})
def test_a_demand_broken_in_a_whole_history_is_broken(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["anomalies"]["lost"]["demand_met"]) == ("invalid", False)


# --- files


def _set(column: str, value: object) -> Callable[[Path], object]:
    """Change one row of a table."""

    def change(file: Path) -> None:
        table = pq.read_table(file)
        at = table.schema.get_field_index(column)
        values = [*table[column].to_pylist()[:-1], value]
        changed = pa.array(values, table.schema.field(at).type)
        pq.write_table(table.set_column(at, column, changed), file)

    return change


def _one_less(file: Path) -> None:
    table = pq.read_table(file)
    pq.write_table(table.slice(0, table.num_rows - 1), file)


CASES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a missing consumer": ("operations/consumer-0", Path.unlink, "invalid"),
    "a missing producer": ("operations/producer-0", Path.unlink, "unknown"),
    "a missing final read": ("operations/final-read-0", Path.unlink, "unknown"),
    "a row of no run": ("operations/final-read-0", _set("run_id", None), "unknown"),
    "a row of another run": ("operations/producer-0", _set("run_id", "other/1"), "unknown"),
    "an unknown word": ("operations/producer-0", _set("type", "okay"), "unknown"),
    "a partition beyond the topic": ("operations/producer-0", _set("partition", 1), "unknown"),
    "a time that goes back": ("operations/producer-0", _set("start_ns", 5), "unknown"),
    "faults of another run": ("faults", _set("run_id", "other/1"), "unknown"),
    "views of another run": ("views", _set("run_id", "other/1"), "unknown"),
    "a row less than sealed": ("operations/final-read-0", _one_less, "unknown"),
    "missing events": ("events", Path.unlink, "unknown"),
    "missing blind stretches": ("blind", Path.unlink, "unknown"),
    "missing findings": ("findings", Path.unlink, "unknown"),
}


@pytest.fixture(scope="module")
def reports_of_cases(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Report]:
    """A forbidden loss, one file of it damaged; all in one job."""
    folder = tmp_path_factory.mktemp("damaged")
    parts = (view("kafka1", ms=0), *LOSS, fault("pause", "follower", ms=1, nodes=("kafka2",)))
    runs = []
    for number, (table, spoil, _) in enumerate(CASES.values()):
        run = write_story(story(*parts), folder / str(number), f"told/{number}")
        _mark(run, f"told/{number}")
        spoil(run / "history" / f"{table}.parquet")
        runs.append(run)
    return dict(zip(CASES, checked(runs), strict=True))


def _mark(run: Path, run_id: str) -> None:
    """Sealed by an old harness: its counts, and no digests."""
    files = sorted((run / "history/operations").glob("*.parquet"))
    said = {
        "run_id": run_id,
        "processes": [file.stem for file in files],
        "operations": sum(pq.read_metadata(file).num_rows for file in files),
        "findings": 0,
    }
    (run / "history/sealed.json").write_text(json.dumps(said))


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_file_is_named_and_what_rests_on_it_convicts_nobody(
    reports_of_cases: dict[str, Report], name: str
) -> None:
    table, _, verdict = CASES[name]
    report = reports_of_cases[name]

    assert report["verdict"] == verdict
    if verdict == "unknown":
        # Which table a missing row was in is not known of an old mark.
        file = "history/operations: " if name == "a row less than sealed" else f"history/{table}."
        assert any(reason.startswith(file) for reason in report["reasons"])
        assert "Data was lost" not in report["sentence"]
    else:
        assert report["reasons"] == ["lost: 1 seen, which this configuration forbids"]


@pytest.mark.parametrize(("damaged", "met"), [(None, True), ("producer-0", None)])
def test_with_damage_a_demand_on_what_was_measured_is_neither_met_nor_broken(
    damaged: str | None, met: bool | None
) -> None:
    gap = Gap(longest_s=1.0, demand=parse({"produce-gap-s": "<= 2"})["produce-gap-s"], met=True)
    found = unproved({"produce-gap-s": gap}, of(damaged) if damaged else [])

    assert found["produce-gap-s"].met is met
