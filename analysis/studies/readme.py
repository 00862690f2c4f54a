"""The tables of results in README.md: some cells of the matrix and of the study, a row each.

    python -m analysis.studies.readme docs/configurations.toml    writes the first between its marks
    python -m analysis.studies.readme docs/study.toml             writes the second

The words are here, every number is the data's. Pure but for the last lines, as
analysis.studies.study.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.studies.matrix_rows import HEADS as ALL_HEADS
from analysis.studies.matrix_rows import row
from analysis.studies.pages import Render, markdown_table, page
from analysis.studies.shares import calm_gaps_s, checked, settled
from harness.model.campaigns.matrix import Place
from harness.model.runs.ledger import Lines

BEGIN: Final = "<!-- results: python -m analysis.studies.readme docs/{} -->"  # the campaign's file
END: Final = "<!-- end of the results -->"
HEADS: Final = (
    *("settings", "what breaks", "session", "lost", "twice", "no ack for", "runs", "scenario"),
)
# Of the matrix, with one fault a run: what is set, what breaks, and the cell.
KILLED, CUT = "the leader is killed", "the leader is cut from its followers, then killed"
ONE_FAULT: Final = (
    ("acks=1", KILLED, "one-kill", ("1", 1, False)),
    ("acks=all", KILLED, "one-kill", ("all", 1, False)),
    ("acks=1", CUT, "one-cut-then-kill", ("1", 1, False)),
    ("acks=all", CUT, "one-cut-then-kill", ("all", 1, False)),
    ("acks=all, unclean elections", CUT, "one-cut-then-kill", ("all", 1, True)),
    ("acks=all, min.insync.replicas=2", CUT, "one-cut-then-kill", ("all", 2, False)),
    ("the same, unclean elections", CUT, "one-cut-then-kill", ("all", 2, True)),
)
ROW_HEADS: Final = {key: head for key, head in ALL_HEADS.items() if key != "pressure"}
AXES: Final = (
    "workload.producer.acks",
    "topic.config.min.insync.replicas",
    "topic.config.unclean.leader.election.enable",
)
# What is told of a cell of the study: the settings on which it depends, what breaks, and how long
# the brokers' ZooKeeper sessions are, which many a gap waits for.
CELLS: Final = {
    "study-1": ("acks=1, slow followers", "the leader is killed, ten times", 2),
    "study-2": ("acks=all, retries", "the same", 2),
    "study-4": (
        "acks=all, retries, idempotence",
        "the leader stands still for 2 s, ten times: answers come late",
        6,
    ),
    "failover-graceful": ("acks=all", "the leader is told to leave (SIGTERM), eight times", 6),
    "failover-hard": ("acks=all", "the leader is killed, eight times", 6),
    "partition-cp": (
        "acks=all, min.insync.replicas=1",
        "the leader is cut from its followers, later it dies",
        2,
    ),
    "partition-ap": ("the same, unclean election", "the same", 2),
    "min-isr-2-refuses": (
        "acks=all, min.insync.replicas=2, unclean election",
        "the followers pause, then the leader dies",
        2,
    ),
    "leader-cut-from-zookeeper": ("acks=1", "the leader is cut from ZooKeeper, for seconds", 2),
    "power-loss-all": (
        "acks=all, min.insync.replicas=2",
        "all brokers lose power at once, after a third of the writes",
        2,
    ),
    "power-loss-all-flushed": ("the same, flush.messages=1", "the same", 2),
}


def of_one_fault(_: Mapping[str, Any], ledger: Lines) -> str:
    """A row for each of ONE_FAULT: shares with their intervals, and minimum / median / maximum."""
    rows = []
    for settings, broken, scenario, values in ONE_FAULT:
        place = Place(scenario=scenario, settings=dict(zip(AXES, values, strict=True)))
        mine = [line for line in ledger.standing if line["cell"] == place.name]
        told = row(mine)
        rows.append([settings, broken, *(told[name] for name in ROW_HEADS)])
    return markdown_table(["settings", "what breaks", *ROW_HEADS.values()], rows)


def table(campaign: Mapping[str, Any], ledger: Lines) -> str:
    """A row for each of CELLS: the median over its runs, and in brackets the extremes where they
    differ. Raises KeyError for a cell that is none."""
    known = {cell.get("name", cell["scenario"]): cell for cell in campaign["cells"]}
    rows = []
    for name, (settings, broken, session_s) in CELLS.items():
        lines = [line for line in ledger.standing if line["cell"] == name]
        mine = checked(settled(lines, known[name]["repeats"]))
        lost = [line["anomalies"]["lost"] for line in mine]
        twice = [line["anomalies"]["duplicate"] for line in mine]
        gaps_s = calm_gaps_s(mine)
        acked = statistics.median(line["acked"] for line in mine)
        told = [
            settings,
            broken,
            f"{session_s} s",
            f"{_middle(lost)} of {acked:,.0f}",
            _middle(twice),
        ]
        calm_runs = "" if len(gaps_s) == len(mine) else f", {len(gaps_s)} of the runs"
        gap = f"{_middle(gaps_s, 1)} s{calm_runs}" if gaps_s else "—"
        rows.append([*told, gap, str(len(mine)), f"`{known[name]['scenario']}`"])
    return markdown_table(HEADS, rows)


def _middle(values: Sequence[float], digits: int = 0) -> str:
    least, most = min(values), max(values)
    middle_value = statistics.median(values)
    middle = f"{middle_value:,.{digits or int(middle_value % 1 != 0)}f}"
    return middle if least == most else f"{middle} ({least:,.{digits}f}–{most:,.{digits}f})"


TABLES: Final[Mapping[str, Render]] = {"configurations.toml": of_one_fault, "study.toml": table}


def with_table(text: str, campaign: str, made: str) -> str:
    """The page with this table of a campaign's file between its marks."""
    begin = BEGIN.format(campaign)
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    file, readme = Path(sys.argv[1]), Path("README.md")
    made = page(file, TABLES[file.name])
    readme.write_text(with_table(readme.read_text(), file.name, made))
