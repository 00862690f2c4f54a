"""Damage: the parts of a stored run that are not as they were recorded.

Damage is not loss: a table that is damaged, missing or another run's is left out, and reported.
Conclusions that lack it are in doubt (analysis.verdict.doubts), and conclusions from the rest prove
nothing (analysis.verdict.suspended).
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.stored.table_rows import Finding

# What a killed worker leaves behind: its other operations are whole.
HARMLESS = ("torn", "no-end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One file that is not what was recorded."""

    file: str  # from the run's folder on
    why: str  # the end of a sentence that begins with the file
    process: str | None = None  # whose operations it holds; None: no one worker's


def of_finding(finding: Finding) -> Damage | None:
    """What sealing found damaged; None for what is no damage."""
    if finding["kind"] in HARMLESS:
        return None
    process = str(finding["process"])
    file, found, why = str(finding["text"] or "").partition(": ")
    named = found and file.endswith((".seg", ".jsonl", ".parquet"))
    return Damage(
        file=f"history/{file}" if named else f"history of {process}",
        why=why if named else str(finding["text"] or finding["kind"]),
        process=process,
    )
