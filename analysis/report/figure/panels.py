"""The panels of a run's timeline: what each one draws, how high it is, and its y axis.

A panel is plotly traces without axes; `timeline`, beside it, stacks panels over one time axis.
Series are told apart by shape (area, dotted, thick, thin) as well as by color. Colors are the
light ones of `PALETTE`; the page swaps them for the dark ones as text, so every color of the
picture comes from there. Names that come from the run are escaped: plotly reads HTML in texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

Row = Mapping[str, Any]

PARTITIONS_MAX = 8
ROWS_MAX = 4  # of faults that overlap
LANE_PX = 24
BURST = 2.5  # times what is usual: what is higher is a burst, and is cut
PALETTE: dict[str, tuple[str, str]] = {  # name -> (on light paper, on dark paper)
    "ink": ("#1d242c", "#e4e8ec"),
    "soft": ("#56616d", "#a2adb9"),
    "grid": ("#e3e7eb", "#2a323a"),
    "ack": ("#1f63ad", "#74b3f2"),
    "read": ("#7b8896", "#8492a1"),
    "failed": ("#c2410c", "#ff9a5c"),
    "doubt": ("#8f6400", "#e3b341"),
    "tail": ("#8b3fa8", "#d19be6"),
    "isr": ("#1f7a4d", "#66c790"),
    "lost": ("#b3123c", "#ff7a95"),
    "faults": ("#5d6975", "#98a4b0"),
    "no acks": ("#cf2e2e", "#f26b6b"),
    "no reads": ("#7a4fb8", "#ad8be0"),
    "no work": ("#3f6f7f", "#7db4c6"),
    "no outputs": ("#7a6a1f", "#c9b458"),
    "area": ("rgba(31,99,173,0.10)", "rgba(116,179,242,0.13)"),
    "fault band": ("rgba(93,105,117,0.13)", "rgba(152,164,176,0.15)"),
    "gap band": ("rgba(207,46,46,0.10)", "rgba(242,107,107,0.14)"),
}
LATENCY_AXIS: Mapping[str, Any] = {
    "type": "log",
    "tickvals": [0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000],
    "ticktext": ["10 µs", "0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"],
}
LANES = ("faults", "no acks", "no reads", "no work", "no outputs")
SERIES = ("ack", "isr", "tail", "failed", "doubt", "lost", "faults", "no reads")  # by partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel: its traces, its height, the title above it (plotly's HTML) and its y axis."""

    key: str
    height_px: int
    title: str
    traces: tuple[Any, ...]
    axis: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time in a lane: a fault in force ("faults") or a window ("no acks", …)."""

    lane: str
    start_s: float
    end_s: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Lost records whose acks came at `at_s`: how many, and what is known of them."""

    at_s: float
    text: str


def escaped(text: str) -> str:
    """A text of the run's as plotly shows it as it is; it knows no entities for quotes."""
    return escape(text, quote=False)


def color(name: str) -> str:
    """The light color of that name."""
    return PALETTE[name][0]


def lanes(spans: Sequence[Span], marks: Sequence[Mark], moments: Mapping[float, str]) -> Panel:
    """What was done and what went missing, a lane each; only lanes that have something.

    `moments` tells, for the start of every bucket, all that is known of it. It is the one trace of
    the picture that answers the mouse: plotly's own answer for a gap is its nearest neighbor.
    """
    filled = [name for name in LANES if any(span.lane == name for span in spans)]
    names = [*filled, *(["lost"] if marks else [])] or ["faults"]
    rows = {name: _rows([s for s in spans if s.lane == name]) for name in filled}
    depth = {name: max(rows.get(name) or [0]) + 1 for name in names}
    height = {name: sum(list(depth.values())[n:]) for n, name in enumerate(names)}
    bars = [
        _bars(
            [span for span in spans if span.lane == name],
            [height[name] - row for row in rows[name]],
        )
        for name in filled
    ]
    moment = go.Scatter(
        x=list(moments),
        y=[height[names[0]]] * len(moments),
        text=list(moments.values()),
        mode="markers",
        marker={"opacity": 0, "color": color("faults")},
        hovertemplate="%{text}<extra></extra>",
    )
    crosses = [_crosses(marks, height["lost"])] if marks else []
    return Panel(
        key="lanes",
        height_px=LANE_PX * height[names[0]],
        title="",
        traces=(*bars, moment, *crosses),
        axis={
            "range": [0.4, height[names[0]] + 0.6],
            "showgrid": False,
            "tickvals": list(height.values()),
            "ticktext": names,
        },
    )


def rates(buckets: Sequence[Row], width_s: float, reads_word: str = "reads") -> Panel:
    """Acks per second as an area, reads per second as a dotted line; cut where `cut` says."""
    acks, reads = _rates(buckets, width_s)
    area = _line(buckets, acks, {"color": color("ack"), "width": 1.5})
    area.update(fill="tozeroy", fillcolor=color("area"))
    dotted = _line(buckets, reads, {"color": color("read"), "width": 1, "dash": "dot"})
    names = [("acks", "ack"), *([(f"{reads_word}, dotted", "read")] if any(reads) else [])]
    above = cut(buckets, width_s)
    notes = [] if above is None else [(f"cut at {above.at:,.0f}", "soft")]
    axis = {"rangemode": "tozero"} if above is None else {"range": [0, above.at]}
    return Panel(
        key="rates",
        height_px=170,
        title=title("Per second", *names, *notes),
        traces=(dotted, area) if any(reads) else (area,),  # what comes later lies above
        axis={"nticks": 5} | axis,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the axis of the rates ends although a burst went on to `highest`, at `when_s`."""

    at: float
    highest: float
    when_s: float


def cut(buckets: Sequence[Row], width_s: float) -> Cut | None:
    """Whether a burst is cut, such as a client's that catches up after an outage: it would flatten
    all else. What is usual is what 95 of 100 busy buckets do not exceed."""
    series = _rates(buckets, width_s)
    busy = [sorted(rate for rate in rates if rate) for rates in series]
    usual = max((rates[int(0.95 * (len(rates) - 1))] for rates in busy if rates), default=0.0)
    highest, number = max((rate, -n) for rates in series for n, rate in enumerate(rates))
    if highest <= BURST * usual:
        return None
    return Cut(at=_round(1.5 * usual), highest=highest, when_s=buckets[-number]["t_s"])


def _rates(buckets: Sequence[Row], width_s: float) -> tuple[list[float], list[float]]:
    """Acks and reads a second, by bucket."""
    acks, reads = ([round(b[key] / width_s, 1) for b in buckets] for key in ("acks", "reads"))
    return acks, reads


def _round(value: float) -> float:
    """Up to the next number of two digits and zeros."""
    step = 10.0 ** max(0, len(str(int(value))) - 2)
    return -(-value // step) * step


def troubles(buckets: Sequence[Row], width_s: float) -> list[Panel]:
    """Failed sends and sends in doubt, counted per bucket: a few among thousands matter."""
    kinds = [("fails", "failed", "failed"), ("infos", "in doubt", "doubt")]
    seen = [kind for kind in kinds if any(b[kind[0]] for b in buckets)]
    if not seen:
        return []
    bars = [
        go.Bar(
            x=[b["t_s"] + width_s / 2 for b in buckets if b[key]],
            y=[b[key] for b in buckets if b[key]],
            width=width_s,
            opacity=0.8,
            marker={"color": color(hue), "line": {"width": 1.5, "color": color(hue)}},
            hoverinfo="skip",
        )
        for key, _, hue in seen
    ]
    name = title(
        f"Sends without an ack, per {width_s:g} s", *((word, hue) for _, word, hue in seen)
    )
    most = max(b[key] for b in buckets for key, _, _ in seen)
    axis = {"rangemode": "tozero", "tick0": 0, "dtick": -(-most // 2)}
    return [Panel(key="troubles", height_px=56, title=name, traces=tuple(bars), axis=axis)]


def latencies(buckets: Sequence[Row]) -> list[Panel]:
    """Time from the intended send to its ack, p50 and p99 of each bucket; none without acks."""
    p50, p99 = ([b[key] or None for b in buckets] for key in ("ack_p50_ms", "ack_p99_ms"))
    if not any(p50):
        return []
    lines = (
        _line(buckets, p99, {"color": color("tail"), "width": 1}),
        _line(buckets, p50, {"color": color("ack"), "width": 1.5}),
    )
    name = title("Time to ack", ("p50", "ack"), ("p99", "tail"))
    return [Panel(key="latencies", height_px=150, title=name, traces=lines, axis=LATENCY_AXIS)]


def leaders(views: Sequence[Row], end_s: float) -> list[Panel]:
    """Who led, a step line per partition; partitions of one broker lie side by side."""
    if not views:
        return []
    partitions = sorted({view["partition"] for view in views})
    shown = partitions[:PARTITIONS_MAX]
    names = {view[role] for view in views for role in ("leader", "controller")}
    rows = {name: n for n, name in enumerate(sorted(names - {None}, reverse=True), start=1)}
    of = {p: [view for view in views if view["partition"] == p] for p in shown}
    lines = [
        _held(of[shown[0]], "controller", rows, {"color": color("soft"), "dash": "dot"}, end_s)
    ]
    for number, partition in enumerate(shown):
        pen = {"color": color(SERIES[number]), "width": 3 if len(shown) == 1 else 2}
        shift = 0.09 * (number - (len(shown) - 1) / 2)
        shifted = {None: shift} | {name: row + shift for name, row in rows.items()}
        lines.append(_held(of[partition], "leader", shifted, pen, end_s))
    nobody = {0: "none"} if any(view["leader"] is None for view in views) else {}
    ticks = nobody | {row: escaped(name) for name, row in rows.items()}
    some = f"Leaders of {len(shown)} of {len(partitions)} partitions"
    return [
        Panel(
            key="leaders",
            height_px=LANE_PX * max(len(ticks), 2),
            title=title("Leader" if len(partitions) == 1 else some, ("controller, dotted", "soft")),
            traces=tuple(lines),
            axis={
                "range": [min(ticks) - 0.6, max(ticks) + 0.6],
                "tickvals": list(ticks),
                "ticktext": list(ticks.values()),
            },
        )
    ]


def isr(views: Sequence[Row], floor: int | None, end_s: float) -> list[Panel]:
    """The smallest ISR of all partitions; dashed, the size below which acks=all is refused."""
    if not views:
        return []
    sizes: dict[int, int] = {}
    smallest = []
    for view in views:
        sizes[view["partition"]] = len(view["isr"])
        smallest.append({"time_s": view["time_s"], "size": min(sizes.values())})
    most = max(row["size"] for row in smallest)
    heights = {size: float(size) for size in range(most + 1)}
    lines = [_held(smallest, "size", heights, {"color": color("isr"), "width": 2.5}, end_s)]
    if floor is not None:
        pen = {"color": color("soft"), "width": 1, "dash": "dash"}
        lines.append(steps([0, end_s], [floor, floor], pen))
    name = "ISR size" if len(sizes) == 1 else "Smallest ISR of all partitions"
    notes = [] if floor is None else [("min.insync.replicas, dashed", "soft")]
    axis = {"range": [-0.3, most + 0.5], "tickvals": list(heights)}
    return [
        Panel(key="isr", height_px=64, title=title(name, *notes), traces=tuple(lines), axis=axis)
    ]


def behind(looks: Sequence[Row], end_s: float) -> list[Panel]:
    """How many records each replica lacks, and how many nobody may read yet; none where nobody
    looked. Only looks at which something changed are drawn."""
    mine = [look for look in looks if look["time_s"] <= end_s]
    if not mine:
        return []
    brokers = sorted({name for look in mine for name in look["brokers"]})[: len(SERIES)]
    unread = [look["unread"] for look in mine]
    lines = [_changes(mine, unread, {"color": color("read"), "dash": "dot"})]
    for name, hue in zip(brokers, SERIES, strict=False):
        lacks = [look["brokers"].get(name) for look in mine]
        lines.append(_changes(mine, lacks, {"color": color(hue)}))
    names = [(escaped(name), hue) for name, hue in zip(brokers, SERIES, strict=False)]
    name = title("Records a replica lacks", *names, ("not readable yet, dotted", "read"))
    axis = {"rangemode": "tozero", "nticks": 4}
    return [Panel(key="behind", height_px=110, title=name, traces=tuple(lines), axis=axis)]


def _changes(looks: Sequence[Row], values: Sequence[float | None], pen: Mapping[str, Any]) -> Any:
    """A step line through the looks at which the value is another, and the last one."""
    last = len(values) - 1
    kept = [n for n, value in enumerate(values) if n in {0, last} or value != values[n - 1]]
    times = [round(looks[n]["time_s"], 3) for n in kept]
    return steps(times, [values[n] for n in kept], pen)


def _rows(spans: Sequence[Span]) -> list[int]:
    """The row of each span in its lane: overlapping faults lie below each other, gaps never do."""
    ends: list[float] = []
    rows = []
    for span in spans:
        free = (row for row, end_s in enumerate(ends) if end_s <= span.start_s)
        row = 0 if span.lane != "faults" else min(next(free, len(ends)), ROWS_MAX - 1)
        ends[row : row + 1] = [span.end_s]
        rows.append(row)
    return rows


def _bars(spans: Sequence[Span], heights: Sequence[float]) -> Any:
    return go.Bar(
        orientation="h",
        base=[round(span.start_s, 3) for span in spans],
        x=[round(span.end_s - span.start_s, 3) for span in spans],
        y=list(heights),
        width=0.56,
        marker={"color": color(spans[0].lane), "line": {"width": 0}},
        hoverinfo="skip",
    )


def _crosses(marks: Sequence[Mark], height: float) -> Any:
    return go.Scatter(
        x=[round(mark.at_s, 3) for mark in marks],
        y=[height] * len(marks),
        mode="markers",
        marker={"symbol": "x", "size": 9, "color": color("lost"), "line": {"width": 0}},
        hoverinfo="skip",
    )


def _held(
    states: Sequence[Row],
    key: str,
    heights: Mapping[Any, float],
    pen: Mapping[str, Any],
    end_s: float,
) -> Any:
    """A step line of what held from each state's `time_s` on; nobody (None) is at height 0."""
    mine = [state for state in states if state["time_s"] <= end_s]
    times = [max(0.0, round(state["time_s"], 3)) for state in mine]
    levels = [heights.get(state[key], 0.0) for state in mine]
    return steps([*times, end_s], [*levels, *levels[-1:]], pen)


def steps(times: Sequence[float], levels: Sequence[float | None], pen: Mapping[str, Any]) -> Any:
    """A line that holds each level until the next time."""
    line = {"shape": "hv", "width": 1.5} | dict(pen)
    return go.Scatter(x=list(times), y=list(levels), mode="lines", line=line, hoverinfo="skip")


def _line(buckets: Sequence[Row], values: Sequence[float | None], pen: Mapping[str, Any]) -> Any:
    """A value per bucket, held for the bucket's length; a missing one is a gap in the line."""
    return steps([b["t_s"] for b in buckets], values, pen)


def title(what: str, *series: tuple[str, str]) -> str:
    """`**what** · acks · reads`, each series in its color: the title is the legend."""
    names = [f'<span style="color:{color(hue)}">{word}</span>' for word, hue in series]
    return " · ".join([f"<b>{what}</b>", *names])
