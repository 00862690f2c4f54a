"""Histories that a faultless Kafka leaves, and what is planted in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hypothesis import strategies as st

from tests.support.oracles.operations import PARTITIONS, Case, Found, Row

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
    "elsewhere",
    "two acks",
    "aborted",
    "aborted",
    "in doubt",
    "reordered",
    "disordered",
    "set back",
    "zombie",
    "no output",
    "output in doubt",
    "aborted output",
    "killed",
    "torn",
    "older",
)


@st.composite
def planted(draw: st.DrawFn) -> Case:
    """What a faultless Kafka leaves, with or without transactions, but for what is planted."""
    plants = draw(st.lists(st.sampled_from(PLANTS), min_size=1, max_size=20))
    isolation = draw(st.sampled_from([None, "read_committed", "read_uncommitted"]))
    grouped = draw(st.booleans())
    log = Log(grouped=grouped, isolation=isolation, transforms=grouped and draw(st.booleans()))
    for value, plant in enumerate(plants):
        log.plant(value, plant, read=draw(st.booleans()))
    log.commit()
    ends = [{"complete": True, "log_start": 0, "position": None}] * PARTITIONS
    return Case(
        rows=log.rows,
        ends=ends,
        transactional=isolation is not None,
        transforms=log.transforms,
        dirty=isolation == "read_uncommitted",
        planted={n: +c for n, c in log.planted.items() if +c},
        events=GIVEN,
        dense=isolation is None,
        notes=log.notes,
    )


# One member is in generation 3 for good, and another one is given generation 4.
GIVEN = (
    {"process": "one", "event": "member", "time": 1, "generation": 3},
    {"process": "another", "event": "assigned", "time": 2, "generation": 4},
)
PAIRED = 1 << 40  # the first value of the producer of planted pairs
MADE = 3 << 40  # the first of what a transformer makes
PARTNER = 4 << 40  # the first of what is sent in one transaction with another one


class Written:
    """Both partitions while they are written, and what was put there that should not be."""

    def __init__(self, *, grouped: bool, isolation: str | None, transforms: bool) -> None:
        self.rows: list[Row] = []
        self.notes: list[Row] = []
        self.transforms = transforms
        self._made = 0
        self._grouped, self._isolation = grouped, isolation
        self.planted: Found = defaultdict(Counter)
        self._ends = [0] * PARTITIONS
        self._clock = 0

    def _append(self, value: int) -> int:
        self._ends[value % PARTITIONS] += 1
        return self._ends[value % PARTITIONS] - 1

    def _row(  # noqa: PLR0917
        self,
        f: str,
        value: int | None,
        partition: int,
        offset: int | None,
        kind: str = "ok",
        error: str | None = None,
    ) -> None:
        self._clock += 10
        self.rows.append(
            {
                **dict.fromkeys(("broker", "epoch", "transaction", "generation")),
                "f": f,
                "type": kind,
                "value": value,
                "partition": partition,
                "offset": offset,
                "error": error,
                "process": {"read": "consumer", "final-read": "final"}.get(f, "one"),
                "instance": 0 if self._grouped else None,
                "start": self._clock,
                "end": self._clock + 5,
            }
        )


class Handled(Written):
    """And what a group does with it."""

    def commit(self) -> None:
        """The group has committed all that there is."""
        for partition, end in enumerate(self._ends):
            if self._grouped:
                self._row("commit", None, partition, end)

    def _handle(self, value: int, plant: str, partition: int, offset: int) -> None:
        """What a member of the group does with a record."""
        if not self._grouped:
            return
        self._of_member("poll", value, partition, offset)
        if self.transforms and plant in ("aborted output", "killed"):
            self._make_first(value, plant, partition, offset)
        for _ in range({"skipped": 0, "reprocessed": 2}.get(plant, 1)):
            began = self._of_member("process", value, partition, offset)
            if self.transforms and plant == "output in doubt":
                self._make(began, None, kind="info")
            elif self.transforms and plant != "no output":
                self._make(began, self._append(1 - partition))
        if plant in ("skipped", "reprocessed"):
            self.planted[plant][value] += 1
        if self.transforms and plant in ("skipped", "no output", "output in doubt"):
            self.planted["no-output"][value] += 1
        if self.transforms and plant == "reprocessed":
            self.planted["two-outputs"][value, partition, offset] += 1

    def _make_first(self, value: int, plant: str, partition: int, offset: int) -> None:
        """What is made of a record before it is processed again: aborted, or one of two."""
        dirty = self._isolation == "read_uncommitted"
        if plant == "killed":
            began = self._of_member("process", value, partition, None, kind="info")
            self._make(began, self._append(1 - partition), kind="info")
            self.planted["two-outputs"][value, partition, offset] += not dirty
            return
        began = self._of_member("process", value, partition, offset, kind="fail")
        at = self._append(1 - partition)
        self._make(began, at if dirty else None, kind="fail")
        self.planted["phantom"][MADE + self._made] += dirty

    def _make(self, began: Row, at: int | None, kind: str = "ok") -> None:
        """An output, which comes back to the group where it is in the log."""
        self._made += 1
        made, partition = MADE + self._made, 1 - began["partition"]
        self._row("send", made, partition, at if kind == "ok" else None, kind=kind)
        self.rows[-1] |= {"due": began["start"], "process": began["process"]}
        if at is not None:
            self._row("final-read", made, partition, at)
            self._of_member("poll", made, partition, at)
            self._of_member("process", made, partition, at)

    def _of_member(self, f: str, value: int, partition: int, at: int | None, **more: str) -> Row:
        self._row(f, value, partition, at, **more)
        self.rows[-1]["process"] = "transformer-0" if self.transforms else "one"
        return self.rows[-1]


class Log(Handled):
    """And what is planted."""

    def plant(self, value: int, plant: str, *, read: bool) -> None:
        """One value, sent and read as it should be, or as `plant` says; in a transaction, its end
        takes an offset."""
        if plant in ("reordered", "disordered"):
            self._plant_pair(value, plant)
        elif plant in ("set back", "zombie"):
            self._plant_commit(value % PARTITIONS, plant)
            return
        elif plant == "torn":
            self._plant_torn(value)
        elif plant == "older":
            self._plant_older(value)
        elif plant in ("elsewhere", "two acks", "aborted", "in doubt"):
            self._plant_end(value, plant, landed=read)
        else:
            self._plant_record(value, plant, read=read)
        if self._isolation:
            self._append(value)

    def _plant_end(self, value: int, plant: str, *, landed: bool) -> None:
        """One value whose send ends otherwise than with an ack of its own."""
        partition, offset = value % PARTITIONS, self._append(value)
        if plant == "elsewhere":
            self._row("send", value, partition, None, kind="info")
            other, offset = 1 - partition, self._append(1 - partition)
            self._row("final-read", value, other, offset)
            self._handle(value, plant, other, offset)
            self.planted["other_partition"][value] += 1
            return
        if plant == "aborted" and self._isolation:
            self._row("send", value, partition, None, kind="fail", error="_ABORTED")
            there = self._isolation == "read_uncommitted"
            self.planted["phantom"][value] += there
        elif plant == "two acks":
            self._row("send", value, partition, offset)
            self._row("send", value + 2000, partition, offset)
            self.planted["two values"][partition, offset] += 1
            self.planted["lost"][value + 2000] += 1
            there = True
        else:
            self._row("send", value, partition, None, kind="info")
            there = landed
        if there:
            self._row("final-read", value, partition, offset)
            self._handle(value, plant, partition, offset)

    def _plant_commit(self, partition: int, plant: str) -> None:
        """A commit, of a generation that is over or not known by the next who asks."""
        end = self._ends[partition]
        if not self._grouped:
            return
        self._row("commit", None, partition, end + 5)
        if plant == "zombie":
            self.rows[-1]["generation"] = 3
            self.planted["zombie-commit"][partition, end + 5, None, "one"] += 1
        else:
            self._row("committed", None, partition, end)
            self.planted["commit-back"][partition, end, end + 5, "one"] += 1

    def _plant_torn(self, value: int) -> None:
        """A transaction whose commit nobody answered: of two records the log has one."""
        partition, offset = value % PARTITIONS, self._append(value)
        for each in (value, PARTNER + value):
            self._row("send", each, partition, None, kind="info")
            self.rows[-1]["transaction"] = value
        note = {"process": "one", "transaction": value, "time": self._clock}
        self.notes.append({**note, "name": "commit-asked"})
        self._row("final-read", value, partition, offset)
        self._handle(value, "torn", partition, offset)
        self.planted["torn"][PARTNER + value] += 1

    def _plant_older(self, value: int) -> None:
        """Two records, read one after the other: the second with the older epoch."""
        partition = value % PARTITIONS
        for each, epoch in ((value, 7), (PARTNER + value, 6)):
            offset = self._append(value)
            self._row("send", each, partition, offset)
            self._row("read", each, partition, offset)
            self.rows[-1]["epoch"] = epoch
            self._row("final-read", each, partition, offset)
            self._handle(each, "older", partition, offset)

    def _plant_pair(self, value: int, plant: str) -> None:
        """Two sends of another producer, the later one before the earlier: both open at a time, or
        one after the other."""
        partition = value % PARTITIONS
        first = PAIRED + 2 * value
        second = first + 1
        before, behind = self._append(value), self._append(value)
        if plant == "disordered":
            # Of two producers: the order of one is not broken.
            second += PAIRED
            self._row("send", first, partition, behind)
            self._row("send", second, partition, before)
            self.planted["real-time-violation"][first] += 1
        else:
            self._row("send", first, partition, behind)
            self.rows[-1]["end"] += 100
            self._row("send", second, partition, before)
            # Without instances a transactional worker may have had several clients.
            self.planted["reordered"][first] += self._grouped or not self._isolation
        for each, offset in ((second, before), (first, behind)):
            self._row("final-read", each, partition, offset)
            self._handle(each, plant, partition, offset)

    def _plant_record(self, value: int, plant: str, *, read: bool) -> None:
        partition, offset = value % PARTITIONS, self._append(value)
        if plant != "phantom":
            acked = {"failed": None, "moved": offset + 100}.get(plant, offset)
            failed = {"kind": "fail", "error": "_QUEUE_FULL"} if plant == "failed" else {}
            self._row("send", value, partition, acked, **failed)
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
        for name, key in _expected(value, plant, (partition, offset)):
            self.planted[name][key] += 1


def _expected(value: int, plant: str, place: tuple[int, int]) -> list[tuple[str, Any]]:
    """What is to be found of a record on which that was done."""
    every: dict[str, list[tuple[str, Any]]] = {
        "lost": [("lost", value)],
        "vanished": [("lost", value), ("vanished", value)],
        "duplicate": [("in_log", value)],
        "phantom": [("phantom", value)],
        "failed": [("phantom", value)],
        "unparsable": [("unparsable", place), ("two values", place), ("lost", value)],
        "moved": [("acked_elsewhere", value)],
        "replaced": [
            ("lost", value),
            ("vanished", value),
            ("two values", place),
            ("phantom", value + 1000),
        ],
    }
    return every.get(plant, [])
