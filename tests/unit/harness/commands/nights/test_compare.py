"""`compare`: ledgers and results folders, the last against all before, and its exit code."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from harness.checkout import DOCS
from harness.commands.nights.compare import compare_runs, lines_of
from harness.model.runs.run_folder import StoreError


def ledger(path: Path, lost: list[int], **more: object) -> Path:
    lines = [
        {"cell": "c", "seed": seed, "verdict": "valid", "anomalies": {"lost": each}, **more}
        | {"produce_gaps_s": [], "consume_gaps_s": [], "started_utc": f"{path.stem} {seed}"}
        for seed, each in enumerate(lost)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def compared(*sides: Path) -> tuple[int, str]:
    said = io.StringIO()
    code = compare_runs(sides, gap_factor=1.5, console=Console(file=said, width=200))
    return code, said.getvalue()


def test_tonight_is_held_against_all_nights_before(tmp_path: Path) -> None:
    nights = [ledger(tmp_path / f"{n}.jsonl", [0] * 5) for n in range(4)]
    tonight = ledger(tmp_path / "now.jsonl", [2] * 5)

    code, said = compared(*nights, tonight)

    assert code == 1
    assert "c: lost: 0 of 20 before, 5 of 5 now" in said


def test_nights_that_do_not_differ_end_with_0(tmp_path: Path) -> None:
    one, other = (ledger(tmp_path / f"{n}.jsonl", [0, 1, 0, 0]) for n in "ab")

    code, said = compared(one, other)

    assert code == 0
    assert "nothing changed in 1 cells" in said


def test_settings_that_differ_come_first(tmp_path: Path) -> None:
    key = "scenario.topic.config.min.insync.replicas"
    old = ledger(tmp_path / "a.jsonl", [0] * 20, configuration="x", settings={key: 2})
    new = ledger(tmp_path / "b.jsonl", [9] * 20, configuration="y", settings={key: 1})

    code, said = compared(old, new)

    assert said.startswith("settings c: topic.config.min.insync.replicas: 2 before, 1 now\n")
    assert code == 1


def test_a_folder_s_runs_are_cells_by_their_scenario(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "sample", tmp_path / "results")

    [line] = lines_of(tmp_path / "results")

    assert (line["cell"], line["anomalies"]["lost"]) == ("study-1", 3)


@pytest.mark.parametrize("what", ["missing.jsonl", "empty"])
def test_a_side_without_runs_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(StoreError, match=what):
        lines_of(tmp_path / what)


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"exit_code": 0, "counts": 7}'])
def test_a_damaged_report_is_one_sentence_with_its_file(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "results" / "study-1" / "run"
    shutil.copytree(DOCS / "sample" / "study-1", folder)
    (folder / "report.json").write_text(text)

    with pytest.raises(StoreError, match=r"run/report\.json: not what a check of this release"):
        lines_of(tmp_path / "results")


@pytest.mark.parametrize(
    ("key", "value"), [("cap", "AP"), ("lost", "3"), ("lost", -1), ("lost", None)]
)
def test_a_report_with_a_text_for_a_number_is_one_sentence(
    tmp_path: Path, key: str, value: object
) -> None:
    folder = tmp_path / "results" / "study-1" / "run"
    shutil.copytree(DOCS / "sample" / "study-1", folder)
    report = json.loads((folder / "report.json").read_text())
    if key == "cap":
        report["cap"] = value
    else:
        report["anomalies"][key]["count"] = value
    (folder / "report.json").write_text(json.dumps(report))

    with pytest.raises(StoreError, match=r"run/report\.json: not what a check of this release"):
        lines_of(tmp_path / "results")
