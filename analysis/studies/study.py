"""docs/study.md: each claim of the study beside what was measured, from the runs' summaries.

    python -m analysis.studies.study docs/study.toml     writes study.md beside it

Pure: campaign file + data file -> text, so that a test can tell a page that was edited by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.anomalies import NAMES
from analysis.studies.beside import UNKNOWN, beside
from analysis.studies.pages import template, write_page
from analysis.studies.shares import (
    CALM_PERCENT,
    by_age,
    calm,
    checked,
    counts,
    median_pressure,
    quartiles,
    share,
    spread,
)
from analysis.studies.shares import gaps as longest_gaps
from harness.model.runs.ledger import UNREACHED_S, Line, Lines, has_digest, unreached_leaders

Row = Mapping[str, Any]
# Anomalies that have a column of their own, and those of which the study claims nothing.
COLUMNS = frozenset({"lost", "duplicate"})
NOT_CLAIMED = frozenset({"unseen", "phantom", "stale-read"})
OTHERS = tuple(name for name in NAMES if name not in COLUMNS | NOT_CLAIMED)
# Of a run with a failure and an election after it.
STAGES = ("before the failure", "after it", "after the election")


def every_gap(cell: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str] | None:
    """How the gaps of all faults of a cell's calm runs are distributed, where the cell asks for it.

    Lines from before each fault's gap was kept have the run's gaps alone: as many of the longest as
    there were faults.
    """
    if not cell.get("every_gap"):
        return None
    measured = calm(checked(lines))
    gaps = [gap for line in measured for gap in _gaps_of_faults(line)]
    return {
        "cell": cell.get("name", cell["scenario"]),
        "faults": str(sum(line["faults"] for line in measured)),
        "without": str(sum(not gap for gap in gaps)),
        **quartiles(gaps),
    }


def replicas(cell: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str] | None:
    """What was measured of a cell's replicas, over all its runs, where they were followed."""
    followed = [line["replication"] for line in lines if line.get("replication")]
    if not followed:
        return None
    absences = [absence for each in followed for absence in each["isr"]]
    lags = [lag for each in followed for lag in each["lag"]]

    def over(key: str) -> str:
        return spread([row[key] for row in absences if row[key] is not None], 2)

    return {
        "cell": cell.get("name", cell["scenario"]),
        "looks_ms": spread([each["every_ms"] for each in followed]),
        "lag_ms": spread([lag["ms"]["p50"] for lag in lags if lag["ms"]]),
        "lag_records": spread([lag["offsets"]["p50"] for lag in lags]),
        "absences": str(len(absences)),
        "leave": over("leave_after_s"),
        "of_limit": over("leave_of_limit"),
        "reached": over("heal_to_return_s"),
        "back": over("return_after_s"),
    }


def latency(cell: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str] | None:
    """How long acks took in a cell's calm runs, in ms, where the cell asks for it."""
    took = [line["ack_ms"] for line in calm(lines) if line.get("ack_ms")]
    if not cell.get("latency") or not took:
        return None
    numbers = {name: spread([each[name] for each in took], 1) for name in ("p50", "p99", "max")}
    return {"cell": cell.get("name", cell["scenario"]), "runs": str(len(took)), **numbers}


def share_lost(cell: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str] | None:
    """What share of a cell's acknowledged records is lost, in %, where the cell asks for it."""
    told = [line for line in checked(lines) if line["acked"]]
    if not cell.get("share_lost") or not told:
        return None
    return {
        "cell": cell.get("name", cell["scenario"]),
        "runs": str(len(told)),
        "acked": spread([line["acked"] for line in told]),
        "lost": spread([line["anomalies"]["lost"] for line in told]),
        "share": spread([100 * line["anomalies"]["lost"] / line["acked"] for line in told], 1),
    }


def led_alone(lines: Sequence[Line]) -> list[dict[str, str]]:
    """The write outages whose elected leader no write reached for long, a row each."""
    return [
        {
            "cell": line["cell"],
            "run": line.get("run", "—"),
            "verdict": line.get("verdict", "not checked"),
            "gap": f"{gap:.1f}",
            "led": f"{led:.1f}",
        }
        for line in lines
        for gap, led in unreached_leaders(line)
    ]


def unanswered(lines: Sequence[Line]) -> list[dict[str, str]]:
    """The runs whose verdict is unknown, a row each; not those from before lines had a digest."""
    return [
        {
            "cell": line["cell"],
            "run": line.get("run", "—"),
            "why": next(iter(line.get("reasons", ())), "—"),
            "acked": f"{line['acked']:,}",
            "failed": f"{line.get('failed', 0):,}",
        }
        for line in lines
        if has_digest(line) and line.get("verdict") == UNKNOWN
    ]


def log_ends(cell: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str] | None:
    """What lay past the log end of elected leaders, over all runs of a cell, if anything did."""
    followed = [line for line in lines if line.get("replication", {}).get("lost_past_log_end")]
    if not followed:
        return None

    def over(key: str, part: str = "replication") -> str:
        return spread([line[part][key] for line in followed])

    return {
        "cell": cell.get("name", cell["scenario"]),
        "runs": str(len(followed)),
        "lost": over("lost_past_log_end"),
        "kept": over("kept_past_log_end"),
        "within": over("lost_within_log_end"),
        "read": over("delivered_before", "lost_split"),
        "never_read": over("never_delivered", "lost_split"),
    }


def balance(cell: Mapping[str, Any], lines: Sequence[Line]) -> list[dict[str, str]]:
    """What part of a cell's load its brokers bore in each stage, where the cell asks for it. Runs
    with less than three stretches, or from before they were kept, tell nothing of it."""
    whole = [rows for line in lines if len(rows := line.get("leadership") or []) >= len(STAGES)]
    if not cell.get("balance") or not whole:
        return []
    stages = zip(*map(_stages, whole), strict=True)
    return [
        {"cell": cell.get("name", cell["scenario"]), "stage": stage, **_borne(rows)}
        for stage, rows in zip(STAGES, stages, strict=True)
    ]


def _stages(rows: Sequence[Row]) -> tuple[Row, Row, Row]:
    """The first stretch of a run, the longest between, and the last."""
    longest = max(rows[1:-1], key=lambda row: float(row["end_s"] - row["start_s"]))
    return rows[0], longest, rows[-1]


def _borne(stretches: Sequence[Row]) -> dict[str, str]:
    """Over all runs: the busiest and the least busy broker's part of the acks, in percent, and the
    most partitions that one broker led."""
    acks = [[broker["acks"] for broker in row["brokers"]] for row in stretches]
    parts = [[100 * each / sum(row) for each in row] for row in acks if sum(row)]
    leads = [max(broker["leads"] for broker in row["brokers"]) for row in stretches]
    return {
        "runs": str(len(stretches)),
        "busiest": spread([round(max(row)) for row in parts]),
        "idlest": spread([round(min(row)) for row in parts]),
        "leads": spread(leads),
    }


def _gaps_of_faults(line: Line) -> Sequence[float]:
    longest = sorted(line["produce_gaps_s"], reverse=True)[: line["faults"]]
    gaps: Sequence[float] = line.get("fault_gaps_s", longest)
    return gaps


def row(cell: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str]:
    """One line of the table: a cell's claim and its measurements."""
    seen = checked(lines)
    lost, duplicates = counts(seen, "lost"), counts(seen, "duplicate")
    doubtful = [line.get("indeterminate", 0) > 0 for line in seen]
    verdicts = [line.get("verdict", "not checked") for line in lines]
    others = {
        name: spread([line["anomalies"].get(name, 0) for line in seen])
        for name in OTHERS
        if any(line["anomalies"].get(name) for line in seen)
    }
    return {
        "cell": cell.get("name", cell["scenario"]),
        "scenario": cell["scenario"],
        "claim": cell.get("claim", ""),
        "part": cell.get("part", ""),
        "met": share([verdict == "valid" for verdict in verdicts]) if lines else "—",
        "others": ", ".join(f"{name} {three}" for name, three in others.items()) or "—",
        "runs": _runs(cell, lines),
        "doubtful": share(doubtful) if seen else "—",
        "verdicts": ", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts))) or "—",
        "lossy": share(lost) if lost else "—",
        "lost": spread(lost),
        "duplicating": share(duplicates) if duplicates else "—",
        "duplicates": spread(duplicates),
        "gaps": longest_gaps(seen),
        "pressure": median_pressure(seen),
        "acked": spread([line["acked"] for line in seen]),
        "faults": spread([line["faults"] for line in seen]),
    }


def render(campaign: Mapping[str, Any], told: Lines) -> str:
    """The whole page."""
    lines = told.standing
    cells = [each for cell in campaign["cells"] for each in _apart(cell, _of(cell, lines))]
    rows = [row(cell, own) for cell, own in cells]
    versions = sorted({line["kafka"] for line in lines if "kafka" in line})
    return template("study.md.j2").render(
        rows=[r for r in rows if not r["part"]],
        of={r["cell"]: r for r in rows},
        parts={part: [r for r in rows if r["part"] == part] for part in _parts(rows)},
        gaps=[found for cell, own in cells if (found := every_gap(cell, own))],
        replicas=[found for cell, own in cells if (found := replicas(cell, own))],
        latencies=[found for cell, own in cells if (found := latency(cell, own))],
        shares_lost=[found for cell, own in cells if (found := share_lost(cell, own))],
        led_alone=led_alone(lines),
        unanswered=unanswered(lines),
        long=f"{UNREACHED_S:.0f} s",
        log_ends=[found for cell, own in cells if (found := log_ends(cell, own))],
        balance=[stage for cell, own in cells for stage in balance(cell, own)],
        versions=", ".join(versions),
        beside=beside(told),
        calm=f"{CALM_PERCENT:.0f} %",
        undigested=len(by_age(lines)[1]),
        counted=len(lines),
    )


def _of(cell: Mapping[str, Any], lines: Sequence[Line]) -> list[Line]:
    """The lines of a cell."""
    return [line for line in lines if line["cell"] == cell.get("name", cell["scenario"])]


def _apart(
    cell: Mapping[str, Any], lines: list[Line]
) -> list[tuple[Mapping[str, Any], Sequence[Line]]]:
    """A cell with its runs; the older ones by themselves where there are others."""
    newer, older = by_age(lines)
    if not newer or not older:
        return [(cell, lines)]
    name = cell.get("name", cell["scenario"])
    return [(cell, newer), ({**cell, "name": f"{name}, older", "claim": "the same"}, older)]


def _runs(cell: Mapping[str, Any], lines: Sequence[Line]) -> str:
    if lines and not any(map(has_digest, lines)):
        return f"{len(lines)}, digest unknown"
    return f"{len(lines)} of {cell['repeats']}"


def _parts(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The parts of the page in their order, without the first, which has no name."""
    return list(dict.fromkeys(row["part"] for row in rows if row["part"]))


if __name__ == "__main__":
    write_page(render)
