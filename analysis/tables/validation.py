"""Validates two tables: whether they can be a history, and what they do not say of it.

    sends   one row per send that was begun, however it ended
    reads   one row per record that was read

One sentence refuses reads without rows, a value sent twice (either may have been read), a cell that
Kafka cannot have (a partition of -2), two topics, and CSV that is not UTF-8 (different bytes would
become one text). Sends without rows tell no send.

The begins are known if every send has its `start_ns` and every ok one its `end_ns`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.tables import columns
from analysis.tables.columns import Typed
from analysis.tables.table_files import TableError, errors_as_sentences, open_table
from harness.history.record_format import PROCESS_NAME
from harness.model.runs.imported_history import (
    LAST_NS,
    LAST_OFFSET,
    MOST_PARTITIONS,
    MOST_PRODUCERS,
    shown,
    summary,
)
from harness.model.untold import BEGINS, NEVER_TOLD, READ_TIMES, SENDS, VALUES

PRODUCER, READER = "producer", "reader"  # their names in tables without a column `process`
FINAL = "final-read"
NO_FINAL = "no final read, so nothing is called lost"
_TYPES: Final = ("ok", "fail", "info")
_READS: Final = ("read", "poll", FINAL)
_TOPIC: Final = ("topic", "last_topic")
_NO_UTF_8: Final = "\ufffd"  # what Spark makes of bytes that are not UTF-8
_DECODED: Final = (
    "with bytes that are no UTF-8, or with U+FFFD, as which such bytes are read: write the file as "
    "UTF-8, or as Parquet"
)
_HOW_NAMED: Final = "a word of letters, digits, - and _"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Two valid tables."""

    sends: DataFrame  # value (a text), type, partition, offset, process, start_ns, end_ns
    reads: DataFrame  # value, partition, offset, process, end_ns, final
    producers: Mapping[str, int]  # process -> its sends
    readers: Mapping[str, int]  # process -> its reads
    acked: int
    final: int  # records of the final read
    final_readers: tuple[str, ...]
    partitions: int
    without_partition: int  # sends whose partition is not known
    start_ns: int  # the first and the last time in both; 1 if they have none
    end_ns: int
    last_ack_ns: int | None  # None: an ack has no time
    last_final_ns: int | None  # of the final read; None: a record of it has no time
    has_begins: bool
    has_values: bool
    has_read_times: bool
    topic: str | None

    @property
    def summary(self) -> str:
        """How many operations they have."""
        sends, reads = sum(self.producers.values()), sum(self.readers.values())
        return summary(
            sends,
            self.acked,
            reads,
            f"{self.final:,} by the final read" if self.final else NO_FINAL,
        )

    @property
    def rows(self) -> Mapping[str, int]:
        """Process -> its rows in both."""
        return Counter(self.producers) + Counter(self.readers)

    @property
    def operations(self) -> int:
        """The number of rows of both."""
        return sum(self.rows.values())

    @property
    def untold(self) -> tuple[str, ...]:
        """What they do not say, in the words of harness.model.untold."""
        begins = () if self.has_begins else (BEGINS,)
        sends = () if self.producers else (SENDS,)
        values = () if self.has_values else (VALUES,)
        times = () if self.has_read_times else (READ_TIMES,)
        return (*begins, *sends, *values, *times, *NEVER_TOLD)


def valid_tables(spark: SparkSession, sends: str, reads: str, *, all_final: bool = False) -> Tables:
    """Open and validate both, by the names that a user gave. `all_final`: without a column `f`, all
    reads are the final read. Raises TableError and Unreachable."""
    sent = columns.typed(open_table(spark, sends), columns.SENDS)
    read = columns.typed(open_table(spark, reads), columns.READS)
    columns.require_comparable((sent, read))
    is_final = F.col("f") == FINAL if "f" in read.has else F.lit(all_final)
    sent_rows = _completed(sent, PRODUCER)
    read_rows = _completed(read, READER).withColumn("final", F.coalesce(is_final, F.lit(False)))
    both = (sent, read)
    of_sends = _totals(sent, sent_rows, _send_checks(both), _send_totals())
    of_reads = _totals(read, read_rows, _read_checks(both), _read_totals())
    if not of_reads["rows"]:
        raise TableError(f"{read.name}: it has no rows: nothing can be told from it")
    _refuse_two_topics(both, of_sends, of_reads)
    producers, _ = _processes(sent, sent_rows, of_sends)
    readers, final_readers = _processes(read, read_rows, of_reads)
    _refuse_value_sent_twice(sent, sent_rows)
    times = [row[name] for row in (of_sends, of_reads) for name in ("first_ns", "last_ns")]
    known = [time for time in times if time is not None]
    highest = (of_sends["partition"], of_reads["partition"])
    return Tables(
        sends=_clean(sent_rows, "type", "start_ns", "end_ns"),
        reads=_clean(read_rows, "end_ns", "final"),
        producers=producers,
        readers=readers,
        acked=of_sends["acked"],
        final=of_reads["final"],
        final_readers=final_readers,
        partitions=1 + max((number for number in highest if number is not None), default=0),
        without_partition=of_sends["without_partition"],
        start_ns=max(1, min(known, default=1)),
        end_ns=max(1, *known, 1),
        last_ack_ns=None if of_sends["without_end"] else of_sends["last_ack_ns"],
        last_final_ns=None if of_reads["final_without_end"] else of_reads["last_final_ns"],
        has_begins=not of_sends["without_begin"] and not of_sends["without_end"],
        has_values=not of_reads["without_value"],
        has_read_times=not of_reads["without_end"],
        topic=of_sends["topic"] or of_reads["topic"],
    )


def _completed(table: Typed, process: str) -> DataFrame:
    """The rows, each with a process, and with `at`: the known offset of an ok operation."""
    is_known = F.col("offset") != -1
    if "type" in table.rows.columns:
        is_known &= F.col("type") == "ok"
    rows = table.rows.withColumn("at", F.when(is_known, F.col("offset")))
    return rows if "process" in table.has else rows.withColumn("process", F.lit(process))


def _clean(rows: DataFrame, *more: str) -> DataFrame:
    """The columns of a history."""
    return rows.select("value", *more, "partition", F.col("at").alias("offset"), "process")


# --- rows that no history has

_Check = tuple[Column, str | None, str]  # the bad rows, the column of an example, what is wrong


def _send_checks(both: Sequence[Typed]) -> Iterator[_Check]:
    sends = both[0]
    yield F.col("value").isNull(), None, "have no value, so nobody can tell whether it was read"
    yield from _word_checks("type", _TYPES)
    ok = F.col("type") == "ok"
    yield ok & F.col("partition").isNull(), "value", "are ok without a partition"
    ended = F.col("end_ns") < F.col("start_ns")
    yield ended, "value", "ended before they began: times must be of one clock"
    yield from _cell_checks(sends, both)


def _read_checks(both: Sequence[Typed]) -> Iterator[_Check]:
    reads = both[1]
    for name in ("partition", "offset"):
        yield F.col(name).isNull(), "value", f"have no {name}: a record that is read has one"
    if "f" in reads.has:
        yield from _word_checks("f", _READS)
    yield from _cell_checks(reads, both)


def _word_checks(name: str, known: Sequence[str]) -> Iterator[_Check]:
    other = ~F.coalesce(F.col(name).isin(*known), F.lit(False))
    yield other, name, f"have another {name} than {', '.join(known)}"


def _cell_checks(table: Typed, both: Sequence[Typed]) -> Iterator[_Check]:
    limits = {"partition": (0, MOST_PARTITIONS - 1), "offset": (-1, LAST_OFFSET)}
    limits |= dict.fromkeys(("start_ns", "end_ns"), (0, LAST_NS))
    for name in table.cells:
        least, most = limits[name]
        words = f"have {_with_article(name)} that is no whole number from {least} to {most}"
        yield columns.is_not_whole(name), f"shown_{name}", words
    for name in ("value", "topic"):
        if table.texts and name in table.has:
            yield F.col(name).contains(_NO_UTF_8), None, f"have {_with_article(name)} {_DECODED}"
    for name in (name for name in limits if name in table.has):
        least, most = limits[name]
        beyond = ~F.col(name).between(least, most)
        yield beyond, name, f"have {_with_article(name)} that is not {least} to {most}"
    if "process" in table.has:
        named = F.coalesce(F.col("process").rlike(rf"^{PROCESS_NAME}\z"), F.lit(False))
        yield ~named, "process", f"have a process that is not {_HOW_NAMED}"
    if columns.texts_beside_numbers(both) is table:
        words = "have a value that is no number as the other table has them: cast one of the two"
        yield columns.is_not_a_number(), "value", words


# --- totals of a table


def _send_totals() -> dict[str, Column]:
    ok = F.col("type") == "ok"
    return {
        "acked": F.count_if(ok),
        "without_partition": F.count_if(F.col("partition").isNull()),
        "without_begin": F.count_if(F.col("start_ns").isNull()),
        "without_end": F.count_if(ok & F.col("end_ns").isNull()),
        "last_ack_ns": F.max(F.when(ok, F.col("end_ns"))),
        "first_ns": F.min(F.coalesce("start_ns", "end_ns")),
        "last_ns": F.max(F.coalesce("end_ns", "start_ns")),
    }


def _read_totals() -> dict[str, Column]:
    final = F.col("final")
    return {
        "final": F.count_if(final),
        "without_value": F.count_if(F.col("value").isNull()),
        "without_end": F.count_if(F.col("end_ns").isNull()),
        "final_without_end": F.count_if(final & F.col("end_ns").isNull()),
        "last_final_ns": F.max(F.when(final, F.col("end_ns"))),
        "first_ns": F.min("end_ns"),
        "last_ns": F.max("end_ns"),
    }


def _totals(
    table: Typed, rows: DataFrame, checks: Iterable[_Check], totals: Mapping[str, Column]
) -> Row:
    """The totals, in one pass. Raises TableError for a table with a bad row."""
    listed = list(checks)
    aggregates: dict[str, Column] = {
        **totals,
        "rows": F.count("*"),
        "partition": F.max("partition"),
        "topic": F.min("topic"),
        "last_topic": F.max("topic"),
    }
    for number, (condition, column, _) in enumerate(listed):
        is_bad = F.coalesce(condition, F.lit(False))
        aggregates[f"bad_{number}"] = F.count_if(is_bad)
        example = F.lit(None) if column is None else F.col(column)
        aggregates[f"example_{number}"] = F.min(F.when(is_bad, example.cast("string")))
    with errors_as_sentences(table.name):
        row = rows.agg(*(column.alias(name) for name, column in aggregates.items())).first()
    assert row is not None
    for number, (_, _, words) in enumerate(listed):
        if bad := row[f"bad_{number}"]:
            example = row[f"example_{number}"]
            such = "" if example is None else f", such as {shown(example)}"
            raise TableError(f"{table.name}: {bad:,} of {row['rows']:,} rows {words}{such}")
    return row


def _processes(
    table: Typed, rows: DataFrame, totals: Row
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The number of rows of each process, and the processes of the final read."""
    if "process" not in table.has:
        name, final = (READER, totals["final"]) if "final" in totals else (PRODUCER, 0)
        return {name: totals["rows"]} if totals["rows"] else {}, (name,) if final else ()
    final = F.count_if("final") if "final" in rows.columns else F.lit(0)
    with errors_as_sentences(table.name):
        counted = rows.groupBy("process").agg(F.count("*").alias("rows"), final.alias("final"))
        listed = sorted(counted.limit(MOST_PRODUCERS + 1).collect(), key=lambda row: row["process"])
    if len(listed) > MOST_PRODUCERS:
        raise TableError(
            f"{table.name}: it has more than {MOST_PRODUCERS:,} processes: name clients there, and "
            "not requests"
        )
    counts = {str(row["process"]): int(row["rows"]) for row in listed}
    return counts, tuple(str(row["process"]) for row in listed if row["final"])


def _refuse_value_sent_twice(table: Typed, sends: DataFrame) -> None:
    """Raises TableError where a value is sent twice."""
    with errors_as_sentences(table.name):
        twice = sends.groupBy("value").count().where(F.col("count") > 1).limit(1).collect()
    if twice:
        raise TableError(
            f"{table.name}: the value {shown(twice[0]['value'])} is sent {twice[0]['count']:,} "
            "times: each must be sent once, or nobody could tell which was read (add a number to "
            "it, or its key)"
        )


def _refuse_two_topics(both: Sequence[Typed], *totals: Row) -> None:
    pairs = zip(both, totals, strict=True)
    topics = [(table, row[name]) for table, row in pairs for name in _TOPIC]
    known = [(table, topic) for table, topic in topics if topic is not None]
    for table, topic in known:
        if topic != known[0][1]:
            raise TableError(
                f"{table.name}: it has records of topic {topic}, beside {known[0][1]}: check one "
                "topic at a time"
            )


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
