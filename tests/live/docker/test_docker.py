"""The same experiments in containers: every fault bites and heals, the study's anomalies show."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.docker import compose
from harness.release import COMPOSE_FILE
from tests.support.commands import COMMAND, Ran, faults_of, give_up
from tests.support.labs.docker_engine import END_LIMIT_S, Docker, ended

# What is awaited in a fixture has a limit of its own, which names it.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]

VERBS = (
    "kill",
    "stop",
    "pause",
    "kill zk",
    "cut",
    "cut clients",
    "reject",
    "lose",
    "cut-answers",
    "delay",
    "throttle",
)


FEWER = (
    "--set",
    "workload.rounds=2000",
    "--set",
    "faults.0.after_rounds=500",
    "--set",
    "faults.0.every_rounds=500",
    "--set",
    "faults.0.times=3",
)


@pytest.fixture(scope="module")
def unchecked(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Two by two side by side in one engine: every fault, and three of the study's experiments."""
    every_fault = str(Path(__file__).with_name("faults.toml"))
    return {
        **side_by_side(docker, tmp_path_factory, {every_fault: (), "study-1-sure": ()}),
        **side_by_side(docker, tmp_path_factory, {"study-4": FEWER, "partition-cp": ()}),
    }


@pytest.fixture(scope="module")
def runs(unchecked: dict[str, Ran]) -> dict[str, Ran]:
    """The same, checked by one Spark."""
    folders = [str(ran.folder) for ran in unchecked.values()]
    checked = subprocess.run(
        [*COMMAND, "check", *folders], capture_output=True, text=True, timeout=600, check=False
    )
    assert "report " in checked.stdout, checked.stdout + checked.stderr
    return {Path(name).stem: ran for name, ran in unchecked.items()}


def side_by_side(
    docker: Docker, folders: pytest.TempPathFactory, scenarios: dict[str, tuple[str, ...]]
) -> dict[str, Ran]:
    begun = {}
    for name, more in scenarios.items():
        folder = folders.mktemp(Path(name).stem)
        begun[name] = docker.begin(name, folder, "--no-check", *more), folder
    try:
        return {name: ended(process, folder) for name, (process, folder) in begun.items()}
    finally:
        for process, _ in begun.values():
            if process.poll() is None:  # the one before it failed
                give_up(process, END_LIMIT_S)


@pytest.fixture(scope="module")
def faults(runs: dict[str, Ran]) -> dict[str, dict[str, Any]]:
    return dict(zip(VERBS, faults_of(runs["faults"]), strict=True))


@pytest.mark.parametrize("scenario", ["faults", "study-1-sure", "study-4", "partition-cp"])
def test_a_run_in_containers_meets_the_demands_of_its_scenario(runs, scenario):
    """faults: nothing is lost and every fault is proved. study-1-sure: acks=1 loses (in
    study-1 itself a few kills may lose nothing). study-4: retries and idempotence neither lose nor
    repeat. partition-cp: down, and nothing lost."""
    report = runs[scenario].report

    assert report["verdict"] == "valid", (runs[scenario].out, report["reasons"])


@pytest.mark.parametrize(
    ("which", "evidence"),
    [
        ("kill", r"process \d+ of kafka\d is gone"),
        ("stop", r"process \d+ of kafka\d is gone"),
        ("pause", r"process \d+ of kafka\d is stopped"),
        ("kill zk", r"process \d+ of zk\d is gone"),
        ("cut", r"kafka\d dropped [1-9]\d* packets of kafka\d, [1-9]\d* packets of kafka\d; .*"),
        ("cut clients", r"(kafka\d|clients) dropped [1-9]\d* packets of .*clients.*"),
        ("reject", r"(?=.*rejected).*[1-9]\d* packets of zk1.*"),
        ("lose", r".* lost \d+ packets of .*"),
        ("cut-answers", r"[1-9]\d* answers of kafka\d to clients were cut"),
        ("delay", r"[1-9]\d* packets to kafka\d were delayed; a connection to it takes .*"),
        ("throttle", r".* had to wait [1-9]\d* times .*"),
    ],
)
def test_a_fault_bites_and_heals(faults, which, evidence):
    assert re.fullmatch(evidence, faults[which]["evidence"])
    assert "every ISR has 3 members" in faults[which]["heal_evidence"]


def test_the_run_says_what_it_ran_on_and_keeps_the_nodes_logs(runs):
    ran = runs["faults"]
    record = ran.record()

    assert record["versions"]["kafka"].startswith("kafka-harness/kafka:")
    assert record["cluster"]["project"].startswith("kafka-harness-faults-")
    for node in ("zk1", "kafka3"):
        assert (ran.folder / "logs" / f"{node}.log").stat().st_size > 1000


@pytest.mark.parametrize("words", compose.COMMANDS, ids=" ".join)
def test_the_compose_file_is_one_for_each_compose(words):
    if not compose.answers(words):
        pytest.skip(f"there is no `{' '.join(words)}` here")
    done = subprocess.run(
        [*words, "-f", str(COMPOSE_FILE), "config"],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )

    assert done.returncode == 0, done.stderr
    assert "service:net-kafka1" in done.stdout
