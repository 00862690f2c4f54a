"""Disks, power and clocks of real brokers: each fault bites, heals, and takes what it must."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_of
from tests.support.needs import needs

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

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
FILES = {
    verb: "writes.toml" if verb in ("slow-disk", "fail-disk") else "storage.toml" for verb in BITES
}
Runs = Callable[[str], Ran]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The run of a file, made in the time of the first test that asks for it."""
    needs("strace", "libfaketime")
    return cache(lambda name: carried_out(name, tmp_path_factory.mktemp("storage")))


def fault_of(runs: Runs, verb: str) -> dict[str, Any]:
    return next(row for row in faults_of(runs(FILES[verb])) if row["verb"] == verb)


@pytest.mark.parametrize("verb", FILES)
def test_it_bites(runs: Runs, verb: str) -> None:
    fault = fault_of(runs, verb)

    assert fault["error"] is None
    assert re.search(BITES[verb], fault["evidence"])


@pytest.mark.parametrize("verb", FILES)
def test_it_heals(runs: Runs, verb: str) -> None:
    fault = fault_of(runs, verb)

    assert HEALS.get(verb, "serves") in fault["heal_evidence"]
    assert "every ISR has 3 members" in fault["heal_evidence"]


@pytest.mark.parametrize("file", sorted({*FILES.values()}))
def test_a_follower_s_disk_costs_no_acknowledged_record(runs: Runs, file: str) -> None:
    run = runs(file)

    assert_valid(run)
    assert run.report["anomalies"]["lost"]["count"] == 0


@pytest.mark.parametrize(
    ("twin", "lost"), [("power-loss-all", True), ("power-loss-all-flushed", False)]
)
def test_power_takes_what_was_not_synced_and_nothing_else(harness, twin, lost):
    needs("strace")
    run = harness(
        "run",
        twin,
        "--seed",
        "7",
        "--no-check",
        "--set",
        "workload.duration_s=4",
        "--set",
        "faults.0.at_s=1",
    )

    assert_valid(run)
    assert (run.report["anomalies"]["lost"]["count"] > 0) is lost
    (fault,) = faults_of(run)
    written = re.findall(r"of ([\d,]+) bytes in its segments ([\d,]+) had", fault["evidence"])
    assert len(written) == 3
    # Of one that syncs, the last batch may be on its way to the disk.
    assert all((had == cut_off) is lost for had, cut_off in written)
