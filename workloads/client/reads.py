"""Records what a reader gets: each record, each payload that is not ours, and stretches without
records."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Message

from harness.history.record_format import NOTHING
from harness.history.recorder import Recorder
from workloads.client import payload
from workloads.client.texts import Texts, id_of
from workloads.worker import Spec

NOTHING_LEAST_NS = 100_000_000  # shorter stretches without a record are not written down


def place_of(message: Message) -> tuple[int, int]:
    """Partition and offset of a consumed message; it always has both."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


def _parser(spec: Spec) -> Callable[[Message], payload.Payload | None] | None:
    """What reads a record that tells its value and no more; None: records are the harness's own."""
    if spec.id:
        value_of = id_of(spec.id)
    elif spec.has_texts:
        texts = Texts(spec)
        value_of = lambda message: texts.value(message.value() or b"")  # noqa: E731
    else:
        return None

    def parse(message: Message) -> payload.Payload | None:
        value = value_of(message)
        return None if value is None else payload.Payload(value, 0, NOTHING)

    return parse


class Reads:
    """One reader's records, each recorded as `f`, and its empty polls."""

    def __init__(self, recorder: Recorder, f: int, spec: Spec) -> None:
        self._recorder, self._f = recorder, f
        self._parse = _parser(spec)
        self._empty_since_ns = 0  # 0: the last poll found something

    def record(self, message: Message, start_ns: int, end_ns: int, broker: int) -> int:
        """Record a message, and its payload if it is not ours; returns its value, NOTHING without
        one."""
        self._end_empty_stretch(end_ns)
        partition, offset = place_of(message)
        data, key, epoch = payload.carried_by(message), message.key(), message.leader_epoch()
        parsed = payload.parse(data, key) if self._parse is None else self._parse(message)
        if parsed is None:
            text = repr(data)[:200]
            if self._parse is None and payload.is_corrupt(data, key):
                self._recorder.event(
                    "corrupt-payload", partition=partition, position=offset, text=text
                )
            else:
                self._recorder.event("unparsable", partition=partition, offset=offset, text=text)
            parsed = payload.Payload(NOTHING, 0, NOTHING)
        self._recorder.record(
            self._f,
            partition,
            parsed.value,
            start_ns,
            offset,
            end_ns,
            broker,
            epoch=NOTHING if epoch is None else epoch,
            intended_ns=parsed.intended_ns,
            transaction=parsed.transaction,
        )
        return parsed.value

    def note_empty_poll(self, start_ns: int) -> None:
        """Note a poll that began then and returned nothing."""
        self._empty_since_ns = self._empty_since_ns or start_ns

    def _end_empty_stretch(self, now_ns: int) -> None:
        """Record the stretch without records that ends now."""
        since_ns, self._empty_since_ns = self._empty_since_ns, 0
        if since_ns and now_ns - since_ns >= NOTHING_LEAST_NS:
            self._recorder.event("nothing", time_ns=now_ns, since_ns=since_ns)

    def close(self) -> None:
        """Record the stretch that is still open."""
        self._end_empty_stretch(time.monotonic_ns())
