"""Runs of one cell taken together: shares with intervals, medians with extremes, and calm runs.

A share of k in n runs has the 95 % Wilson score interval (E. B. Wilson, 1927), which is honest for
small n and for k = 0 or k = n, where the plain one would be a point.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from scipy.stats import norm

from harness.model.campaigns.ledger import has_digest
from harness.model.campaigns.ledger_line import Line

UNKNOWN = "unknown"
NOT_CALM = "not measured calm"
# Gaps and latencies of a run whose load waited for a CPU longer than this may be the host's.
CALM_PERCENT = 60.0


def wilson(hits: int, runs: int, dispersion: float = 1.0) -> tuple[float, float]:
    """The 95 % Wilson score interval of a proportion, as two numbers from 0 to 1. Runs that are not
    independent count as `runs` / `dispersion` (analysis.studies.cells.sittings)."""
    if runs == 0:
        return 0.0, 1.0
    size, share = runs / max(1.0, dispersion), hits / runs
    square = float(norm.ppf(0.975)) ** 2
    middle = share + square / (2 * size)
    half = math.sqrt(square * (share * (1 - share) / size + square / (4 * size**2)))
    low, high = (middle - half, middle + half)
    return max(0.0, low / (1 + square / size)), min(1.0, high / (1 + square / size))


def share(values: Sequence[float | bool], dispersion: float = 1.0) -> str:
    """How many of the runs had any: `9 of 10 (60–98 %)`."""
    hits = sum(1 for value in values if value)
    low, high = wilson(hits, len(values), dispersion)
    digits = int(high < 0.1)
    return f"{hits} of {len(values)} ({100 * low:.0f}–{100 * high:.{digits}f} %)"


def affected(lines: Sequence[Line], anomaly: str, dispersion: float = 1.0) -> str:
    """The share of runs with a verdict that saw an anomaly, then how many have none, and how many
    of these saw it: `9 of 10 (60–98 %); 1 unknown, which saw it`."""
    seen = counts(lines, anomaly)
    unknown = [line for line in checked(lines) if line.get("verdict") == UNKNOWN]
    saw = sum(line["anomalies"].get(anomaly, 0) > 0 for line in unknown)
    text = share(seen, dispersion) if seen else "—"
    if not unknown:
        return text
    which = "" if not saw else ", which saw it" if saw == len(unknown) else f", {saw} saw it"
    return f"{text}; {len(unknown)} unknown{which}"


def middle(values: Sequence[float], digits: int | None = None) -> str:
    """The median, and in brackets the extremes where they differ: `6.5 (4–9)`."""
    if not values:
        return "—"
    least, median, most = (
        _number(value, digits) for value in (min(values), statistics.median(values), max(values))
    )
    return median if least == most else f"{median} ({least}–{most})"


def _number(value: float, digits: int | None) -> str:
    """With so many decimals; None: as many as it needs, two at most."""
    if digits is not None:
        return f"{value:,.{digits}f}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def quartiles(values: Sequence[float]) -> dict[str, str]:
    """Minimum, the three quartiles (inclusive method) and maximum, to 10 ms."""
    names = ("least", "first", "median", "third", "most")
    if not values:
        return dict.fromkeys(names, "—")
    twice = values if len(values) > 1 else [*values, *values]
    five = (min(values), *statistics.quantiles(twice, n=4, method="inclusive"), max(values))
    return {name: f"{value:.2f}" for name, value in zip(names, five, strict=True)}


def pressure(line: Line) -> float | None:
    """Percent of the load's time (in older lines: of the run's) in which something waited for a
    CPU; None: not recorded."""
    starved = line.get("starved_in_load") or (line.get("host") or {}).get("cpu_starvation") or {}
    return starved.get("pressure_some_percent")


def calm(lines: Sequence[Line]) -> list[Line]:
    """The runs whose gaps and latencies are Kafka's and not the host's."""
    return [line for line in lines if (p := pressure(line)) is not None and p <= CALM_PERCENT]


def kafkas(lines: Sequence[Line]) -> list[str]:
    """The releases of Kafka that they are of."""
    return sorted({kafka for line in lines if (kafka := line.get("kafka"))})


def by_age(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The runs whose lines have a digest of their configuration, and the older ones."""
    newer = [line for line in lines if has_digest(line)]
    return newer, [line for line in lines if not has_digest(line)]


def settled(lines: Sequence[Line], repeats: int) -> Sequence[Line]:
    """The runs of a cell that count: those with a digest once all are made, until then the older
    ones, if there are any."""
    newer, older = by_age(lines)
    return newer if len(newer) >= repeats or not older else older


def checked(lines: Sequence[Line]) -> list[Line]:
    """The runs with a credible report: not those after a failed calibration (`judged`), which may
    have missed losses."""
    return [line for line in lines if "anomalies" in line and "judged" not in line]


def counts(lines: Sequence[Line], anomaly: str) -> list[int]:
    """How many of an anomaly each checked run with a verdict saw. A run without one may have missed
    some, and to count it only where it saw one would make the share too large."""
    return [
        line["anomalies"].get(anomaly, 0)
        for line in checked(lines)
        if line.get("verdict") != UNKNOWN
    ]


def calm_gaps_s(lines: Sequence[Line], kind: str = "produce") -> list[float]:
    """The longest stretch without an ack (or a read: consume) of each calm run."""
    reads = kind == "consume"
    return [
        max(line["consume_gaps_s"] if reads else line["produce_gaps_s"], default=0.0)
        for line in calm(lines)
    ]


def middle_gap(lines: Sequence[Line], kind: str = "produce", digits: int = 2) -> str:
    """The middle of these gaps, and how many runs were calm if not all: `3.40 (2–4), 4 runs`."""
    gaps_s = calm_gaps_s(lines, kind)
    if lines and not gaps_s:
        return NOT_CALM
    return middle(gaps_s, digits) + some_runs(len(gaps_s), len(lines))


def unread(lines: Sequence[Line]) -> str:
    """The gaps of reads. Where some calm runs had none, only those of the others, and how many they
    are: `7.7 (1.0–8.8) in 9 of 20 runs`."""
    gaps_s = calm_gaps_s(lines, "consume")
    had = [gap for gap in gaps_s if gap]
    if not had or len(had) == len(gaps_s):
        return middle_gap(lines, "consume", digits=1)
    return f"{middle(had, 1)} in {len(had)} of {len(gaps_s)} runs"


def some_runs(shown: int, runs: int) -> str:
    """How many runs a number is of, where these are some and not all: `, 4 runs`."""
    words = "1 run" if shown == 1 else f"{shown} runs"
    return f", {words}" if 0 < shown < runs else ""


def median_pressure(lines: Sequence[Line]) -> str:
    """Over the runs that recorded it."""
    waited = [percent for line in lines if (percent := pressure(line)) is not None]
    return f"{statistics.median(waited):.0f} %" if waited else "—"
