"""The timeline of a run: panels that share one time axis, as a plotly figure.

From top to bottom: lanes (faults, gaps without acks, gaps without reads, lost records), acks and
reads per second, sends that failed or are in doubt (only if there were any), ack latency on a
logarithmic axis, the leader of each partition by broker, the smallest ISR. The time axis counts
seconds from the begin of the load. Faults are bands through all panels, from injection to heal;
gaps without acks are shaded where they hurt, behind acks and latency.

All panels hang on *one* x axis, so that zooming is shared and hovering anywhere describes that
moment in every panel. Brokers and states are described per bucket, in one sentence of the hover.

Colours are the light ones of `PALETTE`; the page swaps them for the dark ones as text.
Names that come from the run are escaped here: plotly reads some HTML in its texts.

Cannot show: more than ten lost records, unless the timeline has a column `lost` (records lost, by
the time of their acks): a report carries only the first examples. More buckets than
`BUCKETS_MAX` are merged, and then a p50 is the mean of its buckets' weighted by acks, a p99 their
maximum.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from analysis.panels import (
    Panel,
    Row,
    Span,
    colour,
    isr,
    lanes,
    latencies,
    leaders,
    rates,
    troubles,
)

BUCKETS_MAX = 4000
GAP_PX, TITLE_PX = 14, 22


def figure(report: Row, timeline: Sequence[Row], views: Sequence[Row]) -> Any:
    """The figure for one run; `timeline` must not be empty.

    `report` is report.json (schema 1), `timeline` its buckets in order of `t_s`, `views` rows
    {time_s, partition, leader, isr, controller} in order of `time_s`. The layout's height is in
    pixels, its width the reader's.
    """
    buckets, width_s = coarsened(timeline)
    end_s = _end(report, buckets, width_s)
    spans = _spans(report, end_s)
    states = _states(buckets, views, spans)
    panels = [
        lanes(report, buckets, spans, states),
        rates(buckets, width_s),
        *troubles(buckets, width_s),
        *latencies(buckets),
        *leaders(views, end_s),
        *isr(report, views, end_s),
    ]
    picture = go.Figure(layout=_layout(panels, min([0.0, *(s.start_s for s in spans)]), end_s))
    for number, panel in enumerate(panels, start=1):
        picture.add_traces([trace.update(xaxis="x", yaxis=f"y{number}") for trace in panel.traces])
    picture.update_layout(shapes=_bands(spans, panels))
    _label(picture, spans, panels)
    return picture


def coarsened(timeline: Sequence[Row], most: int = BUCKETS_MAX) -> tuple[list[Row], float]:
    """The buckets, neighbours merged until at most `most` are left, and their width in seconds."""
    steps = [b["t_s"] - a["t_s"] for a, b in zip(timeline, timeline[1:], strict=False)]
    width_s = round(min(steps, default=0.1), 3)
    size = -(-len(timeline) // most)
    if size == 1:
        return list(timeline), width_s
    groups = (timeline[at : at + size] for at in range(0, len(timeline), size))
    return [_merged(group) for group in groups], width_s * size


def fault_name(fault: Row) -> str:
    """`kill → kafka2`: the verb, and the nodes that were hit (the target, if none is known)."""
    return f"{fault['verb']} → {', '.join(fault['nodes'] or [fault['target']])}"


def _merged(group: Sequence[Row]) -> Row:
    sums = {key: sum(b[key] for b in group) for key in ("acks", "fails", "infos", "reads")}
    weighed = [(b["ack_p50_ms"], b["acks"]) for b in group if b["ack_p50_ms"] is not None]
    tails = [b["ack_p99_ms"] for b in group if b["ack_p99_ms"] is not None]
    weight = sum(acks for _, acks in weighed)
    return {
        "t_s": group[0]["t_s"],
        **sums,
        "lost": sum(b.get("lost") or 0 for b in group),
        "ack_p50_ms": sum(p50 * acks for p50, acks in weighed) / weight if weight else None,
        "ack_p99_ms": max(tails, default=None),
    }


def _end(report: Row, buckets: Sequence[Row], width_s: float) -> float:
    """Where the time axis ends: with the load, or with the last heal or window after it."""
    ends = [buckets[-1]["t_s"] + width_s, *(w["end_s"] for w in report["windows"])]
    ends += [fault["healed_s"] for fault in report["faults"]]
    return float(max(end for end in ends if end is not None))


def _spans(report: Row, end_s: float) -> list[Span]:
    """Faults and windows as spans; what never ended reaches to the end of the axis."""
    faults = [
        Span(
            lane="faults",
            start_s=fault["start_s"],
            end_s=end_s if fault["healed_s"] is None else fault["healed_s"],
            label=escape(fault_name(fault)),
        )
        for fault in report["faults"]
        if fault["start_s"] is not None
    ]
    windows = [
        Span(
            lane="no acks" if window["kind"] == "produce" else "no reads",
            start_s=window["start_s"],
            end_s=end_s if window["end_s"] is None else window["end_s"],
            label=f"partition {window['partition']}: {window['length_s']:.2f} s",
        )
        for window in report["windows"]
    ]
    return faults + windows


def _states(buckets: Sequence[Row], views: Sequence[Row], spans: Sequence[Span]) -> list[str]:
    """For each bucket what held then: leader, ISR, controller, faults in force, gaps."""
    now: dict[int, Row] = {}
    coming = sorted(views, key=lambda view: view["time_s"])
    at, texts = 0, []
    for bucket in buckets:
        while at < len(coming) and coming[at]["time_s"] <= bucket["t_s"]:
            now[coming[at]["partition"]] = coming[at]
            at += 1
        held = [s for s in spans if s.start_s <= bucket["t_s"] < s.end_s]
        texts.append("<br>".join([*_roles(now), *(f"{s.lane}: {s.label}" for s in held)]))
    return texts


def _roles(now: Mapping[int, Row]) -> list[str]:
    if not now:
        return []
    view = next(reversed(now.values()))
    leaders = {str(v["leader"] or "none") for v in now.values()}
    smallest = min(len(v["isr"]) for v in now.values())
    return [
        f"leader {escape(', '.join(sorted(leaders)))}",
        f"ISR {smallest} · controller {escape(str(view['controller'] or 'none'))}",
    ]


def _layout(panels: Sequence[Panel], start_s: float, end_s: float) -> dict[str, Any]:
    """Axes stacked in pixels, so that a panel is as high on a phone as on a wall."""
    heights = [panel.height_px + (TITLE_PX if panel.title else 0) for panel in panels]
    total = sum(heights) + GAP_PX * (len(panels) - 1)
    pad = 0.01 * (end_s - start_s)
    tick = {"size": 11, "color": colour("soft")}
    layout: dict[str, Any] = {
        "template": None,
        "height": total + 74,
        "margin": {"l": 58, "r": 8, "t": 28, "b": 46},
        "autosize": True,
        "showlegend": False,
        "barmode": "overlay",
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "dragmode": "zoom",
        "uirevision": "kept",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": colour("ink")},
        "xaxis": {
            "range": [round(start_s - pad, 3), round(end_s + pad, 3)],
            "anchor": f"y{len(panels)}",
            "title": {"text": "seconds since the load began", "font": tick, "standoff": 8},
            "tickfont": tick,
            "gridcolor": colour("grid"),
            "zeroline": False,
            "hoverformat": ".2f",
            "ticksuffix": " s",
            "showticksuffix": "none",
        },
    }
    top = 1.0
    for number, (panel, height) in enumerate(zip(panels, heights, strict=True), start=1):
        bottom = max(0.0, top - height / total)
        axis = {
            "domain": [bottom, bottom + panel.height_px / total],
            "anchor": "x",
            "fixedrange": True,
            "gridcolor": colour("grid"),
            "zeroline": False,
            "tickfont": tick,
        }
        layout[f"yaxis{number if number > 1 else ''}"] = axis | dict(panel.axis)
        top = bottom - GAP_PX / total
    return layout


def _bands(spans: Sequence[Span], panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Faults through every panel; gaps without acks behind acks and latency."""
    hurt = [n for n, p in enumerate(panels, start=1) if p.key in {"rates", "latencies"}]
    band = {"type": "rect", "xref": "x", "y0": 0, "y1": 1, "layer": "below", "line": {"width": 0}}
    shapes = []
    for span in spans:
        at = {"x0": round(span.start_s, 3), "x1": round(span.end_s, 3)}
        if span.lane == "faults":
            shapes.append(band | at | {"yref": "paper", "fillcolor": colour("fault band")})
        if span.lane == "no acks":
            fill = {"fillcolor": colour("gap band")}
            shapes += [band | at | fill | {"yref": f"y{number} domain"} for number in hurt]
    return shapes


def _label(picture: Any, spans: Sequence[Span], panels: Sequence[Panel]) -> None:
    """Titles above panels, and a label above each fault (the page hides those without room)."""
    for number, panel in enumerate(panels, start=1):
        if panel.title:
            picture.add_annotation(
                text=panel.title,
                x=0,
                y=1,
                xref="paper",
                yref=f"y{number} domain",
                xanchor="left",
                yanchor="bottom",
                showarrow=False,
                font={"size": 12, "color": colour("soft")},
            )
    for span in spans:
        if span.lane == "faults":
            picture.add_annotation(
                name="fault",
                text=span.label,
                x=round(span.start_s, 3),
                y=1,
                xref="x",
                yref="paper",
                xanchor="left",
                yanchor="bottom",
                showarrow=False,
                font={"size": 11, "color": colour("ink")},
            )
