"""A second opinion on operations: what plain Python finds in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MS = 1_000_000
LOAD_MS, THRESHOLD_MS, PARTITIONS = 4000, 500, 2
Row = dict[str, Any]
Found = dict[str, Counter[Any]]
SUCCESSES = {"produce": ("send",), "consume": ("read", "lookup", "poll")}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One history: rows of operations in ms, what its final read reached, and what was planted."""

    rows: list[Row]
    ends: list[Row]
    tailing: bool = True
    planted: Found | None = None


# The oracle


def oracle(case: Case) -> Found:
    """What docs/anomalies.md says is to be found, one anomaly after the other."""
    values: dict[int, list[Row]] = defaultdict(list)
    places: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in case.rows:
        if row["value"] is not None:
            values[row["value"]].append(row)
        if _was_read(row):
            places[row["partition"], row["offset"]].append(row)
    found: Found = defaultdict(Counter)
    lives = {value: Life(value, rows, case.ends) for value, rows in values.items()}
    group = Group(case.rows)
    for value, life in lives.items():
        for name in (*life.anomalies(), *group.anomalies(life)):
            found[name][value] += 1
    for place, rows in places.items():
        seen = {row["value"] for row in rows}
        found["unparsable"][place] += None in seen
        found["two values"][place] += len(seen) > 1
    for kind in ("produce", "consume"):
        for partition in range(PARTITIONS):
            found["windows"].update(windows(case, lives, kind, partition))
    return {name: +counter for name, counter in found.items() if +counter}


class Life:
    """All that happened to one value."""

    def __init__(self, value: int, rows: Sequence[Row], ends: Sequence[Row]) -> None:
        sends = [row for row in rows if row["f"] == "send"]
        ranks = ["fail", "info", "no-ack", "ok"]
        self.sent = max((_ended(s) for s in sends), key=ranks.index, default=None)
        self.acks = [s for s in sends if s["type"] == "ok"]
        self.sends = sends
        self.missed = [r for r in rows if r["f"] == "lookup" and r["type"] != "ok" and _is_over(r)]
        self.reads = [r for r in rows if _was_read(r)]
        self.final = {_place(r) for r in self.reads if r["f"] == "final-read"}
        self.deliveries = [r for r in self.reads if r["f"] != "final-read"]
        self.processing = [r for r in rows if r["f"] == "process"]
        places = sorted(_place(r) for r in self.reads)
        self.home = max((s["partition"] for s in sends), default=places[0][0] if places else None)
        end = ends[self.home] if self.home is not None else {}
        self.complete, self.log_start = end.get("complete", False), end.get("log_start") or 0

    def anomalies(self) -> Iterable[str]:
        acked = max((_place(a) for a in self.acks if a["offset"] is not None), default=None)
        gone = not self.final and self.complete
        kept = acked[1] >= self.log_start if acked else self.log_start == 0
        if self.acks and gone and kept:
            yield "lost"
        if self.acks and not self.final and (not self.complete or (not kept and not acked)):
            yield "unseen"
        if self.sent == "no-ack" and gone and self.log_start == 0:
            yield "unacknowledged-lost"
        delivered = max((_place(d) for d in self.deliveries), default=None)
        if delivered and gone and delivered[1] >= self.log_start:
            yield "vanished"
        everywhere = {_place(r) for r in self.reads}
        if len(self.final) > 1 or (not self.complete and len(everywhere) > 1):
            yield "duplicate"
        if self.reads and self.sent in (None, "fail"):
            yield "phantom"
        stayed = {_place(a) for a in self.acks} & self.final
        if acked and self.final and self.complete and not stayed and acked[1] >= self.log_start:
            yield "moved"
        if self.acks and self.missed:
            yield "stale-read"

    def attempts(self, kind: str, tailing: bool) -> list[tuple[int, int | None]]:
        """When it was being sent, or waited to be read."""
        if kind == "produce":
            if not self.sends:
                return []
            ends = [s["end"] for s in self.sends if s["end"] is not None]
            return [(min(s["start"] for s in self.sends), max(ends, default=None))]
        if not self.acks or not tailing or (not self.final and self.complete):
            return []
        acked = min(a["end"] for a in self.acks)
        first = min((d["end"] for d in self.deliveries), default=None)
        return [] if first is not None and first <= acked else [(acked, first)]


class Group:
    """What the members of the consumer group were given, and where they would go on."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.first: dict[int, int] = {}  # by partition: the lowest offset that was given
        known: dict[int, tuple[int, int]] = {}  # by partition: the last news, and the offset
        for row in rows:
            partition, offset = row["partition"], row["offset"]
            if row["f"] == "poll":
                self.first[partition] = min(offset, self.first.get(partition, offset))
            if row["f"] in ("commit", "committed") and row["type"] == "ok":
                known[partition] = max((row["end"], offset), known.get(partition, (-1, 0)))
        self.committed = {partition: offset for partition, (_, offset) in known.items()}

    def anomalies(self, life: Life) -> Iterable[str]:
        done = Counter(_place(row) for row in life.processing if row["type"] == "ok")
        if any(often > 1 for often in done.values()):
            yield "reprocessed"
        if life.final and not life.processing:
            partition, offset = min(life.final)
            begin = self.first.get(partition)
            if begin is not None and begin <= offset < self.committed.get(partition, 0):
                yield "skipped"


def windows(
    case: Case, lives: Mapping[int, Life], kind: str, partition: int
) -> Iterable[tuple[Any, ...]]:
    """Every window in a partition: kind, partition, start, end, next success, attempts."""
    succeeded = sorted(
        row["end"]
        for row in case.rows
        if row["partition"] == partition
        and row["type"] == "ok"
        and row["f"] in SUCCESSES[kind]
        and 0 <= row["end"] <= LOAD_MS
    )
    mine = [life for life in lives.values() if life.home == partition]
    spans = [span for life in mine for span in life.attempts(kind, case.tailing)]
    for begin, end in zip([0, *succeeded], [*succeeded, LOAD_MS], strict=True):
        if end - begin < THRESHOLD_MS or (kind == "consume" and not case.tailing):
            continue
        last = end == LOAD_MS and (not succeeded or begin == succeeded[-1])
        inside = sorted(
            (max(start, begin), end if over is None else min(over, end))
            for start, over in spans
            if start < end and (over is None or over > begin)
        )
        for start, over, attempts in _stretches(inside):
            if over - start >= THRESHOLD_MS:
                yield kind, partition, start, over, None if last else end, attempts


def _stretches(spans: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for start, over in spans:
        if found and start - found[-1][1] < THRESHOLD_MS:
            begun, so_far, attempts = found.pop()
            found.append((begun, max(so_far, over), attempts + 1))
        else:
            found.append((start, over, 1))
    return found


def _ended(send: Row) -> str:
    return "no-ack" if send["type"] == "info" and send["error"] == "_NO_ACK" else str(send["type"])


def _was_read(row: Row) -> bool:
    return row["f"] in ("final-read", *SUCCESSES["consume"]) and row["type"] == "ok"


def _is_over(row: Row) -> bool:
    return row["end"] is not None


def _place(row: Row) -> tuple[int, int]:
    return row["partition"], -1 if row["offset"] is None else row["offset"]
