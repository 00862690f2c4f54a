"""What settings changed: the runs of a scenario side by side, a row for each combination.

    acks  min.insync.replicas    runs   lost     duplicates  write gap  CAP     reports
    1     1                      3      3 of 3   0 of 3      7.7 s      AP 3    1 2 3
    all   1                      3      0 of 3   2 of 3      7.7 s      both 3  1 2 3

The settings are those in which the runs differ, of clients, topic and nodes, and what else was
given with --set (a campaign's cells and `--matrix` are); not what was changed in the scenario's
file between two runs. More combinations than a table can show are no matrix but chance, and have
none. Intervals of the shares are for `compare` and for pages such as docs/configurations.md; here
every run is one click away.

Each run's own line tells its settings too: those that decide what may be lost, and those in which
runs of its scenario differ.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.measures.cap import POSITIONS
from analysis.report.index.entries import Entry
from analysis.report.index.trend import Night, trend
from analysis.report.wording import MISSING, seconds

ROWS_MAX, SETTINGS_MAX = 64, 8
NAME = "topic.name"
DECISIVE = (
    "producer.acks",
    "producer.enable.idempotence",
    "topic.replication_factor",
    "topic.config.min.insync.replicas",
    "topic.config.unclean.leader.election.enable",
)
TOLD = ("topic.", "producer.", "consumer.", "server.", "zoo.")  # by reports


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The runs of one combination: what they came to, the oldest first."""

    values: tuple[str, ...]
    runs: tuple[Entry, ...]
    trend: Sequence[Night]

    @property
    def lost(self) -> str:
        """How many runs lost records, of those that tell."""
        return _share([run.lost for run in self.runs])

    @property
    def duplicated(self) -> str:
        """How many runs have duplicates, of those that tell."""
        return _share([run.duplicates for run in self.runs])

    @property
    def gap(self) -> str:
        """The median of the longest stretches without an ack."""
        gaps = [run.gap_s for run in self.runs if run.gap_s is not None]
        return seconds(statistics.median(gaps)) if gaps else MISSING

    @property
    def cap(self) -> str:
        """How many runs stood where."""
        seen = Counter(run.position for run in self.runs)
        return ", ".join(f"{name} {seen[name]}" for name in POSITIONS if seen[name]) or MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The settings in which runs differ, by the end of their paths, and a row for each choice."""

    heads: tuple[str, ...]
    cells: Sequence[Cell]

    @property
    def nights(self) -> bool:
        """Whether some row ran in several."""
        return any(cell.trend for cell in self.cells)


def matrix(runs: Sequence[Entry]) -> Matrix | None:
    """The table of a scenario with these runs, one at least; None where they do
    not differ in a handful of settings."""
    keys = _differing([run.settings for run in runs])
    by_values: dict[tuple[str, ...], list[Entry]] = {}
    for run in sorted(runs, key=lambda run: run.newest):
        values = tuple(run.settings.get(key, MISSING) for key in keys)
        by_values.setdefault(values, []).append(run)
    if not 0 < len(keys) <= SETTINGS_MAX or len(by_values) > ROWS_MAX:
        return None
    return Matrix(
        heads=_heads(keys),
        cells=[
            Cell(values=values, runs=tuple(own), trend=trend(own))
            for values, own in sorted(by_values.items())
        ],
    )


def settings_words(runs: Sequence[Entry]) -> list[str]:
    """Of each run of a scenario its settings in words: `acks=1, replication_factor=3`."""
    differing = _differing([run.settings for run in runs])
    more = differing if len(differing) <= SETTINGS_MAX else []
    keys = dict.fromkeys((*DECISIVE, *more))
    return [
        ", ".join(f"{_last(key)}={run.settings[key]}" for key in keys if key in run.settings)
        for run in runs
    ]


def _share(seen: Sequence[int | None]) -> str:
    known = [each for each in seen if each is not None]
    return f"{sum(map(bool, known))} of {len(known)}" if known else MISSING


def _differing(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """The keys that have several values, in the first run's order. What only some runs were given
    by --set differs too, what only some releases tell of does not. A topic is called as its run
    where Kafka is not the harness's: that is no setting."""
    keys = dict.fromkeys(key for each in settings for key in each)
    return [
        key
        for key in keys
        if key != NAME
        and len({each.get(key) for each in settings}) > 1
        and (not key.startswith(TOLD) or all(key in each for each in settings))
    ]


def _heads(keys: Sequence[str]) -> tuple[str, ...]:
    """Shortly, where that is no other's head."""
    short = Counter(map(_last, keys))
    return tuple(_last(key) if short[_last(key)] == 1 else key for key in keys)


def _last(path: str) -> str:
    """Kafka's name of a setting: without the section that it is in."""
    sections = ("topic.config.", *TOLD)
    return next((path.removeprefix(each) for each in sections if path.startswith(each)), path)
