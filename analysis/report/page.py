"""report.html: one file that tells a run to a manager first, and to an engineer after.

    outcome, verdict and a sentence > key numbers > timeline and, on demand, its close-up
    > findings with evidence and stories > gaps and faults > configuration, promises and host
    > the run's files > how to read it

The page opens offline in any browser. It loads nothing: plotly.js travels inside, compressed
(4.8 MB become 2.0 MB; the browser's own DecompressionStream unpacks it), and a
Content-Security-Policy forbids every request, and every script but the two whose hashes it names.
Without JavaScript, or in a browser from before 2023, all but the picture can be read; a run
without a timeline carries no plotly at all.

Everything from the run is escaped by jinja2; the embedded JSON has no `<`, so that no text in it
can end its element; half a character (a lone surrogate) becomes a question mark. The same
arguments give the same bytes: the page knows no clock.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from analysis.anomalies import BY_NAME
from analysis.causes.run_facts.untold import unmeasured_windows
from analysis.measures.drawn_sends import EACH
from analysis.report import wording
from analysis.report.clock import Clock
from analysis.report.figure.close_up import close_up, quantiles
from analysis.report.figure.panels import PALETTE
from analysis.report.figure.timeline import burst, end_of, figure, reads_word
from analysis.report.parts import scripts
from analysis.report.parts.client_keys import whose
from analysis.report.parts.counters import counters
from analysis.report.parts.evidence import evidence, fault_names
from analysis.report.parts.isr_meanwhile import isr_meanwhile
from analysis.report.parts.run_files import Group, address
from analysis.report.parts.stories import stories
from analysis.report.parts.templates import environment, style
from analysis.verdict.demands import level_words
from harness.model.runs.report import CountDemand, GapDemand, LevelDemand, Report
from harness.model.runs.report_course import Window
from harness.model.runs.report_findings import Counts, Finding
from harness.model.sections.expect import amount_words
from harness.model.untold import BEGINS

Row = Mapping[str, Any]

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")
ROWS_MAX = 200  # of a table of windows or faults: a page, not an archive
STRETCHES_MAX = 12  # of the table of leaders
TILES = 6  # two rows of three


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """What the page shows beside the report: rows of `drawn_sends.points` and `consumer_lag.lag`,
    and links to the run's files."""

    sends: Sequence[Row] = ()
    lag: Sequence[Row] = ()
    files: Sequence[Group] = ()


def render(
    report: Report,
    timeline: Sequence[Row],
    views: Sequence[Row],
    looks: Sequence[Row] = (),
    more: More = More(),
) -> str:
    """The whole report.html as text.

    `timeline` are the timeline's rows in order of `t_s`, `views` rows {time_s, partition, leader,
    isr, controller}, `looks` those of `replication.behind`; times are seconds since the load began.
    """
    page = _environment().get_template("page.html")
    text = page.render(
        report=report,
        untold=report.untold,
        sentences=SENTENCE_END.split(report.sentence, maxsplit=1),
        tiles=tiles(report),
        findings=_findings(report),
        windows=_longest(report.windows),
        faults=report.faults[:ROWS_MAX],
        fault_names=fault_names(report.faults),
        meanwhile=isr_meanwhile(report.faults[:ROWS_MAX], views),
        stories=stories(report),
        leadership=leadership(report),
        starved=wording.is_starved(report.host),
        remarks=wording.remarks(report),
        picture=_picture(report, timeline, views, looks),
        close_up=_close_up(report, timeline, more),
        counters=counters(report.counts.written()),
        clock=Clock.of(report),
        files=more.files,
        style=style(),
        script=Markup(scripts.ours()),  # noqa: S704 our own
        policy=scripts.policy(),
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def load() -> None:
    """What is the same for each page, ahead of the first: it takes half of that one's time."""
    scripts.packed_plotly()
    scripts.policy()
    templates = _environment()
    for name in templates.list_templates(extensions=("html",)):
        templates.get_template(name)


def tiles(report: Report) -> list[dict[str, str]]:
    """The key numbers: {name, value, note, tone} each. What broke stands first and is `bad`, as
    nothing else is."""
    counts = report.counts
    lost = f"of {counts.acked:,} acknowledged"
    usual = {
        "lost": _finding_tile(report, "lost", "Records lost", lost),
        "duplicate": _finding_tile(
            report, "duplicate", "Duplicates", "values found at two offsets"
        ),
        "produce-gap-s": _window_tile(report, "produce", "Longest write outage", counts.acked),
        **_readers_tile(report),
        "acked": {
            "name": "Sends acknowledged",
            "value": wording.number(counts.acked),
            "note": f"of {counts.sends:,} sends; {counts.indeterminate:,} in doubt, "
            f"{_failed(counts)}{_undelivered(counts)}",
            "tone": "quiet" if counts.acked and not counts.undelivered else "doubt",
        },
        "latency": _latency_tile(report),
    }
    broken = {name: usual.get(name, tile) | tile for name, tile in _broken(report, usual).items()}
    others = [tile for name, tile in usual.items() if name not in broken]
    return [*broken.values(), *others][: max(TILES, len(broken))]


def _latency_tile(report: Report) -> dict[str, str]:
    name, latency = "Time to ack, p50", report.latency_ms.ack if report.latency_ms else None
    if BEGINS in report.untold:
        return _unknown_tile(name, unmeasured_windows([BEGINS])["produce"])
    quantiles = (latency.p50, latency.p99, latency.max) if latency else (None, None, None)
    p50, p99, most = map(wording.milliseconds, quantiles)
    return {"name": name, "value": p50, "note": f"p99 {p99}, worst {most}", "tone": "quiet"}


def _unknown_tile(name: str, why: str) -> dict[str, str]:
    return {"name": name, "value": "not known", "note": why, "tone": "doubt"}


def _failed(counts: Counts) -> str:
    """How many sends failed; what a client aborted without an error is told for itself."""
    failed = f"{counts.failed - counts.aborted:,} failed"
    return f"{failed}, {counts.aborted:,} aborted by their client" if counts.aborted else failed


def _undelivered(counts: Counts) -> str:
    """How many of these are not in the log."""
    return f"; {counts.undelivered:,} not delivered" if counts.undelivered else ""


def _broken(report: Report, usual: Mapping[str, Row]) -> dict[str, dict[str, str]]:
    """What is red, by anomaly or demand: all of its tile where there is no usual one."""
    demands: dict[str, GapDemand | CountDemand | LevelDemand] = {
        **report.gap_demands,
        **report.count_demands,
        **report.level_demands,
    }
    broken: dict[str, dict[str, str]] = {}
    for name, finding in report.anomalies.items():
        if finding.convicts or finding.demand_met is False:
            words = wording.remark(finding, provable=True).words
            new = {
                "name": f"{BY_NAME[name].noun}s".capitalize() if name in BY_NAME else name,
                "value": wording.number(finding.count),
                "note": words,
            }
            broken[name] = {"tone": "bad"} | ({} if name in usual else new)
    for name, demand in demands.items():
        if demand.demand_met is False:
            note = f"The scenario expects {amount_words(demand.demanded)}: not met"
            new = {"name": name, "value": _value(demand), "note": note}
            kept = {"note": f"{note}; {usual[name]['note']}"} if name in usual else new
            broken[name] = {"tone": "bad"} | kept
    return broken


def _value(demand: GapDemand | CountDemand | LevelDemand) -> str:
    """What was seen of what a demand is about."""
    if isinstance(demand, GapDemand):
        return wording.seconds(demand.longest_s)
    if isinstance(demand, CountDemand):
        return wording.number(demand.seen)
    return level_words(demand.seen, demand.unit)


def _finding_tile(report: Report, anomaly: str, name: str, note: str) -> dict[str, str]:
    """A count with what it means here: seen and allowed is not the same as seen and forbidden."""
    finding = report.anomalies.get(anomaly)
    if finding is None:
        return {"name": name, "value": wording.MISSING, "note": "not checked", "tone": "doubt"}
    remark = wording.remark(finding, provable=wording.provable(report))
    seen = f"{note}. {remark.words}." if finding.count or remark.tone == "doubt" else note
    tone = "note" if finding.count and remark.tone == "good" else remark.tone
    unproved = tone == "doubt" and not finding.count  # a large 0 would be read as "none"
    return {
        "name": name,
        "value": wording.MISSING if unproved else wording.number(finding.count),
        "note": seen,
        "tone": tone if finding.count or tone == "doubt" else "quiet",
    }


def _readers_tile(report: Report) -> dict[str, dict[str, str]]:
    """Of those that follow the log or, where there is nobody but a group, of the group."""
    counts = report.counts
    if counts.processed and not counts.reads:
        name, done = "Longest processing outage", counts.processed
        return {"process-gap-s": _window_tile(report, "process", name, done)}
    return {"consume-gap-s": _window_tile(report, "consume", "Longest read outage", counts.reads)}


def _window_tile(report: Report, kind: str, name: str, happened: int) -> dict[str, str]:
    """The longest window, and the fault that it belongs to; of nothing there is none to measure."""
    length_s = getattr(report.longest_window_s, kind)
    if length_s is None:
        return _unknown_tile(name, unmeasured_windows(report.untold)[kind])
    if length_s:
        mine = [window for window in report.windows if window.kind == kind]
        worst = max(mine, key=lambda window: window.length_s, default=None)
        note = (_window_note(report, worst) + _in_all(mine)) if worst else ""
        return {"name": name, "value": wording.seconds(length_s), "note": note, "tone": "note"}
    if not happened or not report.counts.acked:
        return {
            "name": name,
            "value": wording.MISSING,
            "note": f"not measured: {_unmeasured(report, kind)}",
            "tone": "doubt",
        }
    threshold = wording.milliseconds(report.threshold_ms)
    note = f"no stretch of {threshold} or more"
    if kind == "consume":
        stopped = any(window.kind == "produce" for window in report.windows)
        note = f"no acknowledged record waited {threshold} or longer to be read" + (
            "; while writes stopped there was nothing to read" if stopped else ""
        )
    return {"name": name, "value": f"< {threshold}", "note": note, "tone": "quiet"}


def _unmeasured(report: Report, kind: str) -> str:
    """Why there was nothing of which an outage could be seen."""
    if not report.counts.acked:
        return "nothing was acknowledged" + ("" if kind == "produce" else ": nothing to read")
    return "no consumer that follows the log was given anything"


def _window_note(report: Report, window: Window) -> str:
    names = fault_names(report.faults)
    blamed = ", ".join(names.get(fault, str(fault)) for fault in window.faults[:2])
    still = " and still open at the end" if window.end_s is None else ""
    cause = f"fault {blamed}" if blamed else "no fault before it"
    return f"from {wording.moment(window.start_s)}{still}; {cause}"


def _in_all(windows: Sequence[Window]) -> str:
    """How long it was down altogether; nothing for a single time. Partitions that were down at the
    same time were down once."""
    if len(windows) < 2:
        return ""
    down_s, until_s = 0.0, -math.inf
    for window in sorted(windows, key=lambda window: window.start_s):
        end_s = window.start_s + window.length_s
        down_s += max(0.0, end_s - max(window.start_s, until_s))
        until_s = max(until_s, end_s)
    return f"; in all {wording.seconds(down_s)}, in {len(windows):,} outages"


def _findings(report: Report) -> dict[str, Any]:
    """The anomalies with a remark each: `told`, those that convict first, then those seen or
    demanded; and folded `none`, of which none was seen."""
    sure = wording.provable(report)
    rows = {
        name: {
            "name": name,
            "meaning": BY_NAME[name].meaning if name in BY_NAME else "",
            "lasted": _lasted(name, finding),
            "remark": wording.remark(finding, provable=sure),
            "evidence": evidence(name, finding, report),
            **finding.written(),
        }
        for name, finding in report.anomalies.items()
    }
    seen, none = wording.seen_and_unseen(report.anomalies)
    shown = [rows[name] for name in seen]
    return {
        "told": sorted(shown, key=lambda row: (row["remark"].tone != "bad", not row["count"])),
        "none": [rows[name] for name in none],
        "none_words": wording.none_words(report),
    }


def _lasted(name: str, finding: Finding) -> str:
    """How long the records of an anomaly that passes were without what they lacked."""
    if not (lengths := finding.lasted_s):
        return ""
    p50, most = wording.seconds(lengths.p50), wording.seconds(lengths.max)
    return f"; {BY_NAME[name].lasts} it took {p50} at the median, {most} at most"


def _longest(windows: Sequence[Window]) -> list[Window]:
    """All windows in their order or, of too many, the longest."""
    if len(windows) <= ROWS_MAX:
        return list(windows)
    chosen = sorted(windows, key=lambda window: window.length_s, reverse=True)[:ROWS_MAX]
    return sorted(chosen, key=lambda window: window.start_s)


def leadership(report: Report) -> dict[str, Any] | None:
    """The first stretches of who led what, and how many more there are; None where that says
    nothing: of one partition that one broker led throughout, or of a report from before."""
    rows = report.leadership
    brokers = [broker.broker for broker in rows[0].brokers] if rows else []
    leads = {tuple(broker.leads for broker in row.brokers) for row in rows}
    partitions = int(str(wording.flat(report.configuration.topic).get("partitions", 1)))
    if not rows or (partitions == 1 and len(leads) == 1):
        return None
    shown = rows[:STRETCHES_MAX]
    return {
        "rows": shown,
        "more": len(rows) - len(shown),
        "brokers": brokers,
        "leaderless": any(row.leaderless for row in shown),
    }


def _picture(
    report: Report, timeline: Sequence[Row], views: Sequence[Row], looks: Sequence[Row]
) -> dict[str, Any] | None:
    """What the page's script needs to draw; None for a run without a timeline, or with nothing
    to draw on it."""
    if not timeline or not (report.counts.sends or report.faults):
        return None
    drawing = figure(report, timeline, views, looks)
    return {
        "height_px": drawing.layout.height,
        "burst": burst(timeline),
        "figure": _embedded(drawing.to_json()),
        "dark": _embedded(json.dumps(dict(PALETTE.values()))),
        "plotly": scripts.packed_plotly(),
    }


def _close_up(report: Report, timeline: Sequence[Row], more: More) -> dict[str, Any] | None:
    """What is drawn on demand, and the quantiles beside it; None without sends and lag."""
    if not timeline:
        return None
    drawing = close_up(report, more.sends, more.lag, end_of(report, timeline))
    if drawing is None:
        return None
    return {
        "height_px": drawing.layout.height,
        "figure": _embedded(drawing.to_json()),
        "quantiles": quantiles(report),
        "sends": len(more.sends),
        "each": EACH,
        "lag": bool(more.lag),
    }


def _embedded(text: str) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end that element."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 escaped above


@cache
def _environment() -> Environment:
    made = environment()
    made.globals |= {"address": address, "reads_word": reads_word, "whose": whose}
    return made
