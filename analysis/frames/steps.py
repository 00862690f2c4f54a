"""Steps: from one record that a reader got in a partition to the next, compared with the log.

A *reader* is a process that reads; its own order is that of its ids. Two successive records make a
row only if their step is odd: the second is not at the next offset, or the final read has another
value at the first.

    consumer-0 reads 3, 4, 7    final read: 3, 4, 6, 7    =>  a step from 4 to 7, and 6 below 7

A reader may be *moved* between the two: a partition is assigned or revoked, or it is put elsewhere
(`moves` of schema.RUNS). Such a step proves nothing, and makes no row. A reader's first record
is a step from where it was put, if that is known.

`odd` says what is odd, one row for each:

    skip    the log has another record between the two, or had, and the second is where it was read
    back    the second is not behind the first, and no cut log explains it
    older   the second is behind the first and of an earlier leader epoch
    hole    of the log itself: its next record, or its end, is not at the next offset

To find the log's record below a place, steps and log are sorted into one order, in which a step
comes right after the log's record at its offset: no join, however many steps there are. Several
final reads are one log."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from analysis.frames.evidence import Tables
from analysis.frames.operations import is_delivery, is_final, place_of

_KEPT = (
    *("run_id", "partition", "offset", "end_ns", "kept_offset", "next_offset", "load_end_ns"),
    *("reader", "from_offset", "from_value", "other_value", "crossed_ns"),
)
STEPS = StructType(  # what `steps` gives
    [
        *(StructField(name, StringType()) for name in ("run_id", "odd", "reader")),
        StructField("partition", IntegerType()),
        *(
            StructField(name, LongType())
            for name in ("value", "offset", "end_ns", "kept_offset", "next_offset", "load_end_ns")
        ),
        *(
            StructField(name, LongType())
            for name in ("from_offset", "from_value", "other_value", "crossed_ns")
        ),
    ]
)
# What a row of that order is: a record of the log, a step to this offset, or the log's end.
_LOG, _STEP, _END = 0, 1, 2


def steps(operations: DataFrame, odd: DataFrame, runs: DataFrame) -> DataFrame:
    """What is odd about readers' steps and about the log.

    run_id, odd, value (which one it is about: the one skipped last, or the second; null of a hole),
    partition, offset (of the second record, or where the log goes on), end_ns, kept_offset (the
    last record of the final read below offset; null: none), next_offset (where the log's next
    record should be), load_end_ns. Of a step: reader, from_offset, from_value, other_value (the
    final read has it at from_offset, and not what was read there; null: nothing else). Of a hole:
    crossed_ns (when a reader was first given the records on either side one after the other; null:
    none was).
    """
    log = operations.where(is_final()).select(
        "run_id", "partition", "offset", F.col("value").alias("read"), "end_ns"
    )
    both = (
        log.withColumn("sort", F.lit(_LOG))
        .unionByName(_ends(runs), allowMissingColumns=True)
        .unionByName(_odd(operations, odd), allowMissingColumns=True)
    )
    dense = runs.select("run_id", F.coalesce("dense", F.lit(False)).alias("dense"))
    beside = _beside_the_log(both).join(F.broadcast(dense), on="run_id", how="inner")
    known = runs.select("run_id", "ends", "moves", "to_end", "load_end_ns")
    here = Window.partitionBy("run_id", "partition", "offset")
    return (
        beside.where(_begins() | _may_tell() | _crosses())
        .join(F.broadcast(known), on="run_id", how="inner")
        .withColumns(_from_where_it_was_put())
        .where(~_moved())
        .withColumn("crossed_ns", F.min(F.when(_crosses(), F.col("end_ns"))).over(here))
        .withColumn("end", F.get("ends", F.col("partition")))
        .withColumn("next_offset", _next_of_log())
        .select(*_KEPT, F.explode(_kinds()).alias("kind"))
        .select(*_KEPT, "kind.*")
    )


def by_step(tables: Tables) -> DataFrame:
    """A row for each oddity, with what became of its value."""
    known = ("sent", "copies", "sent_ns", "acked_ns", "delivered_ns", "superseded")
    fates = tables.values().select("run_id", "value", *known)
    return tables.steps().join(fates, on=["run_id", "value"], how="left")


def _kinds() -> Column:
    """All that is odd about one row."""
    skipped = F.when(_is_put_under(), F.col("other_value")).otherwise(F.col("kept_value"))
    kinds = {
        "skip": (_is_skip(), skipped),
        "back": (_is_back(), F.col("read")),
        "older": (_is_older(), F.col("read")),
        "hole": (_is_hole(), F.lit(None).cast("bigint")),
    }
    return F.array_compact(
        F.array(
            *[
                F.when(holds, F.struct(F.lit(name).alias("odd"), value.alias("value")))
                for name, (holds, value) in kinds.items()
            ]
        )
    )


def _is_put_under() -> Column:
    return F.col("other_value").isNotNull()


def _is_skip() -> Column:
    forth = F.col("offset") > F.col("from_offset")
    over = F.coalesce(F.col("kept_offset") > F.col("from_offset"), F.lit(False))
    is_sure = F.col("instance").isNotNull() | ~F.coalesce("to_end", F.lit(False))
    return F.col("confirmed") & forth & is_sure & (over | _is_put_under())


def _is_back() -> Column:
    behind = F.col("offset") <= F.col("from_offset")
    return F.col("instance").isNotNull() & behind & ~_is_cut()


def _is_cut() -> Column:
    """Whether a new leader's log had other records where the reader was, so that it had to go
    back."""
    newer = F.coalesce(F.col("epoch") > F.col("from_epoch"), F.lit(False))
    return newer & F.col("other_value").isNotNull()


def _is_older() -> Column:
    later = F.col("offset") > F.col("from_offset")
    return later & F.coalesce(F.col("epoch") < F.col("from_epoch"), F.lit(False))


def _is_hole() -> Column:
    complete = F.coalesce(F.col("end.complete"), F.lit(False))
    owed = F.col("reader").isNull() & complete & F.col("dense")
    # Of a log's end that nothing lies below: a final read that left no record at all proves little.
    some = F.col("end_ns").isNotNull() | F.col("kept_offset").isNotNull()
    return owed & some & (F.col("offset") > F.col("next_offset"))


def _next_of_log() -> Column:
    log_start = F.coalesce(F.col("end.log_start"), F.lit(0))
    return F.greatest(F.coalesce(F.col("kept_offset") + 1, F.lit(0)), log_start)


def _odd(operations: DataFrame, odd: DataFrame) -> DataFrame:
    """Each reader's records that do not follow from the one before as records do."""
    in_order = Window.partitionBy("run_id", "reader", "instance", "partition").orderBy("id")
    last = F.lag(F.struct("offset", "read", "start_ns", "epoch")).over(in_order)
    first = F.col("last").isNull() & (F.coalesce("instance", F.lit(0)) == 0)
    there = odd.where(F.col("final_value").isNotNull()).select(
        "run_id", F.col("place").alias("from_place"), F.col("final_value").alias("other_value")
    )
    looked_up = F.col("f") == "lookup"
    replaced = F.coalesce(F.col("from_value") != F.col("other_value"), F.lit(False))
    older = F.coalesce(F.col("epoch") < F.col("from_epoch"), F.lit(False))
    return (
        operations.where((is_delivery() & ~looked_up) | is_final())
        .select(
            "run_id",
            F.col("process").alias("reader"),
            "instance",
            "id",
            "partition",
            "offset",
            F.col("value").alias("read"),
            "start_ns",
            "end_ns",
            "epoch",
        )
        .withColumn("last", last)
        .withColumn("first", first)
        .where(F.col("last").isNotNull() | F.col("first"))
        .withColumns(
            {
                "from_offset": F.col("last.offset"),
                "from_value": F.col("last.read"),
                "from_ns": F.col("last.start_ns"),
                "from_epoch": F.col("last.epoch"),
                "from_place": place_of(F.col("partition"), F.col("last.offset")),
                "sort": F.lit(_STEP),
            }
        )
        .join(F.broadcast(there), on=["run_id", "from_place"], how="left")
        .withColumn("other_value", F.when(replaced, F.col("other_value")))
        .where(
            F.col("first")
            | (F.col("offset") != F.col("from_offset") + 1)
            | F.col("other_value").isNotNull()
            | older
        )
        .drop("id", "start_ns", "last", "from_place")
    )


def _ends(runs: DataFrame) -> DataFrame:
    """A row behind the last offset of each log that was read to its end."""
    return runs.select("run_id", F.posexplode("ends").alias("partition", "end")).select(
        "run_id",
        "partition",
        F.when(F.col("end.complete"), F.col("end.position")).alias("offset"),
        F.lit(_END).alias("sort"),
    )


def _beside_the_log(both: DataFrame) -> DataFrame:
    """Each row with the log's last record below it; of several at one place the one that was read
    first alone."""
    is_log = F.col("sort") == _LOG
    # Twice the offset, so that a record and the steps to it are neighbours.
    key = F.col("offset") * 2 + (~is_log).cast("int")
    in_order = Window.partitionBy("run_id", "partition").orderBy("key")
    below = in_order.rangeBetween(Window.unboundedPreceding, -2)
    here = in_order.rangeBetween(-1, 0)
    kept = F.max(F.when(is_log, F.struct("offset", "read"))).over(below)
    there = F.max(F.when(is_log, F.col("read"))).over(here)
    in_time = Window.partitionBy("run_id", "partition").orderBy("key", "end_ns")
    again = F.coalesce(F.lag("key").over(in_time) == F.col("key"), F.lit(False))
    return (
        both.where(F.col("offset").isNotNull())
        .withColumn("key", key)
        .withColumns({"kept": kept, "there": there, "again": again & is_log})
        .where(~F.col("again"))
        .withColumns({"kept_offset": F.col("kept.offset"), "kept_value": F.col("kept.read")})
        .withColumn("confirmed", F.coalesce(F.col("there") == F.col("read"), F.lit(False)))
        .drop("key", "kept", "there", "again", "sort")
    )


def _may_tell() -> Column:
    """Whether a row can be anything: most steps over a commit's marker are as the log is."""
    follows = F.col("kept_offset") == F.col("offset") - 1
    forth = F.col("offset") > F.col("from_offset")
    over = F.coalesce(F.col("kept_offset") > F.col("from_offset"), F.lit(False))
    older = F.coalesce(F.col("epoch") < F.col("from_epoch"), F.lit(False))
    of_reader = ~forth | over | F.col("other_value").isNotNull() | older
    of_log = ~F.coalesce(follows, F.lit(False))
    return F.when(F.col("reader").isNull(), of_log).otherwise(of_reader)


def _begins() -> Column:
    """Whether a row is a reader's first record."""
    return F.coalesce("first", F.lit(False))


def _from_where_it_was_put() -> dict[str, Column]:
    """Of a first record: where its reader was put last, as if it had read what lies before."""

    def here(move: Column) -> Column:
        mine = (move["process"] == F.col("reader")) & (move["partition"] == F.col("partition"))
        return mine & move["position"].isNotNull() & (move["time_ns"] <= F.col("end_ns"))

    put = F.array_max(
        F.transform(F.filter("moves", here), lambda m: F.struct(m["time_ns"], m["position"]))
    )
    start = {"from_offset": put["position"] - 1, "from_ns": put["time_ns"] + 1}
    return {name: F.when(_begins(), start[name]).otherwise(F.col(name)) for name in start}


def _crosses() -> Column:
    """Whether a reader was given a record of a dense log and the next one that there is."""
    forth = F.col("offset") > F.col("from_offset")
    follows = F.col("kept_offset") == F.col("from_offset")
    return F.coalesce(F.col("dense") & forth & follows & ~_begins(), F.lit(False))


def _moved() -> Column:
    """Whether the reader was, or may have been, moved between the two records."""

    def between(move: Column) -> Column:
        return (
            (move["process"] == F.col("reader"))
            & (move["partition"].isNull() | (move["partition"] == F.col("partition")))
            & (move["time_ns"] >= F.col("from_ns"))
            & (move["since_ns"] <= F.col("end_ns"))
        )

    return F.coalesce(F.exists("moves", between), F.lit(False))
