"""The tables of docs/applications.md: what an application lost and did twice, by its runs' lines.

    python -m analysis.studies.applications docs/applications.toml    writes it between its marks

Pure but for the last lines: campaign file + data file -> text.
"""

from __future__ import annotations

import sys
from pathlib import Path

from analysis.studies.cells.shares import affected, checked, counts, middle
from analysis.studies.claims import claims, name_of, unfinished
from analysis.studies.pages import Cell, markdown_table, page
from harness.model.campaigns.ledger import Lines

ANOMALIES = ("no-output", "two-outputs", "not-passed")
BEGIN, END = "<!-- measured -->\n", "<!-- end -->"
HEADS = (
    *("offsets", "runs", "no output (95 % CI)", "twice (95 % CI)", "stood still (95 % CI)"),
    "inputs of each such run",
)


def render(campaign: Cell, ledger: Lines) -> str:
    """A table for each fault."""
    parts: dict[str, list[tuple[str, ...]]] = {}
    for cell in campaign["cells"]:
        lines = [line for line in ledger.standing if line["cell"] == name_of(cell)]
        seen = checked(lines)
        hit = [number for name in ANOMALIES[:2] for number in counts(seen, name) if number]
        shares = [affected(lines, name) for name in ANOMALIES]
        row = (cell["claim"], str(len(seen)), *shares, middle(hit) if hit else "—")
        parts.setdefault(cell["part"], []).append(row)
    told = [f"### {part}\n\n{markdown_table(HEADS, rows)}\n" for part, rows in parts.items()]
    left = unfinished(claims(campaign, ledger.standing))
    told += [f"These do not have all of their runs yet: {', '.join(left)}.\n"] if left else []
    return "\n".join(told)


if __name__ == "__main__":
    campaign = Path(sys.argv[1])
    file = campaign.with_suffix(".md")
    before, rest = file.read_text().split(BEGIN)
    table = page(campaign, render)
    file.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")
