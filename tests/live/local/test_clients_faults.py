"""Workers of real runs hit by faults: each verb bites, and the one in its place goes on."""

from __future__ import annotations

import re
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_by_name

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

# In the order of clients.toml.
WHICH = (
    "kill-producer",
    "stop-successor",
    "kill-consumer",
    "pause-producers",
    "pause-consumers",
    "stop-consumers",
    "stop-member",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return carried_out("clients.toml", tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, WHICH)


def test_nothing_is_lost_and_nobody_is_missed_who_was_meant_to_die(run):
    assert_valid(run)


@pytest.mark.parametrize("which", WHICH)
def test_a_worker_is_gone_or_stands_still(faults, which):
    evidence, nodes = faults[which]["evidence"], faults[which]["nodes"]
    done = "is stopped" if which.startswith("pause") else "is gone"

    assert all(re.search(rf"process \d+ of {name} {done}", evidence) for name in nodes)


@pytest.mark.parametrize("which", WHICH)
def test_the_worker_in_its_place_goes_on(faults, which):
    fault = faults[which]
    does = "sends are acknowledged" if "producer" in fault["target"] else "records are read"

    assert fault["heal_evidence"].count(f"continues: {does}") == len(fault["nodes"])


def test_the_same_place_means_whoever_is_in_it(faults):
    assert faults["kill-producer"]["nodes"] == ["producer-0"]
    assert faults["stop-successor"]["nodes"] == ["producer-0-2"]


def test_a_member_that_is_told_to_stop_leaves_its_group(run, faults):
    """Else its successor would be given the partition when the session is over, after 45 s."""
    events = pq.read_table(run.folder / "history" / "events.parquet").to_pylist()
    joined = [
        e["time_ns"]
        for e in events
        if e["event"] == "assigned" and e["text"] == "0" and e["process"] == "group-consumer-0-2"
    ]

    assert faults["stop-member"]["nodes"] == ["group-consumer-0"]
    assert joined
    # The session counts from the last heartbeat, which is 3 s old at most.
    assert joined[0] - faults["stop-member"]["invoke_ns"] < 40e9


def test_every_worker_that_ever_was_is_on_record_and_values_stay_unique(run):
    workers = {worker["process"]: worker["exit"] for worker in run.record()["workers"]}
    rows = [
        row
        for row in pq.read_table(run.folder / "history" / "operations").to_pylist()
        if row["f"] == "send"
    ]

    assert workers["producer-0"] == -9
    assert workers["producer-0-3"] == 0
    assert len({row["value"] for row in rows}) == len(rows)
    assert {row["process"] for row in rows} == {name for name in workers if "producer" in name}
