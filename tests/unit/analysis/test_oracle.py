"""The checks against a second opinion: an oracle in plain Python, on random histories.

*Chaos* is any mixture of operations, possible or not: oracle and checks must agree on all of it.
*Planted* histories are what a faultless Kafka would leave, plus anomalies put there on purpose:
exactly those must be found. Hypothesis draws all histories first, one Spark job checks them
together; there is no shrinking (a step would be a job), the smallest that differs is shown instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analysis import queries as checks
from analysis.frames.load import History, facts_frame
from analysis.frames.schema import OPERATIONS
from tests.support import histories
from tests.support.histories import LOAD_START_NS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MS = 1_000_000
LOAD_MS, THRESHOLD_MS, PARTITIONS = 4000, 500, 2
Row = dict[str, Any]
Found = dict[str, Counter[Any]]
HISTORIES = 400
SUCCESSES = {"produce": ("send",), "consume": ("read", "lookup", "poll")}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One history: rows of operations in ms, what its final read reached, and what was planted."""

    rows: list[Row]
    ends: list[Row]
    tailing: bool = True
    planted: Found | None = None


def drawn(strategy: st.SearchStrategy[Case]) -> list[Case]:
    """Many histories, the same in every test run."""
    cases: list[Case] = []

    @settings(
        max_examples=HISTORIES,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow],  # a matter of the host
    )
    @given(strategy)
    def draw(case: Case) -> None:
        cases.append(case)

    draw()
    return cases


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


# The checks


def checked(spark: SparkSession, cases: Sequence[Case], folder: Path) -> list[Found]:
    """What the checks find in each case, from one Spark job, in the oracle's words."""
    file = folder / "operations.parquet"
    histories.write_rows(file, [_sealed(r, n) for n, case in enumerate(cases) for r in case.rows])
    facts = facts_frame(spark, [_facts(case, n) for n, case in enumerate(cases)])
    operations = spark.read.schema(OPERATIONS).parquet(str(file))
    queries = checks.queries(History(operations=operations, runs=facts, groups=True))
    found: list[Found] = [defaultdict(Counter) for _ in cases]
    for row in queries.evidence.collect():
        found[int(row["run_id"])][_name(row)][_key(row)] += 1
    for row in queries.windows.collect():
        times = [_ms(row[name]) for name in ("start_ns", "end_ns", "next_success_ns")]
        key = (row["kind"], row["partition"], *times, row["attempts"])
        found[int(row["run_id"])]["windows"][key] += 1
    queries.fates.unpersist()
    return [dict(each) for each in found]


def _name(row: Any) -> str:
    special = {"unparsable": "unparsable", "two_values": "two values", "acked_elsewhere": "moved"}
    return special.get(row["outcome"], row["anomaly"])


def _key(row: Any) -> Any:
    by_place = row["outcome"] in ("unparsable", "two_values")
    return (row["partition"], row["offset"]) if by_place else row["value"]


def _ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else (time_ns - LOAD_START_NS) // MS


def _sealed(row: Row, number: int) -> Row:
    start_ns = LOAD_START_NS + row["start"] * MS
    end_ns = None if row["end"] is None else LOAD_START_NS + row["end"] * MS
    return {
        **row,
        "run_id": str(number),
        "process": "any",
        "id": 0,
        "broker": None,
        "intended_ns": start_ns,
        "start_ns": start_ns,
        "end_ns": end_ns,
    }


def _facts(case: Case, number: int) -> Row:
    return {
        "run_id": str(number),
        "load_start_ns": LOAD_START_NS,
        "load_end_ns": LOAD_START_NS + LOAD_MS * MS,
        "threshold_ns": THRESHOLD_MS * MS,
        "bucket_ns": 100 * MS,
        "tailing": case.tailing,
        "ends": case.ends,
        "faults": [],
        "leaders": [],
    }


def compare(cases: Sequence[Case], found: Sequence[Found], expected: Sequence[Found]) -> None:
    """Fails with the smallest case in which the two differ."""
    differ = [
        (case, got, want)
        for case, got, want in zip(cases, found, expected, strict=True)
        if got != want
    ]
    if differ:
        case, got, want = min(differ, key=lambda each: len(each[0].rows))
        told = "\n".join(map(str, case.rows))
        pytest.fail(f"{len(differ)} differ; found {got}\nexpected {want}\n{case.ends}\n{told}")


# Chaos


LENGTHS = st.sampled_from([0, 10, 250, 499, 500, 501, 900])
TIMES = st.integers(0, LOAD_MS // 50 - 20).map(lambda n: 50 * n)  # many at the same time


GROUP = {"process": ["ok", "ok", "info"], "commit": ["ok", "ok", "info", "fail"]}
LUCKY = {"send": ["ok", "ok", "fail", "info"], "lookup": ["ok", "fail"], **GROUP}
UNLUCKY = {"send": ["ok", "info", "info", "info", "info", "info"], "lookup": ["fail"], **GROUP}
ALONE = ("send", "send", "read", "lookup", "final-read", "final-read")
GROUPED = (*ALONE, "poll", "process", "process", "commit", "committed")


@st.composite
def any_row(draw: st.DrawFn, kinds: Sequence[str], ends: Mapping[str, list[str]]) -> Row:
    """An operation that may contradict every other."""
    f = draw(st.sampled_from(kinds))
    kind = draw(st.sampled_from(ends.get(f, ["ok"])))
    start = draw(TIMES)
    open_ = kind == "info" and draw(st.booleans())
    placed = kind == "ok" and (f != "send" or draw(st.integers(0, 9)) > 0)
    unparsable = f in ("read", "poll", "final-read") and draw(st.integers(0, 19)) == 0
    unparsable |= f in ("commit", "committed")
    return {
        "f": f,
        "type": kind,
        "partition": draw(st.integers(0, PARTITIONS - 1)),
        "value": None if unparsable else draw(st.integers(0, 7)),
        "offset": draw(st.integers(0, 4)) if placed else None,
        "error": draw(st.sampled_from(["_NO_ACK", "_MSG_TIMED_OUT"])) if kind == "info" else None,
        "start": start,
        "end": None if open_ else start + draw(LENGTHS),
    }


@st.composite
def chaos(draw: st.DrawFn) -> Case:
    """Any operations at all."""
    ends = [
        {"complete": draw(st.booleans()), "log_start": draw(st.sampled_from([None, 0, 0, 2]))}
        for _ in range(PARTITIONS)
    ]
    kinds, size = draw(st.sampled_from([(ALONE, 25), (GROUPED, 40)]))
    row = any_row(kinds, draw(st.sampled_from([LUCKY, UNLUCKY])))
    rows = draw(st.lists(row, max_size=size))
    for number, each in enumerate(rows):
        if each["f"] in ("commit", "committed") and each["end"] is not None:
            each["end"] = each["start"] + number  # no two at once: the last one counts
    return Case(rows=rows, ends=ends, tailing=draw(st.booleans()))


def test_checks_and_oracle_agree_on_anything(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the operations are, sensible or not."""
    cases = drawn(chaos())

    compare(cases, checked(spark, cases, tmp_path), [oracle(case) for case in cases])


# Planted


PLANTS = (
    "lost",
    "lost",
    "vanished",
    "duplicate",
    "phantom",
    "failed",
    "unparsable",
    "moved",
    "replaced",
    "stale",
    "none",
    "none",
    "none",
    "skipped",
    "reprocessed",
)


@st.composite
def planted(draw: st.DrawFn) -> Case:
    """What a faultless Kafka leaves, but for what is planted."""
    plants = draw(st.lists(st.sampled_from(PLANTS), min_size=1, max_size=20))
    log = Log(grouped=draw(st.booleans()))
    for value, plant in enumerate(plants):
        log.plant(value, plant, read=draw(st.booleans()))
    log.commit()
    ends = [{"complete": True, "log_start": 0}] * PARTITIONS
    return Case(rows=log.rows, ends=ends, planted={n: +c for n, c in log.planted.items() if +c})


class Log:
    """Both partitions while they are written, and what was put there that should not be."""

    def __init__(self, *, grouped: bool) -> None:
        self.rows: list[Row] = []
        self._grouped = grouped
        self.planted: Found = defaultdict(Counter)
        self._ends = [0] * PARTITIONS
        self._clock = 0

    def plant(self, value: int, plant: str, *, read: bool) -> None:
        """One value, sent and read as it should be, or as `plant` says."""
        partition, offset = value % PARTITIONS, self._append(value)
        if plant != "phantom":
            acked = {"failed": None, "moved": offset + 100}.get(plant, offset)
            self._row("send", value, partition, acked, kind="fail" if plant == "failed" else "ok")
        if plant == "stale":
            self._row("lookup", value, partition, None, kind="fail")
            self.planted["stale-read"][value] += 1
        read = (read and plant != "lost") or plant in ("vanished", "replaced")
        if read:
            self._row("read", None if plant == "unparsable" else value, partition, offset)
        if plant == "duplicate":
            self._row("final-read", value, partition, self._append(value))
        stays = plant not in ("lost", "vanished", "unparsable", "replaced")
        if stays:
            self._row("final-read", value, partition, offset)
        if plant == "unparsable":
            self._row("final-read", None, partition, offset)
        if plant == "replaced":
            self._row("final-read", value + 1000, partition, offset)
        if stays or plant == "replaced":
            self._handle(value + 1000 * (plant == "replaced"), plant, partition, offset)
        self._expect(value, plant, (partition, offset))

    def commit(self) -> None:
        """The group has committed all that there is."""
        for partition, end in enumerate(self._ends):
            if self._grouped:
                self._row("commit", None, partition, end)

    def _handle(self, value: int, plant: str, partition: int, offset: int) -> None:
        """What a member of the group does with a record."""
        if not self._grouped:
            return
        self._row("poll", value, partition, offset)
        for _ in range({"skipped": 0, "reprocessed": 2}.get(plant, 1)):
            self._row("process", value, partition, offset)
        if plant in ("skipped", "reprocessed"):
            self.planted[plant][value] += 1

    def _expect(self, value: int, plant: str, place: tuple[int, int]) -> None:
        expected = {
            "lost": [("lost", value)],
            "vanished": [("lost", value), ("vanished", value)],
            "duplicate": [("duplicate", value)],
            "phantom": [("phantom", value)],
            "failed": [("phantom", value)],
            "unparsable": [("unparsable", place), ("lost", value)],
            "moved": [("moved", value)],
            "replaced": [
                ("lost", value),
                ("vanished", value),
                ("two values", place),
                ("phantom", value + 1000),
            ],
        }.get(plant, [])
        for name, key in expected:
            self.planted[name][key] += 1

    def _append(self, value: int) -> int:
        self._ends[value % PARTITIONS] += 1
        return self._ends[value % PARTITIONS] - 1

    def _row(
        self, f: str, value: int | None, partition: int, offset: int | None, kind: str = "ok"
    ) -> None:
        self._clock += 10
        self.rows.append(
            {
                "f": f,
                "type": kind,
                "value": value,
                "partition": partition,
                "offset": offset,
                "error": None,
                "start": self._clock,
                "end": self._clock + 5,
            }
        )


def test_exactly_what_was_planted_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing of it is missed, and nothing else is called an anomaly."""
    cases = drawn(planted())
    found = checked(spark, cases, tmp_path)
    without_windows = [{n: c for n, c in each.items() if n != "windows"} for each in found]

    compare(cases, without_windows, [case.planted or {} for case in cases])
    compare(cases, found, [oracle(case) for case in cases])
