"""The bench of the recorder says where recording holds a producer back more than it may."""

from __future__ import annotations

import math

import pytest

from bench import recorder
from workloads.client.sends import Sender


@pytest.mark.parametrize(
    ("rate", "ratio", "met"),
    [
        (1_000.0, 0.94, True),
        (100_000.0, 0.95, True),
        (100_000.0, 0.93, False),
        (200_000.0, 0.5, None),
        (math.inf, 0.5, None),
    ],
)
def test_up_to_a_rate_a_recorded_producer_keeps_up(
    rate: float, ratio: float, met: bool | None
) -> None:
    assert recorder.within(rate, ratio) is met


@pytest.mark.parametrize(
    ("reached", "word", "so"), [(990.0, "met", True), (900.0, "MISSED", False)]
)
def test_each_row_says_so(
    reached: float,
    word: str,
    so: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def loop(kind: type[Sender], _rate: float, _seconds: float) -> tuple[float, float]:
        return (1000.0, 0.9) if kind is recorder.BareSender else (reached, 3.2)

    monkeypatch.setattr(recorder, "loop", loop)

    assert recorder.compare(1000.0, 1.0, 2) is so
    assert capsys.readouterr().out.split() == [
        *("1,000", "1,000", f"{reached:,.0f}", "0.90", "3.20", f"{reached / 1000:.2f}", word)
    ]
