"""The close-up of a run, drawn on demand: each drawn send by its latency, and consumer lag.

The same time axis and bands as the timeline. A point is a send: where it was due, and how long it
took until its ack (or until it was given up; one that never ended, until the load ended). Which
sends are drawn is the rule of `analysis.measures.drawn_sends`, told beside the picture; quantiles
are those of all acks. Lag is `analysis.measures.consumer_lag`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from analysis.report import wording
from analysis.report.clock import Clock
from analysis.report.figure.panels import LATENCY_AXIS, SERIES, Panel, color, escaped, steps, title
from analysis.report.figure.timeline import spans_of, stacked
from harness.model.runs.report import Quantiles, Report

Row = Mapping[str, Any]
LEAST_MS = 0.01  # the smallest on a logarithmic axis, and the precision of latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Sends of one type: their word, color and mark."""

    word: str
    hue: str
    mark: Mapping[str, Any]


KINDS = {
    "ok": Kind(word="acked", hue="ack", mark={"size": 3, "opacity": 0.55}),
    "fail": Kind(word="failed ✕", hue="failed", mark={"size": 7, "symbol": "x"}),
    "info": Kind(word="in doubt ▲", hue="doubt", mark={"size": 7, "symbol": "triangle-up"}),
}


def close_up(report: Report, sends: Sequence[Row], lag: Sequence[Row], end_s: float) -> Any:
    """The figure, or None where there is nothing to draw. `sends` are `drawn_sends.points`, `lag`
    rows of `consumer_lag.lag`, both in order of time."""
    mine = [send for send in sends if 0 <= send["due_s"] <= end_s]
    panels = [*_latencies(report, mine, end_s), *_lags([row for row in lag if row["t_s"] <= end_s])]
    if not panels:
        return None
    picture = stacked(panels, spans_of(report, end_s), end_s)
    return picture.update_layout(hovermode="closest", hoverdistance=20)


def quantiles(report: Report) -> list[tuple[str, list[str]]]:
    """The rows of the table beside it: what was measured, and p50, p95, p99, p99.9 and the most."""
    if report.latency_ms is None:
        return []
    found = {
        "until the ack": report.latency_ms.ack,
        "until a consumer had it": report.latency_ms.delivery,
    }
    return [
        (words, [wording.milliseconds(getattr(each, q)) for q in Quantiles.model_fields])
        for words, each in found.items()
        if each is not None
    ]


def _latencies(report: Report, sends: Sequence[Row], end_s: float) -> list[Panel]:
    if not sends:
        return []
    clock = Clock.of(report)
    seen = [kind for kind in KINDS if any(send["type"] == kind for send in sends)]
    dots = [_dots([s for s in sends if s["type"] == kind], KINDS[kind], clock) for kind in seen]
    found = report.latency_ms and report.latency_ms.ack
    pen = {"color": color("soft"), "width": 1, "dash": "dash"}
    lines = [
        steps([0, end_s], [max(LEAST_MS, q)] * 2, pen)
        for q in ((found.p50, found.p99, found.p999) if found else ())
    ]
    words = [(KINDS[kind].word, KINDS[kind].hue) for kind in seen]
    name = title("Single sends, time to ack", *words)
    return [
        Panel(
            key="latencies",
            height_px=260,
            title=name,
            traces=(*lines, *dots),
            axis=LATENCY_AXIS,
        )
    ]


def _dots(sends: Sequence[Row], kind: Kind, clock: Clock) -> Any:
    ends = [clock.time_of_day(send["due_s"]) for send in sends]
    return go.Scatter(
        x=[round(send["due_s"], 3) for send in sends],
        y=[max(LEAST_MS, send["ms"]) for send in sends],
        text=ends if any(ends) else None,
        mode="markers",
        marker={"color": color(kind.hue), "line": {"width": 0}} | dict(kind.mark),
        hovertemplate=f"{kind.word.rstrip(' ✕▲')} after %{{y:,.2f}} ms<br>due at %{{x:.2f}} s"
        + ("<br>%{text}" if any(ends) else "")
        + "<extra></extra>",
    )


def _lags(lag: Sequence[Row]) -> list[Panel]:
    """How many records each reader had not been given yet; a line a reader, of the first eight."""
    readers = list(lag[0]["lag"])[: len(SERIES)] if lag else []
    if not readers:
        return []
    times = [0.0, *(round(row["t_s"], 2) for row in lag)]
    lines = [
        # What held at the end of a slice stands for the slice.
        steps(
            times, [*(row["lag"][name] for row in lag), lag[-1]["lag"][name]], {"color": color(hue)}
        )
        for name, hue in zip(readers, SERIES, strict=False)
    ]
    names = [(escaped(name), hue) for name, hue in zip(readers, SERIES, strict=False)]
    return [
        Panel(
            key="lag",
            height_px=130,
            title=title("Consumer lag, records", *names),
            traces=tuple(lines),
            axis={"rangemode": "tozero", "nticks": 4},
        )
    ]
