"""What is shown of an imported history: no time that nobody told, and values with their texts.

    begins of sends not told    =>  no latency in the timeline, no single sends, no lag, no `sent_s`
    no time told at all         =>  no timeline, and evidence without times
    a value 7 sent as "x"       =>  `text` "x" beside `value` 7; so `other_text`, and a story's

A run's own tables have a time in each row (docs/tables.md), which is made up where none is told:
nothing is judged by it, and nothing of it may be drawn. Of our own runs nothing changes.

Cannot see: which acks lack a time, where some have one: those stand where the last one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from analysis.measures.drawn_sends import Point
from analysis.report.found import AnomalyFinding, Found
from analysis.stored.stored_run import Run
from analysis.stored.value_texts import texts_of
from harness.model.untold import BEGINS, READ_TIMES

Row = Mapping[str, Any]
TEXT_MAX: Final = 300  # characters of a text in a report; history/values.parquet has all
_QUANTILES: Final = ("ack_p50_ms", "ack_p99_ms")
_BEGUN: Final = ("sent_ns", "sent_s")
_READ: Final = ("delivered_ns", "delivered_s")
_HAPPENED: Final = ("time_ns", "time_s", "acked_ns", "acked_s", "lasted_s")


def shown_timeline(run: Run, timeline: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Its rows without latencies that nobody told; none where no time is told."""
    if BEGINS not in run.untold:
        return timeline
    return [] if _is_timeless(run) else [_without(_QUANTILES, row) for row in timeline]


def shown_sends(run: Run, sends: Sequence[Point]) -> Sequence[Point]:
    """The single sends that are drawn, where it is told when they began."""
    return () if BEGINS in run.untold else sends


def shown_findings(run: Run, found: Found) -> Found:
    """What was found in an imported run without what its history does not tell, and with texts."""
    found = _with_texts(run, found)
    without = _untold_times(run)
    findings = {
        name: replace(each, examples=[_without(without, row) for row in each.examples])
        for name, each in found.findings.items()
    }
    lag = () if {BEGINS, READ_TIMES} & run.untold else found.lag
    return replace(found, findings=findings, lag=lag)


def _is_timeless(run: Run) -> bool:
    """Whether no time is told at all: then the load has no length."""
    return BEGINS in run.untold and run.load_start_ns == run.load_end_ns


def _untold_times(run: Run) -> tuple[str, ...]:
    begun = _BEGUN if BEGINS in run.untold else ()
    read = _READ if READ_TIMES in run.untold else ()
    return (*begun, *read, *(_HAPPENED if _is_timeless(run) else ()))


def _without(names: tuple[str, ...], row: Row) -> dict[str, Any]:
    return {name: None if name in names else value for name, value in row.items()}


def _with_texts(run: Run, found: Found) -> Found:
    examples = [row for finding in found.findings.values() for row in finding.examples]
    stories = found.stories.stories
    numbers = [row.get(name) for row in (*examples, *stories) for name in ("value", "other_value")]
    texts = texts_of(run.path, (number for number in numbers if number is not None))
    texts = {value: _cut(text) for value, text in texts.items()}

    def of_finding(finding: AnomalyFinding) -> AnomalyFinding:
        return replace(
            finding,
            examples=[
                {
                    **row,
                    "text": texts.get(row["value"]),
                    "other_text": texts.get(row["other_value"]),
                }
                for row in finding.examples
            ],
        )

    told = [{**story, "text": texts.get(story["value"])} for story in stories]
    return replace(
        found,
        findings={name: of_finding(finding) for name, finding in found.findings.items()},
        stories=replace(found.stories, stories=told),
    )


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
