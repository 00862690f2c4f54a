"""The timeline of a run: panels that share one time axis, as a plotly figure.

From top to bottom: lanes (faults, gaps without acks, gaps without reads, gaps in which a group had
work and did none, lost records), acks and reads per second, sends that failed or are in doubt, ack
latency on a logarithmic axis, the leader of each partition by broker, the smallest ISR, and what
each replica lacks where somebody looked. A panel that has nothing to show is left out. The axis
counts seconds from the begin of the load.
Faults are bands through all panels, from injection until healed; gaps without acks are shaded where
they hurt, behind acks and latency.

All panels hang on *one* x axis, so that zooming is shared and hovering anywhere describes that
moment in every panel: its numbers, leader and ISR, and the faults and gaps then.

Lost records are marked one by one; where there are more than a report has examples, by bucket
(`lost` of the timeline). More than `BUCKETS_MAX` buckets are merged; a p50 is then the mean of its
buckets' weighted by acks, a p99 their maximum.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from analysis.report.clock import Clock
from analysis.report.figure.panels import (
    Cut,
    Mark,
    Panel,
    Row,
    Span,
    behind,
    color,
    cut,
    escaped,
    isr,
    lanes,
    latencies,
    leaders,
    rates,
    troubles,
)
from analysis.report.wording import fault_name, milliseconds, min_isr, seconds
from harness.model.runs.report import Report
from harness.model.runs.report_course import Window
from harness.model.runs.report_findings import Example

BUCKETS_MAX = 4000
LABEL_MAX = 80  # characters: a label takes its room from the picture
TOGETHER_S = 0.3  # injected within this time, faults share a label
GAP_PX, TITLE_PX = 14, 22
GAP_LANES = {  # by kind of window
    "produce": "no acks",
    "consume": "no reads",
    "process": "no work",
    "output": "no outputs",
}


def figure(
    report: Report, timeline: Sequence[Row], views: Sequence[Row], looks: Sequence[Row] = ()
) -> Any:
    """The figure for one run; `timeline` must not be empty.

    `timeline` are its buckets in order of `t_s`, `views` rows
    {time_s, partition, leader, isr, controller}, `looks` those of `replication.behind`. The
    layout's height is in pixels, its width the reader's. Annotations named `fault` are the labels
    that the page hides where there is no room.
    """
    buckets, width_s = coarsened(timeline)
    views = sorted(views, key=lambda view: float(view["time_s"]))
    end_s = _end(report, buckets, width_s)
    spans = spans_of(report, end_s)
    marks = lost_marks(report, buckets)
    panels = [
        lanes(spans, marks, _moments(buckets, width_s, views, [*spans, *marks], Clock.of(report))),
        rates(buckets, width_s, reads_word(report)),
        *troubles(buckets, width_s),
        *latencies(buckets),
        *leaders(views, end_s),
        *isr(views, min_isr(report.configuration), end_s),
        *behind(looks, end_s),
    ]
    return stacked(panels, spans, end_s)


def stacked(panels: Sequence[Panel], spans: Sequence[Span], end_s: float) -> Any:
    """The panels over one time axis, with the bands of faults and gaps."""
    start_s = min([0.0, *(span.start_s for span in spans)])
    picture = go.Figure(layout=_layout(panels, start_s, end_s))
    for number, panel in enumerate(panels):
        picture.add_traces([trace.update(yaxis=_axis(number)) for trace in panel.traces])
    picture.update_layout(shapes=_bands(spans, panels), annotations=_labels(spans, panels))
    return picture


def reads_word(report: Report) -> str:
    """What is drawn as reads: everything that consumers were given, look-ups too."""
    return "reads + look-ups" if report.counts.lookups else "reads"


def end_of(report: Report, timeline: Sequence[Row]) -> float:
    """Where the time axis of a run's pictures ends; `timeline` must not be empty."""
    return _end(report, *coarsened(timeline))


def burst(timeline: Sequence[Row]) -> Cut | None:
    """The burst that the picture cuts; `timeline` must not be empty."""
    return cut(*coarsened(timeline))


def coarsened(timeline: Sequence[Row], most: int = BUCKETS_MAX) -> tuple[list[Row], float]:
    """The buckets, neighbors merged until at most `most` are left, and their width in seconds."""
    steps = [later["t_s"] - earlier["t_s"] for earlier, later in pairwise(timeline)]
    width_s = round(min(steps, default=0.1), 3)
    size = -(-len(timeline) // most)
    if size == 1:
        return list(timeline), width_s
    groups = (timeline[at : at + size] for at in range(0, len(timeline), size))
    return [_merged(group) for group in groups], width_s * size


def lost_marks(report: Report, buckets: Sequence[Row]) -> list[Mark]:
    """When lost records were acknowledged: one by one or, if examples do not tell, by bucket."""
    finding = report.anomalies.get("lost")
    rows = finding.examples if finding else []
    if finding and finding.count > len(rows):
        counted = [bucket for bucket in buckets if bucket.get("lost")]
        return [Mark(at_s=b["t_s"], text=f"lost, acked here: {b['lost']}") for b in counted]
    return [
        Mark(at_s=row.acked_s, text=f"lost: value {_value(row)}, offset {row.offset}")
        for row in rows
        if row.acked_s is not None
    ]


def _value(row: Example) -> str:
    """With its text, where it has one."""
    return f"{row.value}" if row.text is None else f"{row.value} ({_short(row.text)})"


def _merged(group: Sequence[Row]) -> Row:
    p50s = [(b["ack_p50_ms"], b["acks"]) for b in group if b["ack_p50_ms"] is not None]
    p99s = [b["ack_p99_ms"] for b in group if b["ack_p99_ms"] is not None]
    weight = sum(acks for _, acks in p50s)
    return {
        "t_s": group[0]["t_s"],
        **{key: sum(b[key] for b in group) for key in ("acks", "fails", "infos", "reads")},
        "lost": sum(b.get("lost") or 0 for b in group),
        "ack_p50_ms": sum(p50 * acks for p50, acks in p50s) / weight if weight else None,
        "ack_p99_ms": max(p99s, default=None),
    }


def _end(report: Report, buckets: Sequence[Row], width_s: float) -> float:
    """Where the time axis ends: with the load, or with the last heal or window after it."""
    ends = [buckets[-1]["t_s"] + width_s, *(window.end_s for window in report.windows)]
    ends += [fault.healed_s for fault in report.faults]
    return float(max(end for end in ends if end is not None))


def spans_of(report: Report, end_s: float) -> list[Span]:
    """Faults and windows as spans; what never ended reaches to the end of the axis."""
    faults = [
        Span(
            lane="faults",
            start_s=fault.start_s,
            end_s=end_s if fault.healed_s is None else fault.healed_s,
            label=escaped(_short(fault_name(fault))),
        )
        for fault in report.faults
        if fault.start_s is not None
    ]
    windows = [
        Span(
            lane=GAP_LANES[window.kind],
            start_s=window.start_s,
            end_s=end_s if window.end_s is None else window.end_s,
            label=f"{seconds(window.length_s)}, {_where(window)}",
        )
        for window in report.windows
    ]
    return sorted(faults + windows, key=lambda span: span.start_s)


def _where(window: Window) -> str:
    """Outputs are no partition's: one of any ends a window."""
    if window.kind == "output":
        return f"{window.attempts:,} inputs waited"
    return f"partition {window.partition}"


def _short(label: str) -> str:
    return label if len(label) <= LABEL_MAX else f"{label[: LABEL_MAX - 1]}…"


def _moments(
    buckets: Sequence[Row],
    width_s: float,
    views: Sequence[Row],
    marked: Sequence[Span | Mark],
    clock: Clock,
) -> dict[float, str]:
    """For the start of each bucket, in words: when it was, its numbers, its roles, and what held or
    was lost."""
    starts = [bucket["t_s"] for bucket in buckets]
    lines = [
        [*([at] if (at := clock.time_of_day(bucket["t_s"])) else []), *_numbers(bucket, width_s)]
        for bucket in buckets
    ]
    now: dict[int, Row] = {}
    seen = 0
    for mine, at_s in zip(lines, starts, strict=True):
        while seen < len(views) and views[seen]["time_s"] <= at_s:
            now[views[seen]["partition"]] = views[seen]
            seen += 1
        mine.extend(_roles(now))
    for it in marked:
        first, last = (it.at_s, it.at_s) if isinstance(it, Mark) else (it.start_s, it.end_s)
        text = escaped(it.text) if isinstance(it, Mark) else f"{it.lane}: {it.label}"
        for mine in lines[max(0, bisect_right(starts, first) - 1) : bisect_right(starts, last)]:
            mine.append(text)
    return {at_s: "<br>".join(mine) for at_s, mine in zip(starts, lines, strict=True)}


def _numbers(bucket: Row, width_s: float) -> list[str]:
    rates = [f"{bucket[key] / width_s:,.0f} {key}/s" for key in ("acks", "reads")]
    troubles = [(bucket["fails"], "failed"), (bucket["infos"], "in doubt")]
    lines = [" · ".join([*rates, *(f"{many:,} {word}" for many, word in troubles if many)])]
    if bucket["ack_p50_ms"] is not None:
        p50, p99 = milliseconds(bucket["ack_p50_ms"]), milliseconds(bucket["ack_p99_ms"])
        lines.append(f"p50 {p50} · p99 {p99}")
    return lines


def _roles(now: dict[int, Row]) -> list[str]:
    if not now:
        return []
    names = sorted({str(view["leader"] or "none") for view in now.values()})
    controllers = sorted({str(view["controller"] or "none") for view in now.values()})
    smallest = min(len(view["isr"]) for view in now.values())
    return [
        f"leader {escaped(', '.join(names))} · ISR {smallest}",
        f"controller {escaped(', '.join(controllers))}",
    ]


def _layout(panels: Sequence[Panel], start_s: float, end_s: float) -> dict[str, Any]:
    """Axes stacked in pixels, so that a panel is as high on a phone as on a wall."""
    heights = [panel.height_px + (TITLE_PX if panel.title else 0) for panel in panels]
    total = sum(heights) + GAP_PX * (len(panels) - 1)
    pad = 0.01 * (end_s - start_s)
    tick = {"size": 11, "color": color("soft")}
    common = {"gridcolor": color("grid"), "zeroline": False, "tickfont": tick}
    layout: dict[str, Any] = {
        "template": None,
        "height": total + 74,
        "margin": {"l": 58, "r": 8, "t": 28, "b": 46},
        "autosize": True,
        "showlegend": False,
        "barmode": "overlay",
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "hoverdistance": -1,
        "uirevision": "kept",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": color("ink")},
        "xaxis": common
        | {
            "range": [round(start_s - pad, 3), round(end_s + pad, 3)],
            "anchor": _axis(len(panels) - 1),
            "spikethickness": 1,
            "spikedash": "solid",
            "spikecolor": color("soft"),
            "unifiedhovertitle": {"text": "%{x:.2f} s"},
        },
    }
    top = 1.0
    for number, (panel, height) in enumerate(zip(panels, heights, strict=True)):
        bottom = max(0.0, top - height / total)
        axis = {"domain": [bottom, bottom + panel.height_px / total], "fixedrange": True}
        layout[_axis(number).replace("y", "yaxis")] = common | axis | dict(panel.axis)
        top = bottom - GAP_PX / total
    return layout


def _bands(spans: Sequence[Span], panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Faults through every panel; gaps without acks behind acks and latency."""
    hurt = [n for n, panel in enumerate(panels) if panel.key in {"rates", "latencies"}]
    shapes = []
    for span in spans:
        band = {
            "type": "rect",
            "layer": "below",
            "line": {"width": 0},
            "xref": "x",
            "y0": 0,
            "y1": 1,
        }
        band |= {"x0": round(span.start_s, 3), "x1": round(span.end_s, 3)}
        if span.lane == "faults":
            shapes.append(band | {"yref": "paper", "fillcolor": color("fault band")})
        if span.lane == "no acks":
            fill = {"fillcolor": color("gap band")}
            shapes += [band | fill | {"yref": f"{_axis(number)} domain"} for number in hurt]
    return shapes


def _labels(spans: Sequence[Span], panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """A title above each panel, and a label above each fault."""
    here = {"xanchor": "left", "yanchor": "bottom", "y": 1, "showarrow": False}
    titles = [
        here
        | {"text": panel.title, "x": 0, "xref": "paper", "yref": f"{_axis(number)} domain"}
        | {"font": {"size": 12, "color": color("soft")}}
        for number, panel in enumerate(panels)
        if panel.title
    ]
    faults = [
        here
        | {"name": "fault", "text": "<br>".join(span.label for span in together)}
        | {"x": round(together[0].start_s, 3), "xref": "x", "yref": "paper", "align": "left"}
        | {"font": {"size": 11, "color": color("ink")}}
        for together in _together(spans)
    ]
    # Not the axis' own title: plotly misplaces that one while a page changes its width.
    below = here | {"yanchor": "top", "y": 0, "yshift": -22, "xanchor": "center", "x": 0.5}
    below |= {"text": "seconds since the load began", "xref": "paper", "yref": "paper"}
    return [*titles, *faults, below | {"font": {"size": 11, "color": color("soft")}}]


def _together(spans: Sequence[Span]) -> list[list[Span]]:
    """Faults that were injected at about the same moment, in their order."""
    faults = sorted((s for s in spans if s.lane == "faults"), key=lambda span: span.start_s)
    groups: list[list[Span]] = []
    for fault in faults:
        if groups and fault.start_s - groups[-1][0].start_s <= TOGETHER_S:
            groups[-1].append(fault)
        else:
            groups.append([fault])
    return groups


def _axis(number: int) -> str:
    """plotly's name of the panel's y axis: y, y2, y3, …"""
    return "y" if number == 0 else f"y{number + 1}"
