"""A cluster with KRaft in containers: its controllers can be hit, and are asked who leads them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.docker import compose
from harness.release import KRAFT_COMPOSE_FILE
from tests.support.commands import Ran, assert_valid, faults_by_name
from tests.support.labs.docker_engine import Docker

# What is awaited in a fixture has a limit of its own, which names it.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]

VERBS = ("kill controller", "pause controller", "cut controller", "kill leader")


@pytest.fixture(scope="module")
def run(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    scenario = str(Path(__file__).with_name("kraft.toml"))
    return docker.carry_out(scenario, tmp_path_factory.mktemp("kraft"), "--no-check")


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, VERBS)


def test_a_run_with_kraft_in_containers_is_judged_as_anywhere(run: Ran) -> None:
    assert_valid(run)


@pytest.mark.parametrize(
    ("which", "evidence"),
    [
        ("kill controller", r"process \d+ of controller\d is gone"),
        ("pause controller", r"process \d+ of controller\d is stopped"),
        ("cut controller", r"controller\d dropped [1-9]\d* packets of .*"),
        ("kill leader", r"process \d+ of kafka\d is gone"),
    ],
)
def test_a_fault_bites_and_heals(
    faults: dict[str, dict[str, Any]], which: str, evidence: str
) -> None:
    assert re.fullmatch(evidence, faults[which]["evidence"])
    assert "every ISR has 3 members" in faults[which]["heal_evidence"]


def test_whoever_led_the_quorum_was_hit_and_another_led_then(
    faults: dict[str, dict[str, Any]],
) -> None:
    """As the controllers themselves told: no broker is one of them."""
    for which in ("kill controller", "pause controller"):
        (hit,) = faults[which]["nodes"]
        assert json.loads(faults[which]["before"])["controller"] == hit
    assert faults["pause controller"]["nodes"] != faults["kill controller"]["nodes"]


@pytest.mark.parametrize("words", compose.COMMANDS, ids=" ".join)
def test_the_compose_file_is_one_for_each_compose(words: tuple[str, ...]) -> None:
    if not compose.answers(words):
        pytest.skip(f"there is no `{' '.join(words)}` here")
    done = subprocess.run(
        [*words, "-f", str(KRAFT_COMPOSE_FILE), "config"],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )

    assert done.returncode == 0, done.stderr
    assert "service:net-controller1" in done.stdout
