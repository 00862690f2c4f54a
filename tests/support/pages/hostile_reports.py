"""A checked run whose every recorded text tries to be more than text.

`spoiled(example, text)` puts the text in the place of each that a run, or whoever made its folder,
could have written: names, messages, evidence, settings and their keys. Left as they are: the words
that the harness itself chooses from (verdict, kinds of outcomes and windows), and numbers.
"""

from __future__ import annotations

from typing import Any

from tests.support.pages import report_parts, reports
from tests.support.pages.reports import Example

ATTACK = (
    "</script><script>document.title='broken'</script></style></title></textarea>-->"
    "<img src=x onerror=alert(1)><svg onload=alert(2)><iframe src='javascript:alert(3)'></iframe>"
    '<a href="javascript:alert(4)">link</a><b>bold</b><br><base href=//x.invalid>'
    "<link rel=stylesheet href=//x.invalid><form action=//x.invalid>"
    "<input autofocus onfocus=alert(5)>"
    "\"'` onmouseover=alert(6) style=background:url(//x.invalid) {{ 7 * 7 }} {% raw %} %{x} "
    "&lt;img src=y onerror=alert(7)&gt; \\u003cscript\\u003e ${8*8} \u2028\u2029\x00\x1b[2K"
)
# As much of it as fits a label of the picture, where plotly would make elements of it.
IN_PICTURE = '<b>bold</b><a href="javascript:alert(4)">link</a><img src=x>'
KEPT = {"verdict", "data", "kind", "started_utc", "acks", "retries", "version"}
KEPT_TABLES = {"counts", "latency_ms", "rates", "longest_window_s", "topic"}


def spoiled(example: Example, text: str) -> Example:
    """The example with the text wherever there was one of the run's."""
    report = _everywhere(example.report, text)
    producer = report["configuration"]["producer"]
    report["configuration"]["producer"] = {**producer, text: text, "x": {"y": text}, "z": [text]}
    report["configuration"]["topic"]["name"] = text
    report["run"]["failure"] = {"phase": text, "error": text}
    report["reasons"] = [text, text]
    report["anomalies"]["lost"] |= {"demanded": text, "demand_met": False, "split": {text: 3}}
    for fault in report["faults"]:
        fault |= {"error": text, "verb": text, "target": text, "nodes": [text, text + "2"]}
        state = {"leader": {"0": text}, "isr": {"0": [text]}, "controller": text}
        fault |= {"before": state, "after": {**state, "controller": text + "2"}}
    report["leadership"] = report_parts.leadership(stretches=2, leaderless=1)
    for row in report["leadership"]:
        row["brokers"][0]["broker"] = text
    report["replication"] = _everywhere(reports.replication(), text)
    views = [
        view | {"leader": text, "controller": text, "isr": [text, text + "2"]}
        for view in example.views
    ]
    return Example(report=report, timeline=example.timeline, views=views)


def looks(text: str) -> list[dict[str, Any]]:
    """What a broker of that name lacked, as `replication.behind` has it."""
    return [
        {"time_s": at_s, "brokers": {text: lacks, "kafka2": 0}, "unread": lacks}
        for at_s, lacks in ((1.0, 4), (2.0, 0), (3.0, 7))
    ]


def _everywhere(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {
            name: each if name in KEPT_TABLES else _everywhere(each, text, name)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_everywhere(each, text, key) for each in value]
    return text if isinstance(value, str) and key not in KEPT else value
