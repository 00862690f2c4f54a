"""A history of Jepsen's Kafka workload, told as the lines tell one (harness.foreign.lines).

    {:type :invoke, :process 0, :f :send, :value [[:send 2 7]]}         =>  begin of `2/7`
    {:type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}        =>  acked at 13
    {:type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 7]]}]]}    =>  `2/7` was read at 13
    {:type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 nil]]}]]}  =>  read at 13: no value
    the key "2" and the value "7", two texts                            =>  `"2"/"7"`
    the value 1.0                                                       =>  refused

A value is unique within its key alone, so its text has both. Both are whole numbers, as Jepsen's
are, or texts, which are quoted: no two pairs have one text. Anything else has none here; 1.0 would
need one that is not 1's, since Clojure's `=` tells them apart, and then a program that writes 1 and
reads 1.0 would have lost a record.
A key is a partition: the n-th that is met is partition n - 1, and the text says which it is. Sends
of a :txn end with it; what transactions promise is not judged. A process that crashed is replaced
by one with another number, so a process is one client.
Other operations (:crash, :debug-topic-partitions, the nemesis) tell of no record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.foreign.bounds import (
    LAST_NS,
    LAST_OFFSET,
    MOST_PARTITIONS,
    Wrong,
    shown,
    text,
    whole,
)
from harness.foreign.edn import EdnError, loads
from harness.foreign.lines import ACKED, BEGIN, ERROR, GIVEN, READ, Told, numbered
from harness.history.record_format import HistoryError

_SENDS: Final = ("send", "txn", "poll")
_EXPECTED: Final = "expected is an operation of Jepsen's Kafka workload, one map a line"
_SEND: Final = "expected is [:send key value] or [:send key [offset value]]"
_POLL: Final = "expected is [:poll {key [[offset value]]}]"


def read_jepsen(path: Path) -> Iterator[tuple[int, bool, Told]]:
    """What each operation of a file tells, with its line, all of named processes. Raises
    HistoryError."""
    partitions: dict[str, int] = {}
    number = 0
    for number, raw in enumerate(numbered(path), 1):
        try:
            operation = loads(raw.decode())
            if not isinstance(operation, dict) or "type" not in operation:
                raise Wrong(_EXPECTED)
            for told in _told(operation, partitions):
                yield number, True, told
        except (EdnError, UnicodeDecodeError) as error:
            raise HistoryError(
                f"{path}: line {number}: it is not EDN ({error}): {_EXPECTED}"
            ) from None
        except Wrong as error:
            raise HistoryError(f"{path}: line {number}: {error}") from None
    if not number:
        raise HistoryError(f"{path}: it is empty: {_EXPECTED}")


def _told(operation: dict[Any, Any], partitions: dict[str, int]) -> Iterator[Told]:
    process, type_, f = operation.get("process"), operation["type"], operation.get("f")
    if type_ not in ("invoke", "ok", "fail", "info"):
        raise Wrong(f"its type is {shown(type_)}: {_EXPECTED}")
    if type(process) is not int or f not in (*_SENDS, "assign", "subscribe"):
        return
    who = f"process-{process}"
    time_ns = 1 + whole(operation.get("time"), "time", LAST_NS - 1)  # a history's times begin at 1
    value = operation.get("value")
    if value is None:
        return
    if not isinstance(value, list):
        raise Wrong(f"its value is {shown(value)}, expected is a vector")
    if f in ("assign", "subscribe"):
        if type_ == "ok" and f == "assign":
            for key in value:
                yield Told(GIVEN, who, time_ns, _partition(_plain(key, "key"), partitions))
        return
    for each in value:
        if not isinstance(each, list) or not each:
            raise Wrong(f"its value has {shown(each)}: {_SEND}, or [:poll]")
        if each[0] == "send":
            yield _send(type_, who, time_ns, each, partitions)
        elif each[0] == "poll" and type_ == "ok" and len(each) > 1:
            yield from _polled(each[1], who, time_ns, partitions)


def _send(type_: str, who: str, time_ns: int, each: list[Any], partitions: dict[str, int]) -> Told:
    offset = None
    match each:
        case [_, key, [offset, value]]:
            pass
        case [_, key, value] if not isinstance(value, list):
            pass
        case _:
            raise Wrong(f"it has {shown(each)}: {_SEND}")
    if offset is not None:
        whole(offset, "offset", LAST_OFFSET)
    what = {"invoke": BEGIN, "ok": ACKED}.get(type_, ERROR)
    where = _plain(key, "key")
    return Told(
        *(what, who, time_ns, _partition(where, partitions), f"{where}/{_plain(value, 'value')}"),
        offset=offset if what == ACKED else None,
        certain=type_ == "fail",
        error=type_ if what == ERROR else None,
    )


def _polled(found: Any, who: str, time_ns: int, partitions: dict[str, int]) -> Iterator[Told]:
    if not isinstance(found, dict):
        raise Wrong(f"what it polled is {shown(found)}: {_POLL}")
    for key, records in found.items():
        where = _plain(key, "key")
        if not isinstance(records, list):
            raise Wrong(f"what it polled of key {where} is {shown(records)}: {_POLL}")
        for record in records:
            match record:
                case [offset, None]:
                    told = None
                case [offset, value]:
                    told = f"{where}/{_plain(value, 'value')}"
                case _:
                    raise Wrong(f"what it polled of key {where} has {shown(record)}: {_POLL}")
            whole(offset, "offset", LAST_OFFSET)
            yield Told(READ, who, time_ns, _partition(where, partitions), told, offset)


def _plain(value: Any, name: str) -> str:
    """A key or a value as a text that no other has."""
    if type(value) is int:
        return str(value)
    if type(value) is str:  # and no Name
        return json.dumps(text(value, name), ensure_ascii=False)
    raise Wrong(f"its {name} is {shown(value)}, expected is a whole number or a text")


def _partition(key: str, partitions: dict[str, int]) -> int:
    number = partitions.setdefault(key, len(partitions))
    if number >= MOST_PARTITIONS:
        raise Wrong(f"it is of one key more than {MOST_PARTITIONS:,}, and so many are judged")
    return number
