"""What a stored run says of itself, from its record alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stored.stored_run import Run
from harness.model.worker_kinds import KINDS, WorkerKind


def run(*workers: dict[str, Any]) -> Run:
    return Run(
        path=Path("told"),
        record={"workers": list(workers)},
        faults=(),
        ends=(),
        findings=(),
        views=(),
        blind=(),
        watermarks=(),
        worker_errors=0,
        processes=frozenset(),
        deaths=(),
        operations=0,
        load_start_ns=0,
        load_end_ns=0,
    )


@pytest.mark.parametrize(
    ("role", "code", "died"),
    [
        ("group-consumer", -9, True),
        ("group-consumer", 0, False),
        ("slow-member", -9, True),
        ("producer", -9, False),
        ("of-an-old-run", -9, False),
        (None, -9, False),
    ],
)
def test_a_member_of_any_kind_that_ended_badly_has_died(
    role: str | None, code: int, died: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = WorkerKind(name="slow-member", count=lambda _: 1, member=True)
    monkeypatch.setitem(KINDS, "slow-member", slow)

    assert run({"role": role, "exit": code}).members_died == died
