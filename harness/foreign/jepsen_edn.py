"""A history of Jepsen's Kafka workload, told as the lines tell one (harness.foreign.lines).

    {:type :invoke, :process 0, :f :send, :value [[:send 2 7]]}       =>  begin of "2/7"
    {:type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}      =>  acked at 13
    {:type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 7]]}]]}  =>  "2/7" was read at 13

A value is unique within its key alone, so its text has both. A key is a partition: the n-th that is
met is partition n - 1, and the text says which it is. Sends of a :txn end with it; what
transactions promise is not judged. A process that crashed is replaced by one with another number,
so a process is one client.
Other operations (:crash, :debug-topic-partitions, the nemesis) tell of no record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.foreign.edn import EdnError, loads
from harness.foreign.lines import (
    ACKED,
    BEGIN,
    ERROR,
    GIVEN,
    MOST_PARTITIONS,
    READ,
    Told,
    numbered,
)
from harness.history.record_format import HistoryError

_SENDS: Final = ("send", "txn", "poll")
_EXPECTED: Final = "expected is an operation of Jepsen's Kafka workload, one map a line"


class _Wrong(Exception):
    """Why a line is no operation."""


def read_jepsen(path: Path) -> Iterator[tuple[int, bool, Told]]:
    """What each operation of a file tells, with its line, all of named processes. Raises
    HistoryError."""
    partitions: dict[str, int] = {}
    number = 0
    for number, raw in enumerate(numbered(path), 1):
        try:
            operation = loads(raw.decode())
            if not isinstance(operation, dict) or "type" not in operation:
                raise _Wrong(_EXPECTED)
            for told in _told(operation, partitions):
                yield number, True, told
        except (EdnError, UnicodeDecodeError) as error:
            raise HistoryError(
                f"{path}: line {number}: it is not EDN ({error}): {_EXPECTED}"
            ) from None
        except (_Wrong, TypeError, ValueError, KeyError, IndexError) as error:
            why = str(error) if isinstance(error, _Wrong) else _EXPECTED
            raise HistoryError(f"{path}: line {number}: {why}") from None
    if not number:
        raise HistoryError(f"{path}: it is empty: {_EXPECTED}")


def _told(operation: dict[str, Any], partitions: dict[str, int]) -> Iterator[Told]:
    process, type_, f = operation.get("process"), operation["type"], operation.get("f")
    if type_ not in ("invoke", "ok", "fail", "info"):
        raise _Wrong(f"its type is {str(type_)[:40]!r}: {_EXPECTED}")
    if type(process) is not int or f not in (*_SENDS, "assign", "subscribe"):
        return
    who, time_ns = f"process-{process}", operation.get("time")
    if type(time_ns) is not int or time_ns < 0:
        raise _Wrong("its time is no whole number of nanoseconds")
    time_ns += 1  # a history's times begin at 1
    value = operation.get("value") or []
    if f in ("assign", "subscribe"):
        if type_ == "ok" and f == "assign":
            for key in value:
                yield Told(GIVEN, who, time_ns, _partition(key, partitions))
        return
    for each in value:
        if each[0] == "send":
            yield _send(type_, who, time_ns, each, partitions)
        elif each[0] == "poll" and type_ == "ok" and len(each) > 1:
            yield from _polled(each[1], who, time_ns, partitions)


def _send(type_: str, who: str, time_ns: int, each: list[Any], partitions: dict[str, int]) -> Told:
    _, key, sent = each
    offset, value = sent if isinstance(sent, list) else (None, sent)
    if offset is not None and (type(offset) is not int or offset < 0):
        raise _Wrong("its offset is no whole number from 0 on")
    what = {"invoke": BEGIN, "ok": ACKED}.get(type_, ERROR)
    return Told(
        *(what, who, time_ns, _partition(key, partitions), f"{key}/{value}"),
        offset=offset if what == ACKED else None,
        certain=type_ == "fail",
        error=type_ if what == ERROR else None,
    )


def _polled(
    found: dict[Any, list[Any]], who: str, time_ns: int, partitions: dict[str, int]
) -> Iterator[Told]:
    for key, records in found.items():
        for offset, value in records:
            if type(offset) is not int or offset < 0:
                raise _Wrong("its offset is no whole number from 0 on")
            yield Told(READ, who, time_ns, _partition(key, partitions), f"{key}/{value}", offset)


def _partition(key: Any, partitions: dict[str, int]) -> int:
    number = partitions.setdefault(str(key), len(partitions))
    if number >= MOST_PARTITIONS:
        raise _Wrong(f"it is of one key more than {MOST_PARTITIONS:,}, and so many are judged")
    return number
