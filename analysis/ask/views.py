"""The views that a question sees, each with `run_id`: what they say, and how they are made.

A view is made of one stored table (`stored`), whose rows have two of their run beside their own
columns: `begin_ns`, the begin of its load, and `untold`, what an imported history does not tell.
Times that end in `_ns` stand as they were recorded; those in `_s` count from the begin of the load;
a time that nobody told is null. docs/queries.md lists the columns; a test compares them.

    operations  send 7 begun at 5.2 s, acked at 5.3 s
    sends       the same, with took_ms = 100
    reads       7 read at 5.4 s, due at 5.1 s: age_ms = 300
                7 of an imported history, in which it is "order 7": text = "order 7"
    leaders     kafka1 led partition 0 from -0.7 to 7.1 s, kafka2 from then on (to_s null)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames import schema
from harness.history.tables import SMALL_TABLES
from harness.model.untold import BEGINS, READ_TIMES


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view."""

    stored: str  # the table it is made of
    made: Callable[[DataFrame], DataFrame]
    texts: bool = False  # each row has the text of its value, too, if it is of an imported history


def _s(name: str, as_name: str) -> Column:
    return F.round((F.col(name) - F.col("begin_ns")) / 1e9, 6).alias(as_name)


def _ms(first: str, last: str, as_name: str) -> Column:
    return F.round((F.col(last) - F.col(first)) / 1e6, 3).alias(as_name)


def _with_untold_times_null(table: DataFrame) -> DataFrame:
    """Operations with null for times that the history does not tell. An imported history never
    tells when a read was due."""
    of_send = F.col("f") == "send"
    begun, read = (F.array_contains("untold", name) for name in (BEGINS, READ_TIMES))
    untimed = F.when(of_send, begun).otherwise(read)
    # A record that is the user's text has the begin of its poll instead of a due time.
    texts = F.col("intended_ns") == F.col("start_ns")
    undue = F.when(of_send, begun).otherwise((F.size("untold") > 0) | texts)
    return table.withColumns(
        {
            "intended_ns": F.when(~undue, F.col("intended_ns")),
            "start_ns": F.when(~untimed, F.col("start_ns")),
            "end_ns": F.when(of_send | ~read, F.col("end_ns")),
        }
    )


def _operations(table: DataFrame) -> DataFrame:
    table = _with_untold_times_null(table)
    seconds = (_s("start_ns", "start_s"), _s("end_ns", "end_s"))
    return table.select(*schema.OPERATIONS.names, *seconds, _ms("start_ns", "end_ns", "took_ms"))


def _sends(table: DataFrame) -> DataFrame:
    return _with_untold_times_null(table.where("f = 'send'")).select(
        *("run_id", "process", "id", "partition", "value", "text", "type", "offset", "error"),
        *(_s("start_ns", "start_s"), _s("end_ns", "end_s")),
        *(_ms("start_ns", "end_ns", "took_ms"), _ms("intended_ns", "end_ns", "due_ms")),
        *("broker", "instance", "transaction", "intended_ns", "start_ns", "end_ns"),
    )


def _reads(table: DataFrame) -> DataFrame:
    return _with_untold_times_null(table.where("f in ('read', 'poll', 'final-read')")).select(
        *("run_id", "process", "id", "f", "partition", "offset", "value", "text"),
        *(_s("start_ns", "start_s"), _s("end_ns", "end_s")),
        _ms("intended_ns", "end_ns", "age_ms"),
        *("broker", "instance", "generation", "epoch", "intended_ns", "start_ns", "end_ns"),
    )


def _transactions(table: DataFrame) -> DataFrame:
    """The last that was told of each is how it ended, as far as it is known."""
    transactions = table.where("event = 'transaction' and transaction is not null")
    each = transactions.groupBy("run_id", "process", "transaction").agg(
        F.max("instance").alias("instance"),
        F.max_by("name", "time_ns").alias("outcome"),
        F.min("time_ns").alias("begun_ns"),
        F.max("time_ns").alias("ended_ns"),
        F.min("begin_ns").alias("begin_ns"),
    )
    return each.select(
        *("run_id", "process", "transaction", "instance", "outcome"),
        *(_s("begun_ns", "begun_s"), _s("ended_ns", "ended_s"), "begun_ns", "ended_ns"),
    )


def _faults(table: DataFrame) -> DataFrame:
    return table.select(
        *("run_id", "fault", "step", "verb", "target", "nodes"),
        *(_s("invoke_ns", "invoke_s"), _s("heal_ok_ns", "healed_s")),
        *("invoke_ns", "ok_ns", "heal_invoke_ns", "heal_ok_ns"),
        *("evidence", "heal_evidence", "error", "before", "after"),
    )


def _leaders(table: DataFrame) -> DataFrame:
    """A row from where a leader or its epoch was first seen to where the next one was."""
    looks = Window.partitionBy("run_id", "partition").orderBy("time_ns")
    states = [
        F.col(name).eqNullSafe(F.lag(name).over(looks)) for name in ("leader", "leader_epoch")
    ]
    new = (F.row_number().over(looks) == 1) | ~(states[0] & states[1])
    return (
        table.withColumn("new", new)
        .where("new")
        .withColumns({"from_ns": F.col("time_ns"), "to_ns": F.lead("time_ns").over(looks)})
        .select(
            *("run_id", "partition", "leader", "leader_epoch", "isr"),
            *(_s("from_ns", "from_s"), _s("to_ns", "to_s"), "from_ns", "to_ns"),
        )
    )


def _events(table: DataFrame) -> DataFrame:
    return table.select(*(name for name, _ in SMALL_TABLES["events"]), _s("time_ns", "time_s"))


def _anomalies(table: DataFrame) -> DataFrame:
    has_begins = ~F.array_contains("untold", BEGINS)
    sent = {name: F.when(has_begins, F.col(name)) for name in ("sent_ns", "sent_s")}
    return table.withColumns(sent).select(*schema.EVIDENCE.names, "text")


VIEWS: Final[Mapping[str, View]] = {
    "runs": View(stored="runs", made=lambda table: table),
    "operations": View(stored="operations", made=_operations),
    "sends": View(stored="operations", made=_sends, texts=True),
    "reads": View(stored="operations", made=_reads, texts=True),
    "transactions": View(stored="events", made=_transactions),
    "faults": View(stored="faults", made=_faults),
    "leaders": View(stored="views", made=_leaders),
    "anomalies": View(stored="anomalies", made=_anomalies, texts=True),
    "windows": View(stored="windows", made=lambda table: table.drop("begin_ns", "untold")),
    "events": View(stored="events", made=_events),
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
    ("acks", "string"),  # null: not told
    ("kafka", "string"),
    ("operations", "int64"),
    ("started_utc", "string"),
    ("begin_ns", "int64"),  # of the load
    ("end_ns", "int64"),
    ("load_s", "double"),
    ("folder", "string"),
)
