"""What TAB offers, and that it is quick: nothing of what commands do is imported for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from harness import cli
from harness.cluster.backends import BACKENDS
from harness.commands import completion
from harness.scenario.file import shipped
from tests.support.commands import called


def completed(cwd: Path, line: str) -> list[str]:
    """What bash is told for a line with the cursor at its end."""
    words = line.split(" ")
    program = "import sys; sys.argv[0] = 'kafka-harness'; from harness.cli import main; main()"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "_KAFKA_HARNESS_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.stderr == ""
    return told.stdout.split()


def test_a_shell_completes_commands_scenarios_backends_and_keys(tmp_path: Path) -> None:
    assert ["campaign"] == completed(tmp_path, "kafka-harness camp")
    assert ["power-loss-one"] == completed(tmp_path, "kafka-harness show power-loss-o")
    assert ["docker"] == completed(tmp_path, "kafka-harness run baseline --backend d")
    assert ["workload.rounds="] == completed(tmp_path, "kafka-harness run x --set workload.ro")


def test_runs_are_completed_by_scenario_and_then_by_their_ids(tmp_path: Path) -> None:
    for name in ("20261121T000000Z-1", "20261122T000000Z-2"):
        folder = tmp_path / "results" / "study-1" / name
        folder.mkdir(parents=True)
        (folder / "run.json").touch()
    (tmp_path / "results" / "study-1" / "latest").symlink_to("20261122T000000Z-2")
    (tmp_path / "elsewhere" / "study-2" / "latest").mkdir(parents=True)

    ids = ["study-1/20261122T000000Z-2", "study-1/20261121T000000Z-1"]  # the newest first
    assert ["study-1"] == completed(tmp_path, "kafka-harness check st")
    assert ids == completed(tmp_path, "kafka-harness report study-1/")
    assert ["study-2"] == completed(tmp_path, "kafka-harness heal --results elsewhere s")


def test_every_shipped_scenario_and_every_backend_is_offered() -> None:
    assert completion.scenarios("") == sorted(shipped())
    assert completion.backends("") == list(BACKENDS)


def test_keys_lead_into_sections_and_end_where_a_value_stands() -> None:
    keys = completion.keys("")

    assert {"title=", "workload.producer=", "topic.partitions=", "cluster.server="} <= set(keys)
    assert not any(key.startswith("workload=") for key in keys)


def test_a_press_of_tab_imports_nothing_that_is_slow() -> None:
    slow = ("pyspark", "pyarrow", "numpy", "confluent_kafka", "pydantic", "kazoo", "yaml")
    code = "import sys, harness.cli; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(slow).isdisjoint(said.stdout.split())


# --- help


def test_every_command_stands_in_a_panel_and_shows_an_example() -> None:
    for command in cli.app.registered_commands:
        name = str(command.name)
        assert command.rich_help_panel, name
        assert f"kafka-harness {name}" in str(command.callback.__doc__), name


def test_the_help_groups_the_commands() -> None:
    said = called("--help").out

    panels = ["Run and judge", "Look at", "Write a scenario", "Clusters", "This host"]
    assert panels == sorted(panels, key=said.index)


@pytest.mark.parametrize("seed", [-(2**62) - 1, 2**62])
def test_a_seed_that_no_record_can_hold_is_refused(seed: int) -> None:
    from harness.commands.options import _storable  # noqa: PLC0415

    with pytest.raises(typer.BadParameter):
        _storable(seed)
    assert _storable(seed // 2) == seed // 2
