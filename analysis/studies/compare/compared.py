"""Two sets of runs, cell by cell: what changed, and which change could have been seen.

    last week: no loss in 20 runs     tonight: loss in 11 of 20     =>  changed, a rise
    last week: no loss in 20 runs     tonight: loss in 1 of 20      =>  no change that this shows

Compares, of each cell, the shares of runs with each anomaly, of unknown and of invalid runs, and
the longest stretches of its calm runs without an ack and without a read. Names cells that only one
side has. Runs are lines of a ledger (harness.model.campaigns.ledger).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analysis.stored.settings import Settings
from analysis.studies.cells.shares import calm_gaps_s, checked, counts
from analysis.studies.compare.exact import (
    Probability,
    Share,
    bounds,
    cliffs_delta,
    of_lengths,
    of_shares,
    smallest_rise,
)
from harness.model.campaigns.ledger import has_digest, name_of
from harness.model.campaigns.ledger_line import Line
from harness.model.campaigns.worse import GAP_FACTOR
from harness.model.kafka_text import kafka_text
from harness.model.sections.expect import COUNTS

LOST, UNKNOWN, INVALID = "lost", "unknown", "invalid"
COUNTED = {name: COUNTS[name] for name in ("undelivered", "expired-unread")}  # keys of a line
GAPS = {"produce": "no ack for", "consume": "no read for"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """A cell's runs on both sides."""

    cell: str
    old: Sequence[Line]
    new: Sequence[Line]

    @property
    def anomalies(self) -> list[str]:
        """The anomalies that any of its runs saw."""
        lines = [*self.old, *self.new]
        return sorted({n for line in lines for n, k in line.get("anomalies", {}).items() if k})

    def gaps_s(self, kind: str) -> tuple[list[float], list[float]]:
        """The longest gap of each calm run, on both sides."""
        return calm_gaps_s(checked(self.old), kind), calm_gaps_s(checked(self.new), kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """One measure of one cell, on both sides. `effect` is above 0 where the new runs have more."""

    cell: str
    what: str
    old: str
    new: str
    effect: float
    probability: Probability
    grown: float | None = None  # of lengths: new median / old median


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The comparison. `gap_factor`: the growth of a gap above which there is an alarm."""

    cells: Sequence[Both]
    tested: Sequence[Tested]
    only_old: Sequence[str]
    only_new: Sequence[str]
    forbidden: Sequence[str]  # forbidden anomalies of the new runs, in sentences
    gap_factor: float

    @cached_property
    def at(self) -> Mapping[bool, float]:
        """How small a probability must be to count: for losses (True) and all else (False). Each
        has its part of the false alarms, so that many cells' gaps cannot hide a loss."""
        losses = [test.probability for test in self.tested if test.what == LOST]
        others = [test.probability for test in self.tested if test.what != LOST]
        return dict(zip((True, False), bounds(losses, others), strict=True))

    @property
    def changed(self) -> list[Tested]:
        """What is called different, the surest first."""
        sure = [test for test in self.tested if test.probability.p <= self.at[test.what == LOST]]
        return sorted(sure, key=lambda test: test.probability.p)

    @property
    def alarms(self) -> list[str]:
        """Why tonight is worse, in sentences: forbidden anomalies, new or not; anomalies and
        unknown runs that became more frequent; gaps that grew beyond the factor."""
        return [*self.forbidden, *self._rises()]

    def _rises(self) -> Iterator[str]:
        for test in self.changed:
            if test.grown is None and test.effect > 0:
                yield f"{test.cell}: {test.what}: {test.old} before, {test.new} now"
            elif test.grown is not None and test.grown > self.gap_factor:
                yield (
                    f"{test.cell}: {test.what} {test.old} before, {test.new} now: "
                    f"{test.grown:.1f} times as long"
                )

    def could_have_seen(self, both: Both) -> str:
        """The smallest rise of the share of runs with losses that this cell's runs would show."""
        old = _share(both.old, LOST)
        new = smallest_rise(old, _share(both.new, LOST).runs, self.at[True])
        if new is None:
            return f"none: {old.hits} of {old.runs} and {len(both.new)} runs are too few"
        return f"{new.hits} of {new.runs}"


def compare(
    old: Iterable[Line], new: Iterable[Line], *, gap_factor: float = GAP_FACTOR
) -> Compared:
    """Compare runs that count, by cell and backend."""
    sides = by_cell(old), by_cell(new)
    tonight = [Both(cell=cell, old=sides[0].get(cell, ()), new=sides[1][cell]) for cell in sides[1]]
    cells = [both for both in tonight if both.old]
    return Compared(
        cells=cells,
        tested=[test for both in cells for test in _tests(both)],
        only_old=[cell for cell in sides[0] if cell not in sides[1]],
        only_new=[cell for cell in sides[1] if cell not in sides[0]],
        forbidden=list(_forbidden(tonight)),
        gap_factor=gap_factor,
    )


def settings_that_differ(both: Both, by_digest: Mapping[str, Settings]) -> list[str]:
    """What of a cell's configuration differs, in words; `by_digest`: digest -> settings."""
    old, new = (_digests(side) for side in (both.old, both.new))
    if old == new or not old or not new:
        return []
    one, other = (by_digest.get(side[-1]) for side in (old, new))
    if one is None or other is None:
        return [f"another configuration ({old[-1]} before, {new[-1]} now), settings not recorded"]
    return [
        f"{key.removeprefix('scenario.')}: {_text(one, key)} before, {_text(other, key)} now"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    ]


def versions_that_differ(old: Iterable[Line], new: Iterable[Line]) -> list[str]:
    """Which versions differ between the sides, in words."""
    one, other = _versions(old), _versions(new)
    return [
        f"{name}: {' and '.join(one[name])} before, {' and '.join(other[name])} now"
        for name in one
        if name in other and one[name] != other[name]
    ]


def by_cell(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Runs by their cell's name, with the backend if it is not the local one."""
    runs: dict[str, list[Line]] = {}
    for line in lines:
        cell, backend, _, _ = name_of(line)
        runs.setdefault(cell if backend == "local" else f"{cell} on {backend}", []).append(line)
    return runs


def _tests(both: Both) -> Iterator[Tested]:
    """Everything that is compared of a cell."""
    for what in (*both.anomalies, *COUNTED, UNKNOWN, INVALID):
        old, new = _share(both.old, what), _share(both.new, what)
        if what in COUNTED and not (old.runs and new.runs):
            continue  # older lines do not say it
        yield Tested(
            cell=both.cell,
            what=what,
            old=f"{old.hits} of {old.runs}",
            new=f"{new.hits} of {new.runs}",
            effect=_rate(new) - _rate(old),
            probability=of_shares(old, new),
        )
    for kind, words in GAPS.items():
        before, now = both.gaps_s(kind)
        if before and now:
            medians = statistics.median(before), statistics.median(now)
            yield Tested(
                cell=both.cell,
                what=words,
                old=f"{medians[0]:.1f} s",
                new=f"{medians[1]:.1f} s",
                effect=cliffs_delta(before, now),
                probability=of_lengths(before, now),
                grown=medians[1] / max(medians[0], 0.1),
            )


def _share(lines: Sequence[Line], what: str) -> Share:
    """In how many of a side's runs something was seen. A run without a verdict is in no share of an
    anomaly (analysis.studies.cells.shares.counts)."""
    verdicts = [line.get("verdict", UNKNOWN) for line in lines]
    if what in (UNKNOWN, INVALID):
        return Share(hits=verdicts.count(what), runs=len(lines))
    if what in COUNTED:
        told: Sequence[Mapping[str, Any]] = checked(lines)
        seen = [line[COUNTED[what]] for line in told if COUNTED[what] in line]
    else:
        seen = counts(checked(lines), what)
    return Share(hits=sum(map(bool, seen)), runs=len(seen))


def _rate(share: Share) -> float:
    return share.hits / share.runs if share.runs else 0.0


def _forbidden(cells: Sequence[Both]) -> Iterator[str]:
    """What tonight's runs had that their configuration forbids."""
    for both in cells:
        for name in both.anomalies:
            runs = [line for line in both.new if name in line.get("forbidden", ())]
            if runs:
                before = any(name in line.get("forbidden", ()) for line in both.old)
                again = "as before" if before else "newly"
                seeds = ", ".join(str(line["seed"]) for line in runs)
                yield f"{both.cell}: {name}, which is forbidden, {again}: seed {seeds}"


def _digests(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line["configuration"] for line in lines if has_digest(line)))


def _text(settings: Settings, key: str) -> str:
    return kafka_text(settings.get(key, "default"))


def _versions(lines: Iterable[Line]) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for line in lines:
        for name, value in line.get("versions", {}).items():
            if value and value not in versions.setdefault(name, []):
                versions[name].append(value)
    return {name: sorted(values) for name, values in versions.items()}
