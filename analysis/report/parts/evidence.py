"""The table of an anomaly's evidence: what is known of some records, and what each was lost by.

Where something that happened permits them, or nothing does, the table has a part for each cause,
with how many records it has: all of them, also where only some are listed.

    1 lost by fault 1: kill → kafka2 (kafka1 led partition 0 instead of kafka2, at 17.31 s)
    value          offset        acked (s)   leader then
    503            4,711         5.000       kafka1
                   partition 0               epoch 2

Elsewhere what each was lost by is a column.

Narrow enough for a page: what belongs together is one cell of two lines (an offset and its
partition, a leader and its epoch, a value and whose it is), times are seconds since the load began,
and what every row would say alike, or another column says already, is left out.

What permits a record and the faults around it are told in one sentence: the fault, if one is known
to belong to it, and what happened.

    acked at 49.21 s    4: kill → kafka1 from 49.21 s    kafka2 leads instead of kafka1 at 50.71 s
    =>  lost by fault 4: kill → kafka1 (kafka2 led partition 0 instead of kafka1, at 50.71 s)

A change of leader belongs to the last fault injected before it that was in force since the record
was sent; one that hit the record's leader goes before others. Where the configuration alone permits
a record, the fault in force is named with "during", else the next one with "before": neither is
said to have done it.

Two values at one offset are each told with the leader and the epoch that wrote it, where the
replicas' logs tell: what ZooKeeper showed at the moment of the row is only one of the two's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report import wording
from harness.model.runs.report import Report
from harness.model.runs.report_course import FaultTold
from harness.model.runs.report_findings import CauseTold, Finding, Judged

Row = Mapping[str, Any]
GONE = {"lost", "vanished", "unacknowledged-lost", "skipped"}
BLAME, STORY, FORBIDDEN = "blame", "story", "forbidden"
ORDER = (
    *("value", BLAME, STORY, "outcome", "reader", "sent", "offset", "other_offset", "other_value"),
    *("copies", "sent_s", "acked_s", "delivered_s", "time_s", "lasted_s", "leader"),
)
# The second line of a cell, or told by another column, or of no use to people.
WITHIN = {"producer", "sequence", "partition", "other_partition", "epoch"}
WITHIN |= {"other_leader", "other_epoch", "faults", "next_fault", "permitted_by", "judged", "cause"}
WITHIN |= {"run_id", "anomaly", "text", "other_text"}
SENT = {"acked": "acknowledged", "info": "in doubt", "no-ack": "no ack asked for", "fail": "failed"}
MOMENTS = ("sent_s", "acked_s", "delivered_s")
HEADS = {
    "sent": "its send",
    "sent_s": "sent (s)",
    "acked_s": "acked (s)",
    "delivered_s": "first read (s)",
    "time_s": "seen (s)",
    "lasted_s": "lasted (s)",
    "leader": "leader then",
    "other_offset": "other offset",
    "other_value": "other value",
}
# The other offset is the other value's, and its second line.
THERE = {"reordered", "real-time-violation", "circular-flow", "two-outputs"}
# What the columns of one anomaly mean, where that is more than their names say.
HEADS_OF: Mapping[str, Mapping[str, str]] = {
    "lost": {"other_value": "there instead"},
    "duplicate": {"other_offset": "and at offset"},
    "inconsistent-offset": {"other_offset": "found at offset"},
    "reordered": {"other_value": "behind value"},
    "real-time-violation": {"other_value": "behind value"},
    "poll-skip": {"other_offset": "went on at", "time_s": "read (s)"},
    "poll-back": {"other_offset": "after offset", "time_s": "read (s)"},
    "hole": {"other_offset": "goes on at"},
    "stale-read": {"time_s": "deadline (s)"},
    "skipped": {"time_s": "polled (s)"},
    "reprocessed": {"time_s": "again (s)"},
    "no-output": {"other_value": "last output", "time_s": "polled (s)"},
    "two-outputs": {"other_value": "last output"},
    "commit-back": {"time_s": "answered (s)"},
    "zombie-commit": {"time_s": "answered (s)"},
    "two-owners": {"time_s": "assigned (s)"},
    "circular-flow": {"time_s": "read (s)"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a cell says, in a large and a small line; `empty`: nothing is known."""

    text: str
    small: str = ""
    story: int | None = None  # a link to it

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return self.text == wording.MISSING and not self.small


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of cells that have one cause: `title` says which and how many records it has, `why` what
    is in doubt about it. Without a title each row tells its own."""

    rows: Sequence[Sequence[Cell]]
    title: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of an anomaly's records a cause permits, or puts in doubt."""

    cause: CauseTold
    many: int
    judged: str


def evidence(anomaly: str, finding: Finding, report: Report) -> dict[str, Any]:
    """Columns (`name`, and `kind`: a number, words that may wrap, or a word), the parts of the
    table, and how many records are `listed`."""
    rows: list[Row] = [example.written() for example in finding.examples]
    rows = [{**row, BLAME: _blame(row, report)} for row in rows]
    causes = _causes(anomaly, report.causes)
    split = bool(causes) or 0 < finding.judged.forbidden < finding.count
    names = [name for name in _columns(rows) if name != BLAME or not split]
    if anomaly in THERE and "other_value" in names and "other_offset" in names:
        names.remove("other_offset")
        rows = [{**row, "there": _place("other_offset", row)} for row in rows]
    groups = (
        _by_cause(anomaly, rows, causes, finding.judged) if split else [("", "", rows)] * bool(rows)
    )
    return {
        "columns": [{"name": _heading(anomaly, name), "kind": _kind(name, rows)} for name in names],
        "parts": [
            Part(title=title, why=why, rows=[[_cell(name, row) for name in names] for row in mine])
            for title, why, mine in groups
        ],
        "listed": len(rows),
    }


def _causes(anomaly: str, causes: Sequence[CauseTold]) -> list[Share]:
    """What permits some of an anomaly's records, or may; the configuration alone is told with its
    promise."""
    return [
        Share(cause=cause, many=counts[anomaly], judged=judged)
        for cause in causes
        for judged, counts in (("permitted", cause.permitted), ("in-doubt", cause.in_doubt))
        if anomaly in counts and cause.at_s is not None
    ]


def _by_cause(
    anomaly: str, rows: Sequence[Row], causes: Sequence[Share], judged: Judged
) -> list[tuple[str, str, list[Row]]]:
    """Title, doubt and records of each part: first what nothing permits, then by cause, then what
    has none of these."""
    mine: dict[object, list[Row]] = {}
    for row in rows:
        mine.setdefault(_key(row, causes), []).append(row)
    did = _heading(anomaly, BLAME)
    parts = []
    if many := judged.forbidden:
        parts.append((f"{many:,} that nothing that happened permits", "", mine.pop(FORBIDDEN, [])))
    for number, share in enumerate(causes):
        own, cause = mine.pop(number, []), share.cause
        blames = {row[BLAME] for row in own}
        words = f"{cause.words}, at {wording.moment(cause.at_s)}"
        words = blames.pop() if len(blames) == 1 else words
        why = "" if share.judged == "permitted" else f"in doubt: {wording.plain(cause.why)}"
        parts.append((f"{share.many:,} {did} {words}", why, own))
    others = [(f"{did} {words or 'nothing that is known'}", "", own) for words, own in mine.items()]
    return parts + [(title.capitalize(), why, own) for title, why, own in others]


def _key(row: Row, causes: Sequence[Share]) -> object:
    """Which part a record belongs to: a cause by its place in the list, or a text."""
    if row.get("judged") == FORBIDDEN:
        return FORBIDDEN
    own = [n for n, cause in enumerate(causes) if row.get("cause") in cause.cause.numbers]
    sure = [n for n in own if causes[n].judged == row.get("judged", causes[n].judged)]
    return (sure or own or [row[BLAME]])[0]


def _columns(rows: Sequence[Row]) -> list[str]:
    """The columns that say something new, those that matter first."""
    keys = dict.fromkeys(key for row in rows for key in row)
    filled = {key for key in keys if any(row.get(key) not in (None, []) for row in rows)}
    filled -= WITHIN | {f"{key.removesuffix('_s')}_ns" for key in filled if key.endswith("_s")}
    if all(row.get("time_s") in [row.get(key) for key in MOMENTS] for row in rows):
        filled -= {"time_s"}
    if all(row.get("sent") == "acked" and row.get("acked_s") is not None for row in rows):
        filled -= {"sent"}
    if not any((row.get("copies") or 0) > 1 for row in rows):
        filled -= {"copies"}
    if "acked_s" in filled:
        filled -= {"sent_s"}  # its second line
    if all(_two_values(row) for row in rows):
        filled -= {"leader"}
    return [key for key in (*ORDER, *(k for k in keys if k not in ORDER)) if key in filled]


def _heading(anomaly: str, column: str) -> str:
    if column == BLAME:
        return "lost by" if anomaly in GONE else "explained by"
    known = HEADS | dict(HEADS_OF.get(anomaly, {}))
    return known.get(column, column.replace("_", " "))


def _kind(column: str, rows: Sequence[Row]) -> str:
    if column == BLAME:
        return "wide"
    cells = [row.get(column) for row in rows]
    return "n" if all(map(_numeric, cells)) else "words"


def _cell(column: str, row: Row) -> Cell:
    value = row.get(column)
    text, small = wording.plain(value), ""
    if column == STORY:
        return Cell(text=text, story=value)
    if column.endswith("_s") and _numeric(value) and value is not None:
        text = f"{value:,.3f}"
    if column in ("outcome", "sent") and isinstance(value, str):
        text = (SENT.get(value, value) if column == "sent" else value).replace("_", " ")
    if column in ("offset", "other_offset"):
        text, small = _place(column, row)
    if column == "leader":
        small = "" if row.get("epoch") is None else f"epoch {row['epoch']}"
        if _two_values(row):
            text = small = ""
    if column == "acked_s" and row.get("sent_s") is not None:
        small = f"sent {row['sent_s']:,.3f}"
    if column in ("value", "other_value"):
        small = _whose(column, row)
    return Cell(text=text or wording.MISSING, small=small)


def _place(column: str, row: Row) -> tuple[str, str]:
    """An offset with its partition; the other one's only where it is another one."""
    offset, home = row.get(column), row.get("partition")
    where = home if column == "offset" else row.get("other_partition")
    if where is None or (column == "other_offset" and where == home):
        small = ""
    else:
        small = f"partition {wording.plain(where)}"
    return (f"{offset:,}" if isinstance(offset, int) else wording.plain(offset)), small


def _whose(column: str, row: Row) -> str:
    """The text of a value that is not ours, who sent it and, of two at one offset, under whom it
    was written."""
    text = row.get("text" if column == "value" else "other_text")
    said = [] if text is None else [f"“{text}”"]
    if column == "value" and row.get("sequence") not in (None, row.get("value")):
        said.append(f"producer {row.get('producer')}, number {row['sequence']}")
    if column == "other_value" and "there" in row:
        offset, partition = row["there"]
        said += [f"at offset {offset}", *([partition] if partition else [])]
    if _two_values(row):
        prefix = "" if column == "value" else "other_"
        leader, epoch = row.get(f"{prefix}leader"), row.get(f"{prefix}epoch")
        said += [] if leader is None else [f"by {leader}"]
        said += [] if epoch is None else [f"epoch {epoch}"]
    return ", ".join(said)


def _two_values(row: Row) -> bool:
    return row.get("outcome") == "two_values"


def fault_names(faults: Sequence[FaultTold]) -> dict[int, str]:
    """`4: kill → kafka1`, by the fault's number."""
    return {fault.fault: f"{fault.fault}: {wording.fault_name(fault)}" for fault in faults}


def _blame(row: Row, report: Report) -> str | None:
    """What a record was lost by, in words; None where nothing at all is known."""
    cause = next((c for c in report.causes if row.get("cause") in c.numbers), None)
    words = row.get("permitted_by")
    if words is None and cause is not None:
        words = f"in doubt: {cause.words}"
    if words is None and row.get("judged") == "forbidden":
        words = "nothing that happened"
    named = _named(row, cause, report.faults)
    if named and words:
        return f"{named} ({words})"
    return named or words


def _named(row: Row, cause: CauseTold | None, faults: Sequence[FaultTold]) -> str | None:
    """The fault that belongs to the cause or, without such a cause, what was in force or next."""
    names = fault_names(faults)
    if cause is not None and cause.at_s is not None:
        number = _before(row, cause.at_s, faults) if cause.fault is None else cause.fault
        return None if number is None else f"fault {names.get(number, number)}"
    if during := row.get("faults"):
        return f"during fault {names.get(during[-1], during[-1])}"
    following = row.get("next_fault")
    return None if following is None else f"before fault {names.get(following, following)}"


def _before(row: Row, at_s: float, faults: Sequence[FaultTold]) -> int | None:
    """The last fault before the cause that was in force since the record was sent."""
    since_s = next((row[k] for k in ("sent_s", "acked_s", "time_s") if row.get(k) is not None), 0)
    happened = [
        fault
        for fault in faults
        if fault.start_s is not None
        and fault.start_s <= at_s
        and (fault.healed_s is None or fault.healed_s >= since_s)
    ]
    hit = [fault for fault in happened if row.get("leader") in (fault.nodes or ())]
    last = max(hit or happened, key=lambda fault: fault.start_s or 0.0, default=None)
    return None if last is None else last.fault


def _numeric(cell: object) -> bool:
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool))
