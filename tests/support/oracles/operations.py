"""A second opinion on operations: what plain Python finds in them.

Anomalies by value or by place, and beside them what whoever judges them is told: the victims of a
contested place, the error of a phantom's send, the last poll of a skipped record.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tests.support.oracles.commits import commits
from tests.support.oracles.groups import Group
from tests.support.oracles.outputs import outputs
from tests.support.oracles.polls import polls
from tests.support.oracles.transactions import transactions

MS = 1_000_000
LOAD_MS, THRESHOLD_MS, PARTITIONS = 4000, 500, 2
Row = dict[str, Any]
Place = tuple[int, int]
Found = dict[str, Counter[Any]]
SUCCESSES = {
    "produce": ("send",),
    "consume": ("read", "lookup", "poll"),
    "process": ("process",),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One history: rows of operations in ms, what its final read reached, and what was planted."""

    rows: list[Row]
    ends: list[Row]
    tailing: bool = True
    grouped: bool = True
    planted: Found | None = None
    one_copy: bool = False  # no send can have left two records
    transactional: bool = False
    transforms: bool = False  # the group's members send what they make of records
    dirty: bool = False  # what is not committed is read, too
    dumps: Sequence[Row] = ()  # the replicas that were dumped, and where their logs begin
    # When readers were moved: process, partition (None: all), time, late, position (None: not
    # told).
    moves: Sequence[Row] = ()
    events: Sequence[Row] = ()  # what members were told: process, event, time, generation
    from_start: bool = False  # the group is new, and begins at the log's start
    to_end: bool = False  # readers that lose their place go on at the end
    dense: bool = True  # only records take offsets
    corrupt: frozenset[Place] = frozenset()  # where a checksum was wrong
    notes: Sequence[Row] = ()  # of transactions: process, transaction, name, time


# The oracle

# What the oracle calls the outcomes that evidence tells apart.
OUTCOMES = {
    "in_log": "duplicate",
    "in_reads": "duplicate",
    "two values": "inconsistent-offset",
    "other_partition": "inconsistent-offset",
    "acked_elsewhere": "inconsistent-offset",
    "read_elsewhere": "inconsistent-offset",
    "passed_over": "inconsistent-offset",
    "differs": "diverged",
    "lacks": "diverged",
}


def oracle(case: Case) -> Found:
    """What docs/anomalies.md says is to be found, one anomaly after the other."""
    values: dict[int, list[Row]] = defaultdict(list)
    claims: dict[Place, list[Row]] = defaultdict(list)
    for row in case.rows:
        if row["value"] is not None:
            values[row["value"]].append(row)
        if row["offset"] is not None and (_was_read(row) or _is_ack(row) or _is_held(row)):
            claims[_place(row)].append(row)
    found: Found = defaultdict(Counter)
    lives = {value: Life(value, rows, case) for value, rows in values.items()}
    group = Group(case.rows, from_start=case.from_start)
    for value, life in lives.items():
        for name in (*life.anomalies(), *group.anomalies(life)):
            found[name][value] += 1
            if name == "lost":
                found["instead"].update(life.instead(claims))
            if name == "read_elsewhere":
                found["given apart"][life.given_apart()] += 1
        if "phantom" in life.anomalies():
            found["failed with"][value, life.fail_error] += 1
        if "skipped" in group.anomalies(life):
            found["given up"][value, *group.given_up(value)] += 1
    spots = (Spot(place, rows, lives, case).anomalies() for place, rows in claims.items())
    others = (polls(case), commits(case), transactions(case, lives), outputs(case, lives, group))
    for name, key in chain(*spots, *others):
        found[name][key] += 1
    found["reordered"].update({behind.value for behind, _ in overtaken(lives.values(), case)})
    found["real-time-violation"].update({behind.value for behind, _ in out_of_time(lives.values())})
    for kind in SUCCESSES:
        for partition in range(PARTITIONS):
            found["windows"].update(windows(case, lives, kind, partition))
    return {name: +counter for name, counter in found.items() if +counter}


def _in_log(lives: Iterable[Life]) -> list[Life]:
    """Acked, and first found where it was sent to."""
    return [life for life in lives if life.acks and life.final and min(life.final)[0] == life.home]


def overtaken(lives: Iterable[Life], case: Case) -> Iterable[tuple[Life, Life]]:
    """A record and a later one of the same producer that lies before it, of which no earlier copy
    can be."""
    found = _in_log(lives)
    for behind in found:
        place = min(behind.final)
        end = case.ends[place[0]]
        all_read = end["complete"] or place[1] < (end["position"] or 0)
        if not all_read or not (case.one_copy or not end["log_start"]):
            continue
        for ahead in found:
            same = _client(ahead, case) == _client(behind, case) is not None
            if same and _is_before(ahead, behind) and ahead.value > behind.value:
                yield behind, ahead


def _client(life: Life, case: Case) -> tuple[int, int] | None:
    """The producer and its instance; None where a worker may have had several and told none."""
    told = [send["instance"] for send in life.sends if send["instance"] is not None]
    if not told and case.transactional:
        return None
    return life.value >> 40, max(told, default=0)


def out_of_time(lives: Iterable[Life]) -> Iterable[tuple[Life, Life]]:
    """A record and one that was sent after its ack and lies before it; each acked at its first
    place."""
    found = [life for life in _in_log(lives) if life.acked == min(life.final)]
    for behind in found:
        acked = min(ack["end"] for ack in behind.acks)
        for ahead in found:
            begun = min(send["start"] for send in ahead.sends)
            if _is_before(ahead, behind) and begun > acked:
                yield behind, ahead


def _is_before(one: Life, other: Life) -> bool:
    return one.home == other.home and min(one.final) < min(other.final)


def redeliveries(rows: Sequence[Row]) -> int:
    """How often a reader was given a place again; the members of the group are one reader."""
    given = Counter(
        ("" if row["f"] == "poll" else row["process"], _place(row))
        for row in rows
        if _was_read(row) and row["f"] not in ("final-read", "lookup")
    )
    return given.total() - len(given)


class Spot:
    """All that is known of one place: who was acked there, read there, held there."""

    def __init__(
        self, place: Place, rows: Sequence[Row], lives: Mapping[int, Life], case: Case
    ) -> None:
        self._place, self._rows, self._lives = place, rows, lives
        self._complete, self._corrupt = case.ends[place[0]]["complete"], case.corrupt
        self._told = [r for r in rows if not _is_held(r)]
        self._final = {r["value"] for r in rows if r["f"] == "final-read"} - {None}
        self._dumps = [d for d in case.dumps if d["partition"] == place[0]]

    def anomalies(self) -> Iterable[tuple[str, Any]]:
        said = {row["value"] for row in self._told}
        if None in said:
            yield "corrupt" if self._place in self._corrupt else "unparsable", self._place
        if len(said) > 1:
            yield "two values", self._place
            tells = self._complete and len(self._final) == 1
            for victim in self._claims(said, but=self._final if tells else set()):
                yield "victims", (self._place, *victim)
        yield from self._divergence()

    def _divergence(self) -> Iterable[tuple[str, Any]]:
        held = [row["value"] for row in self._rows if _is_held(row)]
        final = {max(self._final)} if self._final and self._complete and self._dumps else set()
        owed = [d for d in self._dumps if d["log_start"] <= self._place[1]] if final else []
        if len({*held, *final}) > 1:
            yield "differs", self._place
        elif len(held) < len(owed):
            yield "lacks", self._place
        else:
            return
        for victim in self._claims({row["value"] for row in self._rows} - {None}, but=set()):
            yield "diverged victims", (self._place, *victim)

    def _claims(self, values: Iterable[int | None], but: set[int]) -> Iterable[tuple[Any, ...]]:
        """Of each value but some: when its send began, when it was known to be here, and whether
        somebody read it here."""
        for value in {*values} - but:
            here = [row for row in self._told if row["value"] == value]
            sends = self._lives[value].sends if value is not None else []
            known = min((row["end"] for row in here), default=None)
            begun = min((send["start"] for send in sends), default=None)
            yield begun, known, any(_was_read(row) for row in here)


class Life:
    """All that happened to one value."""

    def __init__(self, value: int, rows: Sequence[Row], case: Case) -> None:
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
        self.done = [r for r in self.processing if r["type"] == "ok"]
        places = sorted(_place(r) for r in self.reads)
        self.home = max((s["partition"] for s in sends), default=places[0][0] if places else None)
        end = case.ends[self.home] if self.home is not None else {}
        self.complete, self.log_start = end.get("complete", False), end.get("log_start") or 0
        self.acked = max((_place(a) for a in self.acks if a["offset"] is not None), default=None)
        self.stayed = {_place(a) for a in self.acks} & self.final
        self.value = value
        self.fail_error = max((s["error"] for s in sends if s["type"] == "fail"), default=None)
        self.passed = (
            self.acked is not None
            and not self.stayed
            and not self.complete
            and self.log_start <= self.acked[1] < (end.get("position") or 0)
        )
        self.passed_for_good = self.passed and case.one_copy

    def anomalies(self) -> Iterable[str]:
        acked = self.acked
        gone = not self.final and self.complete
        kept = acked[1] >= self.log_start if acked else self.log_start == 0
        if self.acks and ((gone and kept) or (not self.final and self.passed_for_good)):
            yield "lost"
        unread = not self.complete or (not kept and not acked)
        if self.acks and not self.final and unread and not self.passed:
            yield "unseen"
        if self.sent == "no-ack" and gone and self.log_start == 0:
            yield "unacknowledged-lost"
        delivered = max((_place(d) for d in self.deliveries), default=None)
        if delivered and self.sent and gone and delivered[1] >= self.log_start:
            yield "vanished"
        everywhere = {_place(r) for r in self.reads}
        if len(self.final) > 1 or (not self.complete and len(everywhere) > 1):
            yield "in_log" if len(self.final) > 1 and self.complete else "in_reads"
        if self.reads and self.sent in (None, "fail"):
            yield "phantom"
        if self.acks and self.missed:
            yield "stale-read"
        if name := self._misplaced():
            yield name

    def _misplaced(self) -> str | None:
        """How a value is not where its send or its ack said."""
        away = any(_place(read)[0] != self.home for read in self.reads)
        if self.sent in ("ok", "info", "no-ack") and away:
            return "other_partition"
        if self.sent in ("ok", "info", "no-ack") and self._read_apart():
            return "read_elsewhere"
        if self.acked is None or self.stayed or self.acked[1] < self.log_start:
            return None
        if self.final and (self.complete or self.passed):
            return "acked_elsewhere"
        return (
            "passed_over" if not self.final and self.passed and not self.passed_for_good else None
        )

    def _read_apart(self) -> bool:
        """Whether somebody was given it where the whole log, which has it, does not."""
        whole = bool(self.final) and self.complete
        return whole and any(at[1] >= self.log_start for at in self._apart())

    def _apart(self) -> set[Place]:
        return {_place(given) for given in self.deliveries} - {*self.final}

    def given_apart(self) -> tuple[Place, int | None, int, bool]:
        """The last such place; when it was sent, and first given from there."""
        place = max(self._apart())
        sent = min((send["start"] for send in self.sends), default=None)
        return place, sent, min(g["end"] for g in self.deliveries if _place(g) == place), True

    def instead(self, claims: Mapping[Place, Sequence[Row]]) -> Iterable[tuple[int, int]]:
        """The value, and what the final read has where it was acked."""
        rows = claims.get(self.acked, ()) if self.acked else ()
        there = [r["value"] for r in rows if r["f"] == "final-read" and r["value"] is not None]
        if there:
            yield self.value, max(there)

    def attempts(self, kind: str) -> list[tuple[int, int | None]]:
        """When it was being sent, or waited to be read."""
        if kind == "produce":
            if not self.sends:
                return []
            ends = [s["end"] for s in self.sends if s["end"] is not None]
            return [(min(s["start"] for s in self.sends), max(ends, default=None))]
        gone = not self.final and (self.complete or self.passed_for_good)
        if not self.acks or gone:
            return []
        acked = min(a["end"] for a in self.acks)
        had = self.deliveries if kind == "consume" else self.done
        first = min((row["end"] for row in had), default=None)
        return [] if first is not None and first <= acked else [(acked, first)]

    def passed_over(self, done: Sequence[Row], until: int) -> bool:
        """Whether the group, which never processed it, had gone past it by then, or began later.
        `done`: what it processed in this partition during the load."""
        place = min(self.final, default=self.acked)
        if self.done or place is None:
            return False
        gone_past = any(row["offset"] >= place[1] for row in done if row["end"] <= until)
        return gone_past or (bool(done) and all(row["offset"] > place[1] for row in done))


def windows(
    case: Case, lives: Mapping[int, Life], kind: str, partition: int
) -> Iterable[tuple[Any, ...]]:
    """Every window in a partition: kind, partition, start, end, next success, attempts."""
    if not {"consume": case.tailing, "process": case.grouped}.get(kind, True):
        return
    successes = [
        row
        for row in case.rows
        if row["partition"] == partition
        and row["type"] == "ok"
        and row["f"] in SUCCESSES[kind]
        and 0 <= row["end"] <= LOAD_MS
    ]
    succeeded = sorted(row["end"] for row in successes)
    mine = [life for life in lives.values() if life.home == partition]
    for begin, end in zip([0, *succeeded], [*succeeded, LOAD_MS], strict=True):
        if end - begin < THRESHOLD_MS:
            continue
        last = end == LOAD_MS and (not succeeded or begin == succeeded[-1])
        spans = [
            span
            for life in mine
            if kind != "process" or not life.passed_over(successes, begin)
            for span in life.attempts(kind)
        ]
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


def _is_ack(row: Row) -> bool:
    return bool(row["f"] == "send" and row["type"] == "ok")


def _is_held(row: Row) -> bool:
    return bool(row["f"] == "replica")


def _is_over(row: Row) -> bool:
    return row["end"] is not None


def _place(row: Row) -> Place:
    return row["partition"], -1 if row["offset"] is None else row["offset"]
