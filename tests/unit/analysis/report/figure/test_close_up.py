"""The close-up draws each drawn send by its latency, and the lag of each reader."""

from __future__ import annotations

from typing import Any

from analysis.report.figure.close_up import close_up, quantiles
from analysis.report.figure.panels import LATENCY_AXIS
from harness.model.runs.report import Report
from tests.support.pages import reports


def send(due_s: float, ms: float, kind: str = "ok") -> dict[str, Any]:
    return {"due_s": due_s, "ms": ms, "type": kind}


def drawn(sends: list[dict[str, Any]], lag: list[dict[str, Any]] | None = None) -> Any:
    return close_up(reports.kills(times=1).model, sends, lag or [], 14.0)


def dots(picture: Any) -> dict[str | None, Any]:
    return {trace.marker.symbol: trace for trace in picture.data if trace.mode == "markers"}


def titles(picture: Any) -> list[str]:
    return [note.text for note in picture.layout.annotations if note.name != "fault"]


def test_each_type_of_send_has_points_of_its_own() -> None:
    picture = drawn([send(1.0, 2.5), send(2.0, 4.0, "fail"), send(3.0, 9000.0, "info")])

    assert {symbol: (list(d.x), list(d.y)) for symbol, d in dots(picture).items()} == {
        None: ([1.0], [2.5]),
        "x": ([2.0], [4.0]),
        "triangle-up": ([3.0], [9000.0]),
    }
    assert all(word in titles(picture)[0] for word in ("acked", "failed ✕", "in doubt ▲"))
    assert picture.layout.yaxis.type == LATENCY_AXIS["type"] == "log"


def test_a_type_that_was_not_seen_is_not_named() -> None:
    assert "failed" not in titles(drawn([send(1.0, 2.5)]))[0]


def test_what_took_no_time_at_all_has_a_place_on_a_logarithmic_axis() -> None:
    [points] = dots(drawn([send(1.0, 0.0)])).values()

    assert list(points.y) == [0.01]


def test_sends_of_the_warm_up_are_not_drawn() -> None:
    [points] = dots(drawn([send(-0.5, 1.0), send(0.0, 1.0)])).values()

    assert list(points.x) == [0.0]


def test_the_quantiles_of_all_acks_are_dashed_lines() -> None:
    picture = drawn([send(1.0, 2.5)])
    dashed = [trace.y[0] for trace in picture.data if trace.mode == "lines"]

    assert dashed == [1.93, 12.7, 5210.4]


def test_faults_and_gaps_are_bands_as_in_the_timeline() -> None:
    picture = drawn([send(1.0, 2.5)])

    assert {shape.yref for shape in picture.layout.shapes} == {"paper", "y domain"}


def test_each_reader_has_a_line_that_ends_with_the_load() -> None:
    lag = [{"t_s": t, "lag": {"consumer-0": n, "<b>x</b>": 0}} for t, n in ((5.0, 3), (10.0, 7))]
    picture = drawn([], lag)

    assert [(list(line.x), list(line.y)) for line in picture.data] == [
        ([0.0, 5.0, 10.0], [3, 7, 7]),
        ([0.0, 5.0, 10.0], [0, 0, 0]),
    ]
    assert "&lt;b&gt;x&lt;/b&gt;" in titles(picture)[0]


def test_without_sends_and_lag_there_is_nothing_to_draw() -> None:
    assert drawn([]) is None


def test_the_mouse_is_told_the_time_by_both_clocks() -> None:
    report = reports.kills(times=1).report
    report["run"]["load_began_utc"] = "2026-11-21T02:15:00+00:00"
    picture = close_up(Report.model_validate(report), [send(1.5, 2.5)], [], 14.0)
    [points] = dots(picture).values()

    assert list(points.text) == ["02:15:01.500 UTC"]
    assert "%{text}" in points.hovertemplate
    assert "%{text}" not in dots(drawn([send(1.5, 2.5)]))[None].hovertemplate


def test_the_table_beside_it_has_the_quantiles_of_all_records() -> None:
    [ack, delivery] = quantiles(reports.valid().model)

    assert ack == ("until the ack", ["1.9 ms", "6.1 ms", "12.7 ms", "5.21 s", "6.10 s"])
    assert delivery[0] == "until a consumer had it"
    assert quantiles(reports.unknown().model) == []
