"""What a command prints at its end: both labels, what broke first, and how many runs are valid."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from analysis.report.wording import remarks
from harness.checkout import ROOT
from harness.commands.closing_table import show_how_many_valid, show_report
from harness.model.runs.report import Report, report_of
from harness.model.runs.run_folder import RunFolder
from tests.support.pages import reports


def printed(report: dict[str, Any], *, color: bool = False) -> str:
    """What the terminal shows."""
    console = Console(
        file=io.StringIO(),
        width=300,
        force_terminal=color,
        color_system="standard" if color else None,
    )
    show_report(report_of(report), RunFolder(path=Path("results/x")), console)
    said = console.file
    assert isinstance(said, io.StringIO)
    return said.getvalue()


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if start in line)


def first_row(text: str, heading: str) -> str:
    """The line below a table's head."""
    lines = text.splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.startswith(heading)) + 1]


def golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"tests/baseline/golden/{name}.json").read_text())
    return found


def test_both_labels_and_the_letters_come_first() -> None:
    lines = printed(golden("partition-ap")).strip().splitlines()

    assert lines[0].startswith("outcome  256 of 1,262 acknowledged records lost")
    assert lines[1].startswith(
        "verdict  VALID: this configuration allows that, and what the scenario"
    )
    assert lines[2].endswith("acknowledged records")
    assert lines[3].startswith("Data was lost: ")


def test_what_the_page_says_of_the_run_itself_is_said_here() -> None:
    report = golden("partition-ap")
    assert not remarks(Report.model_validate(report))

    report["host"]["cpu_starvation"] = {"pressure_some_percent": 60.1}
    report["rates"] |= {"load_s": 35.68, "planned_s": 20.0}
    report["configuration"]["notes"] = ["a", "b"]

    told = [
        "The host was short of CPU: gaps and latencies may be the host’s, not Kafka’s.",
        "The load lasted 35.7 s instead of 20 s, until the last fault was healed.",
        "Some settings were left out, do nothing here or were made to fit: 2 notes in the report’s "
        "configuration.",
    ]
    assert told == [remark.words for remark in remarks(Report.model_validate(report))]
    assert "\n" + "\n".join(told) + "\n" in printed(report)


def test_a_permitted_loss_has_another_colour_than_its_verdict() -> None:
    said = printed(golden("partition-ap"), color=True)

    assert line_of(said, "outcome").startswith("\x1b[1;35m")
    assert line_of(said, "verdict").startswith("\x1b[1;32m")
    kept = printed(golden("leader-stopped"), color=True)
    assert line_of(kept, "outcome").startswith("\x1b[1;36m")


def test_a_run_without_letters_says_nothing_of_them() -> None:
    assert "CAP" not in printed(reports.unknown().report)


def test_the_tables_begin_with_what_broke() -> None:
    """The windows with those of the kind that was demanded, the longest first."""
    report = reports.kills(times=20).report
    report["anomalies"]["phantom"] |= {"count": 2, "convicts": True}
    report["windows"] = [window for window in report["windows"] if window["kind"] == "produce"]
    for length_s in (2.25, 3.5):  # shorter than any of the others
        report["windows"].append(
            report["windows"][0] | {"kind": "consume", "length_s": length_s, "end_s": None}
        )
    report["gap_demands"] = {
        "consume-gap-s": {"longest_s": 3.5, "demanded": "<= 2", "demand_met": False}
    }

    said = printed(report, color=True)

    assert first_row(said, "\x1b[1manomaly").startswith("\x1b[31mphantom")
    assert first_row(said, "\x1b[1munavailable").startswith("\x1b[31mconsume")
    assert "3.50" in first_row(said, "\x1b[1munavailable")
    assert said.count("\x1b[31mconsume") == 1  # the one that was judged
    assert f"and {len(report['windows']) - 12} shorter in the report" in said


def test_without_anything_broken_the_longest_window_is_first_and_nothing_is_red() -> None:
    report = reports.kills(times=20).report
    longest = max(report["windows"], key=lambda window: window["length_s"])

    said = printed(report, color=True)

    assert f"{longest['length_s']:.2f}" in first_row(said, "\x1b[1munavailable")
    assert "anomaly  " not in said
    assert "7 anomalies: none seen; 3 of them are forbidden here" in said
    assert "\x1b[31m" not in said


@pytest.mark.parametrize(
    ("codes", "of", "line"),
    [
        ([0, 0], 2, "2 of 2 valid"),
        ([0, 1, 2], 3, "1 of 3 valid, 1 invalid, 1 unknown"),
        ([255, 0], 2, "1 of 2 valid, 1 failed"),
        ([0, 130], 4, "1 of 4 valid, 1 interrupted, 2 not begun"),
        ([1], 1, ""),
    ],
)
def test_several_runs_end_with_how_many_are_valid(codes: list[int], of: int, line: str) -> None:
    said = io.StringIO()

    show_how_many_valid(codes, of, Console(file=said))

    assert said.getvalue().strip() == line
