"""An operator's commands on real brokers: each verb bites and heals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_by_name, faults_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

# In the order of admin.toml.
WHICH = (
    "set-brokers",
    "move-leader",
    "reassign",
    "raise-replication",
    "set-topic",
    "stop",
    "elect",
    "decommission",
    "add-partitions",
)
BITES = {
    "move-leader": r"kafka\d leads harness-0",
    "reassign": r"now harness-0 on kafka\d\+kafka\d",
    "raise-replication": r"now harness-0 on kafka\d\+kafka\d\+kafka\d",
    "set-topic": r"topic harness: min.insync.replicas is 2, was 1, retention.ms is 86400000, .*",
    "set-brokers": r"broker 1 and broker 2 and broker 3: num.io.threads is 6, was 4",
    "elect": r"leader of harness-0 was kafka\d, is kafka\d",
    "decommission": r"kafka\d is empty \(harness-0 on kafka\d\+kafka\d\), its process \d+ is gone",
    "add-partitions": r"topic harness has 2 partitions, had 1; each has a leader",
}
HEALS = {
    "move-leader": r"kafka\d leads harness-0",
    "reassign": r"back to harness-0 on kafka\d\+kafka\d",
    "raise-replication": r"back to harness-0 on kafka\d\+kafka\d",
    "set-topic": r"min.insync.replicas, retention.ms as before",
    "set-brokers": r"num.io.threads as before",
    "elect": r"leadership stays",
    "decommission": r"process \d+ of kafka\d serves; back to harness-0 on kafka\d\+kafka\d",
    "add-partitions": r"Kafka cannot remove a partition",
}


@pytest.mark.parametrize("kafka", ["4.4"])
def test_where_the_only_isr_died_an_operator_lets_a_broker_lead_that_lacks_records(
    tmp_path: Path, kafka: str
) -> None:
    """The leader was cut from its followers, and killed. That nobody leads then by itself is
    partition-cp, in every study and night."""
    run = carried_out("unclean.toml", tmp_path, f"--kafka={kafka}")
    (elected,) = (fault for fault in faults_of(run) if fault["verb"] == "elect")

    assert_valid(run)
    assert re.fullmatch(r"harness-0 had no leader, is led by kafka\d", elected["evidence"])
    assert run.report["anomalies"]["lost"]["count"] > 0
    assert run.report["cap"]["label"] == "AP"


@pytest.fixture(scope="module", params=["3.9"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("admin")
    return carried_out("admin.toml", folder, f"--kafka={request.param}")


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, WHICH)


def test_nothing_is_lost_and_everything_is_proved(run):
    assert_valid(run)


@pytest.mark.parametrize("which", BITES)
def test_a_command_bites(faults, which):
    assert re.fullmatch(BITES[which], faults[which]["evidence"])


@pytest.mark.parametrize("which", HEALS)
def test_a_command_is_undone_or_says_why_not(faults, which):
    healed = faults[which]["heal_evidence"]

    assert re.search(HEALS[which], healed)
    assert "every ISR has 2 members" in healed


@pytest.mark.parametrize("which", ["move-leader", "elect"])
def test_leadership_really_moved(faults, which):
    fault = faults[which]
    before, (hit,) = json.loads(fault["before"]), fault["nodes"]
    leader = before["leader"]["0"]

    assert leader not in fault["evidence"] if which == "move-leader" else leader != hit
    assert json.loads(fault["after"])["leader"]["0"] == hit
