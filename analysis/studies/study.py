"""docs/study.md: each claim of the study beside what was measured, from the runs' summaries; and
docs/study-older.md: older runs that have newer ones beside them, and the rest of the ledger.

    python -m analysis.studies.study docs/study.toml     writes both beside it

Pure: campaign file + data file -> text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.studies.beside import UNKNOWN, beside
from analysis.studies.cells.shares import CALM_PERCENT, calm, checked, kafkas, middle, quartiles
from analysis.studies.claims import (
    AFTERWARDS,
    DID,
    OLDER,
    SAID,
    Runs,
    TableRow,
    claims,
    label,
    name_of,
    row,
    table_of,
    unfinished,
)
from analysis.studies.pages import Cell, lean_table, page, template
from harness.model.campaigns.ledger import UNREACHED_S, Lines, has_digest, unreached_leaders
from harness.model.campaigns.ledger_line import Line

Row = Mapping[str, Any]
# The stages of a run with a failure and an election after it.
STAGES = ("before the failure", "after it", "after the election")
# The tables of what only some cells measure: columns by key.
HEADS: Final[Mapping[str, Mapping[str, str]]] = {
    "shares_lost": {
        "cell": "scenario",
        "runs": "runs",
        "acked": "acknowledged",
        "lost": "lost",
        "share": "lost, %",
    },
    "latencies": {
        "cell": "scenario",
        "runs": "calm runs",
        "p50": "median",
        "p99": "99th percentile",
        "max": "longest",
    },
    "gaps": {
        "cell": "scenario",
        "faults": "failures",
        "without": "below 0.1 s",
        "least": "least, s",
        "first": "first quartile",
        "median": "median",
        "third": "third quartile",
        "most": "most",
    },
    "replicas": {
        "cell": "scenario",
        "looks_ms": "sampled every, ms",
        "lag_ms": "watermark learned after, ms",
        "lag_records": "records behind",
        "absences": "left the ISR",
        "leave": "after, s",
        "of_limit": "fraction of limit",
        "reached": "rejoined after the heal, s",
        "back": "after all was copied, s",
    },
    "log_ends": {
        "cell": "scenario",
        "runs": "runs",
        "lost": "past the log end and lost",
        "kept": "past it and found",
        "within": "lost otherwise",
        "read": "lost after they were read",
        "never_read": "lost and never read",
    },
    "balance": {
        "cell": "scenario",
        "stage": "stage",
        "runs": "runs",
        "busiest": "busiest broker, %",
        "idlest": "least busy, %",
        "leads": "most partitions led",
    },
    "afterwards": {
        "cell": "scenario",
        "lost": "lost",
        "vanished": "read before (*vanished*)",
        "inconsistent-offset": "offsets given again (*inconsistent-offset*)",
        "diverged": "offsets at which replicas differ (*diverged*)",
    },
}
ONCE: Final[Mapping[str, tuple[str | None, str]]] = {
    "runs": (None, "Of {} runs each."),
    "diverged": ("0", ""),
}


def every_gap(cell: Cell, lines: Sequence[Line]) -> TableRow | None:
    """The distribution of the gaps of all faults of a cell's calm runs, where the cell asks for
    it."""
    if not cell.get("every_gap"):
        return None
    measured = calm(checked(lines))
    gaps = [gap for line in measured for gap in gaps_of_faults(line)]
    return {
        "faults": str(sum(line["faults"] for line in measured)),
        "without": str(sum(not gap for gap in gaps)),
        **quartiles(gaps),
    }


def replicas(lines: Sequence[Line]) -> TableRow | None:
    """What was measured of a cell's replicas, over the runs that followed them."""
    followed = [line["replication"] for line in lines if line.get("replication")]
    if not followed:
        return None
    absences = [absence for run in followed for absence in run["isr"]]
    lags = [lag for run in followed for lag in run["lag"]]

    def over(key: str) -> str:
        return middle([row[key] for row in absences if row[key] is not None], 2)

    return {
        "looks_ms": middle([run["every_ms"] for run in followed]),
        "lag_ms": middle([lag["ms"]["p50"] for lag in lags if lag["ms"]]),
        "lag_records": middle([lag["offsets"]["p50"] for lag in lags]),
        "absences": str(len(absences)),
        "leave": over("leave_after_s"),
        "of_limit": over("leave_of_limit"),
        "reached": over("heal_to_return_s"),
        "back": over("return_after_s"),
    }


def latency(cell: Cell, lines: Sequence[Line]) -> TableRow | None:
    """How long acks took in a cell's calm runs, in ms, where the cell asks for it."""
    took = [ack_ms for line in calm(lines) if (ack_ms := line.get("ack_ms"))]
    if not cell.get("latency") or not took:
        return None
    numbers = {name: middle([ms[name] for ms in took], 1) for name in ("p50", "p99", "max")}
    return {"runs": str(len(took)), **numbers}


def share_lost(cell: Cell, lines: Sequence[Line]) -> TableRow | None:
    """What share of a cell's acknowledged records is lost, in %, where the cell asks for it."""
    runs = [line for line in checked(lines) if line["acked"]]
    if not cell.get("share_lost") or not runs:
        return None
    return {
        "runs": str(len(runs)),
        "acked": middle([line["acked"] for line in runs]),
        "lost": middle([line["anomalies"]["lost"] for line in runs]),
        "share": middle([100 * line["anomalies"]["lost"] / line["acked"] for line in runs], 1),
    }


def led_alone(lines: Sequence[Line]) -> list[dict[str, str]]:
    """The unavailability windows in which writes did not reach the elected leader for long, a row
    each."""
    return [
        {
            "cell": f"`{line['cell']}`",
            "run": line.get("run", "—"),
            "verdict": line.get("verdict") or "not checked",
            "gap": f"{gap:.1f}",
            "led": f"{led:.1f}",
        }
        for line in lines
        for gap, led in unreached_leaders(line)
    ]


def unanswered(lines: Sequence[Line]) -> list[dict[str, str]]:
    """The runs whose verdict is unknown, a row each, without the older ones."""
    return [
        {
            "cell": f"`{line['cell']}`",
            "run": line.get("run", "—"),
            "why": next(iter(line.get("reasons", ())), "—"),
            "acked": f"{line['acked']:,}",
            "failed": f"{line.get('failed', 0):,}",
        }
        for line in lines
        if has_digest(line) and line.get("verdict") == UNKNOWN
    ]


def log_ends(lines: Sequence[Line]) -> TableRow | None:
    """What lay past the log end of elected leaders, over the runs of a cell that measured it."""
    followed = [line for line in lines if line.get("replication", {}).get("lost_past_log_end")]
    if not followed:
        return None

    def over(key: str) -> str:
        return middle([line["replication"][key] for line in followed])

    def of_lost(key: str) -> str:
        return middle([line["lost_split"][key] for line in followed])

    return {
        "runs": str(len(followed)),
        "lost": over("lost_past_log_end"),
        "kept": over("kept_past_log_end"),
        "within": over("lost_within_log_end"),
        "read": of_lost("delivered_before"),
        "never_read": of_lost("never_delivered"),
    }


def balance(cell: Cell, lines: Sequence[Line]) -> list[dict[str, str]]:
    """What part of a cell's load its brokers had in each stage, where the cell asks for it. Runs
    with less than three recorded stretches do not count."""
    whole = [rows for line in lines if len(rows := line.get("leadership") or []) >= len(STAGES)]
    if not cell.get("balance") or not whole:
        return []
    stages = zip(*map(_stages, whole), strict=True)
    return [{"stage": stage, **_borne(rows)} for stage, rows in zip(STAGES, stages, strict=True)]


def _stages(rows: Sequence[Row]) -> tuple[Row, Row, Row]:
    """The first stretch of a run, the longest between, and the last."""
    longest = max(rows[1:-1], key=lambda row: float(row["end_s"] - row["start_s"]))
    return rows[0], longest, rows[-1]


def _borne(stretches: Sequence[Row]) -> dict[str, str]:
    """Over all runs: the busiest and the least busy broker's part of the acks, in percent, and the
    most partitions that one broker led."""
    acks = [[broker["acks"] for broker in row["brokers"]] for row in stretches]
    parts = [[100 * count / sum(row) for count in row] for row in acks if sum(row)]
    leads = [max(broker["leads"] for broker in row["brokers"]) for row in stretches]
    return {
        "runs": str(len(stretches)),
        "busiest": middle([round(max(row)) for row in parts]),
        "idlest": middle([round(min(row)) for row in parts]),
        "leads": middle(leads),
    }


def gaps_of_faults(line: Line) -> Sequence[float]:
    """The gap of each of a run's faults in seconds; of older lines, which lack it, as many of the
    run's longest gaps as it had faults."""
    longest = sorted(line["produce_gaps_s"], reverse=True)[: line["faults"]]
    gaps: Sequence[float] = line.get("fault_gaps_s", longest)
    return gaps


def afterwards(cell: Cell, lines: Sequence[Line]) -> TableRow | None:
    """What became of a cell's lost records, if anything was seen."""
    seen = row(cell, lines)
    return seen if any(seen[name] != "0" for name in AFTERWARDS) else None


def tables(cells: Iterable[Runs]) -> dict[str, str]:
    """The tables of HEADS of these cells and their runs; empty where they have no rows."""
    cells = list(cells)

    def rows_of(measure: Callable[[Cell, Sequence[Line]], TableRow | None]) -> list[TableRow]:
        return [
            measured | {"cell": label(cell, lines)}
            for cell, lines in cells
            if (measured := measure(cell, lines))
        ]

    rows = {
        "shares_lost": rows_of(share_lost),
        "latencies": rows_of(latency),
        "gaps": rows_of(every_gap),
        "replicas": rows_of(lambda _, lines: replicas(lines)),
        "log_ends": rows_of(lambda _, lines: log_ends(lines)),
        "balance": [
            stage | {"cell": label(cell, lines)}
            for cell, lines in cells
            for stage in balance(cell, lines)
        ],
        "afterwards": rows_of(afterwards),
    }
    return {name: lean_table(HEADS[name], rows[name], ONCE) for name in HEADS}


def render(campaign: Cell, ledger: Lines) -> str:
    """The page of the claims."""
    lines = ledger.standing
    shown = claims(campaign, lines)
    count = sum(len(claim.newest) for claim in shown)
    parts = dict.fromkeys(claim.part for claim in shown)
    return template("study.md.j2").render(
        parts={part: table_of([claim for claim in shown if claim.part == part]) for part in parts},
        gaps=tables((claim.cell, claim.newest) for claim in shown)["gaps"],
        led_alone=led_alone(lines),
        unfinished=unfinished(shown),
        long=f"{UNREACHED_S:.0f} s",
        versions=", ".join(kafkas(lines)),
        calm=f"{CALM_PERCENT:.0f} %",
        shown=count,
        elsewhere=len(lines) - count,
        of={name_of(claim.cell): row(claim.cell, claim.newest) for claim in shown},
    )


def render_older(campaign: Cell, ledger: Lines) -> str:
    """The page of the older runs, and of the rest."""
    lines = ledger.standing
    of_cells = claims(campaign, lines)
    aside = [(claim.cell, claim.aside) for claim in of_cells if claim.aside]
    every = [pair for claim in of_cells for pair in claim.runs]
    did = [row(cell, runs) | {"cell": label(cell, runs)} for cell, runs in every]
    return template("study-older.md.j2").render(
        older=lean_table(OLDER, [row(*pair) for pair in aside], SAID),
        tables=tables(every) | {"gaps": tables(aside)["gaps"]},
        did=lean_table(DID, did, {}),
        unanswered=unanswered(lines),
        beside=beside(ledger),
        counted=len(lines),
        shown=sum(len(runs) for _, runs in aside),
        undigested=sum(not has_digest(line) for line in lines),
    )


PAGES: Final = {"study.md": render, "study-older.md": render_older}

if __name__ == "__main__":
    file = Path(sys.argv[1])
    for name, made in PAGES.items():
        file.with_name(name).write_text(page(file, made))
