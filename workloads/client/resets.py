"""Records resets: a client that moves its position by itself says so in its log only.

librdkafka does so when a fetch is out of range (auto.offset.reset) and when the leader's epochs say
that the log was cut below the position (KIP-320). Its log comes through a queue of its own, so the
event may be written a little after the first record from the new position. Source:
rd_kafka_offset_reset in rdkafka_offset.c.

Of a member that goes on at the log's end the event also tells where the log starts now, asked of
its leader: what lies from there on was still in the log when it was passed over.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from harness.history.recorder import Recorder

_RESET = re.compile(r"\[(?P<partition>\d+)\]: offset reset \(at offset (?P<at>-?\d+).*")


StartOf = Callable[[int], int | None]
_TO_END = "to offset END"


def logger_of(recorder: Recorder, start_of: StartOf | None = None) -> logging.Logger:
    """A client's `logger`: resets become events, all lines go to stderr. `start_of` tells where the
    log of a partition starts; None: not known."""
    logger = logging.Logger(__name__)
    logger.addHandler(_Resets(recorder, start_of))
    logger.addHandler(logging.StreamHandler())  # stderr, where the client would have written them
    return logger


class _Resets(logging.Handler):
    def __init__(self, recorder: Recorder, start_of: StartOf | None) -> None:
        super().__init__()
        self._recorder, self._start_of = recorder, start_of

    def emit(self, record: logging.LogRecord) -> None:
        """Write the event, if a line reports a reset."""
        if (match := _RESET.search(record.getMessage())) is not None:
            partition, position = int(match["partition"]), max(int(match["at"]), -1)
            told = {"partition": partition, "position": position, "text": match[0][:200]}
            if self._start_of is not None and _TO_END in match[0]:
                told["log_start"] = self._start_of(partition)
            self._recorder.event("reset", **told)
