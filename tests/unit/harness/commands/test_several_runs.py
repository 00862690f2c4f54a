"""Several runs: the worst code, and how many are valid as the last line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands import carry_out as runs
from harness.model.exit_codes import worst
from harness.model.runs.run_folder import RunFolder
from harness.scenario.prepare import Request


@pytest.mark.parametrize(
    ("codes", "check", "last"),
    [
        ([0, 0], True, "2 of 2 valid"),
        ([0, 1, 2], True, "1 of 3 valid, 1 invalid, 1 unknown"),
        ([0, 130, 0], True, "1 of 3 valid, 1 interrupted, 1 not begun"),
        ([0], True, ""),
        ([0, 0], False, ""),  # only recorded
    ],
)
def test_runs_end_with_how_many_are_valid(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    codes: list[int],
    check: bool,
    last: str,
) -> None:
    ended = iter(codes)

    def carried_out(*_: Any, **__: Any) -> tuple[int, RunFolder]:
        return next(ended), RunFolder(path=tmp_path)

    monkeypatch.setattr(runs, "carry_out_run", carried_out)
    prepared = [
        runs.prepare_run(Request(scenario="baseline", seed=seed)) for seed, _ in enumerate(codes)
    ]
    said = io.StringIO()

    code = runs.carry_out_runs(
        prepared, tmp_path, check=check, copies=None, console=Console(file=said)
    )

    assert (code, said.getvalue().strip()) == (worst(codes), last)
