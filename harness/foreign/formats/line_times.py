"""When a line was written, and by which clock.

    "time_ns": 1763985600123000000             =>  EPOCH: of the clock that all files share
    "timestamp": 1763985600123                 =>  EPOCH, in milliseconds
    "_time": "2026-11-20 09:00:00.100000"      =>  LOCAL: no zone is told (librdkafka's clients for
                                                   kafkatest in Python and Go)
    "_time": "2026-11-20T09:00:00+01:00"       =>  EPOCH
    "_time": "09:00:00.100"                    =>  DAYTIME: no date is told (the same in C++)
    nothing, behind a line of such a clock     =>  as that one (the same in C++)

Times by two clocks cannot be compared (harness.foreign.parsed_history refuses them).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from harness.foreign.formats.bounds import LineError, whole
from harness.model.runs.imported_history import LAST_NS, shown

EPOCH, LOCAL, DAYTIME = "since 1970", "of a clock without zone", "of a clock without date"
_MS: Final = 10**6
_ZERO: Final = datetime(1970, 1, 1, tzinfo=UTC)
When = tuple[int, str]  # nanoseconds, and the clock


def when(line: Mapping[str, Any], before: When | None) -> When:
    """The time of a line and its clock. `before`: those of the line before. Raises LineError."""
    exact, told = line.get("time_ns"), line.get("_time")
    if exact is not None:
        return whole(exact, "time_ns", LAST_NS), EPOCH
    if "timestamp" not in line and told is not None:
        return _of_text(told)
    if "timestamp" not in line and before is not None and before[1] != EPOCH:
        return before
    return whole(line.get("timestamp"), "timestamp", LAST_NS // _MS) * _MS, EPOCH


def _of_text(told: object) -> When:
    try:
        at, clock = _parsed(str(told))
    except ValueError:
        raise LineError(
            f"its _time is {shown(told)}, expected is one as 2026-11-20 09:00:00.123456"
        ) from None
    since = (at - _ZERO) // timedelta(microseconds=1)
    return whole(since * 1000, "_time", LAST_NS), clock


def _parsed(told: str) -> tuple[datetime, str]:
    """The moment, as if at UTC where no zone is told. Raises ValueError."""
    if "-" not in told:
        return datetime.combine(date(1970, 1, 1), time.fromisoformat(told), UTC), DAYTIME
    at = datetime.fromisoformat(told)
    return (at, EPOCH) if at.tzinfo else (at.replace(tzinfo=UTC), LOCAL)
