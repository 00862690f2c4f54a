"""Made-up sealed histories of any size, and what a check must find in them.

    made = write(Path("/tmp/run"), operations=1_000_000, shape="planted")
    made.expected    {"lost": 7, "torn": 5, …}; what is not named must not be found

The run: 16 partitions; 8 producers with transactions, a consumer that follows the log, a group of
four members that commits after processing, four final reads; 5 s of outage in every 20
(bench.checker.made.cycles). Shapes:

    clean            nothing is wrong
    planted          two of each anomaly that such a history can have (bench.checker.made.planting)
    tail-lost        all records acknowledged in the second half are gone, as one tail
    scattered-lost   half of the acknowledged records are gone, one here and one there

Half of the records: of each partition's, and nobody was ever given them. A history cannot be
smaller than 20,000 operations: below that there is no room for all plants.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.checker.made import readers
from bench.checker.made.cycles import (
    COMMITTED,
    CYCLE_NS,
    DIES_NS,
    DOUBTFUL,
    FIRST_EPOCH,
    LEADS_NS,
    MARKER,
    MEMBERS,
    MS,
    OUTAGE_S,
    PARTITIONS,
    PRODUCERS,
    Cycle,
    Load,
    Mask,
    Numbers,
    S,
    State,
    begin,
    give_offsets,
)
from bench.checker.made.files import Sealed
from bench.checker.made.planting import EACH, HANGS, ORDERED, PLACED, STOPS, Plant, plant
from bench.checker.made.plot import Plot
from harness.model.runs.run_folder import RunFolder
from tests.support.story_runs import story_record

SHAPES = ("clean", "planted", "tail-lost", "scattered-lost")
START_NS = 1_000 * S
FINAL_AFTER_NS = 100 * S  # when the load has ended; no transaction can be open then
RATE = 10_000  # sends a second, at most
LEAST_S = 40  # of load: two cycles
SEED = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A history that was written."""

    folder: Path
    operations: int
    expected: Mapping[str, int]  # by anomaly


OUTPUTS = "output-reader-0"


def load_of(operations: int, shape: str) -> Load:
    """The load that makes about so many operations."""
    each = 5 if shape in ("clean", "planted") else 3  # sent, read, polled, processed, read at last
    sends = operations // each
    rate = min(RATE, sends / LEAST_S)
    cycles = max(2, round(sends / (rate * (CYCLE_NS / S))))
    return Load(cycles=cycles, sends=sends // cycles // PRODUCERS * PRODUCERS, start_ns=START_NS)


def write(folder: Path, operations: int, shape: str = "clean", *, outputs: bool = False) -> Made:
    """Write a sealed run of about so many operations to a folder that is not there yet; with an
    output of each input, read twice, that programs made."""
    load, rng, run_id = load_of(operations, shape), np.random.default_rng(SEED), f"bench/{shape}"
    state, expected = State(), Counter[str]()
    group, inputs = readers.Readers(final_ns=load.end_ns + FINAL_AFTER_NS), list[Numbers]()
    with Sealed(folder, run_id) as history:
        history.tell("events", _first_assigned(load))
        for number in range(load.cycles):
            if number == load.cycles // 2:
                middle = state.offset.copy()
            cycle = begin(load, number, state, rng)
            plot = Plot(cycle=cycle, busy=np.zeros(len(cycle.entries.send), bool))
            last = number == load.cycles - 1
            if shape == "planted":
                expected += _plant(plot, load, state)
            else:
                give_offsets(cycle, state)
                _lose(cycle, _gone(cycle, shape, load, rng))
            stop = _stop(plot) if shape == "planted" and last else None
            expected += _found(plot, stops=shape == "planted")
            for process, columns in _recorded(plot, group, last=last):
                history.record(process, columns)
                inputs += [columns["value"]] if process.startswith("final-read") else []
            history.tell("events", [*readers.events(plot), *_without_value(plot)])
            history.tell("faults", [_fault(cycle)])
        history.tell("views", _views(load))
        log_ends = middle if shape == "tail-lost" else state.offset
        ends = _ends(log_ends, group, stop, _furthest(plot) if shape == "planted" else None)
        history.tell("events", [*ends, *_ended(history, load)])
        if outputs:
            _answer(history, np.concatenate(inputs), load)
        if shape == "planted":
            expected += Counter({"hanging-transaction": 2, "stable-back": 1})
    _write_record(folder, run_id, load, outputs=outputs)
    return Made(folder=folder, operations=history.operations, expected=dict(+expected))


# What is wrong


def _plant(plot: Plot, load: Load, state: State) -> Counter[str]:
    """This cycle's share of all that is planted."""
    number = plot.cycle.number
    found = plant(plot, _share(ORDERED, number, load.cycles), first=number)
    give_offsets(plot.cycle, state)
    found += plant(plot, _share(PLACED, number, load.cycles), first=3 * number + len(ORDERED))
    if number == 0:
        plot.learns_late, plot.answered_lower, plot.nobodys = MEMBERS - 1, 1, 2
        found += Counter({"zombie-commit": 1, "commit-back": 1, "unowned-partition": 1})
    if number == load.cycles - 1:
        plot.of_two = 5
        found["two-owners"] += 1
    return found


def _share(plants: tuple[Plant, ...], number: int, cycles: int) -> list[Plant]:
    """Each plant `EACH` times, spread over all cycles."""
    every = [each for each in plants for _ in range(EACH)]
    return [each for n, each in enumerate(every) if n * cycles // len(every) == number]


def _gone(cycle: Cycle, shape: str, load: Load, rng: np.random.Generator) -> Mask:
    """The sends whose records are lost: all of the tail, or half of those acknowledged."""
    sends = len(cycle.sends.kind)
    gone: Mask = np.zeros(sends, bool)
    if shape == "tail-lost":
        gone[:] = cycle.number >= load.cycles // 2
    if shape == "scattered-lost":
        gone = (cycle.sends.kind == COMMITTED) & (rng.random(sends) < 0.5)
    return gone


def _lose(cycle: Cycle, gone: Mask) -> None:
    """Nobody is given the records of these sends."""
    entries = cycle.entries
    lost = gone[entries.send] & (entries.send != MARKER)
    for given in (entries.final, entries.tail, entries.polled):
        given[lost] = False
    entries.processed[lost] = 0


def _stop(plot: Plot) -> int:
    """The offset from which on a transaction hangs, in the last second of the partition whose final
    read stops there: nothing behind it is given to anybody."""
    entries = plot.entries
    mine = entries.of(STOPS)
    late = mine[entries.stable_ns[mine] > plot.cycle.start_ns + CYCLE_NS - S]
    record = late[entries.send[late] != MARKER][0]
    behind = np.arange(record, mine[-1] + 1)
    for given in (entries.final, entries.tail, entries.polled):
        given[behind] = False
    entries.processed[behind] = 0
    return int(entries.offset[record])


def _furthest(plot: Plot) -> int:
    """The offset of the last record that was read of the partition that hangs behind it."""
    mine = plot.entries.of(HANGS)
    return int(plot.entries.offset[mine[plot.entries.tail[mine]][-1]])


def _found(plot: Plot, *, stops: bool) -> Counter[str]:
    """What is missing of this cycle's records."""
    sends, entries = plot.cycle.sends, plot.entries
    acked = sends.kind == COMMITTED
    there = np.isin(sends.value, entries.value[entries.final & entries.readable])
    delivered = np.isin(sends.value, entries.value[(entries.tail | entries.polled)])
    whole = (sends.partition != STOPS) if stops else np.ones(len(acked), bool)
    asked = acked | (sends.kind == DOUBTFUL)
    windows = plot.cycle.transactions.kind.shape[1]
    key = sends.producer * windows + sends.window
    some = np.bincount(key[there], minlength=PRODUCERS * windows) > 0
    return Counter(
        {
            "lost": int((acked & ~there & whole).sum()),
            "vanished": int((delivered & ~there & whole).sum()),
            "unseen": int((acked & ~there & ~whole).sum()),
            "torn": int((asked & ~there & whole & some[key]).sum()),
        }
    )


# What was recorded


def _recorded(
    plot: Plot, group: readers.Readers, *, last: bool
) -> Iterator[tuple[str, readers.Columns]]:
    yield from readers.sends(plot.cycle)
    yield readers.consumer(plot)
    yield from readers.members(plot, group, last=last)
    yield from readers.final_reads(plot, group)


def _first_assigned(load: Load) -> Iterator[dict[str, Any]]:
    for number in range(MEMBERS):
        yield from readers.joined(number, 1, load.start_ns - S // 2, readers.owned(number))


def _without_value(plot: Plot) -> Iterator[dict[str, Any]]:
    """What each reader told of records that have no value."""
    entries = plot.entries
    for at in np.flatnonzero(~entries.readable).tolist():
        partition, offset = int(entries.partition[at]), int(entries.offset[at])
        event = "corrupt-payload" if at in plot.corrupt else "unparsable"
        given = {
            "consumer-0": entries.tail[at],
            f"group-consumer-{partition % MEMBERS}": entries.polled[at],
            f"final-read-{partition % MEMBERS}": entries.final[at],
        }
        for process in (name for name, was in given.items() if was):
            yield {
                "process": process,
                "event": event,
                "time_ns": int(entries.stable_ns[at]) + MS,
                "partition": partition,
                "position": offset,
                "text": "a payload",
            }


def _ends(
    log_ends: Numbers, group: readers.Readers, stop: int | None, furthest: int | None
) -> Iterator[dict[str, Any]]:
    """What the final reads reached."""
    for partition in range(PARTITIONS):
        end = int(log_ends[partition])
        stable = {STOPS: stop, HANGS: furthest}.get(partition)
        stopped = partition == STOPS and stop is not None
        yield {
            "process": f"final-read-{partition % MEMBERS}",
            "event": "ends",
            "time_ns": group.final_ns + int(group.final_rows.max()) * 1000 + S,
            "partition": partition,
            "log_start": 0,
            "committed_end": end if stable is None else stable,
            "uncommitted_end": end,
            "position": stable if stopped else end,
            "complete": not stopped,
        }


def _ended(history: Sealed, load: Load) -> Iterator[dict[str, Any]]:
    """That each worker ended in order, and what it had recorded."""
    for name in _workers():
        told = {"reads" if not name.startswith("producer") else "sends": history.recorded(name)}
        grouped = name.startswith("group")
        yield {
            "process": name,
            "event": "end",
            "time_ns": load.end_ns + S,
            "text": json.dumps({"reason": "stopped", **({} if grouped else told)}),
        }


def _fault(cycle: Cycle) -> dict[str, Any]:
    """The leader dies, and is there again five seconds later."""
    return {
        "fault": cycle.number,
        "step": cycle.number,
        "verb": "kill",
        "target": "leader",
        "nodes": [_leader(cycle.epoch)],
        "invoke_ns": cycle.start_ns + DIES_NS,
        "ok_ns": cycle.start_ns + DIES_NS + 5 * MS,
        "heal_invoke_ns": cycle.start_ns + LEADS_NS - 90 * MS,
        "heal_ok_ns": cycle.start_ns + LEADS_NS,
        "evidence": "its process has ended",
        "heal_evidence": "its process runs",
    }


def _leader(epoch: int) -> str:
    return f"kafka{epoch % 3 + 1}"


def _views(load: Load) -> Iterator[dict[str, Any]]:
    """One leader of all partitions after the other."""
    for epoch in range(FIRST_EPOCH, FIRST_EPOCH + load.cycles + 1):
        led_ns = load.start_ns + (epoch - FIRST_EPOCH - 1) * CYCLE_NS + LEADS_NS - 50 * MS
        for partition in range(PARTITIONS):
            yield {
                "time_ns": led_ns if epoch > FIRST_EPOCH else load.start_ns - S,
                "partition": partition,
                "leader": _leader(epoch),
                "isr": ["kafka1", "kafka2", "kafka3"],
                "leader_epoch": epoch,
                "controller": "kafka1",
            }


def _workers() -> list[str]:
    kinds = {"producer": PRODUCERS, "consumer": 1, "group-consumer": MEMBERS, "final-read": MEMBERS}
    return [f"{kind}-{number}" for kind, count in kinds.items() for number in range(count)]


def _answer(history: Sealed, inputs: Numbers, load: Load) -> None:
    """An output of each input: read during the load, and once more after it."""
    value, offset = inputs[inputs >= 0], np.arange(np.count_nonzero(inputs >= 0))
    for f, begin_ns in (("output", load.start_ns), ("final-output", load.end_ns + S)):
        times = begin_ns + offset * 1000
        history.record(
            OUTPUTS,
            {
                "f": f,
                "type": "ok",
                "partition": 0,
                "value": value,
                "offset": offset,
                **dict.fromkeys(("intended_ns", "start_ns", "end_ns"), times),
            },
        )
    told = {"process": OUTPUTS, "time_ns": load.end_ns + 2 * S}
    end = dict.fromkeys(("committed_end", "uncommitted_end", "position"), len(offset))
    ends = {**told, "event": "output-ends", "partition": 0, "complete": True, "log_start": 0, **end}
    passed = ({"event": "passed", "partition": p, "position": 2**40} for p in range(PARTITIONS))
    history.tell("events", [ends, *({**told, **each} for each in passed)])


def _write_record(folder: Path, run_id: str, load: Load, *, outputs: bool) -> None:
    """run.json."""
    plan = [
        {"step": number, "verb": "kill", "target": "leader", "at": OUTAGE_S + number * CYCLE_NS / S}
        for number in range(load.cycles)
    ]
    final_ns, hour_ns = load.end_ns + FINAL_AFTER_NS, 3600 * S
    phases = {
        "set-up": (load.start_ns - 10 * S, load.start_ns - S),
        "load": (load.start_ns, load.end_ns),
        "final-read": (final_ns, final_ns + hour_ns),
        "collect": (final_ns + hour_ns, final_ns + hour_ns + S),
    }
    said = {
        "plan": plan,
        "phases": [{"name": n, "start_ns": a, "end_ns": b} for n, (a, b) in phases.items()],
        "partitions": PARTITIONS,
        "producers": PRODUCERS,
        "consumers": 1,
        "commit": "after",
        "retries": 2**31 - 1,
        "idempotent": True,
        "isolation": "read_committed",
        "consumer": {"session.timeout.ms": 3000},
        "workers": [{"process": n, "role": n.rsplit("-", 1)[0]} for n in _workers()],
    }
    record = story_record(run_id, said)
    scenario = record.scenario.model_dump(mode="json")
    if outputs:
        scenario["outputs"] = {"topic": "paid", "id": "json:/order_id"}
    scenario["workload"]["group_consumers"] = MEMBERS
    scenario["workload"]["producer"]["transaction.timeout.ms"] = 10_000
    RunFolder(path=folder).write(record.changed(scenario=scenario))
