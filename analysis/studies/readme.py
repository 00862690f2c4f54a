"""The table of results in README.md: some of the study's cells, in a sentence each.

    python -m analysis.studies.readme docs/study.toml     writes it between the two marks

The words are here, every number is the data's. Pure but for the last lines, as
analysis.studies.study.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.studies.pages import page
from analysis.studies.shares import calm_gaps_s, checked, settled
from harness.model.runs.ledger import Lines

BEGIN: Final = "<!-- results: python -m analysis.studies.readme docs/study.toml -->"
END: Final = "<!-- end of the results -->"
HEADS: Final = ("settings", "what breaks", "lost", "twice", "no ack for", "runs", "scenario")
# What is told of a cell: the settings on which it depends, and what breaks.
CELLS: Final = {
    "study-1": ("acks=1, slow followers", "the leader is killed, ten times"),
    "study-2": ("acks=all, retries", "the same"),
    "study-4": (
        "acks=all, retries, idempotence",
        "the leader stands still for 2 s, ten times: answers come late",
    ),
    "failover-graceful": ("acks=all", "the leader is told to leave (SIGTERM), eight times"),
    "failover-hard": ("acks=all, ZooKeeper session of 6 s", "the leader is killed, eight times"),
    "partition-cp": (
        "acks=all, min.insync.replicas=1",
        "the leader is cut from its followers, later it dies",
    ),
    "partition-ap": ("the same, unclean election", "the same"),
    "min-isr-2-refuses": (
        "acks=all, min.insync.replicas=2, unclean election",
        "the followers pause, then the leader dies",
    ),
    "leader-cut-from-zookeeper": ("acks=1", "the leader is cut from ZooKeeper, for seconds"),
    "power-loss-all": ("acks=all, as Kafka comes", "all brokers lose power at once"),
    "power-loss-all-flushed": ("the same, flush.messages=1", "the same"),
}


def table(campaign: Mapping[str, Any], ledger: Lines) -> str:
    """A row for each of CELLS: the median over its runs, and in brackets the extremes where they
    differ. Raises KeyError for a cell that is none."""
    known = {cell.get("name", cell["scenario"]): cell for cell in campaign["cells"]}
    rows = [HEADS, ["---"] * len(HEADS)]
    for name, (settings, broken) in CELLS.items():
        lines = [line for line in checked(ledger.standing) if line["cell"] == name]
        mine = settled(lines, known[name]["repeats"])
        lost = [line["anomalies"]["lost"] for line in mine]
        twice = [line["anomalies"]["duplicate"] for line in mine]
        gaps_s = calm_gaps_s(mine)
        acked = statistics.median(line["acked"] for line in mine)
        told = [settings, broken, f"{_middle(lost)} of {acked:,.0f}", _middle(twice)]
        calm_runs = "" if len(gaps_s) == len(mine) else f", {len(gaps_s)} of the runs"
        gap = f"{_middle(gaps_s, 1)} s{calm_runs}" if gaps_s else "—"
        rows.append([*told, gap, str(len(mine)), f"`{known[name]['scenario']}`"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _middle(values: Sequence[float], digits: int = 0) -> str:
    least, most = min(values), max(values)
    middle_value = statistics.median(values)
    middle = f"{middle_value:,.{digits or int(middle_value % 1 != 0)}f}"
    return middle if least == most else f"{middle} ({least:,.{digits}f}–{most:,.{digits}f})"


def with_table(text: str, made: str) -> str:
    """The page with this table between the marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    file, readme = Path(sys.argv[1]), Path("README.md")
    readme.write_text(with_table(readme.read_text(), page(file, table)))
