"""index.html over a results folder: every run by scenario and release, newest first.

    scenario (that with the newest run first) > Kafka's release (newest first) > runs, newest first

A scenario whose runs differ in settings has a table of them above its runs (matrix), one that ran
in several nights a trend (trend). One static file: it loads nothing and runs no script, its links
are relative, and everything in it that a run recorded is text. What cannot be shown so is listed in
one line with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.report.index.entries import Entry, Unshown
from analysis.report.index.matrix import matrix, settings_words
from analysis.report.index.trend import VERDICTS, trend
from analysis.report.parts.templates import environment, style

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def render(entries: Iterable[Entry], unshown: Sequence[Unshown] = ()) -> str:
    """The whole index.html; the same arguments give the same bytes."""
    by_scenario: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.newest, reverse=True):
        by_scenario.setdefault(entry.scenario, []).append(entry)
    sections = [_section(scenario, runs) for scenario, runs in by_scenario.items()]
    runs = [run for of_one in by_scenario.values() for run in of_one]
    counts = {verdict: sum(run.verdict == verdict for run in runs) for verdict in VERDICTS}
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


def _section(scenario: str, runs: Sequence[Entry]) -> dict[str, Any]:
    """What the page shows of a scenario's runs, given with the newest first."""
    ordered = sorted(runs, key=_by_release, reverse=True)
    return {
        "scenario": scenario,
        "title": runs[0].title,
        "runs": list(zip(ordered, settings_words(ordered), strict=True)),
        "trend": trend(runs),
        "matrix": matrix(runs),
    }


def _by_release(run: Entry) -> tuple[tuple[int, int, str], ...]:
    return _version(run.release)


def _version(release: str) -> tuple[tuple[int, int, str], ...]:
    """Releases in their order: 3.10.0 after 3.9.2; a part that is no number before all numbers."""
    parts = re.split(r"[.\-+ ]", release)
    return tuple(
        (1, int(part), "") if re.fullmatch(r"[0-9]{1,9}", part) else (0, 0, part) for part in parts
    )
