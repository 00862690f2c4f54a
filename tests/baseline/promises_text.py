"""promises.txt: which row of the table of promises decides at which cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.anomalies import promised
from tests.baseline.cells import CONFIGURATIONS, Case, Configuration, cases, facts


def promises_text() -> str:
    """By configuration and anomaly: which row of the table decides at which cells."""
    lines = []
    for name, configuration in CONFIGURATIONS.items():
        lines += [name, *_of_configuration(configuration), ""]
    return "\n".join(lines)


def _of_configuration(configuration: Configuration) -> list[str]:
    every = list(cases(configuration))
    decided = [promised(facts(configuration, case)) for case in every]
    lines = []
    for anomaly in sorted({anomaly for each in decided for anomaly in each}):
        rows: dict[tuple[bool, str], list[Case]] = {}
        for case, each in zip(every, decided, strict=True):
            if row := each.get(anomaly):
                rows.setdefault((row.forbidden, row.when), []).append(case)
        lines += [f"  {anomaly}", *_of_rows(rows, every)]
    return lines


def _of_rows(rows: Mapping[tuple[bool, str], Sequence[Case]], every: Sequence[Case]) -> list[str]:
    """Sorted; the last row, a forbidding one if there is any, has what the others do not name."""
    lines = []
    *named, last = sorted(rows)
    for key in [*named, last]:
        verdict = "forbidden" if key[0] else "permitted"
        lines.append(f"    {verdict}: {key[1]}")
        lines += ["      the rest"] if key == last else _cells(rows[key], every)
    return lines


def _cells(found: Iterable[Case], every: Iterable[Case]) -> list[str]:
    """A line for each verb."""
    all_of = _by_verb(every)
    return [
        f"      {verb}: {_words(cells, all_of[verb])}"
        for verb, cells in sorted(_by_verb(found).items())
    ]


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
