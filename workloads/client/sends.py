"""Sends records: records every send at its begin and again at its delivery report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from harness.history.record_format import (
    FAIL,
    INFO,
    NOTHING,
    OK,
    SEND,
    TOMBSTONE,
    is_tombstone,
    value_of,
)
from workloads.client import payload
from workloads.client.errors import NO_ACK, NO_ACK_NAME, REFUSALS, SendRules
from workloads.client.make import make_producer, queue_limits
from workloads.client.records import key_of, length_of
from workloads.client.texts import Texts
from workloads.worker import Session

WAIT_S = 0.005  # between two looks for room
APART_NS = 10**9
QUEUE_FULL = KafkaError(KafkaError._QUEUE_FULL)

Observer = Callable[[int, int, int, int], None]
Report = Callable[[int, KafkaError | None, Message], None]
DeliveryReport = Callable[[KafkaError | None, Message], None]


class Sender:
    """A producer whose sends are recorded. `poll` must be called often: reports arrive there.

    It calls `observe(operation, type, offset, end_ns)` at the end of each send. With `hold`
    (transactions) a delivery report is no end: it goes to `hold`, which later says how the send
    ended.
    """

    def __init__(
        self, session: Session, observe: Observer | None = None, hold: Report | None = None
    ) -> None:
        spec = session.spec
        self._session, self._counts, self._recorder = session, session.counts, session.recorder
        self._rules = SendRules.of(
            spec.config, refusals_stand=spec.refusals_stand, largest=spec.largest_batch
        )
        self._observe = observe
        self._invoke, self._complete = session.recorder.invoke, session.recorder.complete
        self._first_value = value_of(spec.index, 0)
        self._topic, self._key_of, self._length_of = spec.topic, key_of(spec), length_of(spec)
        self._tombstones, self._seed = spec.tombstones, spec.seed
        self._texts, self._has_headers = Texts(spec) if spec.has_texts else None, bool(spec.headers)
        self._waits = Waits(session) if spec.when_full == "wait" else None
        self._offsets = AckedOffsets() if self._rules.idempotent else None
        self._has_id = not self._rules.idempotent
        self._has_sequence = self._rules.idempotent
        self._producer_id: tuple[int, int] | None = None
        self._clients = 0
        self._on_error = session.client_error if hold is None else session.passing_error
        self._report = hold or (self.on_delivery if self._rules.acks_come else self._on_written)
        self.connect()

    def connect(self) -> None:
        """Make the producer, or a new one in place of one that cannot go on: another client, with
        an `instance` number of its own in its sends."""
        self._recorder.instance = self._clients
        self._recorder.event("client", instance=self._clients)
        self._clients += 1
        spec = self._session.spec
        self.producer = make_producer(
            spec.config,
            queue_limits(spec.rate, spec.longest_outage_s, max(high for _, high in spec.sizes)),
            on_error=self._on_error,
            on_statistics=self._statistics if self._has_sequence else None,
        )
        self._produce = self.producer.produce

    def ready(self) -> bool:
        """Whether a send would go out at once: an idempotent producer first needs its id.

        It gets one in half a second or so; its first send would seem to take that long.
        """
        return self._has_id

    def send(self, partition: int, intended_ns: int, start_ns: int) -> int:
        """Begin the next send, of the producer's next value. Returns that value."""
        counts = self._counts
        value = self._first_value + counts.sends
        operation = self._invoke(SEND, partition, value, intended_ns, start_ns)
        counts.sends += 1
        key, transaction = self._key_of and self._key_of(value), self._recorder.transaction
        if self._texts is None:
            record = payload.of(value, intended_ns, transaction, self._length_of(value), key)
        else:
            record = self._texts.record(value)
        report = partial(self._report, operation)
        deletes = self._tombstones and is_tombstone(value, self._seed, self._tombstones)
        produce = self._produce_tombstone if deletes else self._produce
        if self._texts is not None and self._has_headers:
            produce = partial(self._produce, headers=self._texts.headers(value))
        try:
            produce(self._topic, record, key, partition, report)
        except BufferError:
            self._on_full(operation, partial(produce, self._topic, record, key, partition, report))
        except KafkaException as error:
            self._on_refusal(operation, error.args[0])
        return value

    def _produce_tombstone(
        self,
        topic: str,
        record: bytes,
        key: bytes | None,
        partition: int,
        report: DeliveryReport,
    ) -> None:
        headers: list[tuple[str, str | bytes | None]] = [(TOMBSTONE, record)]
        self._produce(topic, None, key, partition, report, headers=headers)

    def _on_full(self, operation: int, produce: Callable[[], None]) -> None:
        """The queue was full: wait for room, or let the send fail."""
        try:
            if self._waits is None or not self._waits.until(produce, self.poll):
                self._on_refusal(operation, QUEUE_FULL)
        except KafkaException as error:
            self._on_refusal(operation, error.args[0])

    def poll(self, timeout_s: float) -> None:
        """Serve delivery reports and errors; wait for the first of them for up to `timeout_s`."""
        try:
            self.producer.poll(timeout_s)
        except KafkaException as error:
            # The Python client raises a fatal error here instead of calling error_cb. What else was
            # due in this poll comes in the next one.
            self._on_error(error.args[0])

    def flush(self) -> None:
        """Await every outstanding report for up to `flush_s`; what is still open stays info."""
        limit_ns = time.monotonic_ns() + int(self._session.spec.flush_s * 1e9)
        while self._counts.outstanding and time.monotonic_ns() < limit_ns:
            self.poll(0.05)
            self._session.publish(time.monotonic_ns())
        if self._waits is not None:
            self._waits.tell()

    def _statistics(self, text: str) -> None:
        """Record the id and epoch under which the broker knows an idempotent producer (KIP-98)."""
        state = json.loads(text).get("eos", {})
        self._has_id = self._has_id or state.get("idemp_state") == "Assigned"
        id_and_epoch = state.get("producer_id", NOTHING), state.get("producer_epoch", NOTHING)
        if id_and_epoch[0] >= 0 and id_and_epoch != self._producer_id:
            self._producer_id = id_and_epoch
            words = f"id {id_and_epoch[0]}, epoch {id_and_epoch[1]}"
            self._recorder.event("producer-id", instance=self._recorder.instance, text=words)

    def on_delivery(self, operation: int, error: KafkaError | None, message: Message) -> None:
        """Record the end of a send: acknowledged, or with its error."""
        end_ns = time.monotonic_ns()
        if error is not None:
            self._not_delivered(operation, error, len(message), end_ns)
            return
        offset = message.offset()
        if self._offsets is not None:
            offset = self._offsets.real_offset(message.partition() or 0, offset)
        known_offset = NOTHING if offset is None else offset
        self._complete(operation, OK, known_offset, end_ns, NOTHING, 0)
        self._counts.acked += 1
        self._counts.last_ack_ns = end_ns
        if self._observe is not None:
            self._observe(operation, OK, known_offset, end_ns)

    def _on_written(self, operation: int, error: KafkaError | None, message: Message) -> None:
        """acks=0: the client has written the request, and no answer will come."""
        end_ns = time.monotonic_ns()
        if error is not None:
            self._not_delivered(operation, error, len(message), end_ns)
            return
        self._recorder.name_error(NO_ACK, NO_ACK_NAME)
        self.finish(operation, INFO, end_ns, NO_ACK)

    def _not_delivered(self, operation: int, error: KafkaError, size: int, end_ns: int) -> None:
        self._recorder.name_error(error.code(), error.name())
        self.finish(operation, self._rules.outcome(error.code(), size), end_ns, error.code())

    def _on_refusal(self, operation: int, error: KafkaError) -> None:
        """produce() raised: the record never left the client."""
        self._recorder.name_error(error.code(), error.name())
        self.finish(operation, FAIL, time.monotonic_ns(), error.code())

    def finish(self, operation: int, type_: int, end_ns: int, code: int) -> None:
        """Record the end of a send without an ack: FAIL or INFO, with the code of a named error."""
        self._complete(operation, type_, NOTHING, end_ns, NOTHING, code)
        self._counts.refusal = code if code in REFUSALS else 0
        if type_ == FAIL:
            self._counts.failed += 1
        else:
            self._counts.info += 1
        if self._observe is not None:
            self._observe(operation, type_, NOTHING, end_ns)


class Waits:
    """Waits for room in the queue, as Java's producer does for up to max.block.ms: no other send
    begins meanwhile, and due times stay.

    It records each stretch of waiting as an event `waited`, from `since_ns` on: waits with less
    than a second between them are one, since after an outage each send waits a little.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._recorder = session, session.recorder
        self._most_ns = session.spec.max_block_ms * 1_000_000
        self._since_ns = self._until_ns = 0

    def until(self, produce: Callable[[], None], poll: Callable[[float], None]) -> bool:
        """Whether there came to be room for the record that `produce` sends. Raises
        KafkaException."""
        begin_ns = now_ns = time.monotonic_ns()
        if begin_ns - self._until_ns > APART_NS:
            self.tell()
        self._since_ns = self._since_ns or begin_ns
        try:
            while now_ns - begin_ns < self._most_ns:
                poll(WAIT_S)
                now_ns = time.monotonic_ns()
                self._session.publish(now_ns)
                with suppress(BufferError):
                    produce()
                    return True
            return False
        finally:
            self._until_ns = now_ns

    def tell(self) -> None:
        """Record the stretch so far."""
        if self._since_ns:
            self._recorder.event("waited", time_ns=self._until_ns, since_ns=self._since_ns)
        self._since_ns = 0


class AckedOffsets:
    """Tells an idempotent producer's real offsets from those that librdkafka makes up.

    An answer DUPLICATE_SEQUENCE_NUMBER has no offset (-1). librdkafka still numbers the batch's
    messages from it (`rd_kafka_msgq_set_metadata`): -1, 0, 1, 2, ... The first shows as None, the
    others look like offsets from the log's start. So after an ack without an offset, acks of that
    partition that go on 0, 1, 2, ... are not believed: checked by value, never by offset.
    """

    def __init__(self) -> None:
        self._counted: dict[int, int] = {}

    def real_offset(self, partition: int, offset: int | None) -> int | None:
        """The offset, or None where it cannot be one."""
        if offset is None:
            self._counted[partition] = 0
            return None
        if self._counted.get(partition) == offset:
            self._counted[partition] = offset + 1
            return None
        self._counted.pop(partition, None)
        return offset
