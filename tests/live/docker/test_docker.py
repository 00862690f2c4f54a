"""A run in containers: every fault bites and heals, and it is judged as anywhere.

That with KRaft is the nightly's (docs/nightly-kraft.toml)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.docker import compose
from harness.release import COMPOSE_FILE, KRAFT_COMPOSE_FILE
from tests.support.commands import Ran, assert_valid, faults_by_name
from tests.support.labs.docker_engine import Docker

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


@pytest.fixture(scope="module")
def run(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Every fault once, in one run."""
    scenario = str(Path(__file__).with_name("faults.toml"))
    return docker.carry_out(scenario, tmp_path_factory.mktemp("faults"), "--no-check")


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, VERBS)


def test_a_run_in_containers_is_judged_as_anywhere(run):
    """Nothing is lost or repeated, and every fault is proved."""
    assert_valid(run)


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


def test_the_run_says_what_it_ran_on_and_keeps_the_nodes_logs(run):
    record = run.record()

    assert record["versions"]["kafka"].startswith("kafka-harness/kafka:")
    assert record["cluster"]["project"].startswith("kafka-harness-faults-")
    for node in ("zk1", "kafka3"):
        assert (run.folder / "logs" / f"{node}.log").stat().st_size > 1000


@pytest.mark.parametrize("words", compose.COMMANDS, ids=" ".join)
@pytest.mark.parametrize("file", [COMPOSE_FILE, KRAFT_COMPOSE_FILE], ids=lambda file: file.name)
def test_the_compose_file_is_one_for_each_compose(words, file):
    if not compose.answers(words):
        pytest.skip(f"there is no `{' '.join(words)}` here")
    done = subprocess.run(
        [*words, "-f", str(file), "config"],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )

    assert done.returncode == 0, done.stderr
    assert "service:net-kafka1" in done.stdout
