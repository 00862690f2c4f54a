"""A consumer group on a real cluster: its members die, their successors go on, both are counted."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.nemesis.faults.admin.dump_log import read
from tests.support.commands import Ran, assert_valid, carried_out, faults_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("groups")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RESULTS", str(folder))  # where groups.toml awaits the third member
        return carried_out("groups.toml", folder)


def operations(run: Ran, process: str, f: str) -> list[dict[str, Any]]:
    assert run.folder is not None
    table = pq.read_table(run.folder / f"history/operations/{process}.parquet")
    return [row for row in table.to_pylist() if row["f"] == f and row["type"] == "ok"]


def test_it_meets_what_is_demanded(run):
    assert_valid(run)


def test_members_die_where_they_were_told_and_are_succeeded(run):
    members = [w for w in run.record()["workers"] if w["role"] == "group-consumer"]

    assert [w["dies"] for w in members] == ["before-process", "before-commit", "", ""]
    assert [w["exit"] for w in members] == [-9, -9, -9, 0]
    assert [w["process"] for w in members] == [
        "group-consumer-0",
        "group-consumer-0-2",
        "group-consumer-0-3",
        "group-consumer-0-4",
    ]


def test_what_was_committed_and_in_hand_is_skipped(run):
    """The first member took it, the client committed it, the second began behind it."""
    dead, heir = "group-consumer-0", "group-consumer-0-2"
    polled = {row["offset"] for row in operations(run, dead, "poll")}
    processed = {row["offset"] for row in operations(run, dead, "process")}
    goes_on = operations(run, heir, "committed")[0]

    assert goes_on["offset"] == max(polled) + 1
    skipped = run.report["anomalies"]["skipped"]
    first = {row["offset"] for row in skipped["examples"] if row["offset"] <= max(polled)}
    assert first
    assert first <= polled - processed
    assert skipped["split"]["polled"] >= len(polled - processed) > 0


def test_what_was_processed_and_not_committed_is_processed_again(run):
    """Of the two that die while they process: a client may have committed all that one of them had,
    and a fault may kill the first heir before it asks where to go on."""
    line = ("group-consumer-0-2", "group-consumer-0-3", "group-consumer-0-4")
    again = set()
    for number, dead in enumerate(line[:-1], start=1):
        asked = (row for heir in line[number:] for row in operations(run, heir, "committed"))
        goes_on = next(asked)["offset"]
        processed = {row["offset"] for row in operations(run, dead, "process")}
        again |= {offset for offset in processed if offset >= goes_on}

    assert 0 < len(again) <= run.report["anomalies"]["reprocessed"]["count"]


def test_a_member_that_a_fault_kills_is_succeeded_too(run):
    fault = next(f for f in run.report["faults"] if f["verb"] == "kill")

    assert fault["nodes"] == ["group-consumer-0-3"]
    assert "is gone" in fault["evidence"]
    assert operations(run, "group-consumer-0-4", "process")


def test_dumped_logs_hold_what_was_acknowledged(run):
    """Whatever was acknowledged before the dump began is in all three."""
    fault = next(f for f in run.report["faults"] if f["verb"] == "dump-log")
    begun_ns = next(row["invoke_ns"] for row in faults_of(run) if row["verb"] == "dump-log")
    acked = {
        row["offset"]: row["value"]
        for row in operations(run, "producer-0", "send")
        if row["end_ns"] < begun_ns
    }

    assert acked
    assert "kafka2 holds offsets 0 to" in fault["evidence"]
    for node in ("kafka1", "kafka2", "kafka3"):
        dumped = read((run.folder / f"logs/dump-{fault['step']}-{node}.txt").read_text()).records
        assert acked.items() <= dumped.items(), json.dumps(fault)


def told(run: Ran, process: str, event: str) -> list[int]:
    """When a member told of such an event."""
    assert run.folder is not None
    lines = (run.folder / f"history/{process}.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["time_ns"] for row in rows if row["event"] == event]


def test_a_member_paused_until_another_has_its_partitions_owns_them_a_while_longer(harness):
    """It goes on when the other one has told that it has them, so both do, in two generations."""
    run = harness(
        "run",
        "group-member-expelled",
        "--seed",
        "7",
        "--no-check",
        "--set",
        "workload.duration_s=7",
        "--set",
        "faults.0.at_s=2",
        "--set",
        "faults.1.at_s=1",
    )

    assert_valid(run)
    assert run.report["rebalances"]["expelled"]["count"] > 0
    assert run.report["anomalies"]["two-owners"]["count"] == 0
    for fault in faults_of(run):
        (hit,) = fault["nodes"]
        (other,) = {"group-consumer-0", "group-consumer-1"} - {hit}
        paused_ns, resumed_ns = fault["ok_ns"], fault["heal_invoke_ns"]
        assert any(paused_ns < ns < resumed_ns for ns in told(run, other, "assigned"))
        assert not any(paused_ns < ns < resumed_ns for ns in told(run, hit, "revoked"))
        assert any(ns > resumed_ns for ns in told(run, hit, "revoked"))
