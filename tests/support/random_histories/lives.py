"""What members of a group tell of their lives, in any order; and transactions of which the last may
not have ended."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

MS = 10**6
STEP = 500  # ms; nothing lies between
MEMBERS = ("group-consumer-0", "group-consumer-1", "group-consumer-0-2")
TEXTS = ("", "0", "0", "1", "1", "0, 1")
LOAD_END = 60_000
Row = dict[str, Any]


def group_of(seed: int) -> Any:
    """A run with a group, as far as its owners go, possible or not. No two events at one time."""
    drawn = random.Random(seed)
    end = drawn.choice([20_000, LOAD_END])
    times = drawn.sample(range(0, drawn.choice([6000, end]), STEP), drawn.randrange(2, 11))
    return SimpleNamespace(
        grouped=drawn.random() < 0.97,
        scenario={
            "topic": {"partitions": 2},
            "workload": {
                "batch": 50,
                "process_ms": drawn.choice([0, 0, 0, 100]),
                "consumer": _consumer(drawn),
            },
        },
        events=[_event(drawn, time) for time in times],
        faults=[_fault(drawn, end) for _ in range(drawn.choice([0, 0, 1, 2]))],
        suspect=_suspect(drawn),
        load_end_ns=end * MS,
    )


def _consumer(drawn: random.Random) -> Row:
    session = drawn.choice([{}, *[{"session.timeout.ms": ms} for ms in (1000, 1000, 6000)]])
    return session | ({"group.instance.id": "me"} if drawn.random() < 0.03 else {})


def _event(drawn: random.Random, time: int) -> Row:
    name = drawn.choice(["assigned", "assigned", "assigned", "member", "revoked", "dies", "end"])
    return {
        "event": name,
        "process": drawn.choice(MEMBERS),
        "time_ns": time * MS,
        "text": drawn.choice(TEXTS) if name in ("assigned", "revoked") else None,
        "generation": drawn.choice([3, 3, 3, 3, 4, 4, 2, None, -1]) if name != "end" else None,
    }


def _fault(drawn: random.Random, end: int) -> Row:
    begin = drawn.randrange(0, end, STEP)
    healed = begin + drawn.randrange(STEP, 10_000, STEP)
    return {
        "invoke_ns": begin * MS,
        "heal_ok_ns": None if drawn.random() < 0.1 else healed * MS,
    }


def _suspect(drawn: random.Random) -> tuple[Any, ...]:
    damaged = drawn.choice([*[None] * 20, "group-consumer-1", "producer-0"])
    return () if damaged is None else (SimpleNamespace(process=damaged),)


def transactions_of(seed: int) -> Any:
    """A run with transactions, as far as they end, and final reads that were asked for ends."""
    drawn = random.Random(seed)
    times = drawn.sample(range(0, 20_000, STEP), 12)
    begins = drawn.sample(range(20_000, drawn.choice([40_000, 170_000]), STEP), 4)
    timeout = drawn.choice([{}, {"transaction.timeout.ms": 5000}])
    looked_for = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    return SimpleNamespace(
        tells_transactions=drawn.random() < 0.9,
        scenario={"workload": {"producer": timeout}},
        node_settings={"server": drawn.choice([{}, {looked_for: 1000}])},
        faults=[_fault(drawn, 30_000)] if drawn.random() < 0.3 else [],
        events=[_note(drawn, time) for time in times[: drawn.randrange(9)]],
        ends=[_ends(drawn, time) for time in begins],
        load_end_ns=20_000 * MS,
        plan=[_skew(drawn) for _ in range(drawn.choice([0, 0, 1, 2]))],
    )


def _skew(drawn: random.Random) -> Row:
    offset_s = drawn.choice([-20.0, 0.0, 10.0])
    return {"effects": drawn.choice([None, {"skews_clock_s": offset_s}])}


def _note(drawn: random.Random, time: int) -> Row:
    names = ("begun", "commit-asked", "unknown", *["committed", "aborted"] * 4)
    return {
        "event": "transaction" if drawn.random() < 0.9 else "client-error",
        "process": drawn.choice(["producer-0", "producer-1"]),
        "transaction": drawn.randrange(2),
        "name": drawn.choice(names),
        "time_ns": time * MS,
    }


def _ends(drawn: random.Random, time: int) -> Row:
    stable = drawn.choice([None, 3, 5, 5])
    return {
        "partition": drawn.randrange(2),
        "time_ns": time * MS,
        "since_ns": drawn.choice([None, (time - drawn.randrange(0, 20_000, STEP)) * MS]),
        "committed_end": stable,
        "uncommitted_end": drawn.choice([None, 5, 9, 9]),
    }
