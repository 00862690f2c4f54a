"""The views that a question sees, each with `run_id`: what they say, and how they are made.

A view is one query over a stored table (`stored`), whose rows have `begin_ns` beside their own
columns, the begin of their run's load. Times that end in `_ns` stand as they were recorded; those in
`_s` count from the begin of the load. docs/queries.md lists the columns; a test compares them.

    operations  send 7 begun at 5.2 s, acked at 5.3 s
    sends       the same, with took_ms = 100
    reads       7 read at 5.4 s, due at 5.1 s: age_ms = 300
    leaders     kafka1 led partition 0 from -0.7 to 7.1 s, kafka2 from then on (to_s null)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from analysis.frames import schema
from harness.history.tables import SMALL_TABLES


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view."""

    says: str  # what a row is, for `--help`
    stored: str  # the table it is made of
    query: str  # over `stored`, as {table}


def _since(name: str) -> str:
    return f"round(({name}_ns - begin_ns) / 1e9, 6) as {name}_s"


def _ms(first: str, last: str, name: str) -> str:
    return f"round(({last} - {first}) / 1e6, 3) as {name}"


def _columns(*parts: str) -> str:
    return ", ".join(parts)


_OPERATION = "run_id, process, id"
_SPENT = _columns("start_ns, end_ns", _since("start"), _since("end"))
_TOOK = _ms("start_ns", "end_ns", "took_ms")
_FAULT_S = (f"round(({of}_ns - begin_ns) / 1e9, 6) as {of}_s" for of in ("invoke", "heal_ok"))
_IN_TIME = "over (partition by run_id, `partition` order by time_ns)"
_BEFORE = _columns(
    *(f"lag({name}) {_IN_TIME} as last_{name}" for name in ("leader", "leader_epoch"))
)
_NEW = "look = 1 or not (leader <=> last_leader and leader_epoch <=> last_leader_epoch)"

VIEWS: Final[Mapping[str, View]] = {
    "operations": View(
        says="whatever a worker did: sends, reads, commits, look-ups",
        stored="operations",
        query=f"select {_columns(*schema.OPERATIONS.names, _since('start'), _since('end'), _TOOK)} "
        "from {table}",
    ),
    "sends": View(
        says="sends with how they ended, and how long that took",
        stored="operations",
        query=f"select {_OPERATION}, partition, value, type, offset, error, intended_ns, {_SPENT}, "
        f"{_TOOK}, {_ms('intended_ns', 'end_ns', 'due_ms')}, broker, instance, transaction "
        "from {table} where f = 'send'",
    ),
    "reads": View(
        says="records that were read, by whom, and how old they were",
        stored="operations",
        query=f"select {_OPERATION}, f, partition, offset, value, intended_ns, {_SPENT}, "
        f"{_ms('intended_ns', 'end_ns', 'age_ms')}, broker, instance, generation, epoch "
        "from {table} where f in ('read', 'poll', 'final-read')",
    ),
    "transactions": View(
        says="transactions: begun, ended, and how",
        stored="events",
        query="select run_id, process, transaction, max(instance) as instance, "
        "max_by(name, time_ns) as outcome, min(time_ns) as begun_ns, max(time_ns) as ended_ns, "
        "round((min(time_ns) - min(begin_ns)) / 1e9, 6) as begun_s, "
        "round((max(time_ns) - min(begin_ns)) / 1e9, 6) as ended_s "
        "from {table} where event = 'transaction' and transaction is not null "
        "group by run_id, process, transaction",
    ),
    "faults": View(
        says="faults: what was done to which nodes, from when to when, and the proof",
        stored="faults",
        query=f"select run_id, fault, step, verb, target, nodes, {_columns(*_FAULT_S)}, invoke_ns, "
        "ok_ns, heal_invoke_ns, heal_ok_ns, evidence, heal_evidence, error, before, after "
        "from {table}",
    ),
    "leaders": View(
        says="who led a partition from when to when, by ZooKeeper or KRaft",
        stored="views",
        query="select run_id, `partition`, leader, leader_epoch, isr, "
        "round((time_ns - begin_ns) / 1e9, 6) as from_s, "
        f"round((lead(time_ns) {_IN_TIME} - begin_ns) / 1e9, 6) as to_s, "
        f"time_ns as from_ns, lead(time_ns) {_IN_TIME} as to_ns "
        f"from (select *, row_number() {_IN_TIME} as look, {_BEFORE} from {{table}}) where {_NEW}",
    ),
    "anomalies": View(
        says="what the check found: a row an anomaly, with its evidence",
        stored="anomalies",
        query=f"select {_columns(*schema.EVIDENCE.names)} from {{table}}",
    ),
    "windows": View(
        says="stretches in which nothing was acked, read or processed",
        stored="windows",
        query=f"select {_columns(*schema.WINDOWS.names)} from {{table}}",
    ),
    "events": View(
        says="what workers told beside operations: rebalances, errors, where reads ended",
        stored="events",
        query=f"select {_columns(*(name for name, _ in SMALL_TABLES['events']), _since('time'))} "
        "from {table}",
    ),
    "runs": View(
        says="the runs themselves: scenario, verdict, when the load began",
        stored="runs",
        query="select * from {table}",
    ),
}
RUNS: Final = (
    ("run_id", "string"),
    ("scenario", "string"),
    ("title", "string"),
    ("seed", "int64"),
    ("backend", "string"),
    ("state", "string"),  # complete | incomplete | running
    ("verdict", "string"),  # valid | invalid | unknown; null: not checked
    ("sentence", "string"),
    ("acks", "string"),
    ("kafka", "string"),
    ("operations", "int64"),
    ("started_utc", "string"),
    ("begin_ns", "int64"),  # of the load
    ("end_ns", "int64"),
    ("load_s", "double"),
    ("folder", "string"),
)
