"""The lines of JSON in which any program reports its sends and reads, as Kafka's own tools do.

    {"timestamp":1763985600123,"name":"producer_send_success","value":"7","partition":0,"offset":7}
    {"timestamp":1763985600200,"name":"record_data","value":"7","partition":0,"offset":7}

Each line is a JSON object. Kafka's VerifiableProducer and VerifiableConsumer write most names; two
are only ours: the begin of a send and the end of a complete read (docs/lines.md). Any other line is
an error with its number. harness.foreign.parsed_history knows what the lines mean together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.foreign.bounds import LineError, text, whole
from harness.history.record_format import PROCESS_NAME, HistoryError
from harness.model.runs.imported_history import LAST_NS, LAST_OFFSET, MOST_PARTITIONS

BEGIN, ACKED, ERROR, READ, RANGE, ASSIGNED, TO_END, COUNTED, OTHER = (
    *("begin", "acked", "error", "read", "range", "assigned", "to-end", "counted", "other"),
)
SENDS: Final = (BEGIN, ACKED, ERROR, COUNTED)
READS: Final = (READ, RANGE, ASSIGNED, TO_END)
LONGEST: Final = 2**24  # bytes of a line; a record is at most 1 MB unless a broker allows more
_EXPECTED: Final = (
    "expected is a line of VerifiableProducer or VerifiableConsumer, or of docs/lines.md"
)
_MS: Final = 10**6
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


def read_lines(path: Path) -> Iterator[tuple[int, bool, Entry]]:
    """The entries of a file: the line's number, whether the line names its process, the entry.
    All lines that name none are of one program, which sends or reads. Raises HistoryError."""
    process = name_of(path)
    role_before: str | None = None  # of the lines that name no process
    number = 0
    for number, raw in enumerate(lines_of(path), 1):
        try:
            line = _object(raw)
            named = line.get("process")
            if named is not None and not (
                isinstance(named, str) and re.fullmatch(PROCESS_NAME, named)
            ):
                raise LineError("its process is no word of letters, digits, - and _")
            for entry in _entries(line, named or process):
                kind = entry.kind
                role = "sends" if kind in SENDS else "reads" if kind in READS else None
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


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, of bounded length. Raises HistoryError."""
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(LONGEST):
                number += 1
                if len(raw) == LONGEST:
                    raise HistoryError(f"{path}: line {number} is longer than {LONGEST:,} bytes")
                yield raw
    except OSError as error:
        raise HistoryError(f"{path}: cannot be read ({error.strerror})") from None


def name_of(path: Path) -> str:
    """The process of lines that name none: the file's name, without odd letters."""
    return re.sub("[^A-Za-z0-9_-]+", "-", path.stem).strip("-_") or "process"


def _object(raw: bytes) -> Line:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        cut = (
            "" if raw.endswith(b"\n") else "; it is cut short: remove it if its program was killed"
        )
        raise LineError(f"it is not JSON: {_EXPECTED}{cut}") from None
    if not isinstance(line, dict) or not isinstance(line.get("name"), str):
        raise LineError(f"it is no JSON object with a `name`: {_EXPECTED}")
    return line


def _entries(line: Line, process: str) -> Iterator[Entry]:
    name = line["name"]
    if name not in _NAMES:
        raise LineError(f"its name is {name[:60]!r}: {_EXPECTED}")
    (kind, fields_of), time_ns = _NAMES[name], _time_ns(line)
    if kind == COUNTED and "acked" not in line:
        return
    for part in _parts(line) if kind in (RANGE, ASSIGNED) else (line,):
        fields = fields_of(part)
        topic = None if kind in (COUNTED, OTHER) else _text(part, "topic")
        yield Entry(kind, process, time_ns, topic=topic, **fields)


def _parts(line: Line) -> list[Line]:
    parts = line.get("partitions")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise LineError("it has no list of `partitions`")
    return parts


def _time_ns(line: Line) -> int:
    exact = line.get("time_ns")
    if exact is not None:
        return whole(exact, "time_ns", LAST_NS)
    return whole(line.get("timestamp"), "timestamp", LAST_NS // _MS) * _MS


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
    offset = None if line.get("offset") is None else _number(line, "offset", LAST_OFFSET, -1)
    value = {"partition": _partition(line), "value": _text(line, "value", needed=True)}
    return {**value, "offset": None if offset == -1 else offset}


def _error(line: Line) -> Fields:
    error = {"certain": line.get("certain") is True, **_begin(line)}
    return {**error, "error": (_text(line, "exception") or "error").rpartition(".")[2][:200]}


def _record(line: Line) -> Fields:
    offset = _number(line, "offset")
    return {"offset": offset, "partition": _partition(line), "value": _text(line, "value")}


def _range(part: Line) -> Fields:
    first = _number(part, "minOffset")
    last = _number(part, "maxOffset", LAST_OFFSET, first)
    place = {"partition": _partition(part), "offset": first, "last": last}
    return {**place, "amount": _number(part, "count", last - first + 1, 1)}


def _assigned(part: Line) -> Fields:
    return {"partition": _partition(part)}


def _to_end(line: Line) -> Fields:
    start = _number(line, "log_start")
    end = _number(line, "log_end", LAST_OFFSET, start)
    position = end if line.get("position") is None else _number(line, "position")
    return {"offset": start, "last": end, "amount": position, "partition": _partition(line)}


def _counted(line: Line) -> Fields:
    return {"amount": _number(line, "acked")}


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
