"""index.html over a results folder: every run by scenario and release, newest first.

    scenario (that with the newest run first) > Kafka's release (newest first) > runs, newest first

One static file: it loads nothing and runs no script, its links are relative, and everything in it
that a run recorded is text. It is made from each run's report.json alone, which may be anybody's:
only the fields that are shown are read, each must be of its type, and long texts are cut. What
cannot be shown so is listed in one line with its reason.
"""

from __future__ import annotations

import os
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, NonNegativeFloat, ValidationError

from analysis.report.parts.run_files import address
from analysis.report.parts.templates import environment, style
from analysis.report.wording import MISSING, seconds

VERDICTS = ("valid", "unknown", "invalid")
TEXT_MAX = 300  # characters of an outcome or a title
DATA_TOLD = re.compile(r"[.;] | after |, and no fault")  # where a sentence has told of the data
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
NIGHTS = 14  # that a trend shows
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


class _Gaps(BaseModel):
    produce: NonNegativeFloat | None
    consume: NonNegativeFloat | None


class _Run(BaseModel):
    scenario: str
    title: str = ""
    started_utc: str | None = None
    seed: int | None = None
    backend: str | None = None


class _Outcome(BaseModel):
    words: str
    data: Literal["lost", "disturbed", "kept", "unknown"]


class _Counts(BaseModel):
    acked: int | None = None
    reads: int | None = None


class _Report(BaseModel):
    """Of report.json (schema 1), what the index shows."""

    verdict: Literal["valid", "invalid", "unknown"]
    sentence: str
    outcome: _Outcome | None = None
    run: _Run
    versions: dict[str, Any] = {}
    longest_window_s: _Gaps
    counts: _Counts = _Counts()


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
class Night:
    """A scenario's runs of one day: in words, the share of each verdict, the share that lost
    records, and the report of the newest."""

    words: str
    parts: tuple[tuple[str, float], ...]
    lost: float
    href: str


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
    try:
        read = _Report.model_validate(report, strict=True)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "it"
        raise ValueError(f"{where} is not what a report of this version has there") from None
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
    )


def render(entries: Iterable[Entry], unshown: Sequence[Unshown] = ()) -> str:
    """The whole index.html; the same arguments give the same bytes."""
    by_scenario: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.newest, reverse=True):
        by_scenario.setdefault(entry.scenario, []).append(entry)
    sections: list[dict[str, Any]] = [
        {
            "scenario": scenario,
            "title": runs[0].title,
            "runs": sorted(runs, key=_by_release, reverse=True),
            "trend": trend(runs),
        }
        for scenario, runs in by_scenario.items()
    ]
    runs = [run for of_one in by_scenario.values() for run in of_one]
    counts = {
        verdict: sum(run.verdict == verdict for run in runs)
        for verdict in ("valid", "invalid", "unknown")
    }
    text = (
        environment()
        .get_template("index.html")
        .render(
            sections=sections,
            total=len(runs),
            counts=counts,
            unshown=unshown,
            policy=POLICY,
            style=style(),
        )
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def trend(runs: Sequence[Entry]) -> list[Night]:
    """The last nights of a scenario, the oldest first; none where there are not two to compare."""
    by_day: dict[str, list[Entry]] = {}
    for run in sorted(runs, key=lambda run: run.newest):
        if run.day:
            by_day.setdefault(run.day, []).append(run)
    nights = [_night(day, of_day) for day, of_day in by_day.items()][-NIGHTS:]
    return nights if len(nights) > 1 else []


def _night(day: str, runs: Sequence[Entry]) -> Night:
    ends = Counter(run.verdict for run in runs)
    told = [f"{ends[verdict]} {verdict}" for verdict in VERDICTS if ends[verdict]]
    lost = sum(run.kind == "lost" for run in runs)
    gaps_s = [run.gap_s for run in runs if run.gap_s is not None]
    gap = f", write gap {statistics.median(gaps_s):.1f} s" if gaps_s else ""
    return Night(
        words=f"{day}: {', '.join(told)}; {lost} of {len(runs)} lost records{gap}",
        parts=tuple((verdict, ends[verdict] / len(runs)) for verdict in VERDICTS if ends[verdict]),
        lost=lost / len(runs),
        href=runs[-1].href("report.html"),
    )


def _outcome(report: _Report) -> tuple[str, str]:
    """What happened to the data, and of which kind that is; of a report without it, how its
    sentence begins."""
    if report.outcome is not None:
        return report.outcome.words, report.outcome.data
    return DATA_TOLD.split(report.sentence, maxsplit=1)[0], ""


def _gap(longest_s: float | None, *happened: int | None) -> str:
    """The longest one; that there was none; or – where it is not known, or where nothing happened
    that could have stopped."""
    if longest_s or longest_s is None:
        return seconds(longest_s)
    return MISSING if 0 in happened else "none"


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


def _by_release(run: Entry) -> tuple[tuple[int, int, str], ...]:
    return _version(run.release)


def _version(release: str) -> tuple[tuple[int, int, str], ...]:
    """Releases in their order: 3.10.0 after 3.9.2; a part that is no number before all numbers."""
    parts = re.split(r"[.\-+ ]", release)
    return tuple(
        (1, int(part), "") if re.fullmatch(r"[0-9]{1,9}", part) else (0, 0, part) for part in parts
    )
