"""The lines of JSON in which any program reports its sends and reads, as Kafka's own tools do.

    {"timestamp":1763985600123,"name":"producer_send_success","value":"7","partition":0,"offset":7}
    {"timestamp":1763985600200,"name":"record_data","value":"7","partition":0,"offset":7}

Each line is a JSON object. Kafka's VerifiableProducer and VerifiableConsumer write most names, and
librdkafka's clients for kafkatest the same; two are only ours: the begin of a send and the end of a
complete read (docs/lines.md). harness.foreign.parsed_history knows what they mean together.

    [pod/producer-0/kafka] {"timestamp":…    =>  a line of the process producer-0_kafka
    [2026-11-20 09:00:01] WARN …             =>  a logger's: passed over, and counted
    {"timestamp":17639                       =>  an error with its number, and so is any other line
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.foreign.formats.bounds import LineError, text, whole
from harness.foreign.formats.line_times import EPOCH, When, when
from harness.foreign.formats.opened import lines_of, name_of
from harness.history.record_format import PROCESS_NAME, HistoryError
from harness.model.runs.imported_history import LAST_OFFSET, MOST_PARTITIONS

BEGIN, ACKED, ERROR, READ, RANGE, ASSIGNED, SOUGHT, MOVED, TO_END, COUNTED, OTHER, LOGGED = (
    *("begin", "acked", "error", "read", "range", "assigned", "sought", "moved", "to-end"),
    *("counted", "other", "logged"),
)
SENDS: Final = (BEGIN, ACKED, ERROR, COUNTED)
READS: Final = (READ, RANGE, ASSIGNED, SOUGHT, MOVED, TO_END)
_EXPECTED: Final = (
    "expected is a line of VerifiableProducer or VerifiableConsumer, or of docs/lines.md"
)
_NO_JSON: Final = f"it is not JSON: {_EXPECTED}"
_NO_OFFSETS: Final = (None, -1, -1001)  # where it is not known: Java's, librdkafka's
# Before a line: `kubectl logs --prefix`, and its --timestamps.
_PREFIX: Final = re.compile(
    rb"\s*(?:\[pod/([\w.-]+)/([\w.-]+)\]\s+)?(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) )?"
)
_OURS_WITHIN: Final = re.compile(
    rb'[^{%][^{]*\{.*"name"\s*:\s*"(?:producer_send_|record|read_to_end)'
)
_CODE: Final = re.compile(r"KafkaError\{code=(\w+)")
Line = Mapping[str, Any]
Fields = dict[str, Any]


class Entry(NamedTuple):
    """One send, read or other event of a line; a tuple, since there are millions."""

    kind: str
    process: str
    time_ns: int
    partition: int | None = None
    value: str | None = None
    offset: int | None = None  # of a range: the first
    last: int | None = None  # of a range: the last offset; of a complete read: the log's end
    amount: int | None = None  # records of a range; a producer's own acks; a reader's position
    certain: bool = False  # a send that is certainly not in the log
    error: str | None = None
    topic: str | None = None
    clock: str = EPOCH
    once: bool = False  # its producer sends nothing again, unless somebody says otherwise


def read_lines(path: Path) -> Iterator[tuple[int, bool, Entry]]:
    """The entries of a file: the line's number, whether the line names its process, the entry.
    All lines that name none are of one program, which sends or reads. Raises HistoryError."""
    process = name_of(path)
    role_before: str | None = None  # of the lines that name no process
    before: When | None = None
    number = 0
    for number, raw in enumerate(lines_of(path), 1):
        try:
            pod, raw_line = _parted(raw)
            if not raw_line.startswith(b"{"):
                if _OURS_WITHIN.match(raw_line):
                    raise LineError("its JSON stands behind other words: remove these, or the line")
                yield number, True, Entry(LOGGED, process, 0)
                continue
            line = _object(raw_line)
            named = line.get("process", pod)
            if named is not None and not (
                isinstance(named, str) and re.fullmatch(PROCESS_NAME, named)
            ):
                raise LineError("its process is no word of letters, digits, - and _")
            before = when(line, before)
            for entry in _entries(line, named or process, before):
                role = _role(entry.kind)
                if named is None and role is not None:
                    if role_before not in (None, role):
                        raise LineError(
                            f"it tells of {role} in a file that told of {role_before} before: give "
                            "each program's lines in a file of its own, or a `process` in each line"
                        )
                    role_before = role
                yield number, named is not None, entry
        except LineError as error:
            raise HistoryError(f"{path}: line {number}: {error}") from None
    if not number:
        raise HistoryError(f"{path}: it is empty: {_EXPECTED}")
    if before is None:  # no line of it is JSON
        raise HistoryError(f"{path}: line 1: {_refusal(next(lines_of(path)))}")


def _role(kind: str) -> str | None:
    return "sends" if kind in SENDS else "reads" if kind in READS else None


def _parted(raw: bytes) -> tuple[str | None, bytes]:
    """The process that stands before a line, and the line."""
    prefix = _PREFIX.match(raw.removeprefix(b"\xef\xbb\xbf"))
    assert prefix is not None  # it may be empty
    process = None
    if prefix[1] is not None:
        process = re.sub("[^A-Za-z0-9_-]", "-", f"{prefix[1].decode()}_{prefix[2].decode()}")
    return process, raw[prefix.end() :]


def _object(raw: bytes) -> Line:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        cut = (
            "" if raw.endswith(b"\n") else "; it is cut short: remove it if its program was killed"
        )
        raise LineError(f"{_NO_JSON}{cut}") from None
    if not isinstance(line, dict) or not isinstance(line.get("name"), str):
        raise LineError(f"it is no JSON object with a `name`: {_EXPECTED}")
    return line


def _refusal(raw: bytes) -> str:
    """Why a line that does not begin as a JSON object is refused."""
    try:
        _object(raw)
    except LineError as error:
        return str(error)
    return _NO_JSON


def _entries(line: Line, process: str, at: When) -> Iterator[Entry]:
    name, (time_ns, clock) = line["name"], at
    if name not in _NAMES:
        raise LineError(f"its name is {name[:60]!r}: {_EXPECTED}")
    kind, fields_of = _NAMES[name]
    if kind == COUNTED and "acked" not in line:
        return
    parts = {RANGE: _polled, ASSIGNED: _parts}.get(kind)
    for part in (line,) if parts is None else parts(line):
        fields = fields_of(part)
        topic = None if kind in (COUNTED, OTHER) else _text(part, "topic")
        yield Entry(kind, process, time_ns, topic=topic, clock=clock, **fields)


def _parts(line: Line) -> list[Line]:
    parts = line.get("partitions")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise LineError("it has no list of `partitions`")
    return parts


def _polled(line: Line) -> Iterator[Line]:
    """The ranges of a poll, each with its `count`. librdkafka's clients tell that of all together,
    which fits one way only if nothing is missing between; else it is null. They name partitions of
    which nothing came, too."""
    parts = [part for part in _parts(line) if part.get("minOffset") != -1]
    if all("count" in part for part in parts):
        yield from parts
        return
    ranges = [_range({**part, "count": None}) for part in parts]
    widths = [each["last"] - each["offset"] + 1 for each in ranges]
    whole_ranges = line.get("count") == sum(widths)
    for part, width in zip(parts, widths, strict=True):
        yield {**part, "count": width if whole_ranges else None}


def _number(line: Line, key: str, most: int = LAST_OFFSET, least: int = 0) -> int:
    return whole(line.get(key), key, most, least)


def _partition(line: Line) -> int:
    return _number(line, "partition", MOST_PARTITIONS - 1)


def _text(line: Line, key: str, *, needed: bool = False) -> str | None:
    value = line.get(key)
    return None if value is None and not needed else text(value, key)


# The fields of an entry


def _begin(line: Line) -> Fields:
    partition = None if line.get("partition") is None else _partition(line)
    return {"partition": partition, "value": _text(line, "value", needed=True)}


def _success(line: Line) -> Fields:
    offset = None if line.get("offset") in _NO_OFFSETS else _number(line, "offset")
    value = {"partition": _partition(line), "value": _text(line, "value", needed=True)}
    return {**value, "offset": offset}


def _error(line: Line) -> Fields:
    nowhere = {"partition": None} if line.get("partition") == -1 else {}  # librdkafka's
    error = {"certain": line.get("certain") is True, **_begin({**line, **nowhere})}
    return {**error, "error": _error_name(line)}


def _error_name(line: Line) -> str:
    """Java names a class, librdkafka's clients tell a code within words, or words."""
    if exception := _text(line, "exception"):
        return exception.rpartition(".")[2][:200]
    message = _text(line, "message") or "error"
    code = _CODE.search(message)
    return code[1] if code else message[:200]


def _record(line: Line) -> Fields:
    offset = _number(line, "offset")
    return {"offset": offset, "partition": _partition(line), "value": _text(line, "value")}


def _range(part: Line) -> Fields:
    first = _number(part, "minOffset")
    last = _number(part, "maxOffset", LAST_OFFSET, first)
    place = {"partition": _partition(part), "offset": first, "last": last}
    count = None if part["count"] is None else _number(part, "count", last - first + 1, 1)
    return {**place, "amount": count}


def _assigned(part: Line) -> Fields:
    return {"partition": _partition(part)}


def _to_end(line: Line) -> Fields:
    start = _number(line, "log_start")
    end = _number(line, "log_end", LAST_OFFSET, start)
    position = end if line.get("position") is None else _number(line, "position")
    return {"offset": start, "last": end, "amount": position, "partition": _partition(line)}


def _counted(line: Line) -> Fields:
    return {"amount": _number(line, "acked"), "once": "target_throughput" in line}


def _none(_: Line) -> Fields:
    return {}


_NAMES: Final[Mapping[str, tuple[str, Callable[[Line], Fields]]]] = {
    "producer_send_begin": (BEGIN, _begin),
    "producer_send_success": (ACKED, _success),
    "producer_send_error": (ERROR, _error),
    "tool_data": (COUNTED, _counted),
    "record_data": (READ, _record),
    "records_consumed": (RANGE, _range),
    "partitions_assigned": (ASSIGNED, _assigned),
    "read_to_end": (TO_END, _to_end),
    "partitions_revoked": (OTHER, _none),
    "offsets_committed": (OTHER, _none),
    "startup_complete": (OTHER, _none),
    "shutdown_complete": (OTHER, _none),
}
