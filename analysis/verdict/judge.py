"""The verdict of a run: valid, invalid or unknown, and why.

**invalid**: an anomaly was seen of a record that nothing permits, or a demand of the scenario is
broken for good. A proven loss stays proven, whatever else is not known, so invalid beats unknown.

**unknown**: something is missing without which "nothing found" proves nothing: no acks, a planned
fault that is not proved to have taken effect and been healed, an incomplete final read, a worker
that died or left no log, damage in the history, a run that did not end (analysis.verdict.doubts).
A demand that is not met in such a run is unknown as well: it might have been met by what nobody
saw. What was not put to the test makes single demands unknown (analysis.verdict.untested).
What is drawn from damaged tables proves nothing, neither an anomaly nor a broken demand.
Unknown, too, is a run with a record of which it is not known whether something permits it: a fault
of which it is not known what it can do, or a leader whom nobody saw.

**valid**: neither. All functions are pure: what is known of a run and counts in, words out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from analysis.anomalies import BY_NAME
from analysis.causes.kinds import Kind
from analysis.checks.promise import Promise
from analysis.verdict.demands import (
    Demand,
    demanded_words,
    level_words,
)
from harness.model.exit_codes import INVALID, UNKNOWN, VALID
from harness.model.runs.report_course import Absence
from harness.model.sections.expect import COUNTS, GAPS, ISR_TIMES, QUANTILES, SHARES

EXIT_CODES = {"valid": VALID, "invalid": INVALID, "unknown": UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many rows of an anomaly were found, and how they are judged (analysis.frames.permission).
    What is neither permitted nor in doubt is forbidden."""

    count: int = 0
    permitted: int = 0
    in_doubt: int = 0
    doubt: str | None = None  # what is not known, of the first in doubt

    @property
    def forbidden(self) -> int:
        """How many break the promise."""
        return self.count - self.permitted - self.in_doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an anomaly's rows mean in this run."""

    tally: Tally
    promise: Promise  # the one that speaks of them
    demand: Demand | None
    demand_met: bool | None  # None: no demand, or it cannot be told
    undecided: str | None = None  # why it is not known whether some are permitted
    suspended: str | None = None  # why it is not known whether what was seen is real

    @property
    def count(self) -> int:
        """How many were seen."""
        return self.tally.count

    @property
    def convicts(self) -> bool:
        """Whether it breaks a promise."""
        return self.tally.forbidden > 0 and self.suspended is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The longest window of a kind, or the times of every follower in or out of an ISR, against
    what was demanded of it."""

    longest_s: float
    demand: Demand
    met: bool | None  # None: it cannot be told
    shortest_s: float | None = None  # of several times, each of which must meet the demand
    seen: bool = True  # False: there is none of these times

    def describe(self) -> str:
        """What was seen."""
        if not self.seen:
            return "none was seen"
        if self.shortest_s is None:
            return f"the longest lasted {self.longest_s:.1f} s"
        return f"they were {self.shortest_s:.1f} to {self.longest_s:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A number of records that is no anomaly's, against what was demanded of it."""

    seen: int
    demand: Demand
    met: bool | None  # None: it cannot be told

    def describe(self) -> str:
        """What was seen."""
        return f"{self.seen:,} {'was' if self.seen == 1 else 'were'} seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A latency or a share against what was demanded of it."""

    seen: float | None  # None: there was nothing to measure
    unit: str  # ms | %
    demand: Demand
    met: bool | None  # None: it cannot be told

    def describe(self) -> str:
        """What was seen."""
        words = level_words(self.seen, self.unit)
        return "there was none" if self.seen is None else f"it was {words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsure:
    """Why what was not seen may have been there all the same."""

    doubts: tuple[str, ...] = ()  # of the whole run
    untested: Mapping[str, str] = field(default_factory=dict)  # of one demand, by its name

    def knows(self, demand: str) -> bool:
        """Whether more knowledge could not change what meets a demand."""
        return not self.doubts and demand not in self.untested


SURE = Unsure()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict with its reasons: of all convictions or, without any, of all doubts."""

    name: Literal["valid", "invalid", "unknown"]
    reasons: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 2 unknown."""
        return EXIT_CODES[self.name]


def judge(
    tallies: Mapping[str, Tally],
    promised: Mapping[str, Sequence[Promise]],
    demands: Mapping[str, Demand],
    unsure: Unsure,
    possible: Mapping[str, Sequence[Kind]] | None = None,
) -> dict[str, Judgement]:
    """Each anomaly's rows against what was promised and demanded. `possible`: the kinds of sure
    causes that there are in the run, by anomaly."""
    judgements = {}
    for anomaly, rows in promised.items():
        tally, demand = tallies.get(anomaly, Tally()), demands.get(anomaly)
        judgements[anomaly] = Judgement(
            tally=tally,
            promise=_speaking(rows, tally, (possible or {}).get(anomaly, ())),
            demand=demand,
            demand_met=demand.met(tally.count, known=unsure.knows(anomaly)) if demand else None,
            undecided=_undecided(anomaly, tally),
        )
    return judgements


def _speaking(rows: Sequence[Promise], tally: Tally, possible: Sequence[Kind]) -> Promise:
    """What permits some where nothing was forbidden and there is a cause for it; else what forbids
    all others."""
    permits = [row for row in rows if row.by is not None and row.by in possible]
    return permits[0] if permits and tally.permitted == tally.count else rows[-1]


def _undecided(anomaly: str, tally: Tally) -> str | None:
    if not tally.in_doubt:
        return None
    noun = BY_NAME[anomaly].noun
    seen = f"the {noun} is" if tally.count == 1 else f"{tally.in_doubt:,} {noun}s are"
    if tally.in_doubt == tally.count > 1:
        seen = f"the {tally.count:,} {noun}s are"
    return f"{tally.doubt}, so whether {seen} permitted is unknown"


def judge_gaps(
    longest_s: Mapping[str, float], demands: Mapping[str, Demand], unsure: Unsure
) -> dict[str, Gap]:
    """The demanded gaps, by their demand's name."""
    return {
        name: Gap(
            longest_s=longest_s[kind],
            demand=demands[name],
            met=demands[name].met(longest_s[kind], known=unsure.knows(name)),
        )
        for name, kind in GAPS.items()
        if name in demands and kind in longest_s
    }


def judge_isr_times(
    absences: Sequence[Absence],
    demands: Mapping[str, Demand],
    doubts: tuple[str, ...],
) -> dict[str, Gap]:
    """The demanded times of followers that left an ISR (analysis.measures.replication): each must
    meet the demand, and there must be one."""
    found = {}
    for name, key in ISR_TIMES.items():
        if name not in demands:
            continue
        demand, known = demands[name], not doubts
        told = [getattr(absence, key) for absence in absences]
        times = [time for time in told if time is not None]
        met = [demand.met(time, known=True) for time in times]
        sure = False if False in met else True if times and known else None
        found[name] = Gap(
            longest_s=max(times, default=0.0),
            shortest_s=min(times, default=0.0),
            seen=bool(times),
            demand=demand,
            met=False if known and not times else sure,
        )
    return found


def judge_counts(
    numbers: Mapping[str, Any],
    demands: Mapping[str, Demand],
    unsure: Unsure,
) -> dict[str, Counted]:
    """The demanded numbers that are no anomaly's, by their fields (demands.COUNTS)."""
    return {
        name: Counted(
            seen=numbers[key],
            demand=demands[name],
            met=demands[name].met(numbers[key], known=unsure.knows(name)),
        )
        for name, key in COUNTS.items()
        if name in demands and key in numbers
    }


def judge_levels(
    counts: Mapping[str, int],
    p99_ms: Mapping[str, float | None],
    demands: Mapping[str, Demand],
    unsure: Unsure,
) -> dict[str, Level]:
    """The demanded latencies (`p99_ms`, by demand) and shares, of the report's `counts`. With any
    doubt they are neither met nor broken: what nobody saw could make them larger or smaller."""
    seen = {name: (p99_ms.get(name), "ms") for name in QUANTILES}
    seen |= {name: (_error_percent(counts), "%") for name in SHARES}
    found = {}
    for name, (level, unit) in seen.items():
        if demand := demands.get(name):
            met = level is not None and demand.met(level, known=True)
            known = unsure.knows(name)
            found[name] = Level(seen=level, unit=unit, demand=demand, met=met if known else None)
    return found


def _error_percent(counts: Mapping[str, int]) -> float | None:
    """Of all sends those that went wrong: what its client aborted without an error did not."""
    wrong = counts["failed"] - counts["aborted"] + counts["indeterminate"]
    return 100 * wrong / counts["sends"] if counts["sends"] else None


def decide(
    judgements: Mapping[str, Judgement],
    unsure: Unsure,
    gaps: Mapping[str, Gap | Counted | Level] | None = None,
) -> Verdict:
    """The verdict over all anomalies, demanded gaps and doubts."""
    guilty = [
        _guilty(name, judgement.tally)
        for name, judgement in judgements.items()
        if judgement.convicts
    ]
    broken = [
        f"{demanded_words(name, judgement.demand)} demanded, {judgement.count:,} seen"
        for name, judgement in judgements.items()
        if judgement.demand and judgement.demand_met is False
    ]
    broken += [
        f"{name}: {gap.demand.amount} demanded, {gap.describe()}"
        for name, gap in (gaps or {}).items()
        if gap.met is False
    ]
    if guilty or broken:
        return Verdict(name="invalid", reasons=(*guilty, *broken))
    undecided = [each.suspended or each.undecided for each in judgements.values()]
    met = {name: each.demand_met for name, each in judgements.items() if each.demand}
    met |= {name: gap.met for name, gap in (gaps or {}).items()}
    reasons = (
        *unsure.doubts,
        *(why for why in undecided if why is not None),
        *_untested(unsure, [name for name, known in met.items() if known is None]),
    )
    return Verdict(name="unknown" if reasons else "valid", reasons=reasons)


def _untested(unsure: Unsure, undecided: Sequence[str]) -> Iterator[str]:
    """Why demands were not put to the test: each reason once, behind its demands."""
    whose = defaultdict[str, list[str]](list)
    for name in undecided:
        if name in unsure.untested:
            whose[unsure.untested[name]].append(name)
    for why, names in whose.items():
        yield f"{', '.join(names)}: {why}"


def _guilty(name: str, tally: Tally) -> str:
    if tally.forbidden == tally.count:
        return f"{name}: {tally.count:,} seen, which this configuration forbids"
    return (
        f"{name}: {tally.count:,} seen, of which nothing that happened permits {tally.forbidden:,}"
    )
