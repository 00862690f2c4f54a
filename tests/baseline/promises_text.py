"""promises.txt: by which kinds of causes an anomaly is permitted, or in doubt, at which cells.

The record is one that was sent, acked and read before the first fault, and the group's one that was
polled then and never processed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

from analysis.causes.cause import Cause
from analysis.verdict.permission import Permission
from tests.baseline.cells import CONFIGURATIONS, Case, cases
from tests.baseline.permissions import permitted_in

# A bit permits what is read while it is flipped, and every record here was read before; of
# inconsistent offsets the record here is a value in another one's place, not a copy elsewhere.
OF_OTHER_RECORDS = {
    ("phantom", "bit-when-read"),
    ("vanished", "bit-at-the-end"),
    ("reordered", "bit-at-the-end"),
    ("corrupt", "bit-when-read"),
    ("hole", "bit-at-the-end"),
    ("inconsistent-offset", "copy-of-another-leader"),
    ("inconsistent-offset", "read-as-another"),
    ("skipped", "read-as-another"),
    ("skipped", "processing-failed"),
    ("skipped", "begin-unknown"),  # it was given
    ("skipped", "reset-to-latest"),  # no fault there deletes records
    ("duplicate", "producer-forgotten"),  # no clock there is a day ahead
    ("stable-back", "bit-at-the-end"),
}


def promises_text() -> str:
    """By configuration and anomaly: what permits it at which cells."""
    lines = []
    for name in CONFIGURATIONS:
        lines += [name, *_of_configuration(name)[0], ""]
    return "\n".join(lines)


def deciding() -> set[tuple[str, str]]:
    """Anomalies and the kinds of causes that permit them at some cell."""
    return {pair for name in CONFIGURATIONS for pair in _of_configuration(name)[1]}


def verdict_on(permission: Permission, anomaly: str, found: Sequence[Cause]) -> tuple[str, str]:
    """permitted, in doubt or forbidden, and by what: `permitted: another-leader, strike`."""
    sure = sorted({cause.kind.name for cause in found if cause.sure})
    if sure:
        return "permitted", ", ".join(sure)
    if found:
        return "in doubt", ", ".join(sorted({cause.kind.name for cause in found}))
    return "forbidden", permission.promised[anomaly][-1].when


@functools.cache
def _of_configuration(name: str) -> tuple[list[str], set[tuple[str, str]]]:
    """Its lines, and by which kinds of causes an anomaly is permitted in one of them."""
    every = list(cases(CONFIGURATIONS[name]))
    kinds: set[tuple[str, str]] = set()
    rows: dict[str, dict[tuple[str, str], list[Case]]] = {}
    for case in every:
        permission, causes = permitted_in(CONFIGURATIONS[name], case)
        for anomaly, found in causes.items():
            kinds |= {(anomaly, cause.kind.name) for cause in found}
            verdict = verdict_on(permission, anomaly, found)
            rows.setdefault(anomaly, {}).setdefault(verdict, []).append(case)
    lines = []
    for anomaly in sorted(rows):
        lines += [f"  {anomaly}", *_of_rows(rows[anomaly], every)]
    return lines, kinds


def _of_rows(rows: Mapping[tuple[str, str], Sequence[Case]], every: Sequence[Case]) -> list[str]:
    """The most frequent one last; it has what the others do not name."""
    lines = []
    *named, last = sorted(rows, key=lambda key: (len(rows[key]), key))
    for key in [*sorted(named), last]:
        lines.append(f"    {key[0]}: {key[1]}")
        lines += ["      the rest"] if key == last else _cells(rows[key], every)
    return lines


def _cells(found: Iterable[Case], every: Iterable[Case]) -> list[str]:
    """A line for each verb, or for several of which the same is to be said."""
    all_of = _by_verb(every)
    lines: dict[str, list[str]] = {}
    for verb, cells in sorted(_by_verb(found).items()):
        lines.setdefault(_words(cells, all_of[verb]), []).append(verb)
    return [f"      {', '.join(verbs)}: {words}" for words, verbs in lines.items()]


def _words(cells: set[str], all_of_them: set[str]) -> str:
    """Some of a verb's cells, or all but some, whatever is shorter."""
    others = sorted(all_of_them - cells)
    but = f"everywhere but {', '.join(others)}" if others else "everywhere"
    return min(", ".join(sorted(cells)), but, key=len) if others else but


def _by_verb(several: Iterable[Case]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for case in several:
        found.setdefault(case.verb or "no fault", set()).add(case.cell)
    return found
