"""Evidence: the facts around each anomaly, by which a person can judge it without the history.

A check names when an anomaly `holds` for a row of a table (`by_value`, `by_place`, or one of its
own), its places and the moment that counts (`Rule`). `rows` makes one row per anomaly, with columns
that the judgement needs beside the evidence (`victims`, `passed_ns`, …); `evidence` adds the leader
at that moment by the views, the faults in force between the send and that moment, and the first
fault injected after it: a record that was acked a millisecond before its leader was killed is lost
by the *next* fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames import schema
from analysis.frames.claims import VICTIMS, contested
from analysis.frames.history_frames import History
from analysis.frames.operations import SENT_NAMES, offset_of, partition_of
from analysis.frames.permission import PERMITTED, permission
from harness.history.record_format import SEQUENCE_BITS

# The columns that `rows` takes from a rule's table; null if it does not have one.
_TAKEN = {
    "value": "bigint",
    "home": "int",
    "sent": "int",
    "copies": "int",
    "sent_ns": "bigint",
    "acked_ns": "bigint",
    "delivered_ns": "bigint",
    # For the judgement, beside the evidence.
    "ended_ns": "bigint",  # of the send; null: it never ended
    "fail_error": "string",  # of a phantom whose send failed
    "looked_until_ns": "bigint",  # the end of the look that shows it
    "polled_ns": "bigint",  # the last poll of a skipped record, by whom and where
    "polled_by": "string",
    "polled_partition": "int",
    "polled_offset": "bigint",
    "passed_ns": "bigint",  # when that member first processed a later record after that poll
    "sender": "bigint",  # the CRC-32 of its name, and the number of its transaction
    "transaction": "int",
    "of_offsets": "int",  # 1: it committed the offsets that went past the record
    "reader": "string",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What the tables that rules look at are made from."""

    history: History
    # Each is made when it is first asked for, and kept for all.
    values: Callable[[], DataFrame]  # analysis.frames.operations.fates
    places: Callable[[], DataFrame]  # analysis.frames.claims.odd
    steps: Callable[[], DataFrame]  # analysis.frames.steps


# One table that rules look at; None where none of the runs has what it is made from.
Table = Callable[[Tables], DataFrame | None]


def by_value(tables: Tables) -> DataFrame:
    """A row for each value: analysis.frames.operations.fates, and `instead`, the other value that
    the final read has at the acked offset."""
    if not tables.history.contested:
        return tables.values().withColumn("instead", F.lit(None).cast("bigint"))
    there = (
        tables.places()
        .where(F.col("final_value").isNotNull())
        .select(
            "run_id", F.col("place").alias("acked_place"), F.col("final_value").alias("instead")
        )
    )
    return tables.values().join(F.broadcast(there), on=["run_id", "acked_place"], how="left")


def by_place(tables: Tables) -> DataFrame:
    """A row for each place with two values or a payload that is none: analysis.frames.claims."""
    history = tables.history
    return contested(tables.places(), history.operations, tables.values(), history.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a row is an anomaly, and what of it is evidence.

    `victims` (analysis.frames.claims): the sends by which it is judged; None: by the row's own.
    """

    holds: Column
    place: Column
    time_ns: Column
    outcome: Column | None = None
    other_place: Column | None = None
    other_value: Column | None = None
    # For whether it is permitted (analysis.frames.permission); by default the ack, or the delivery.
    known_ns: Column | None = None
    shown_ns: Column | None = None
    victims: Column | None = None
    lacked_by: Column | None = None  # the members of the ISR that lack it, as an array
    lasted_ns: Column | None = None  # how long it was so; null: to the end, or nobody knows

    def finding(self, anomaly: str) -> Column:
        """The evidence as one struct, null where the rule does not hold."""
        fields = {
            "anomaly": F.lit(anomaly),
            "place": self.place,
            "time_ns": self.time_ns,
            "outcome": _or_null(self.outcome, "string"),
            "other_place": _or_null(self.other_place, "bigint"),
            "other_value": _or_null(self.other_value, "bigint"),
            "known_ns": _or_null(self.known_ns, "bigint"),
            "shown_ns": _or_null(self.shown_ns, "bigint"),
            "victims": _or_null(self.victims, VICTIMS),
            "lacked_by": F.array_join(_or_null(self.lacked_by, "array<string>"), ","),
            "lasted_ns": _or_null(self.lasted_ns, "bigint"),
        }
        return F.when(self.holds, F.struct(*[c.alias(name) for name, c in fields.items()]))


def rows(table: DataFrame, rules: Mapping[str, Rule]) -> DataFrame:
    """One row for each row of `table` and anomaly whose rule holds for it."""
    known = set(table.columns)
    taken = [
        (F.col(name) if name in known else F.lit(None)).cast(kind).alias(name)
        for name, kind in _TAKEN.items()
    ]
    findings = F.array_compact(F.array(*[rule.finding(name) for name, rule in rules.items()]))
    return (
        table.where(reduce(or_, [F.coalesce(rule.holds, F.lit(False)) for rule in rules.values()]))
        .select("run_id", *taken, F.explode(findings).alias("finding"))
        .select("run_id", *_TAKEN, "finding.*")
    )


def evidence(found: DataFrame, history: History) -> DataFrame:
    """`rows` with everything that is known of them: schema.EVIDENCE."""
    names = F.create_map(*[F.lit(word) for pair in SENT_NAMES.items() for word in pair])
    value = F.col("value")
    known = {
        "partition": F.coalesce(partition_of(F.col("place")), "home"),
        "offset": offset_of(F.col("place")),
        "other_partition": partition_of(F.col("other_place")),
        "other_offset": offset_of(F.col("other_place")),
        "producer": F.shiftright(value, SEQUENCE_BITS),
        "sequence": value.bitwiseAND(F.lit((1 << SEQUENCE_BITS) - 1)),
        "sent": F.element_at(names, F.col("sent")),
        "faults": F.transform(F.filter("faults", _in_force), lambda f: f.fault),
        "next_fault": F.get(F.filter("faults", _later), F.lit(0)).fault,
    }
    at_work = F.filter("states", _led)
    seconds = {
        f"{name}_s": (F.col(f"{name}_ns") - F.col("load_start_ns")) / 1e9
        for name in ("time", "sent", "acked", "delivered")
    }
    seconds["lasted_s"] = F.col("lasted_ns") / 1e9
    return (
        found.join(F.broadcast(history.runs), on="run_id", how="inner")
        .withColumns({**known, **seconds})
        .withColumn("state", F.get(at_work, F.lit(0)))
        .withColumns({"leader": F.col("state.leader"), "epoch": F.col("state.epoch")})
        .withColumn("known_ns", F.coalesce("known_ns", "acked_ns", "delivered_ns"))
        .withColumns(permission())
        .withColumn("permitted_by", F.when(F.col("judged") == PERMITTED, _words()))
        .select(*[F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.EVIDENCE.fields])
    )


def _or_null(column: Column | None, kind: str) -> Column:
    return (F.lit(None) if column is None else column).cast(kind)


def _in_force(fault: Column) -> Column:
    since_ns = F.least("sent_ns", "time_ns")  # of what was never sent: that moment alone
    begun = fault.invoke_ns <= F.col("time_ns")
    return begun & (fault.end_ns.isNull() | (since_ns < fault.end_ns))


def _later(fault: Column) -> Column:
    return fault.invoke_ns > F.col("time_ns")


def _words() -> Column:
    return F.get(F.filter("causes", lambda each: each["number"] == F.col("cause")), F.lit(0)).words


def _led(leader: Column) -> Column:
    now = F.col("time_ns")
    ended = leader.to_ns.isNotNull() & (leader.to_ns <= now)
    return (leader.partition == F.col("partition")) & (leader.from_ns <= now) & ~ended
