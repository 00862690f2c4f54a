"""What each of the two judges found in a run, in the same words: kind -> where.

    lost           (partition, value)     acknowledged, and gone
    unseen         (partition, value)     acknowledged, not found, and not known to be lost
    duplicate      (partition, value)     at two offsets, acked or read
    aborted        (partition, value)     read, though its send certainly failed
    inconsistent   (partition, offset)    two values at one offset

Ours are in the run's analysis/ (docs/report.md): an ack that names another offset than the final
read counts here as duplicate, since Jepsen calls it that. Jepsen's are what judge.clj writes.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

Where = tuple[int, int]  # partition, and value or offset
Found = Mapping[str, frozenset[Where]]

KINDS: Final = ("lost", "unseen", "duplicate", "aborted", "inconsistent")
IN_JEPSEN: Final = {
    "lost-write": "lost",
    "unseen": "unseen",
    "duplicate": "duplicate",
    "G1a": "aborted",
    "inconsistent-offsets": "inconsistent",
}


class JudgeError(Exception):
    """One judge cannot be heard: one sentence with the remedy."""


@dataclass(frozen=True, kw_only=True)
class Jepsens:
    """What Jepsen's checker found."""

    found: Found
    others: Mapping[str, int]  # kinds that are not compared -> how many
    operations: int  # that it has read


def to_check(run: Path) -> str:
    """The command that checks the run, as a shell takes it."""
    return f"`kafka-harness check {shlex.quote(str(run))}`"


def ours(run: Path) -> Found:
    """What the check of a run found. Raises JudgeError when it was not checked."""
    found: dict[str, set[Where]] = {kind: set() for kind in KINDS}
    for anomaly in ("lost", "unseen", "duplicate", "phantom", "inconsistent-offset"):
        for row in _evidence(run, anomaly):
            kind, number = anomaly, row["value"]
            if anomaly == "phantom":
                kind = "aborted" if row["outcome"] == "send_failed" else ""
            elif anomaly == "inconsistent-offset":
                moved = row["outcome"] in ("acked_elsewhere", "read_elsewhere")
                kind, number = ("duplicate", number) if moved else ("inconsistent", row["offset"])
            if kind and row["partition"] is not None and number is not None:
                found[kind].add((row["partition"], number))
    return {kind: frozenset(where) for kind, where in found.items()}


def _evidence(run: Path, anomaly: str) -> Iterator[Mapping[str, Any]]:
    table = run / "analysis" / f"{anomaly}.parquet"
    names = ["value", "partition", "offset", "outcome"]
    try:
        yield from pq.read_table(table, columns=names, partitioning=None).to_pylist()
    except FileNotFoundError:
        raise JudgeError(f"{table}: not there: check the run by {to_check(run)}") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise JudgeError(
            f"{table}: cannot be read ({reason}): check the run anew by {to_check(run)}"
        ) from None


def jepsens(file: Path) -> Jepsens:
    """What judge.clj wrote. Raises JudgeError when it did not get to its end."""
    found: dict[str, set[Where]] = {kind: set() for kind in KINDS}
    others: dict[str, int] = {}
    last: Mapping[str, Any] = {}
    try:
        for line in file.read_text().splitlines():
            last = json.loads(line)
            if "count" in last:
                others[last["kind"]] = last["count"]
            elif "kind" in last:
                number = last["offset" if "offset" in last else "value"]
                found[IN_JEPSEN[last["kind"]]].add((last["key"], number))
        operations = last["operations"]
    except (OSError, ValueError, KeyError, TypeError):
        raise JudgeError(
            f"{file}: Jepsen's findings are not there or not whole: what lein said is above"
        ) from None
    # What it calls lost it calls unseen as well: acknowledged, and read by nobody.
    found["unseen"] -= found["lost"]
    return Jepsens(
        found={kind: frozenset(where) for kind, where in found.items()},
        others=others,
        operations=operations,
    )
