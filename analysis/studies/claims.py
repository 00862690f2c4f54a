"""The claims of the study, a row each: what the runs of a claim's cell came to.

A claim has its newest runs: those whose lines have a digest of their configuration or, if there are
none, the older ones, which its row says. Older runs beside newer ones are `aside`. So each run is
in one row.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analysis.anomalies import NAMES
from analysis.studies.cells.experiments import by_experiment
from analysis.studies.cells.shares import (
    NOT_CALM,
    affected,
    by_age,
    checked,
    counts,
    median_pressure,
    middle,
    middle_gap,
    share,
    some_runs,
)
from analysis.studies.pages import Cell, lean_table
from harness.model.campaigns.ledger import has_digest
from harness.model.campaigns.ledger_line import Line

# Anomalies with a column of their own, those of which the study claims nothing, and those of lost
# records, which have a table of their own.
COLUMNS: Final = frozenset({"lost", "duplicate"})
NOT_CLAIMED: Final = frozenset({"unseen", "phantom", "stale-read"})
AFTERWARDS: Final = ("vanished", "inconsistent-offset", "diverged")
OTHERS: Final = tuple(name for name in NAMES if name not in COLUMNS | NOT_CLAIMED)
# The part whose runs have one fault each, so that shares are rates of the fault.
RATES_PART: Final = "One kill a run"
ONLY_OLDER: Final = "Only older runs."

LOSS: Final = {"lossy": "loss: runs affected (95 % CI)", "lost": "lost"}
TWICE: Final = {"duplicating": "duplicates: runs affected (95 % CI)", "duplicates": "twice"}
TIMES: Final = {"gaps": "no ack for, s", "session": "session, s"}
MET: Final = {"met": "runs as claimed (95 % CI)"}
RATES: Final = {"claim": "claim", **LOSS, **TWICE, **TIMES, "cell": "scenario"}
CLAIMS: Final = {
    "claim": "claim",
    **MET,
    "lost": "lost",
    "duplicates": "twice",
    "beside": "also seen",
    **TIMES,
    "cell": "scenario",
}
OLDER: Final = {"cell": "scenario", **MET, **LOSS, **TWICE, "others": "also seen", **TIMES}
DID: Final = {
    "cell": "scenario",
    "runs": "runs",
    "verdicts": "verdicts",
    "acked": "writes acknowledged",
    "faults": "faults",
    "pressure": "waited for a CPU",
}
# What stands once above a table whose rows all agree.
SAID: Final[Mapping[str, tuple[str | None, str]]] = {
    "lost": ("0", "No acknowledged record was lost."),
    "duplicates": ("0", "No record was in the log twice."),
    "beside": ("—", ""),
    "gaps": (NOT_CALM, "No run was calm, so there are no times."),
    "session": (None, "The session was {} s."),
}


Runs = tuple[Cell, Sequence[Line]]
TableRow = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A cell of the campaign with its runs that count, of one experiment; `of` names it, where the
    cell has several."""

    cell: Cell
    of: str = ""
    newest: Sequence[Line]
    aside: Sequence[Line]

    @property
    def part(self) -> str:
        """The part of the page that shows it; the first has no name."""
        return str(self.cell.get("part", ""))

    @property
    def only_older(self) -> bool:
        """Whether it has runs, and none of them has a digest."""
        return is_older(self.newest)

    @property
    def runs(self) -> Sequence[Runs]:
        """Its newest runs, and those aside if there are any."""
        return [(self.cell, lines) for lines in (self.newest, self.aside) if lines]


def is_older(lines: Sequence[Line]) -> bool:
    """Whether these are runs from before lines had a digest."""
    return bool(lines) and not any(map(has_digest, lines))


def claims(campaign: Cell, lines: Sequence[Line]) -> list[Claim]:
    """A claim for each cell of a campaign and each experiment of its newest runs."""
    made = []
    for cell in campaign["cells"]:
        newer, older = by_age([line for line in lines if line["cell"] == name_of(cell)])
        parts = by_experiment(newer or older) or {"": []}
        for number, (experiment, runs) in enumerate(parts.items()):
            aside = older if newer and not number else []
            of = experiment if len(parts) > 1 else ""
            made.append(Claim(cell=cell, of=of, newest=runs, aside=aside))
    return made


def name_of(cell: Cell) -> str:
    """What a cell is called in the data."""
    return str(cell.get("name", cell["scenario"]))


def label(cell: Cell, lines: Sequence[Line]) -> str:
    """A cell's name in a table of older and newer runs."""
    return f"`{name_of(cell)}`{', older' if is_older(lines) else ''}"


def row(cell: Cell, lines: Sequence[Line]) -> TableRow:
    """A cell's runs, by the columns of the tables: shares with their intervals, of other numbers
    the median and the extremes. Times are of calm runs."""
    seen = checked(lines)
    lost, duplicates = counts(seen, "lost"), counts(seen, "duplicate")
    verdicts = [line.get("verdict") or "not checked" for line in lines]
    others = {name: text for name in OTHERS if (text := _beside(seen, name))}
    return {
        "cell": f"`{name_of(cell)}`",
        "claim": cell.get("claim", ""),
        "runs": str(len(lines)),
        "met": share([verdict == "valid" for verdict in verdicts]) if lines else "—",
        "others": _in_words(others),
        "beside": _in_words({name: others[name] for name in others if name not in AFTERWARDS}),
        **{name: others.get(name, "0") for name in AFTERWARDS},
        "doubtful": share([line.get("indeterminate", 0) > 0 for line in seen]) if seen else "—",
        "verdicts": ", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts))) or "—",
        "lossy": affected(lines, "lost"),
        "lost": middle(lost) + _of_acked(seen) * any(lost),
        "duplicating": affected(lines, "duplicate"),
        "duplicates": middle(duplicates),
        "gaps": middle_gap(seen),
        "session": str(cell.get("session_s") or "—"),
        "pressure": median_pressure(seen),
        "acked": middle([line["acked"] for line in seen]),
        "faults": middle([line["faults"] for line in seen]),
    }


def _beside(seen: Sequence[Line], anomaly: str) -> str | None:
    """How often an anomaly was seen in the runs whose check knew it; None: never."""
    judged = [line["anomalies"][anomaly] for line in seen if anomaly in line["anomalies"]]
    if not any(judged):
        return None
    return middle(judged) + some_runs(len(judged), len(seen))


def table_of(shown: Sequence[Claim]) -> str:
    """The table of a part's claims, below a sentence on what all of them have in common."""
    all_older = all(claim.only_older for claim in shown)
    rows = [row(claim.cell, claim.newest) for claim in shown]
    for claim, cells in zip(shown, rows, strict=True):
        cells["claim"] += f" ({claim.of})" if claim.of else ""
        if claim.only_older and not all_older:
            cells["claim"] += f". *{ONLY_OLDER}*"
    columns = RATES if shown[0].part in ("", RATES_PART) else CLAIMS
    table = lean_table(columns, rows, SAID)
    return f"{ONLY_OLDER}\n{'' if table[0] != '|' else chr(10)}{table}" if all_older else table


def unfinished(shown: Sequence[Claim]) -> list[str]:
    """The cells that need more runs, with how many they have: `c` (1 of 2)."""
    return [
        f"`{name_of(claim.cell)}` ({len(claim.newest)} of {claim.cell['repeats']})"
        for claim in shown
        if len(claim.newest) < claim.cell["repeats"] and not claim.only_older
    ]


def _of_acked(seen: Sequence[Line]) -> str:
    return f" of {statistics.median(line['acked'] for line in seen):,.0f}" if seen else ""


def _in_words(numbers_of: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {seen}" for name, seen in numbers_of.items()) or "—"
