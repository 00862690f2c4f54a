"""`run --matrix`: each combination, in turns, and one table of what they came to."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands import carry_out, run
from harness.commands.campaigns import lines
from harness.commands.carry_out import Carried
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import ScenarioError

ISR = "topic.config.min.insync.replicas"


def test_values_are_toml_or_plain_and_short_paths_are_made_whole() -> None:
    cells = run.cells_of(["hard"], ["producer.acks=1,all", f"{ISR}=1,2"])

    assert [
        {"workload.producer.acks": 1, ISR: 1},
        {"workload.producer.acks": 1, ISR: 2},
        {"workload.producer.acks": "all", ISR: 1},
        {"workload.producer.acks": "all", ISR: 2},
    ] == [cell.settings for cell in cells]


def test_values_with_commas_are_a_list() -> None:
    cells = run.cells_of(["hard"], ['topic.config.cleanup.policy=["delete", "a,b"]'])

    assert ["delete", "a,b"] == [*(v for cell in cells for v in cell.settings.values())]


def test_without_a_matrix_scenarios_are_as_they_are() -> None:
    assert [("hard", {}), ("soft", {})] == [
        (cell.scenario, cell.settings) for cell in run.cells_of(["hard", "soft"], [])
    ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["acks"], "write path=a,b"),
        (["=1"], "write path=a,b"),
        (["producer.acks="], "workload.producer.acks has no values"),
        (["producer.acks=1", "workload.producer.acks=all"], "there twice"),
        (["producer.acks=1,1"], "has 1 twice"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused(asked: Sequence[str], told: str) -> None:
    with pytest.raises(ScenarioError, match=f"--matrix.*{told}"):
        run.cells_of(["hard"], asked)


def told(lost: int) -> dict[str, Any]:
    return {
        "verdict": "valid",
        "anomalies": {"lost": lost, "duplicate": 0},
        "produce_gaps_s": [2.5],
        "cap": {"available": True, "consistent": not lost},
        "starved_in_load": {"pressure_some_percent": 10.0},
    }


def test_the_table_has_a_row_for_each_cell_with_its_own_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [(0, 4), (0, 0), (0, 2), (130, 0)]  # two cells in turns; the last is interrupted

    def carried(*_: Any, **__: Any) -> Iterator[Carried]:
        for number, (code, _lost) in enumerate(ends):
            yield Carried(code=code, copied=0, folder=RunFolder(path=tmp_path / str(number)))

    monkeypatch.setattr(carry_out, "each_carried_out", carried)
    monkeypatch.setattr(lines, "line_of", lambda folder, _: told(ends[int(folder.path.name)][1]))
    cells = run.cells_of(["hard"], ["producer.acks=1,all"])
    prepared: Any = [None] * len(ends)  # nobody looks at them
    said = io.StringIO()

    code = run.run_matrix(
        cells, prepared, tmp_path, copies=None, console=Console(file=said, width=250)
    )

    rows = said.getvalue().split("\n")
    assert code == 130
    assert "2 of 2 (34–100 %)" in rows[2]
    assert "AP 2" in rows[2]
    assert "0 of 1 (0–79 %)" in rows[3]
    assert "both 1" in rows[3]
    assert rows[5] == "3 of 4 valid, 1 interrupted"


def test_a_run_that_ends_with_no_table_does_not_wait_for_statistics() -> None:
    """`run` imports this module whatever it is asked for."""
    code = "import sys, harness.commands.run; print('scipy.stats' in sys.modules)"

    told = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert told == "False\n"
