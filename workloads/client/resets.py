"""Records resets: a client that moves its position by itself says so in its log only.

librdkafka does so when a fetch is out of range (auto.offset.reset) and when the leader's epochs say
that the log was cut below the position (KIP-320). Its log comes through a queue of its own, so the
event may be written a little after the first record from the new position. Source:
rd_kafka_offset_reset in rdkafka_offset.c.
"""

from __future__ import annotations

import logging
import re

from harness.history.recorder import Recorder

_RESET = re.compile(r"\[(?P<partition>\d+)\]: offset reset \(at offset (?P<at>-?\d+).*")


def logger_of(recorder: Recorder) -> logging.Logger:
    """A client's `logger`: resets become events, all lines go to stderr."""
    logger = logging.Logger(__name__)
    logger.addHandler(_Resets(recorder))
    logger.addHandler(logging.StreamHandler())  # stderr, where the client would have written them
    return logger


class _Resets(logging.Handler):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        """Write the event, if a line reports a reset."""
        if (match := _RESET.search(record.getMessage())) is not None:
            partition, position = int(match["partition"]), max(int(match["at"]), -1)
            words = match[0][:200]
            self._recorder.event("reset", partition=partition, position=position, text=words)
