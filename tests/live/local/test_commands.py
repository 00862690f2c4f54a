"""`up` and `campaign` on real clusters: what they leave when they are interrupted."""

from __future__ import annotations

import signal
import subprocess

import pytest

from harness.model.campaigns.ledger import read
from harness.waiting import wait_until
from tests.support.commands import COMMAND, newest_run
from tests.support.host_pace import bound_s

pytestmark = pytest.mark.cluster

CAMPAIGN = """
title = "two short runs"
data = "runs.jsonl"
seed = 5
[[cells]]
scenario = "baseline"
repeats = 2
[cells.set]
"workload.rounds" = 200
"cluster.zookeepers" = 1
"cluster.brokers" = 1
"topic.replication_factor" = 1
"""


def start(*arguments: str, output) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_up_prints_addresses_and_ends_with_its_signal(tmp_path):
    said = tmp_path / "said"
    with said.open("w") as output:
        process = start("up", "baseline", output=output)
    wait_until(
        lambda: "ZOOKEEPER=" in said.read_text(), timeout_s=bound_s(90), what="the addresses"
    )
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=bound_s(60)) == 128 + signal.SIGTERM
    assert "KAFKA=10.77.0.21:9092,10.77.0.22:9092,10.77.0.23:9092" in said.read_text()


def test_an_interrupted_campaign_goes_on_and_repeats_nothing(tmp_path):
    file, data, results = tmp_path / "c.toml", tmp_path / "runs.jsonl", tmp_path / "results"
    file.write_text(CAMPAIGN)
    said = tmp_path / "said"
    arguments = ("campaign", str(file), "--resume", "--no-calibration", "--results", str(results))
    with said.open("w") as output:
        first = start(*arguments, output=output)
    wait_until(
        lambda: "run 2 of 2" in said.read_text() and newest_run(results).name.endswith("-6"),
        timeout_s=bound_s(180),
        what="the second run to begin",
    )
    first.send_signal(signal.SIGINT)
    assert first.wait(timeout=bound_s(90)) == 128 + signal.SIGINT
    assert [5] == seeds(data)

    refused = subprocess.run(
        [*COMMAND, "campaign", str(file), "--results", str(results)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 254
    assert "--resume" in refused.stderr

    with said.open("w") as output:
        second = start(*arguments, output=output)
    assert second.wait(timeout=bound_s(180)) == 0, said.read_text()
    assert [5, 6] == seeds(data)
    assert [6] == [line["seed"] for line in read(data).interrupted]
    assert "1 runs finished, 1 to do" in said.read_text()


def test_two_runs_of_a_campaign_are_recorded_at_a_time(tmp_path):
    file, data, results = tmp_path / "c.toml", tmp_path / "runs.jsonl", tmp_path / "results"
    file.write_text(CAMPAIGN)
    said = tmp_path / "said"
    arguments = ("--no-calibration", "--parallel", "2", "--results", str(results))
    with said.open("w") as output:
        campaign = start("campaign", str(file), *arguments, output=output)

    assert campaign.wait(timeout=bound_s(240)) == 0, said.read_text()

    told = read(data)
    assert ["started", "started", "ended", "ended"] == [line["event"] for line in told.all]
    assert [5, 6] == seeds(data)
    assert all(line["verdict"] == "valid" for line in told.standing)


def seeds(data) -> list[int]:
    return [line["seed"] for line in read(data).standing]
