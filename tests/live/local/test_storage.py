"""Disks, power and clocks of real brokers: each fault bites, heals, and takes what it must."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.commands import Ran, carried_out, faults_of

pytestmark = pytest.mark.cluster

BITES = {
    "flip-bit": r"byte \d+ of harness-0/\d+\.log of kafka\d was 0x",
    "freeze-disk": "reported «Read-only file system».* is gone",
    "fill-disk": "reported «No space left on device».* is gone",
    "lose-power": r"is gone; of [\d,]+ bytes in its segments [\d,]+ had never been synced",
    "lose-disk": r"is gone; \d+ files of [\d,]+ bytes were removed",
    "skew-clock": r"is -(59\d|60\d) s ahead by its own thread dump",
    "slow-disk": r"\d+ writes of kafka\d to its segments waited 50 ms: they took .* ms each",
    "fail-disk": r"[1-9]\d* writes of kafka\d to its segments failed with EIO; .* is gone",
}
HEALS = {
    "flip-bit": "again",
    "skew-clock": "is right again",
    "slow-disk": "strace is detached from process",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    folder = tmp_path_factory.mktemp("storage")
    return [carried_out(name, folder, 300) for name in ("storage.toml", "writes.toml")]


def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return {row["verb"]: row for row in faults_of(run)}


@pytest.mark.parametrize("verb", BITES)
def test_it_bites(ran: list[Ran], verb: str) -> None:
    fault = {**faults(ran[0]), **faults(ran[1])}[verb]

    assert fault["error"] is None
    assert re.search(BITES[verb], fault["evidence"])


@pytest.mark.parametrize("verb", BITES)
def test_it_heals(ran: list[Ran], verb: str) -> None:
    fault = {**faults(ran[0]), **faults(ran[1])}[verb]

    assert HEALS.get(verb, "serves") in fault["heal_evidence"]
    assert "every ISR has 3 members" in fault["heal_evidence"]


def test_a_follower_s_disk_costs_no_acknowledged_record(ran: list[Ran]) -> None:
    for run in ran:
        assert run.code == 0, run.out + run.err
        assert run.report["anomalies"]["lost"]["count"] == 0


@pytest.mark.parametrize(
    ("twin", "lost"), [("power-loss-all", True), ("power-loss-all-flushed", False)]
)
def test_power_takes_what_was_not_synced_and_nothing_else(harness, twin, lost):
    run = harness(
        "run", twin, "--seed", "7", "--set", "workload.duration_s=6", "--set", "faults.0.at_s=2"
    )

    assert run.code == 0, run.out + run.err
    assert (run.report["anomalies"]["lost"]["count"] > 0) is lost
    (fault,) = faults(run).values()
    assert (" 0 had never been synced" in fault["evidence"]) != lost
