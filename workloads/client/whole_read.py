"""Reads every partition of a topic from log start to log end, with a new consumer.

It sees what a consumer sees: isolation.level is the scenario's. It asks for the ends before and
after. A partition is *complete* when everything from its last log start to its uncommitted end (the
high watermark) was read, and both ends were the same afterwards; in any other partition a missing
record is *unseen*, not lost:

    before 0..10, position 10, after 0..10      =>  complete
    before 0..10, position 10, after 3..10      =>  complete from 3 on; what lies below was deleted
    before 0..10, position 9, after 0..10       =>  not: it did not get there
    before 0..10, position 10, after 0..11      =>  not: there is more, and the read goes on
    before 0..10, position 10, after 0..9       =>  not: what was read is gone, and the read ends

auto.offset.reset is `error`, so that it skips nothing in silence. Where the log's start went past
its position (records were deleted), it goes on at the new start, and tells no lower one. While the
log grows (a send of unknown fate that lands late) it reads on, up to `limit_s`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    OffsetSpec,
)

from workloads.client.tail import Tail
from workloads.worker import Session, Spec

ASK_LIMIT_S = 5.0
EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The begin and the ends of one partition."""

    log_start: int
    committed_end: int  # last stable offset: read_committed stops here
    uncommitted_end: int  # high watermark

    @property
    def ends(self) -> tuple[int, int]:
        """Both ends."""
        return self.committed_end, self.uncommitted_end


def behind(positions: Mapping[int, int], goals: Mapping[int, Ends], *, committed: bool) -> bool:
    """Whether a reader (`committed`: of committed records only) has more to read in any
    partition."""
    return any(
        positions[partition] < (ends.committed_end if committed else ends.uncommitted_end)
        for partition, ends in goals.items()
    )


def same_ends(before: Mapping[int, Ends], after: Mapping[int, Ends]) -> bool:
    """Whether no partition's ends moved; its start may have."""
    return all(after[p].ends == ends.ends for p, ends in before.items())


def went_back(before: Mapping[int, Ends], after: Mapping[int, Ends]) -> bool:
    """Whether an end of a partition lies before where it was: what was read may be gone."""
    return any(
        after[p].committed_end < ends.committed_end
        or after[p].uncommitted_end < ends.uncommitted_end
        for p, ends in before.items()
    )


def ends_fields(before: Ends | None, after: Ends | None, position: int | None) -> dict[str, Any]:
    """The fields of a partition's `ends` event, of a read of all from `before`'s start up to
    `position`; what is unknown is null, and never complete."""
    if before is None:
        unknown = dict.fromkeys(Ends.__dataclass_fields__)
        return {**unknown, "position": position, "complete": False}
    last = before if after is None else after
    complete = (
        after is not None
        and after.ends == before.ends
        and after.log_start >= before.log_start
        and position is not None
        and position >= before.uncommitted_end
    )
    ends = replace(before, log_start=max(before.log_start, last.log_start))
    return {**asdict(ends), "position": position, "complete": complete}


def read_everything(session: Session, f: int, event: str, *, at_once: bool = False) -> None:
    """Read all of a worker's topic, as `f`, once it is let go or `at_once`; what it reached goes
    into events of that name."""
    reader = _reader(session, f)
    session.connect(reader.consumer)
    if at_once or session.await_go(lambda: reader.poll(0)):
        _read_all(session, reader, Asker(session), event)


def _reader(session: Session, f: int) -> Tail:
    config = {
        **session.spec.config,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
    }
    return Tail(session, config, f=f)


def _read_all(session: Session, reader: Tail, asker: Asker, event: str = "ends") -> None:
    before = asker.ends()
    if before is None:
        _tell(session, reader, event, {}, None, None)
        return
    asked_ns = asker.asked_ns
    reader.assign({partition: ends.log_start for partition, ends in before.items()})
    while True:
        _read_up_to(session, reader, before)
        after = asker.ends()
        if after is None or went_back(before, after):
            break
        asked_ns = asker.asked_ns
        deleted = {p: e.log_start for p, e in after.items() if reader.positions[p] < e.log_start}
        if deleted:
            reader.assign({**reader.positions, **deleted})
        elif same_ends(before, after):
            break
        since = {p: ends.log_start for p, ends in before.items()} | deleted
        before = {p: replace(ends, log_start=since[p]) for p, ends in after.items()}
    _tell(session, reader, event, before, after, asked_ns)


def _read_up_to(session: Session, reader: Tail, goals: Mapping[int, Ends]) -> None:
    """Read every partition as far as this reader's isolation level allows."""
    isolation = session.spec.config.get("isolation.level", "read_committed")
    committed = isolation == "read_committed"

    while (
        behind(reader.positions, goals, committed=committed)
        and not reader.lost_its_place
        and not session.over()
    ):
        reader.poll(0.05)
        session.publish(time.monotonic_ns())


def _tell(  # noqa: PLR0913, PLR0917  all that it tells
    session: Session,
    reader: Tail,
    event: str,
    before: Mapping[int, Ends],
    after: Mapping[int, Ends] | None,
    asked_ns: int | None,
) -> None:
    """Write one such event a partition; `asked_ns`: when its facts were last asked for."""
    for partition in range(session.spec.partitions):
        now, position = (after or {}).get(partition), reader.positions.get(partition)
        fields = ends_fields(before.get(partition), now, position)
        session.recorder.event(event, partition=partition, since_ns=asked_ns, **fields)


class Asker:
    """Asks the leaders for the begin and the ends of the partitions of a SPEC's topic: of the
    session's own, by default."""

    def __init__(self, session: Session, other: Spec | None = None) -> None:
        spec = other or session.spec
        self._session = session
        self.asked_ns = 0  # when the last answer was asked for
        # An AdminClient knows the consumer's keys, and warns that they do nothing: spare the log.
        self._admin = AdminClient({**spec.config, "log_level": 0})
        # Its first question for offsets takes 1 or 3 s now and then if it knows no leaders yet.
        session.connect(self._admin)
        self._partitions = [TopicPartition(spec.topic, p) for p in range(spec.partitions)]

    def ends(self) -> dict[int, Ends] | None:
        """Every partition's ends; asks again until all leaders answer; None when time is over."""
        while not self._session.over():
            now_ns = time.monotonic_ns()
            try:
                starts = self._ask(EARLIEST, IsolationLevel.READ_UNCOMMITTED)
                committed = self._ask(LATEST, IsolationLevel.READ_COMMITTED)
                uncommitted = self._ask(LATEST, IsolationLevel.READ_UNCOMMITTED)
            except KafkaException as error:
                self._session.client_error(error.args[0])
                self._admin.poll(0.1)
                continue
            self.asked_ns = now_ns
            return {
                p: Ends(
                    log_start=starts[p], committed_end=committed[p], uncommitted_end=uncommitted[p]
                )
                for p in starts
            }
        return None

    def _ask(self, which: OffsetSpec, isolation: IsolationLevel) -> dict[int, int]:
        futures = self._admin.list_offsets(
            dict.fromkeys(self._partitions, which),
            isolation_level=isolation,
            request_timeout=ASK_LIMIT_S,
        )
        return {asked.partition: future.result().offset for asked, future in futures.items()}
