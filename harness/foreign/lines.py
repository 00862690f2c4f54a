"""The lines in which any program tells its sends and reads; Kafka's own tools speak them already.

    {"timestamp":1763985600123,"name":"producer_send_success","value":"7","partition":0,"offset":7}
    {"timestamp":1763985600200,"name":"record_data","value":"7","partition":0,"offset":7}

One JSON object a line. VerifiableProducer and VerifiableConsumer of Kafka write most names; two are
only ours: the begin of a send and the end of a complete read (docs/lines.md). This is the one
parser: a file is told line by line, and the first line that is none of these is an error with its
number. What the lines mean together is harness.foreign.gathered's matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.foreign.bounds import (
    LAST_NS,
    LAST_OFFSET,
    MOST_PARTITIONS,
    Wrong,
    text,
    whole,
)
from harness.history.record_format import PROCESS_NAME, HistoryError

BEGIN, ACKED, ERROR, READ, RANGE, GIVEN, TO_END, COUNTED, OTHER = (
    *("begin", "acked", "error", "read", "range", "given", "to-end", "counted", "other"),
)
SENDS: Final = (BEGIN, ACKED, ERROR, COUNTED)
READS: Final = (READ, RANGE, GIVEN, TO_END)
LONGEST: Final = (
    2**24
)  # bytes of a line; a record is at most 1 MB unless a broker is told otherwise
_EXPECTED: Final = (
    "expected is a line of VerifiableProducer or VerifiableConsumer, or of docs/lines.md"
)
_MS: Final = 10**6
Line = Mapping[str, Any]


class Told(NamedTuple):
    """What one line tells; a tuple, since there are millions."""

    what: str
    process: str
    time_ns: int
    partition: int | None = None
    value: str | None = None
    offset: int | None = None  # of a range: the first
    last: int | None = None  # of a range: the last offset; of a complete read: the log's end
    many: int | None = None  # records of a range; a producer's own acks; a reader's position
    certain: bool = False  # a send that is certainly not in the log
    error: str | None = None
    topic: str | None = None


def read_lines(path: Path) -> Iterator[tuple[int, bool, Told]]:
    """What each line of a file tells, with its number, and whether it names its process: where one
    does not, its file is of one program that sends, or of one that reads. Raises HistoryError."""
    process = name_of(path)
    spoke: str | None = None  # of lines without a process: who they are of
    number = 0
    for number, raw in enumerate(numbered(path), 1):
        try:
            line = _object(raw)
            named = line.get("process")
            if named is not None and not (
                isinstance(named, str) and re.fullmatch(PROCESS_NAME, named)
            ):
                raise Wrong("its process is no word of letters, digits, - and _")
            for told in _told(line, named or process):
                role = "sends" if told.what in SENDS else "reads" if told.what in READS else None
                if named is None and role is not None:
                    if spoke not in (None, role):
                        raise Wrong(
                            f"it tells of {role} in a file that told of {spoke} before: give each "
                            "program's lines in a file of its own, or a `process` in each line"
                        )
                    spoke = role
                yield number, named is not None, told
        except Wrong as error:
            raise HistoryError(f"{path}: line {number}: {error}") from None
    if not number:
        raise HistoryError(f"{path}: it is empty: {_EXPECTED}")


def numbered(path: Path) -> Iterator[bytes]:
    """The lines of a file, a bounded number of bytes at a time. Raises HistoryError."""
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
    """What a file's process is called where its lines do not say: its name, without odd letters."""
    return re.sub("[^A-Za-z0-9_-]+", "-", path.stem).strip("-_") or "process"


def _object(raw: bytes) -> Line:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        cut = (
            "" if raw.endswith(b"\n") else "; it is cut short: remove it if its program was killed"
        )
        raise Wrong(f"it is not JSON: {_EXPECTED}{cut}") from None
    if not isinstance(line, dict) or not isinstance(line.get("name"), str):
        raise Wrong(f"it is no JSON object with a `name`: {_EXPECTED}")
    return line


def _told(line: Line, process: str) -> Iterator[Told]:
    name = line["name"]
    make = _NAMES.get(name)
    if make is None:
        raise Wrong(f"its name is {name[:60]!r}: {_EXPECTED}")
    yield from make(line, process, _time_ns(line))


def _time_ns(line: Line) -> int:
    exact = line.get("time_ns")
    if exact is not None:
        return whole(exact, "time_ns", LAST_NS)
    return whole(line.get("timestamp"), "timestamp", LAST_NS // _MS) * _MS


def _number(line: Line, key: str, most: int = LAST_OFFSET, least: int = 0) -> int:
    return whole(line.get(key), key, most, least)


def _place(line: Line) -> int:
    return _number(line, "partition", MOST_PARTITIONS - 1)


def _text(line: Line, key: str, *, needed: bool = False) -> str | None:
    value = line.get(key)
    return None if value is None and not needed else text(value, key)


# One for each name


def _begin(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    partition = None if line.get("partition") is None else _place(line)
    yield Told(
        *(BEGIN, process, time_ns, partition, _text(line, "value", needed=True)),
        topic=_text(line, "topic"),
    )


def _success(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    offset = None if line.get("offset") is None else _number(line, "offset", LAST_OFFSET, -1)
    yield Told(
        *(ACKED, process, time_ns, _place(line), _text(line, "value", needed=True)),
        offset=None if offset == -1 else offset,
        topic=_text(line, "topic"),
    )


def _error(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    partition = None if line.get("partition") is None else _place(line)
    yield Told(
        *(ERROR, process, time_ns, partition, _text(line, "value", needed=True)),
        certain=line.get("certain") is True,
        error=(_text(line, "exception") or "error").rpartition(".")[2][:200],
        topic=_text(line, "topic"),
    )


def _record(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    offset = _number(line, "offset")
    yield Told(
        *(READ, process, time_ns, _place(line), _text(line, "value"), offset),
        topic=_text(line, "topic"),
    )


def _consumed(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    for part in _parts(line):
        first = _number(part, "minOffset")
        last = _number(part, "maxOffset", LAST_OFFSET, first)
        yield Told(
            *(RANGE, process, time_ns, _place(part), None, first, last),
            many=_number(part, "count", last - first + 1, 1),
            topic=_text(part, "topic"),
        )


def _given(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    for part in _parts(line):
        yield Told(GIVEN, process, time_ns, _place(part), topic=_text(part, "topic"))


def _parts(line: Line) -> list[Line]:
    parts = line.get("partitions")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise Wrong("it has no list of `partitions`")
    return parts


def _to_end(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    start = _number(line, "log_start")
    end = _number(line, "log_end", LAST_OFFSET, start)
    position = end if line.get("position") is None else _number(line, "position")
    yield Told(
        *(TO_END, process, time_ns, _place(line), None, start, end, position),
        topic=_text(line, "topic"),
    )


def _summary(line: Line, process: str, time_ns: int) -> Iterator[Told]:
    if "acked" in line:
        yield Told(COUNTED, process, time_ns, many=_number(line, "acked"))


def _other(_line: Line, process: str, time_ns: int) -> Iterator[Told]:
    yield Told(OTHER, process, time_ns)


_NAMES: Final[Mapping[str, Callable[[Line, str, int], Iterator[Told]]]] = {
    "producer_send_begin": _begin,
    "producer_send_success": _success,
    "producer_send_error": _error,
    "tool_data": _summary,
    "record_data": _record,
    "records_consumed": _consumed,
    "partitions_assigned": _given,
    "read_to_end": _to_end,
    "partitions_revoked": _other,
    "offsets_committed": _other,
    "startup_complete": _other,
    "shutdown_complete": _other,
}
