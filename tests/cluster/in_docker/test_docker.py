"""The same experiments in containers: every fault bites and heals, the study's anomalies show."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import Ran, faults_of
from places import Docker, ended

from harness.cluster import compose

pytestmark = pytest.mark.cluster

VERBS = ("kill", "stop", "pause", "kill zk", "cut", "cut clients", "reject", "lose", "cut-answers",
         "throttle")  # fmt: skip


@pytest.fixture(scope="module")
def runs(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Ran]:
    """Two runs side by side in one engine: every fault, and the study's first experiment."""
    one, other = tmp_path_factory.mktemp("faults"), tmp_path_factory.mktemp("study")
    scenario = str(Path(__file__).with_name("faults.toml"))
    study = ("--set", "workload.rounds=2000", "--set", "faults.0.after_rounds=500",
             "--set", "faults.0.every_rounds=500", "--set", "faults.0.times=3")  # fmt: skip
    both = docker.begin(scenario, one), docker.begin("study-1", other, *study)
    return ended(both[0], one), ended(both[1], other)


@pytest.fixture(scope="module")
def faults(runs: tuple[Ran, Ran]) -> dict[str, dict[str, Any]]:
    return dict(zip(VERBS, faults_of(runs[0]), strict=True))


def test_nothing_is_lost_under_any_fault_and_all_of_it_is_proved(runs):
    assert runs[0].code == 0, runs[0].out


def test_the_study_s_loss_shows_in_containers_too(runs):
    """acks=1 and a leader that is killed: what it had acknowledged alone is gone."""
    assert runs[1].code == 0, runs[1].out
    assert runs[1].report["anomalies"]["lost"]["count"] >= 1


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
        ("throttle", r".* had to wait [1-9]\d* times .*"),
    ],
)
def test_a_fault_bites_and_heals(faults, which, evidence):
    assert re.fullmatch(evidence, faults[which]["evidence"])
    assert "every ISR has 3 members" in faults[which]["heal_evidence"]


def test_the_run_says_what_it_ran_on_and_keeps_the_nodes_logs(runs):
    record = runs[0].record()

    assert record["versions"]["kafka"].startswith("kafka-harness/kafka:")
    assert record["cluster"]["project"].startswith("kafka-harness-faults-")
    for node in ("zk1", "kafka3"):
        assert (runs[0].folder / "logs" / f"{node}.log").stat().st_size > 1000


@pytest.mark.parametrize("words", compose.COMMANDS, ids=" ".join)
def test_the_compose_file_is_one_for_each_compose(words):
    if not compose.answers(words):
        pytest.skip(f"there is no `{' '.join(words)}` here")
    done = subprocess.run(
        [*words, "-f", str(compose.FILE), "config"], capture_output=True, text=True, check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "service:net-kafka1" in done.stdout
