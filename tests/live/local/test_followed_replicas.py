"""A real cluster's replicas, followed on their disks: what is seen is what Kafka itself says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return carried_out("watermarks.toml", tmp_path_factory.mktemp("watermarks"))


@pytest.fixture(scope="module")
def looks(run: Ran) -> list[dict[str, Any]]:
    assert run.folder is not None, run.out + run.err
    rows = pq.read_table(run.folder / "history" / "watermarks.parquet").to_pylist()
    return sorted(rows, key=lambda row: row["time_ns"])


@pytest.fixture(scope="module")
def cut(run: Ran) -> dict[str, Any]:
    """The one fault: both followers are cut off until the leader is alone in its ISR."""
    (fault,) = faults_of(run)
    return fault


def test_the_demands_hold(run):
    assert_valid(run)
    anomalies = run.report["anomalies"]
    assert (anomalies["watermark-ahead"]["count"], anomalies["early-read"]["count"]) == (0, 0)
    assert anomalies["watermark-ahead"]["forbidden"]


def test_the_last_log_ends_are_those_that_kafka_s_own_dump_tells(run, looks):
    """All records are ours, so a log that begins at 0 ends at their number."""
    operations = pq.read_table(run.folder / "history" / "operations").to_pylist()
    held = Counter(f"kafka{row['broker']}" for row in operations if row["f"] == "replica")
    last = {row["broker"]: row["log_end"] for row in looks}

    assert held == last
    assert set(last) == {"kafka1", "kafka2", "kafka3"}


def test_the_last_watermarks_are_the_log_ends(looks):
    """Nothing is written any more; followers learned it with a fetch after that."""
    last = {row["broker"]: row for row in looks}

    assert {n: row["high_watermark"] for n, row in last.items()} == {
        n: row["log_end"] for n, row in last.items()
    }


def test_while_the_followers_are_cut_off_the_leader_goes_on_and_its_watermark_does_not(cut, looks):
    """A look reads the watermark before the ISR: one that saw all three in it was not past them."""
    in_isr = Counter(row["time_ns"] for row in looks if row["in_isr"])
    leads = [row for row in looks if row["leads"] and in_isr[row["time_ns"]] == 3]
    first, *_, last = [
        row for row in leads if cut["ok_ns"] < row["time_ns"] < cut["heal_invoke_ns"]
    ]

    assert last["log_end"] > first["log_end"] >= last["high_watermark"]


def test_followers_are_dropped_by_the_leader_s_clock_and_come_back(run, cut):
    """The first absence of each is the fault's; on a starved host more may follow."""
    absences = {row["broker"]: row for row in reversed(run.report["replication"]["isr"])}

    assert absences.keys() == set(cut["nodes"])
    for absence in absences.values():
        assert absence["leave_of_limit"] >= 0.95
        assert absence["returned_s"] > absence["left_s"]


def test_both_followers_learn_the_watermark_late(run):
    lag = run.report["replication"]["lag"]

    assert len(lag) >= 2
    assert all(row["offsets"]["max"] >= 1 for row in lag)
