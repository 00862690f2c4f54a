"""A run of the index, by its report.json, which may be anybody's.

Each field must be of its type, and long texts are cut.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from analysis.measures.cap import position_of
from analysis.report.parts.run_files import address
from analysis.report.wording import MISSING, seconds
from harness.model.kafka_text import kafka_text
from harness.model.runs.report import Report, report_of

TEXT_MAX = 300  # characters of an outcome or a title
DATA_TOLD = re.compile(r"[.;] | after |, and no fault")  # where a sentence has told of the data
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
SETTINGS_MAX = 400  # of one run
COMMAND_MAX = 20_000  # characters that are read of it
# What a report's configuration has: by other paths, as the nodes and clients were given it.
CONFIGURED = (
    "workload.producer.",
    "workload.consumer.",
    "topic.",
    "cluster.server.",
    "cluster.zoo.",
)
NO_SETTINGS = ("expect.", "backend.")
GONE = ("lost", "vanished", "unacknowledged-lost")  # anomalies of what is not there any more
DEEPEST = 20  # dots of a path, Kafka's own included: what is nested deeper is passed over


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run of the index; `place` are the names that lead to it from the results folder."""

    place: tuple[str, ...]
    scenario: str
    title: str
    release: str
    started_utc: str | None
    seed: int | None
    backend: str | None
    verdict: str
    outcome: str
    kind: str  # of the outcome; empty where the report has none
    write_gap: str
    read_gap: str
    gap_s: float | None = None  # of writes
    lost: bool | None = None  # whether records were; None: the run does not tell
    duplicates: int | None = None
    position: str = ""  # empty in old reports
    settings: Mapping[str, str] = field(default_factory=dict)  # key of Kafka's -> value

    @property
    def day(self) -> str:
        """The day in UTC on which it began; empty where that is not told."""
        found = DAY.match(self.started_utc or "")
        return found[0] if found else ""

    @property
    def newest(self) -> tuple[str, tuple[str, ...]]:
        """What runs are ordered by, the newest last."""
        return self.started_utc or "", self.place

    def href(self, name: str) -> str:
        """The relative address of a file of the run."""
        return address(*self.place, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """A run that cannot be shown, and why, in a sentence."""

    place: tuple[str, ...]
    why: str

    @property
    def name(self) -> str:
        """Its folder, as it is shown: bytes that are no text become question marks."""
        return os.fsencode("/".join(self.place)).decode(errors="replace")

    @property
    def href(self) -> str:
        """The relative address of its folder."""
        return f"{address(*self.place)}/"


def entry_of(place: tuple[str, ...], report: object) -> Entry:
    """A run by its report.json. Raises ValueError where that is not a report of this version."""
    read = report_of(report)
    text, kind = _outcome(read)
    release = read.versions.get("kafka")
    return Entry(
        place=place,
        scenario=_short(read.run.scenario),
        title=_short(read.run.title),
        release=_short(str(release)) if release else "unknown",
        started_utc=read.run.started_utc,
        seed=read.run.seed,
        backend=read.run.backend,
        verdict=read.verdict,
        outcome=_short(text),
        kind=kind,
        write_gap=_gap(read.longest_window_s.produce, read.counts.acked),
        read_gap=_gap(read.longest_window_s.consume, read.counts.acked, read.counts.reads),
        gap_s=read.longest_window_s.produce,
        lost=_lost(read),
        duplicates=_count(read, "duplicate"),
        position=position_of(read.cap.written()) if read.cap else "",
        settings=dict(islice(_every_setting(read), SETTINGS_MAX)),
    )


def _outcome(report: Report) -> tuple[str, str]:
    """What happened to the data, and of which kind that is; of a report without it, how its
    sentence begins."""
    if report.outcome is not None:
        return report.outcome.words, report.outcome.data
    return DATA_TOLD.split(report.sentence, maxsplit=1)[0], ""


def _gap(longest_s: float | None, *happened: int) -> str:
    """The longest one; that there was none; or – where it is not known, or where nothing happened
    that could have stopped."""
    if longest_s or longest_s is None:
        return seconds(longest_s)
    return MISSING if 0 in happened else "none"


def _lost(read: Report) -> bool | None:
    """Whether records were lost: by the count of them, or by the outcome, which knows of those that
    vanished or were not acknowledged too. None where a run cannot tell: an unknown one that saw no
    loss, one that doubts it, and one whose report has neither."""
    kind = read.outcome.data if read.outcome else ""
    counts = [_count(read, name) for name in GONE]
    if read.verdict == "unknown" or kind == "unknown" or (not kind and counts[0] is None):
        return True if counts[0] else None
    if kind:  # it doubts what it does not count
        return kind == "lost" or bool(counts[0])
    return any(counts)


def _count(read: Report, anomaly: str) -> int | None:
    found = read.anomalies.get(anomaly)
    return None if found is None else found.count


def _every_setting(read: Report) -> Iterator[tuple[str, str]]:
    """What the run was configured with, and what else its command set."""
    yield from _settings("", read.configuration.written())
    try:
        words = shlex.split((read.run.command or "")[:COMMAND_MAX])
    except ValueError:  # a quotation that does not end
        return
    for option, word in pairwise(words):
        path, sign, value = word.partition("=")
        if option == "--set" and sign and not path.startswith((*CONFIGURED, *NO_SETTINGS)):
            yield _short(path), _short(value)


def _settings(section: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every setting below a table that is one value, by its path: `topic.config.retention.ms`."""
    for key, value in table.items():
        if isinstance(value, dict) and section.count(".") < DEEPEST:
            yield from _settings(f"{section}{_short(key)}.", value)
        elif isinstance(value, str | int | float | bool):
            yield _short(f"{section}{_short(key)}"), _short(kafka_text(value))


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
