"""Transactions: with a transactional.id, a send ends when its transaction does.

A transaction takes up to `transaction_sends` sends, and ends as soon as it has them or has been
open for 100 ms (as in Kafka Streams under exactly-once). Ending it blocks the worker's sends, as in
any application; what was due meanwhile is sent afterwards.

    send a, send b, the commit succeeds             =>  a and b ok, at their reports' offsets
    send a, send b, abort_transaction() succeeds    =>  a and b fail: no reader may be given them
    send a, send b, anything else                   =>  a and b info: fenced, fatal, no answer

It asks the coordinator for a commit only when every record of the transaction was delivered. If the
commit then fails and the abort after it succeeds, the coordinator may still have committed
(`rd_kafka_txn_handle_EndTxn` calls it a tricky state): that is info as well. `fail` remains where
no commit was asked for: a record was not delivered, or no commit was planned.

A consumer of the inputs has its offsets committed with the transaction (`Offsets`): they are handed
in before the commit is asked for. If that is refused, no commit is asked for.

After an error for which a transaction cannot be aborted, a new producer with the same
transactional.id takes over: it has the coordinator end what is open (KIP-98) and goes on under a
new epoch (KIP-360). `transaction_abort_every` = k aborts every k-th transaction on purpose, and
`transaction_abort_share` that share of all, drawn by the run's seed and the worker's name: once its
records are in the log and its offsets handed in.

Cannot see: when a record was acknowledged within its transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from harness.history.record_format import FAIL, INFO, NOTHING, OK
from workloads.client.errors import ABORTED, ABORTED_NAME
from workloads.client.sends import Observer, Sender
from workloads.worker import Session, Spec

OPEN_MOST_NS = 100_000_000
INIT_S = 1.0  # then the session is asked whether to go on; the client goes on meanwhile
OUTCOMES = {OK: "committed", FAIL: "aborted", INFO: "unknown"}
AGAIN_S = 0.05  # between two tries of what the client says may be tried again
PURGE_S = 1.0

Ending = tuple[int, KafkaError | None]  # how, and the error that tells why


class Offsets(Protocol):
    """Offsets that are committed with each transaction."""

    def hand_in(self, producer: Producer) -> None:
        """Add offsets to the open transaction, if there are any. Raises KafkaException; called
        again where the client says that this may help."""

    def settle(self, type_: int, end_ns: int, code: int) -> None:
        """The transaction has ended as `type_`; `code` is that of a named error."""


def sender_of(
    session: Session, observe: Observer | None = None, most: int | None = None
) -> Sender | Transactions:
    """The sender for the configuration: sends end one by one, or with their transaction of at most
    `most` sends (transaction_sends unless given)."""
    if "transactional.id" not in session.spec.config:
        return Sender(session, observe)
    return Transactions(session, observe, most or session.spec.transaction_sends)


def aborts(spec: Spec) -> Callable[[int], bool]:
    """A function that says whether a worker aborts its transaction of that number, from 1 on, on
    purpose."""
    random = Random(f"{spec.seed}/{spec.process}")  # noqa: S311  reproducible on purpose
    share, every = spec.transaction_abort_share, spec.transaction_abort_every
    return lambda number: random.random() < share or (every > 0 and number % every == 0)


def fate(type_: int, error: KafkaError | None) -> int:
    """The end of a send in a transaction of that end: an undelivered record is never ok."""
    return INFO if type_ == OK and error is not None else type_


def retry(call: Callable[[], object], session: Session, sender: Sender) -> KafkaError | None:
    """Call, and again while the client says that this may help and there is time; returns the last
    error.

    Without time limits of our own: librdkafka's state could then differ from the coordinator's
    (rd_kafka_commit_transaction). It waits until transaction.timeout.ms has passed.
    """
    limit_ns = time.monotonic_ns() + int(session.spec.flush_s * 1e9)
    while True:
        try:
            call()
        except KafkaException as raised:
            error = record_error(raised, session)
            if not error.retriable() or time.monotonic_ns() >= limit_ns:
                return error
            sender.poll(AGAIN_S)
        else:
            return None


def record_error(raised: KafkaException, session: Session) -> KafkaError:
    """Record the error that a call raised, and return it."""
    error: KafkaError = raised.args[0]
    session.passing_error(error)
    return error


class Transactions:
    """A Sender whose sends belong to transactions; with the same interface."""

    def __init__(
        self,
        session: Session,
        observe: Observer | None,
        most: int,
        offsets: Offsets | None = None,
    ) -> None:
        self._session, self._spec, self._recorder = session, session.spec, session.recorder
        self._sender = Sender(session, observe, hold=self._hold)
        self._reports: list[tuple[int, KafkaError | None, Message]] = []
        self._sends = 0  # of the open transaction
        self._begun_ns = 0  # 0: none is open
        self._ended = 0  # transactions
        self._initiated = False
        self._most, self._offsets = most, offsets
        self._is_to_abort = aborts(self._spec)

    @property
    def producer(self) -> Producer:
        """The client; replaced after an error from which it cannot go on."""
        return self._sender.producer

    def ready(self) -> bool:
        """Whether a transaction can begin: the coordinator has ended what was open under this
        transactional.id and has given it an epoch."""
        if not self._initiated:
            try:
                self.producer.init_transactions(INIT_S)
            except KafkaException as raised:
                if not record_error(raised, self._session).retriable():
                    self._replace()
                    self._sender.poll(AGAIN_S)
                return False
            self._initiated = True
        return True

    def send(self, partition: int, intended_ns: int, start_ns: int) -> int:
        """Begin the next send, in the open transaction or a new one. Returns its value."""
        if self._sends >= self._most or not self._begun_ns:
            self.open()
            start_ns = time.monotonic_ns()
        self._sends += 1
        return self._sender.send(partition, intended_ns, start_ns)

    def open(self) -> None:
        """Make sure that a transaction is open that takes another send."""
        if self._sends >= self._most:
            self._end()
        if not self._begun_ns:
            self._begin()

    def poll(self, timeout_s: float) -> None:
        """Serve the client for up to `timeout_s`, and end the transaction when it is due, however
        long that takes."""
        self._sender.poll(timeout_s)
        if self._begun_ns and self._is_due():
            self._end()

    def flush(self) -> None:
        """End the open transaction."""
        if self._begun_ns:
            self._end()

    def abort(self) -> None:
        """Abort the open transaction."""
        if self._begun_ns:
            self._end(self._abort)

    def _is_due(self) -> bool:
        age_ns = time.monotonic_ns() - self._begun_ns
        return self._sends >= self._most or age_ns >= OPEN_MOST_NS or self._has_failed()

    def _has_failed(self) -> bool:
        return any(error is not None for _, error, _ in self._reports)

    def _hold(self, operation: int, error: KafkaError | None, message: Message) -> None:
        self._reports.append((operation, error, message))

    def _begin(self) -> None:
        """Open a transaction; without one the client refuses sends."""
        while not self._try_begin() and not self._session.over():
            self._session.publish(time.monotonic_ns())
        self._begun_ns = time.monotonic_ns()
        self._recorder.transaction = self._ended
        self._note("begun")

    def _try_begin(self) -> bool:
        if not self.ready():
            return False
        try:
            self.producer.begin_transaction()
        except KafkaException as raised:
            record_error(raised, self._session)
            self._replace()
            return False
        return True

    def _end(self, how: Callable[[], Ending] | None = None) -> None:
        """End the open transaction, and with it its sends."""
        number = self._ended + 1
        planned = self._abort_whole if self._is_to_abort(number) else self._commit
        type_, why = (how or planned)()
        self._note(OUTCOMES[type_])
        self._ended, self._recorder.transaction = number, NOTHING
        self._settle(type_, why)
        self._session.publish(time.monotonic_ns())

    def _commit(self) -> Ending:
        """Commit; returns how the sends ended, and the error that explains it."""
        if error := self._hand_in():
            return self._give_up(error)
        self._note("commit-asked")
        error = self._retry(self.producer.commit_transaction)
        if error is None:
            return OK, None
        if not error.txn_requires_abort():
            self._replace()
            return INFO, error
        certain = self._has_failed()
        type_, why = self._abort()
        return (type_ if certain else INFO), why or error

    def _hand_in(self) -> KafkaError | None:
        """Hand the offsets in; returns why that was refused.

        A transaction must not be committed without its offsets.
        """
        if self._offsets is None:
            return None
        return self._retry(partial(self._offsets.hand_in, self.producer))

    def _give_up(self, error: KafkaError) -> Ending:
        """End without having asked for a commit: after an abort the sends have certainly failed."""
        if error.txn_requires_abort():
            type_, why = self._abort()
            return type_, why or error
        self._replace()
        return INFO, error

    def _abort_whole(self) -> Ending:
        """Abort once all records are in the log and the offsets handed in: an earlier abort would
        purge them."""
        self._retry(self._await_reports)
        self._hand_in()
        return self._abort()

    def _note(self, name: str) -> None:
        """Record an event of the open transaction."""
        number, instance = self._recorder.transaction, self._recorder.instance
        self._recorder.event("transaction", name=name, transaction=number, instance=instance)

    def _abort(self) -> Ending:
        self._note("abort-asked")
        error = self._retry(self.producer.abort_transaction)
        if error is None:
            return FAIL, None
        self._replace()
        return INFO, error

    def _retry(self, call: Callable[[], object]) -> KafkaError | None:
        return retry(call, self._session, self._sender)

    def _await_reports(self) -> None:
        """Await the reports of all records."""
        self.producer.flush(self._spec.flush_s)

    def _settle(self, type_: int, why: KafkaError | None) -> None:
        """Record how every send of the transaction ended; its own error takes precedence."""
        reports, self._reports = self._reports, []
        self._sends = self._begun_ns = 0
        end_ns = time.monotonic_ns()
        for operation, error, message in reports:
            outcome = fate(type_, error)
            if outcome == OK:
                self._sender.on_delivery(operation, None, message)
            else:
                self._sender.finish(operation, outcome, end_ns, self._name_error(error or why))
        if self._offsets is not None:
            self._offsets.settle(type_, end_ns, 0 if type_ == OK else self._name_error(why))

    def _name_error(self, error: KafkaError | None) -> int:
        code, name = (error.code(), error.name()) if error else (ABORTED, ABORTED_NAME)
        self._recorder.name_error(code, name)
        return code

    def _replace(self) -> None:
        """Replace the producer; the old one first gives its reports back."""
        old, limit_ns = self.producer, time.monotonic_ns() + int(PURGE_S * 1e9)
        old.purge()
        while len(old) and time.monotonic_ns() < limit_ns:
            self._sender.poll(AGAIN_S)
        self._sender.connect()
        self._initiated = False
