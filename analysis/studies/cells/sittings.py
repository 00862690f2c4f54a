"""Runs of one sitting are more alike than runs of two: how much, and what that does to an interval.

A campaign begins each sitting with a calibration (harness.model.campaigns.ledger, `calibrated`);
what was made after it on one host is one sitting. New lines name it, of older ones it follows from the
order of the ledger.

How much more the shares of sittings differ than those of independent runs would is Pearson's χ² by
its degrees of freedom (McCullagh and Nelder, Generalized Linear Models, 1989, 4.5), over cells that
may differ in their shares, each about its own mean:

    cell a: 3 of 5 and 0 of 5 runs, cell b: 5 of 5 and 2 of 5    =>  of independent runs some 1

A sitting of a cell in which fewer than one hit, or fewer than one miss, is to be expected has no
part in it. Below 1 it counts as 1: chance makes some too even. An interval is that of n by the
dispersion runs. It grows with the runs that a sitting has of a cell, so that of pooled cells is
taken of the pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.studies.cells.shares import UNKNOWN, affected, checked
from harness.model.campaigns.ledger import CALIBRATED, ENDED, STARTED, Lines, Name, name_of
from harness.model.campaigns.ledger_line import Line

LEAST = 1.0  # hits, and misses, to be expected of a sitting of a cell
FEW = 5  # below so many sittings no share is said to hold for others


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispersion:
    """`ratio`: χ² / `freedom`; nothing is known of it where `freedom` is 0."""

    ratio: float
    freedom: int

    @property
    def factor(self) -> float:
        """By how much fewer runs count."""
        return max(1.0, self.ratio)


def sittings(told: Lines) -> Mapping[Name, str]:
    """Of each run that ended the sitting in which it was made."""
    calibrated: dict[str, str] = {}
    begun: dict[Name, str] = {}
    found: dict[Name, str] = {}
    for line in told.all:
        event, backend = line.get("event", ENDED), str(line.get("backend") or "local")
        if event == CALIBRATED:
            calibrated[backend] = str(line.get("started_utc"))
        elif event == STARTED:
            begun[name_of(line)] = calibrated.get(backend, "")
        elif event == ENDED:
            name = name_of(line)
            known = line.get("sitting") or begun.get(name, calibrated.get(backend, ""))
            found[name] = f"{known} on {host(line)}"
    return found


def host(line: Line) -> str:
    """What tells one machine from another: memory in bytes, and kernel."""
    facts = line.get("host") or {}
    return f"{facts.get('memory_bytes')} {facts.get('kernel')}"


def dispersion(cells: Iterable[Sequence[tuple[str, bool]]]) -> Dispersion:
    """Over cells, each with the sitting of every run and whether the run is a hit."""
    chi_squared, freedom = 0.0, 0
    for runs in cells:
        hits = Counter(sitting for sitting, hit in runs if hit)
        sizes = Counter(sitting for sitting, _ in runs)
        mean = hits.total() / max(1, sizes.total())
        kept = [each for each, size in sizes.items() if size * min(mean, 1 - mean) >= LEAST]
        size = sum(sizes[each] for each in kept)
        share = sum(hits[each] for each in kept) / size if size else 0.0
        if len(kept) < 2 or share in (0.0, 1.0):
            continue
        variance = share * (1 - share)
        chi_squared += sum(
            (hits[each] - sizes[each] * share) ** 2 / (sizes[each] * variance) for each in kept
        )
        freedom += len(kept) - 1
    return Dispersion(ratio=chi_squared / freedom if freedom else 1.0, freedom=freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sittings:
    """In which sitting each run was made, and the hosts by letters, in the order of the ledger."""

    of: Mapping[Name, str]
    hosts: Mapping[str, str]

    @classmethod
    def read(cls, told: Lines) -> Sittings:
        """Of all runs of a ledger."""
        hosts = dict.fromkeys(host(line) for line in told.ended)
        letters = {each: chr(ord("A") + number) for number, each in enumerate(hosts)}
        return cls(of=sittings(told), hosts=letters)

    def count(self, lines: Sequence[Line]) -> int:
        """In how many sittings these runs were made."""
        return len({self.of[name_of(line)] for line in lines})

    def dispersion(self, cells: Iterable[Sequence[Line]], anomaly: str) -> Dispersion:
        """Of the runs of some cells that came to a verdict, by whether they saw an anomaly."""
        return dispersion(
            [
                (self.of[name_of(line)], bool(line["anomalies"].get(anomaly)))
                for line in checked(lines)
                if line.get("verdict") != UNKNOWN
            ]
            for lines in cells
        )

    def affected(self, lines: Sequence[Line], anomaly: str, factor: float) -> str:
        """The share of runs that saw it; of fewer than FEW sittings by host, since it is not known
        to hold for others, and of one sitting with that word."""
        if self.count(lines) >= FEW or not lines:
            return affected(lines, anomaly, factor)
        if self.count(lines) == 1:
            return f"{affected(lines, anomaly, factor)} in one sitting"
        by_host: dict[str, list[Line]] = {}
        for line in lines:
            by_host.setdefault(self.hosts[host(line)], []).append(line)
        return "; ".join(
            f"{affected(mine, anomaly, factor)} on host {letter}"
            for letter, mine in sorted(by_host.items())
        )
