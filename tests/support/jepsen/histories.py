"""Histories in Jepsen's form, read by an EDN reader that is not ours, and what is wrong with one.

The rules are those of jepsen.history (indexes, pairs) and of its Kafka workload (values); where
its checker would give up, that is a rule here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import edn_format
import pyarrow.parquet as pq

COMPLETIONS = ("ok", "fail", "info")


@dataclass(frozen=True, kw_only=True)
class Op:
    """One line."""

    index: int
    time: int
    type: str
    process: int
    f: str
    value: Any


def read(lines: Iterable[str]) -> list[Op]:
    """Every line as an operation."""
    lines = list(lines)
    maps = edn_format.loads_all("\n".join(lines))  # its parser is made anew at each call
    assert len(lines) == len(maps)
    return [Op(**_plain(each)) for each in maps]


def _plain(edn: Any) -> Any:
    """Keywords as texts, everything else as Python has it."""
    if isinstance(edn, edn_format.Keyword):
        return edn.name
    if isinstance(edn, Mapping):
        return {_plain(key): _plain(value) for key, value in edn.items()}
    if isinstance(edn, tuple | list | edn_format.ImmutableList):
        return [_plain(each) for each in edn]
    return edn


def wrong(ops: Iterable[Op]) -> list[str]:
    """What no history may be; empty for a good one."""
    ops = list(ops)
    return [*_wrong_order(ops), *_wrong_pairs(ops), *_wrong_values(ops), *_wrong_polls(ops)]


def _wrong_order(ops: list[Op]) -> Iterator[str]:
    for number, op in enumerate(ops):
        if op.index != number:
            yield f"index {op.index} at {number}"
        if number and op.time < ops[number - 1].time:
            yield f"time goes back at {number}"
    if ops and ops[0].time != 0:
        yield "time begins later than 0"


def _wrong_pairs(ops: list[Op]) -> Iterator[str]:
    running: dict[int, Op] = {}
    over: set[int] = set()
    for op in ops:
        begun = running.pop(op.process, None)
        if op.type == "invoke":
            if begun:
                yield f"process {op.process} begins while it is busy"
            if op.process in over:
                yield f"process {op.process} is used after :info"
            running[op.process] = op
        elif op.type not in COMPLETIONS:
            yield f"type {op.type}"
        elif begun is None:
            yield f"process {op.process} ends nothing"
        else:
            if op.f != begun.f:
                yield f"{begun.f} ends as {op.f}"
            elif not _fits(begun, op):
                yield f"{op.f} ends with another value"
            if op.type == "info":
                over.add(op.process)
    yield from (f"process {process} never ends" for process in running)


def _fits(begun: Op, ended: Op) -> bool:
    """Whether an operation ends with the value that it has when it ends so."""
    if begun.f == "poll":
        return bool(begun.value == [["poll"]] and ended.type == "ok")
    if begun.f == "assign" or ended.type != "ok":
        return bool(begun.value == ended.value)
    return [mop[:2] for mop in begun.value] == [mop[:2] for mop in ended.value] and all(
        isinstance(told, list) and told[1] == value
        for (*_, value), (*_, told) in zip(begun.value, ended.value, strict=True)
    )


def _wrong_values(ops: list[Op]) -> Iterator[str]:
    """On a value that nobody sent, and on a key without records, Jepsen's checker gives up."""
    sent = {place for op in ops for place in sends(op) if op.type != "invoke"}
    for op in ops:
        for key, records in polled(op).items():
            if not records:
                yield f"key {key} without records"
            yield from (f"nobody sent {v} to {key}" for _, v in records if (key, v) not in sent)


def _wrong_polls(ops: list[Op]) -> Iterator[str]:
    """Who polls a key was assigned it."""
    has: dict[int, set[int]] = {}
    for op in ops:
        if op.f == "assign" and op.type == "ok":
            has[op.process] = set(op.value)
        if op.f == "poll" and op.process not in has:
            yield f"process {op.process} polls without an assignment"
        if not has.get(op.process, set()) >= polled(op).keys():
            yield f"process {op.process} polls what it was not assigned"


def sends(op: Op) -> list[tuple[int, int]]:
    """Key and value of each send of an operation."""
    if op.f not in ("send", "txn"):
        return []
    return [(key, told[1] if isinstance(told, list) else told) for _, key, told in op.value]


def polled(op: Op) -> dict[int, list[list[int]]]:
    """Key -> what an operation's poll returned."""
    if op.f != "poll" or op.type != "ok":
        return {}
    found: dict[int, list[list[int]]] = op.value[0][1]
    return found


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a history holds."""

    sends: int
    acks: int
    reads: int


def counts(ops: Iterable[Op]) -> Counts:
    """As its lines have it."""
    told = Counts(sends=0, acks=0, reads=0)
    for op in ops:
        many = len(sends(op))
        told = replace(
            told,
            sends=told.sends + many * (op.type == "invoke"),
            acks=told.acks + many * (op.type == "ok"),
            reads=told.reads + sum(map(len, polled(op).values())),
        )
    return told


def recorded_counts(run: Path) -> Counts:
    """As the sealed tables have it."""
    paths = (run / "history" / "operations").glob("*.parquet")
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    sent = [row for row in rows if row["f"] == "send"]
    return Counts(
        sends=len(sent),
        acks=sum(row["type"] == "ok" for row in sent),
        reads=sum(row["f"] in ("read", "poll", "final-read") for row in rows),
    )
