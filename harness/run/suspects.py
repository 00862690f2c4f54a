"""Says why a cluster or its topic does not come up: the cause in one sentence, and the suspect
settings.

    kafka1 did not start: a should be at most b (a = 500: server.properties, line 14)
    waited 30 s for the list of topics; kafka1 says: Invalid receive (size = 114 larger than 10)
        (socket.request.max.bytes = 10: --set)

A setting is suspect if the cause names it. If the cause names none and no load has begun, all
settings from files and `--set` are suspect. A refusal is its own cause. The cause of a wait in vain
is Kafka's most frequent exception in the brokers' logs, numbers aside; what a broker says of its
peers' connections only follows from it, and does not count.
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
_FULL = "No space left on device"
_NOT_BROUGHT = ("harness", "scenario", "the scenario")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A broker's complaint: its name, its words, and the log lines around them."""

    node: str
    said: str
    log: str


def explanation(
    error: Exception, sentence: str, phase: str, record: RunRecord, logs: Path
) -> tuple[str, str]:
    """The `sentence` of an error with the cause and the suspects, and the log that shows it.
    `logs`: the folder of the nodes' logs."""
    log = error.log if isinstance(error, ClusterError) else ""
    early = phase in BEFORE_THE_LOAD
    waited = isinstance(error, NotInTime | WaitTimeout)
    if early and waited and not log and (worst := complaint(logs)):
        sentence, log = f"{sentence}; {worst.node} says: {worst.said}", worst.log
    disk_mib = record.scenario.cluster.disk_mib
    if disk_mib and (full := full_disks(logs)):
        whose = "disk of" if len(full) == 1 else "disks of"
        sentence += f"; the {whose} {', '.join(full)} became full (cluster.disk_mib = {disk_mib})"
    began = bool(record.nodes) or any(logs.glob("*.log"))  # else no setting can be the cause
    return sentence + suspects(sentence, record, brought=early and began), log


def full_disks(logs: Path) -> list[str]:
    """The brokers that could not write any more."""
    return [file.stem for file in sorted(logs.glob("kafka*.log")) if _FULL in _end_of(file)]


def complaint(logs: Path) -> Complaint | None:
    """The most frequent complaint of the brokers; None where there is none."""
    complaints = [
        (file.stem, log, match)
        for file in sorted(logs.glob("kafka*.log"))
        for log in [_end_of(file)]
        for match in _SAYS.finditer(log)
    ]
    if not complaints:
        return None
    [(most, _)] = Counter(_shape(match[1]) for _, _, match in complaints).most_common(1)
    node, log, match = next(one for one in reversed(complaints) if _shape(one[2][1]) == most)
    before = log[: match.start()].splitlines()[-1:]
    lines = [*before, *log[match.start() :].splitlines()][:LOG_LINES]
    return Complaint(node=node, said=_short(match[1]), log="\n".join(f"  {one}" for one in lines))


def _end_of(file: Path) -> str:
    with file.open("rb") as log:
        log.seek(max(0, file.stat().st_size - LOG_BYTES))
        return log.read().decode(errors="replace")


def _shape(said: str) -> str:
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "#", said)


def _short(said: str) -> str:
    """Without the text in brackets, where it is too long for a sentence."""
    said = said.strip().rstrip(".")
    while len(said) > SAID_MOST and (fewer := re.sub(r"\([^()]*\)", "", said)) != said:
        said = fewer
    return said if len(said) <= SAID_MOST else f"{said[:SAID_MOST]}…"


def suspects(cause: str, record: RunRecord, *, brought: bool = False) -> str:
    """` (KEY = VALUE: server.properties, line 3)` for the set settings of nodes and topic that the
    cause names; where it names none, for those that were `brought`; else nothing."""
    settings = list(_settings(record))
    suspected = [(key, words) for key, words, _ in settings if names(cause, key)]
    if not suspected and brought:
        suspected = [(key, words) for key, words, origin in settings if origin not in _NOT_BROUGHT]
    more = len(suspected) - SHOWN
    shown = [words for _, words in (suspected[:SHOWN] if more > 0 else suspected)]
    return (
        f" ({'; '.join([*shown, *([f'and {more} more'] if more > 0 else [])])})"
        if suspected
        else ""
    )


def _settings(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    """Each setting of nodes and topic: its key, its words, and its origin."""
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
