"""Transactions that read what others sent: any of them, in any order, ended in any way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
WORKERS, TRANSACTIONS = ("a", "b", "c"), (0, 1)
TYPES = (*["ok"] * 8, "info", "fail")
# How a transaction went; most are committed, or nothing would be found.
WENT = (
    *[("begun", "commit-asked", "committed")] * 12,
    ("begun", "commit-asked", "unknown"),
    ("begun", "commit-asked", "abort-asked", "unknown"),
    ("begun", "commit-asked", "abort-asked", "aborted"),
    ("begun", "abort-asked", "aborted"),
    ("begun",),
)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Operations and events of transactions, and whether the final read has committed ones only."""

    rows: Sequence[Row]
    notes: Sequence[Row]
    shows_committed: bool


def flow_of(seed: int) -> Flow:
    """Any sends, readings and final reads, possible or not; most values are sent once."""
    drawn = random.Random(seed)
    sent = drawn.randint(6, 12)
    values = [value if drawn.random() < 0.95 else drawn.randrange(sent) for value in range(sent)]
    places = [(partition, offset) for partition in (0, 1) for offset in range(10)]
    log = drawn.sample(places, drawn.randrange(13))
    return Flow(
        rows=[
            *(_row(drawn, "send", value, drawn.choice(places)) for value in values),
            *(
                _row(drawn, "process", _any_of(drawn, sent), drawn.choice(places))
                for _ in range(drawn.choice([4, 12, 24]))
            ),
            *(_row(drawn, "final-read", _any_of(drawn, sent), place) for place in log),
        ],
        notes=[
            {"process": worker, "transaction": number, "name": name, "time": drawn.randrange(20)}
            for worker in WORKERS
            for number in TRANSACTIONS
            for name in drawn.choice(WENT)
        ],
        shows_committed=drawn.random() < 0.5,
    )


def _any_of(drawn: random.Random, sent: int) -> int | None:
    return None if drawn.random() < 0.1 else drawn.randrange(sent + 1)


def _row(drawn: random.Random, f: str, value: int | None, place: tuple[int, int]) -> Row:
    final = f == "final-read"
    return {
        "f": f,
        "type": "ok" if final else drawn.choice(TYPES),
        "process": "final-read-0" if final else drawn.choice(WORKERS),
        "transaction": drawn.choice([*TRANSACTIONS * 4, None]),
        "partition": place[0],
        "value": value,
        "offset": place[1] if final or drawn.random() < 0.8 else None,
        "start": drawn.randrange(20),  # many at the same time
    }
