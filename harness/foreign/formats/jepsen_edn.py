"""A history of Jepsen's Kafka workload, as the entries of lines (harness.foreign.formats.lines).

    {:type :invoke, :process 0, :f :send, :value [[:send 2 7]]}         =>  begin of `2/7`
    {:type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}        =>  acked at 13
    {:type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 7]]}]]}    =>  `2/7` was read at 13
    {:type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 nil]]}]]}  =>  read at 13: no value
    {:type :ok, :process 1, :f :assign, :value [2],
     :seek-to-beginning? true}                                      =>  from here on it reads the
                                                                        key from its log's start
    the key "2" and the value "7", two texts                            =>  `"2"/"7"`
    the value 1.0                                                       =>  refused

A value is unique only within its key, so its text has both. Each is a whole number, as in Jepsen,
or a text, which is quoted, so no two pairs have the same text. Anything else is refused: Clojure's
`=` tells 1.0 from 1, so a program that writes 1 and reads 1.0 would seem to lose a record.
A key is a partition: the n-th key in the file is partition n - 1, and the text names the key. Sends
of a :txn end with it; promises of transactions are not judged. Jepsen replaces a crashed process by
one with another number, so each process is one client. Where a poll did not end ok, or other keys
are assigned, nobody knows how far the client had read.
Other operations (:crash, :debug-topic-partitions, the nemesis) have no records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from harness.foreign.formats.bounds import LineError, text, whole
from harness.foreign.formats.edn import EdnError, elements, loads
from harness.foreign.formats.lines import ACKED, ASSIGNED, BEGIN, ERROR, MOVED, READ, SOUGHT, Entry
from harness.foreign.formats.opened import bytes_of, head_of, lines_of
from harness.history.record_format import HistoryError
from harness.model.runs.imported_history import LAST_NS, LAST_OFFSET, MOST_PARTITIONS, shown

_SENDS: Final = ("send", "txn", "poll")
_EXPECTED: Final = "expected is an operation of Jepsen's Kafka workload, one map a line"
# A map, or a vector or list of maps, behind comments.
_BEGIN: Final = re.compile(rb"(?:\s|;[^\n]*\n)*([\[(])?[\s,]*(\{\s*:|#jepsen)")
_SEND: Final = "expected is [:send key value] or [:send key [offset value]]"
_POLL: Final = "expected is [:poll {key [[offset value]]}]"


def is_jepsen(path: Path) -> bool:
    """Whether a file begins as such a history. Raises HistoryError."""
    return _BEGIN.match(head_of(path)) is not None


def read_jepsen(path: Path) -> Iterator[tuple[int, bool, Entry]]:
    """The entries of a file as `read_lines` yields them; each operation names its process. Raises
    HistoryError."""
    partitions: dict[str, int] = {}
    for number, operation in _operations(path):
        try:
            if not isinstance(operation, dict) or "type" not in operation:
                raise LineError(_EXPECTED)
            for entry in _entries(operation, partitions):
                yield number, True, entry
        except LineError as error:
            raise HistoryError(f"{path}: line {number}: {error}") from None


def _operations(path: Path) -> Iterator[tuple[int, Any]]:
    """Each operation of a file, with its line: one a line, or those of a vector, which is read
    whole."""
    begin = _BEGIN.match(head_of(path))
    in_one = begin is not None and begin[1] is not None
    number = 0
    try:
        if in_one:
            yield from elements(bytes_of(path).decode())
            return
        for number, raw in enumerate(lines_of(path)):
            yield number + 1, loads(raw.decode())
    except (EdnError, UnicodeDecodeError) as error:
        line = number + (error.line if isinstance(error, EdnError) else 1)
        raise HistoryError(f"{path}: line {line}: it is not EDN ({error}): {_EXPECTED}") from None


def _entries(operation: dict[Any, Any], partitions: dict[str, int]) -> Iterator[Entry]:
    process, type_, f = operation.get("process"), operation["type"], operation.get("f")
    if type_ not in ("invoke", "ok", "fail", "info"):
        raise LineError(f"its type is {shown(type_)}: {_EXPECTED}")
    if type(process) is not int or f not in (*_SENDS, "assign", "subscribe"):
        return
    time_ns = 1 + whole(operation.get("time"), "time", LAST_NS - 1)  # a history's times begin at 1
    entry = partial(Entry, process=f"process-{process}", time_ns=time_ns)
    value = operation.get("value")
    if type_ != "invoke" and (f not in _SENDS or (f != "send" and type_ != "ok")):
        yield entry(MOVED)
    if value is None:
        return
    if not isinstance(value, list):
        raise LineError(f"its value is {shown(value)}, expected is a vector")
    if f == "assign" and type_ == "ok":
        sought = operation.get("seek-to-beginning?") is True
        for key in value:
            partition = _partition(_plain(key, "key"), partitions)
            yield from (
                entry(kind, partition=partition) for kind in (ASSIGNED, SOUGHT)[: 1 + sought]
            )
    if f not in _SENDS:
        return
    for step in value:
        if not isinstance(step, list) or not step:
            raise LineError(f"its value has {shown(step)}: {_SEND}, or [:poll]")
        if step[0] == "send":
            yield _send(type_, step, partitions, entry)
        elif step[0] == "poll" and type_ == "ok" and len(step) > 1:
            yield from _polled(step[1], partitions, entry)


def _send(
    type_: str, step: list[Any], partitions: dict[str, int], entry: Callable[..., Entry]
) -> Entry:
    offset = None
    match step:
        case [_, key, [offset, value]]:
            pass
        case [_, key, value] if not isinstance(value, list):
            pass
        case _:
            raise LineError(f"it has {shown(step)}: {_SEND}")
    if offset is not None:
        whole(offset, "offset", LAST_OFFSET)
    kind = {"invoke": BEGIN, "ok": ACKED}.get(type_, ERROR)
    key_text = _plain(key, "key")
    return entry(
        kind,
        partition=_partition(key_text, partitions),
        value=f"{key_text}/{_plain(value, 'value')}",
        offset=offset if kind == ACKED else None,
        certain=type_ == "fail",
        error=type_ if kind == ERROR else None,
    )


def _polled(
    polled: Any, partitions: dict[str, int], entry: Callable[..., Entry]
) -> Iterator[Entry]:
    if not isinstance(polled, dict):
        raise LineError(f"what it polled is {shown(polled)}: {_POLL}")
    for key, records in polled.items():
        key_text = _plain(key, "key")
        polled_of = f"what it polled of key {key_text}"
        if not isinstance(records, list):
            raise LineError(f"{polled_of} is {shown(records)}: {_POLL}")
        for record in records:
            if not isinstance(record, list) or len(record) != 2:
                raise LineError(f"{polled_of} has {shown(record)}: {_POLL}")
            offset, value = record
            value_text = None if value is None else f"{key_text}/{_plain(value, 'value')}"
            whole(offset, "offset", LAST_OFFSET)
            partition = _partition(key_text, partitions)
            yield entry(READ, partition=partition, value=value_text, offset=offset)


def _plain(value: Any, name: str) -> str:
    """The text of a key or a value, unique to it."""
    if type(value) is int:
        return str(value)
    if type(value) is str:  # and no Name
        return json.dumps(text(value, name), ensure_ascii=False)
    raise LineError(f"its {name} is {shown(value)}, expected is a whole number or a text")


def _partition(key: str, partitions: dict[str, int]) -> int:
    number = partitions.setdefault(key, len(partitions))
    if number >= MOST_PARTITIONS:
        raise LineError(f"it is of one key more than {MOST_PARTITIONS:,}, and so many are judged")
    return number
