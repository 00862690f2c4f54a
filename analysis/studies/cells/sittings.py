"""Runs of one sitting are more alike than runs of two: how much, and what that does to an interval.

A campaign begins each sitting with a calibration (harness.model.campaigns.ledger, `calibrated`);
the runs after it on one host are one sitting. New lines name it; for older ones the ledger's order
shows it.

How much more the shares of sittings differ than those of independent runs is Pearson's χ² by its
degrees of freedom (McCullagh and Nelder, Generalized Linear Models, 1989, 4.5), over cells, each
about its own mean:

    cell a: 3 of 5 and 0 of 5 runs, cell b: 5 of 5 and 2 of 5    =>  of independent runs some 1

A sitting of a cell with fewer than one expected hit, or miss, is left out. Below 1 the dispersion
counts as 1. An interval is that of n / dispersion runs. The dispersion grows with the runs that a
sitting has of a cell, so a pool has its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.studies.cells.shares import UNKNOWN, affected, checked
from harness.model.campaigns.ledger import CALIBRATED, ENDED, STARTED, Lines, Name, name_of
from harness.model.campaigns.ledger_line import Line

LEAST = 1.0  # expected hits, and misses, of a sitting of a cell
FEW = 5  # shares of fewer sittings are given by host


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispersion:
    """`ratio`: χ² / `freedom`; not known where `freedom` is 0."""

    ratio: float
    freedom: int

    @property
    def factor(self) -> float:
        """By how much fewer runs count."""
        return max(1.0, self.ratio)


def sittings(ledger: Lines) -> Mapping[Name, str]:
    """The sitting of each run that ended."""
    calibrated: dict[str, str] = {}
    begun: dict[Name, str] = {}
    of_runs: dict[Name, str] = {}
    for line in ledger.all:
        event, backend = line.get("event", ENDED), str(line.get("backend") or "local")
        if event == CALIBRATED:
            calibrated[backend] = str(line.get("started_utc"))
        elif event == STARTED:
            begun[name_of(line)] = calibrated.get(backend, "")
        elif event == ENDED:
            name = name_of(line)
            began = line.get("sitting") or begun.get(name, calibrated.get(backend, ""))
            of_runs[name] = f"{began} on {host(line)}"
    return of_runs


def host(line: Line) -> str:
    """What identifies a machine: memory in bytes, and kernel."""
    facts = line.get("host") or {}
    return f"{facts.get('memory_bytes')} {facts.get('kernel')}"


def dispersion(cells: Iterable[Sequence[tuple[str, bool]]]) -> Dispersion:
    """Over cells, each with the sitting of every run and whether the run is a hit."""
    chi_squared, freedom = 0.0, 0
    for runs in cells:
        hits = Counter(sitting for sitting, hit in runs if hit)
        sizes = Counter(sitting for sitting, _ in runs)
        mean = hits.total() / max(1, sizes.total())
        kept = {s: size for s, size in sizes.items() if size * min(mean, 1 - mean) >= LEAST}
        size = sum(kept.values())
        share = sum(hits[sitting] for sitting in kept) / size if size else 0.0
        if len(kept) < 2 or share in (0.0, 1.0):
            continue
        variance = share * (1 - share)
        chi_squared += sum(
            (hits[sitting] - size * share) ** 2 / (size * variance)
            for sitting, size in kept.items()
        )
        freedom += len(kept) - 1
    return Dispersion(ratio=chi_squared / freedom if freedom else 1.0, freedom=freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sittings:
    """The sitting of each run, and each host's letter, in the order of the ledger."""

    of: Mapping[Name, str]
    hosts: Mapping[str, str]

    @classmethod
    def read(cls, ledger: Lines) -> Sittings:
        """Of all runs of a ledger."""
        hosts = dict.fromkeys(host(line) for line in ledger.ended)
        letters = {name: chr(ord("A") + number) for number, name in enumerate(hosts)}
        return cls(of=sittings(ledger), hosts=letters)

    def count(self, lines: Sequence[Line]) -> int:
        """How many sittings these runs are of."""
        return len({self.of[name_of(line)] for line in lines})

    def dispersion(self, cells: Iterable[Sequence[Line]], anomaly: str) -> Dispersion:
        """Of the cells' runs with a verdict, by whether they saw an anomaly."""
        return dispersion(
            [
                (self.of[name_of(line)], bool(line["anomalies"].get(anomaly)))
                for line in checked(lines)
                if line.get("verdict") != UNKNOWN
            ]
            for lines in cells
        )

    def affected(self, lines: Sequence[Line], anomaly: str, factor: float) -> str:
        """The share of runs that saw it; if of fewer than FEW sittings, by host, since it may not
        hold for others; of one sitting, it says so."""
        if self.count(lines) >= FEW or not lines:
            return affected(lines, anomaly, factor)
        if self.count(lines) == 1:
            return f"{affected(lines, anomaly, factor)} in one sitting"
        by_host: dict[str, list[Line]] = {}
        for line in lines:
            by_host.setdefault(self.hosts[host(line)], []).append(line)
        return "; ".join(
            f"{affected(runs, anomaly, factor)} on host {letter}"
            for letter, runs in sorted(by_host.items())
        )
