"""Why a cluster or its topic does not come up: the cause in one sentence, and whose settings are
suspect.

    kafka1 did not start: a should be at most b (a = 500: server.properties, line 14)
    waited 30 s for the list of topics; kafka1 says: Invalid receive (size = 114 larger than 10)
        (socket.request.max.bytes = 10: --set)

A setting is suspect that the cause names. Where it names none, and no load has begun yet, those are
that somebody brought: by a file or `--set`. A refusal is its own cause; of a wait that was in vain
the brokers' logs tell one: Kafka's exception that is there most often, numbers aside. What a broker
says of its peers' connections follows from that, and is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.nodes import ClusterError, NotInTime
from harness.model.kafka_text import kafka_text
from harness.model.runs.run_record import RunRecord
from harness.model.spelling import names
from harness.waiting import WaitTimeout

BEFORE_THE_LOAD = ("start", "set-up", "warm-up")
SHOWN = 3  # settings that somebody brought
SAID_MOST, LOG_BYTES, LOG_LINES = 200, 1 << 20, 12
_SAYS = re.compile(
    r"^(?:Caused by: )?org\.apache\.kafka\.[\w.$]*(?:Exception|Error): (.+)", re.MULTILINE
)
_NOT_BROUGHT = ("harness", "scenario", "the scenario")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """What a broker says: which one, in which words, and the lines of its log around them."""

    node: str
    said: str
    log: str


def explained(
    error: Exception, told: str, phase: str, record: RunRecord, logs: Path
) -> tuple[str, str]:
    """The sentence `told` of an error with the cause and the suspects, and the log that shows it.
    `logs`: the folder of the nodes' logs."""
    log = error.log if isinstance(error, ClusterError) else ""
    early = phase in BEFORE_THE_LOAD
    waited = isinstance(error, NotInTime | WaitTimeout)
    if early and waited and not log and (found := complaint(logs)):
        told, log = f"{told}; {found.node} says: {found.said}", found.log
    began = bool(record.nodes) or any(logs.glob("*.log"))  # else it was not their settings
    return told + suspects(told, record, brought=early and began), log


def complaint(logs: Path) -> Complaint | None:
    """What the brokers complain of most; None where there is nothing."""
    found = [
        (file.stem, log, match)
        for file in sorted(logs.glob("kafka*.log"))
        for log in [_end_of(file)]
        for match in _SAYS.finditer(log)
    ]
    if not found:
        return None
    [(most, _)] = Counter(_shape(match[1]) for _, _, match in found).most_common(1)
    node, log, match = next(each for each in reversed(found) if _shape(each[2][1]) == most)
    before = log[: match.start()].splitlines()[-1:]
    lines = [*before, *log[match.start() :].splitlines()][:LOG_LINES]
    return Complaint(node=node, said=_short(match[1]), log="\n".join(f"  {each}" for each in lines))


def _end_of(file: Path) -> str:
    with file.open("rb") as log:
        log.seek(max(0, file.stat().st_size - LOG_BYTES))
        return log.read().decode(errors="replace")


def _shape(said: str) -> str:
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "#", said)


def _short(said: str) -> str:
    """Without what stands in brackets, where it is too long for a sentence."""
    said = said.strip().rstrip(".")
    while len(said) > SAID_MOST and (fewer := re.sub(r"\([^()]*\)", "", said)) != said:
        said = fewer
    return said if len(said) <= SAID_MOST else f"{said[:SAID_MOST]}…"


def suspects(cause: str, record: RunRecord, *, brought: bool = False) -> str:
    """` (KEY = VALUE: server.properties, line 3)` of the settings of nodes and the topic that a
    cause names and somebody set, or, where it names none, of those that were `brought`; else
    nothing."""
    every = list(_set(record))
    found = [(key, told) for key, told, _ in every if names(cause, key)]
    if not found and brought:
        found = [(key, told) for key, told, origin in every if origin not in _NOT_BROUGHT]
    more = len(found) - SHOWN
    shown = [told for _, told in (found[:SHOWN] if more > 0 else found)]
    return f" ({'; '.join([*shown, *([f'and {more} more'] if more > 0 else [])])})" if found else ""


def _set(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    """Each setting of nodes and the topic: its key, how it is told, and whose it is."""
    scenario = record.scenario
    sections = {
        "server": scenario.cluster.server,
        "broker": scenario.cluster.broker,
        "controller": scenario.cluster.controller,
        "zoo": scenario.cluster.zoo,
        "topic": scenario.topic.config,
    }
    for whose, settings in sections.items():
        for key, value in settings.items():
            origin = record.layers.get(whose, {}).get(key, "the scenario")
            yield key, f"{key} = {kafka_text(value)}: {origin}", origin
