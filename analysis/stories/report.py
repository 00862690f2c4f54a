"""A story as an entry of report.json.

`states` of a replica: stretches of time, in order, and whether it had the records throughout. A
replica that had a record had it from some moment of the first stretch on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from analysis.stories.replicas import Clock, Known, Replica
from analysis.stories.story import Story, life
from analysis.stories.words import sentence

Seconds = Callable[[int | None], float | None]


def entry_of(story: Story, also: Sequence[str], clock: Clock, seconds: Seconds) -> dict[str, Any]:
    """One of report.json's `stories`, without its number; `also`: the other anomalies of the same
    records."""
    facts, span, subject = story.facts, story.span, story.subject
    return {
        "anomaly": facts.anomaly,
        "outcome": facts.outcome,
        "also": list(also),
        "records": span.records,
        "partition": facts.partition,
        "first_offset": span.first_offset,
        "last_offset": span.last_offset,
        "value": subject.value if story.one else None,
        "leader": facts.leader,
        "epoch": facts.epoch,
        "certain": facts.certain,
        "sentence": sentence(story, clock),
        "replicas": [
            {
                "broker": replica.broker,
                "had": replica.had,
                "had_why": replica.had_why,
                "now": replica.now,
                "now_why": replica.now_why,
                "states": _states(story, replica, seconds),
            }
            for replica in facts.replicas
        ],
        "life": [
            {"time_s": seconds(event.time_ns), "who": event.who, "what": event.what}
            for event in life(story, clock)
        ],
    }


def _states(story: Story, replica: Replica, seconds: Seconds) -> list[dict[str, Any]]:
    """When the replica had the records (`to_s` null: to the end)."""
    span = story.span
    begin_ns = span.begin_ns
    if begin_ns is None or not story.gone:
        return []
    stretches: list[tuple[int, Known]] = [(begin_ns, replica.had)]
    without_ns = _led_without(story, replica)
    if replica.cut_ns is not None and replica.cut_ns > begin_ns:
        stretches.append((replica.cut_ns, "no" if replica.had == "yes" else "unknown"))
    elif replica.had != "no" and without_ns is not None and without_ns > begin_ns:
        taken_ns = replica.taken_ns
        if replica.had == "yes" and taken_ns is not None and begin_ns < taken_ns < without_ns:
            stretches.append((taken_ns, "unknown"))
        stretches.append((without_ns, "no"))
    elif (until_ns := _sure_until(story, replica)) > begin_ns and replica.now != replica.had:
        stretches.append((until_ns, "unknown"))
    ends = [*(start for start, _ in stretches[1:]), None]
    return [
        {"from_s": seconds(start), "to_s": seconds(end), "has": has}
        for (start, has), end in zip(stretches, ends, strict=True)
    ]


def _led_without(story: Story, replica: Replica) -> int | None:
    """When the broker led with a log that ended before the records; None: not known."""
    chosen, first = story.facts.election, story.span.first_offset
    if chosen is None or chosen.leader != replica.broker:
        return None
    ended_before = chosen.log_end is not None and first is not None and chosen.log_end <= first
    return chosen.at_ns if ended_before else None


def _sure_until(story: Story, replica: Replica) -> int:
    """Until when `had` is sure; 0: not known."""
    if replica.shown_ns is not None:
        return replica.shown_ns
    acked = story.span.acked_ns
    return acked[1] if replica.had == "yes" and acked is not None else 0  # it acknowledged them
