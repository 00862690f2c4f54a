"""What a stored run says of itself, from its record alone."""

from __future__ import annotations

import pytest

from harness.model.worker_kinds import KINDS, WorkerKind
from tests.support.stored_runs import bare_run


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

    run = bare_run({"workers": [{"role": role, "exit": code}]})

    assert run.members_died == died
