"""Two tables as one history: without the records of earlier runs, and with numbers for texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.tables.earlier_runs import Keep, earlier
from analysis.tables.final_read import ends
from analysis.tables.numbered import Numbered, numbered
from analysis.tables.validation import Tables
from harness.model.runs.earlier_runs import Parted
from harness.model.runs.imported_history import unplaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the user says of two tables."""

    new_topic: bool  # it was empty before the first send
    once: bool  # a send leaves one record at most
    without_acks: bool  # acks=0
    partitions: int  # of the topic; 1: not told
    complete: bool  # the final read is complete


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesHistory:
    """A history of two tables."""

    numbered: Numbered
    ends: Sequence[Mapping[str, Any]]  # analysis.tables.final_read.ends
    parted: Parted  # how many records may be an earlier run's
    untold: tuple[str, ...]  # what it does not tell, in the words of harness.model.untold


def as_history(tables: Tables, known: Known, keep: Keep) -> TablesHistory:
    """The history of two valid tables. `keep` persists a frame that is used twice. Raises
    TableError."""
    ended = ends(tables, complete=known.complete)
    others = earlier(tables, new_topic=known.new_topic, once=known.once, keep=keep)
    return TablesHistory(
        numbered=numbered(
            tables,
            others,
            unplaced=unplaced(max(known.partitions, tables.partitions), ended),
            without_acks=known.without_acks,
            keep=keep,
        ),
        ends=ended,
        parted=others.parted,
        untold=(*tables.untold, *others.parted.untold),
    )
