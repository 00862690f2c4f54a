"""What each worker recorded of one cycle of a made-up load: columns of its table of operations.

Readers ask for committed records: each is given when all that lies before it is decided, in polls
that end every few milliseconds. The group's members process at once, and commit once a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.checker.made.cycles import (
    ABORTED,
    COMMITTED,
    CYCLE_S,
    MARKER,
    MEMBERS,
    MS,
    PARTITIONS,
    PRODUCERS,
    Cycle,
    Numbers,
    S,
)
from bench.checker.made.plot import Plot

Columns = dict[str, Any]  # by name: numbers, a list of texts, or what all rows have
COMMITS_S = (*range(1, 13), 19)  # of a cycle: not while nobody leads
REBALANCED_NS = int(18.05 * S)
ZOMBIE_NS = REBALANCED_NS + 60 * MS + 7
NONE = -1  # a number that is missing


@dataclass(kw_only=True)
class Readers:
    """What goes on from one cycle to the next."""

    final_ns: int  # when the final reads begin
    final_rows: Numbers = field(default_factory=lambda: np.zeros(MEMBERS, np.int64))
    committed: Numbers = field(default_factory=lambda: np.zeros(PARTITIONS, np.int64))  # last
    answered: Numbers = field(default_factory=lambda: np.zeros(PARTITIONS, np.int64))  # asked
    polled: Numbers = field(default_factory=lambda: np.zeros(PARTITIONS, np.int64))  # behind it


def sends(cycle: Cycle) -> Iterator[tuple[str, Columns]]:
    """Each producer's sends."""
    told, transactions = cycle.sends, cycle.transactions
    committed = told.kind == COMMITTED
    names = np.array(["ok", "fail", "info", "info"])
    errors = np.array([None, "_ABORTED", "_TIMED_OUT", "_PURGE_INFLIGHT"], dtype=object)
    for number in range(PRODUCERS):
        mine = np.flatnonzero(told.producer == number)
        window, kind = told.window[mine], told.kind[mine]
        yield (
            f"producer-{number}",
            {
                "f": "send",
                "type": names[kind],
                "partition": told.partition[mine],
                "value": told.value[mine],
                "offset": np.where(committed[mine], told.acked_at[mine], NONE),
                "error": errors[kind],
                "intended_ns": told.due_ns[mine],
                "start_ns": told.start_ns[mine],
                "end_ns": transactions.ended_ns[number, window],
                "instance": transactions.instance[number, window],
                "transaction": transactions.number[number, window],
            },
        )


def consumer(plot: Plot) -> tuple[str, Columns]:
    """What the consumer that follows the log was given."""
    entries = plot.entries
    given = np.flatnonzero(entries.tail)
    polled_ns = -(-entries.stable_ns[given] // (5 * MS)) * 5 * MS + MS
    if plot.again:
        at = np.searchsorted(given, list(plot.again))
        places = np.repeat(at, [len(more) for more in plot.again.values()])
        given = np.insert(given, places + 1, np.concatenate(list(plot.again.values())))
        polled_ns = np.insert(polled_ns, places + 1, polled_ns[places])
    order = np.argsort(polled_ns, kind="stable")
    given, polled_ns = given[order], polled_ns[order]
    rows = _read(plot, given, "read")
    rows["epoch"] -= np.isin(given, sorted(plot.older)).astype(np.int64)
    return "consumer-0", {**rows, "start_ns": polled_ns - 3 * MS, "end_ns": polled_ns}


def members(plot: Plot, readers: Readers, *, last: bool) -> Iterator[tuple[str, Columns]]:
    """What the group's members were given, processed and committed."""
    entries = plot.entries
    first_of = plot.cycle.number + 1  # generation
    readers.answered[:] = readers.committed
    for number in range(MEMBERS):
        mine = np.flatnonzero(entries.polled & (entries.partition % MEMBERS == number))
        polled_ns = -(-entries.stable_ns[mine] // (10 * MS)) * 10 * MS + 2 * MS
        order = np.argsort(polled_ns, kind="stable")
        mine, polled_ns = mine[order], polled_ns[order]
        polls = _read(plot, mine, "poll")
        polls |= {"start_ns": polled_ns - 4 * MS, "end_ns": polled_ns}
        times = entries.processed[mine]
        done = _read(plot, np.repeat(mine, times), "process")
        done_ns = np.repeat(polled_ns, times) + 50_000
        done |= {"start_ns": done_ns, "end_ns": done_ns, "intended_ns": done_ns}
        done |= {"transaction": NONE, "epoch": NONE, "broker": NONE}
        commits = _commits(plot, readers, mine, polled_ns, last=last)
        asked = _answers(plot, readers, number)
        rows = _together([polls, done, commits, asked, *_of_a_zombie(plot, readers, number)])
        changed = rows["start_ns"] >= plot.cycle.start_ns + REBALANCED_NS
        rows["generation"] = first_of + changed.astype(np.int64)
        rows["generation"][rows["start_ns"] == plot.cycle.start_ns + ZOMBIE_NS] = first_of
        yield f"group-consumer-{number}", rows


def final_reads(plot: Plot, readers: Readers) -> Iterator[tuple[str, Columns]]:
    """What the final reads have."""
    entries = plot.entries
    for number in range(MEMBERS):
        mine = np.flatnonzero(entries.final & (entries.partition % MEMBERS == number))
        read_ns = readers.final_ns + (readers.final_rows[number] + np.arange(len(mine))) * 1000
        readers.final_rows[number] += len(mine)
        yield (
            f"final-read-{number}",
            {**_read(plot, mine, "final-read"), "start_ns": read_ns, "end_ns": read_ns},
        )


def _read(plot: Plot, given: Numbers, f: str) -> Columns:
    """The columns of records that were read."""
    entries, cycle = plot.entries, plot.cycle
    send = entries.send[given]
    own = (send != MARKER) & entries.readable[given]
    number = cycle.transactions.number[entries.producer[given], entries.window[given]]
    epoch = cycle.epoch + entries.late[given]
    return {
        "f": f,
        "type": "ok",
        "partition": entries.partition[given],
        "value": np.where(entries.readable[given], entries.value[given], NONE),
        "offset": entries.offset[given],
        "intended_ns": np.where(own, cycle.sends.due_ns[send], entries.stable_ns[given] - MS),
        "instance": 0,
        "transaction": np.where(own, number, NONE),
        "epoch": epoch,
        "broker": epoch % 3 + 1,
    }


def _commits(
    plot: Plot, readers: Readers, mine: Numbers, polled_ns: Numbers, *, last: bool
) -> Columns:
    """A commit of each partition every second, of what has been processed by then."""
    entries = plot.entries
    moments_s = (*COMMITS_S, CYCLE_S + 0.5) if last else COMMITS_S
    moments = plot.cycle.start_ns + np.array([int(s * S) for s in moments_s]) + 20 * MS
    partitions, offsets, starts = [], [], []
    for partition in np.unique(entries.partition[mine]).tolist():
        own = entries.partition[mine] == partition
        offset, at_ns = entries.offset[mine][own], polled_ns[own]
        count = np.searchsorted(at_ns, moments - MS)
        known = np.concatenate([[readers.polled[partition]], offset + 1])[count]
        starts.append(moments)
        offsets.append(known)
        partitions.append(np.full(len(moments), partition))
        readers.polled[partition] = offset[-1] + 1
        readers.committed[partition] = known[-1]
        readers.answered[partition] = known[COMMITS_S.index(12)]
    empty = [np.zeros(0, np.int64)]
    start_ns = np.concatenate(starts or empty)
    return {
        "f": "commit",
        "type": "ok",
        "partition": np.concatenate(partitions or empty),
        "offset": np.concatenate(offsets or empty),
        "intended_ns": start_ns,
        "start_ns": start_ns,
        "end_ns": start_ns + 2 * MS,
        "instance": 0,
    }


def _answers(plot: Plot, readers: Readers, number: int) -> Columns:
    """What the coordinator told of its partitions when they were assigned again."""
    partition = np.arange(number, PARTITIONS, MEMBERS)
    start_ns = np.full(len(partition), plot.cycle.start_ns + REBALANCED_NS + 10 * MS)
    return {
        "f": "committed",
        "type": "ok",
        "partition": partition,
        "offset": readers.answered[partition] - (partition == plot.answered_lower),
        "intended_ns": start_ns,
        "start_ns": start_ns,
        "end_ns": start_ns + MS,
        "instance": 0,
    }


def _of_a_zombie(plot: Plot, readers: Readers, number: int) -> Iterator[Columns]:
    """A commit of the member that does not know yet that another generation has begun."""
    if number == plot.learns_late:
        start_ns = np.array([plot.cycle.start_ns + ZOMBIE_NS])
        yield {
            "f": "commit",
            "type": "ok",
            "partition": np.array([number]),
            "offset": readers.answered[[number]],
            "intended_ns": start_ns,
            "start_ns": start_ns,
            "end_ns": start_ns + 2 * MS,
            "instance": 0,
        }


def _together(parts: list[Columns]) -> Columns:
    """Several sorts of rows of one worker, in order of their begin."""
    lengths = [len(part["start_ns"]) for part in parts]
    names = {name: None for part in parts for name in part}
    start_ns = np.concatenate([part["start_ns"] for part in parts])
    order = np.argsort(start_ns, kind="stable")
    rows: Columns = {}
    for name in names:
        texts = name in ("f", "type")
        columns = [
            _column(part.get(name, NONE), length, texts=texts)
            for part, length in zip(parts, lengths, strict=True)
        ]
        rows[name] = np.concatenate(columns)[order]
    return rows


def _column(values: Any, length: int, *, texts: bool) -> Any:
    if texts:
        return np.full(length, values, dtype="<U9")
    return np.broadcast_to(np.asarray(values, np.int64), length)


def events(plot: Plot) -> Iterator[dict[str, Any]]:
    """What the workers told of their transactions and of the group's change at the outage's end."""
    transactions, cycle = plot.cycle.transactions, plot.cycle
    for producer, window in np.argwhere(transactions.sends > 0).tolist():
        kind = int(transactions.kind[producer, window])
        told = {
            "process": f"producer-{producer}",
            "event": "transaction",
            "instance": int(transactions.instance[producer, window]),
            "transaction": int(transactions.number[producer, window]),
        }
        asked_ns = int(transactions.asked_ns[producer, window])
        ended_ns = int(transactions.ended_ns[producer, window])
        late = 3 * S if (producer, window) in plot.late_asks else 0
        yield {**told, "name": "begun", "time_ns": int(transactions.begun_ns[producer, window])}
        if kind in _ASKED:
            yield {**told, "name": _ASKED[kind], "time_ns": asked_ns + late}
        yield {**told, "name": _ENDED[kind], "time_ns": ended_ns + late}
    for number in range(MEMBERS):
        given_ns = (
            cycle.start_ns
            + REBALANCED_NS
            + (150 if number == plot.learns_late else 10 + number) * MS
        )
        member = {"process": f"group-consumer-{number}"}
        taken_ns = cycle.start_ns + REBALANCED_NS
        yield member | {
            "event": "revoked",
            "generation": cycle.number + 1,
            "time_ns": taken_ns,
            "text": owned(number),
        }
        yield from joined(
            number,
            cycle.number + 2,
            given_ns,
            owned(number, less=plot.nobodys, more=plot.of_two),
        )


def joined(member: int, generation: int, at_ns: int, partitions: str) -> Iterator[dict[str, Any]]:
    """What a member tells when it has come into a generation."""
    told = {"process": f"group-consumer-{member}", "generation": generation, "time_ns": at_ns}
    yield told | {"event": "member", "name": f"member-{member}"}
    yield told | {"event": "assigned", "text": partitions}


def owned(member: int, *, less: int | None = None, more: int | None = None) -> str:
    """A member's partitions, as it tells them: without `less`, and the first one with `more`."""
    mine = [each for each in range(member, PARTITIONS, MEMBERS) if each != less]
    return ", ".join(map(str, [*mine, more] if more is not None and member == 0 else mine))


_ASKED = {0: "commit-asked", ABORTED: "abort-asked", 2: "commit-asked"}
_ENDED = ("committed", "aborted", "unknown", "unknown")
