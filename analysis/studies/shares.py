"""What runs of one cell show together: shares with intervals, spreads, and how calm they were.

Of k runs in n that show something, the 95 % Wilson score interval is given (E. B. Wilson, 1927):
honest for small n and for k = 0 or k = n, where the plain one would be a point.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from scipy.stats import binomtest

from harness.model.runs.ledger import Line, has_digest

# Runs whose load waited for a CPU longer than this give no gaps and latencies: these may be the
# host's. Losses and duplicates are what they are on any host.
CALM_PERCENT = 60.0


def wilson(hits: int, runs: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a proportion, as two numbers from 0 to 1."""
    if runs == 0:
        return 0.0, 1.0
    found = binomtest(hits, runs).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def share(values: Sequence[float | bool]) -> str:
    """How many of the runs had any: `9 of 10 (60–98 %)`."""
    hits = sum(1 for value in values if value)
    low, high = wilson(hits, len(values))
    return f"{hits} of {len(values)} ({low:.0%}–{high:.0%})".replace("%–", "–").replace("%)", " %)")


def middle(values: Sequence[float], digits: int | None = None) -> str:
    """Their median, and in brackets the least and the most where these differ: `6.5 (4–9)`."""
    if not values:
        return "—"
    least, median, most = (
        _number(value, digits) for value in (min(values), statistics.median(values), max(values))
    )
    return median if least == most else f"{median} ({least}–{most})"


def _number(value: float, digits: int | None) -> str:
    """With so many decimals; None: with those that it has, two at most."""
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
    """Percent of the time of its load in which something waited for a CPU; of the whole run, its
    start too, in lines from before loads had their own; None: not recorded."""
    starved = line.get("starved_in_load") or (line.get("host") or {}).get("cpu_starvation") or {}
    percent: float | None = starved.get("pressure_some_percent")
    return percent


def calm(lines: Sequence[Line]) -> list[Line]:
    """The runs whose gaps and latencies are Kafka's and not the host's."""
    return [
        line for line in lines if (found := pressure(line)) is not None and found <= CALM_PERCENT
    ]


def by_age(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The runs whose lines have a digest of what was put to the test, and the older ones."""
    newer = [line for line in lines if has_digest(line)]
    return newer, [line for line in lines if not has_digest(line)]


def settled(lines: Sequence[Line], repeats: int) -> Sequence[Line]:
    """Of one cell's runs those that count together: with a digest once all of them are made, until
    then the older ones, if there are any."""
    newer, older = by_age(lines)
    return newer if len(newer) >= repeats or not older else older


def checked(lines: Sequence[Line]) -> list[Line]:
    """The runs that came to a report that can be believed: not those after a calibration that
    failed (`judged`), whose losses may not have been seen."""
    return [line for line in lines if "anomalies" in line and "judged" not in line]


def counts(lines: Sequence[Line], anomaly: str) -> list[int]:
    """How many of an anomaly each checked run saw. One that came to no verdict and saw none does
    not tell: it may have missed some."""
    found = [(line["anomalies"].get(anomaly, 0), line.get("verdict")) for line in lines]
    return [count for count, verdict in found if count or verdict != "unknown"]


def calm_gaps_s(lines: Sequence[Line], kind: str = "produce") -> list[float]:
    """Of checked runs the longest stretch without an ack (or a read: consume) of each calm one."""
    return [max(line[f"{kind}_gaps_s"], default=0.0) for line in calm(lines)]


def middle_gap(lines: Sequence[Line], kind: str = "produce", digits: int = 2) -> str:
    """These gaps, and how many runs were calm where not all were: `3.40 (2–4), 4 runs`."""
    gaps_s = calm_gaps_s(lines, kind)
    return middle(gaps_s, digits) + some_runs(len(gaps_s), len(lines))


def some_runs(told: int, runs: int) -> str:
    """Behind a number, of how many runs it is where these are not all, and some: `, 4 runs`."""
    words = "1 run" if told == 1 else f"{told} runs"
    return f", {words}" if 0 < told < runs else ""


def median_pressure(lines: Sequence[Line]) -> str:
    """Of the runs of which it is known."""
    waited = [found for line in lines if (found := pressure(line)) is not None]
    return f"{statistics.median(waited):.0f} %" if waited else "—"
