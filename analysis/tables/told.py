"""What two tables tell, once it is known that they can be a history; and what they do not tell.

    a row for each send that was begun, however it ended; a row for each record that was read

Refused, in one sentence: a table without rows, a value sent twice (nobody could tell which of the
two was read), cells that are nothing that Kafka has (a partition of -2), two topics, CSV that is no
UTF-8 (different bytes would be one text).

Begins are told where every send has its `start_ns`, and each that is ok its `end_ns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.tables import columns
from analysis.tables.columns import READS, SENDS, Typed
from analysis.tables.opened import TableError, open_table, told
from harness.history.record_format import PROCESS_NAME
from harness.model.untold import BEGINS, NEVER_TOLD, READ_TIMES, VALUES
from harness.model.worker_kinds import FIRST_OUTPUT

MOST_PARTITIONS: Final = 1000
LAST_OFFSET, LAST_NS = 2**48 - 1, 2**62
PRODUCER, READER = "producer", "reader"  # what they are called where no column says it
FINAL = "final-read"
MOST_PROCESSES: Final = FIRST_OUTPUT - 1  # one number is nobody's: of what nobody sent
_TYPES: Final = ("ok", "fail", "info")
_READS: Final = ("read", "poll", FINAL)
_TOPIC: Final = ("topic", "last_topic")
_NO_UTF_8: Final = "\ufffd"  # what Spark makes of bytes that are none, whichever they are
_DECODED: Final = (
    "with bytes that are no UTF-8, or with U+FFFD, as which such bytes are read: write the file as "
    "UTF-8, or as Parquet"
)
_HOW_NAMED: Final = "a word of letters, digits, - and _"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Two tables that can be a history."""

    sends: DataFrame  # value (a text), type, partition, offset, process, start_ns, end_ns
    reads: DataFrame  # value, partition, offset, process, end_ns, final
    producers: Mapping[str, int]  # process -> how many it sent
    readers: Mapping[str, int]
    acked: int
    final: int  # records of the final read
    final_readers: tuple[str, ...]
    partitions: int
    homeless: int  # sends of which no partition is known
    start_ns: int  # the first and the last time that is told; 1 where none is
    end_ns: int
    last_ack_ns: int | None  # None: the time of one is not known
    last_final_ns: int | None
    begins_told: bool
    values_told: bool
    read_times_told: bool
    topic: str | None

    @property
    def operations(self) -> int:
        """How many rows both have."""
        return sum(self.producers.values()) + sum(self.readers.values())

    @property
    def untold(self) -> tuple[str, ...]:
        """What they do not tell, by harness.model.untold."""
        begins = () if self.begins_told else (BEGINS,)
        values = () if self.values_told else (VALUES,)
        times = () if self.read_times_told else (READ_TIMES,)
        return (*begins, *values, *times, *NEVER_TOLD)


def tables(spark: SparkSession, sends: str, reads: str, *, all_final: bool = False) -> Tables:
    """Open and look through both, named as a user does. `all_final`: without a column `f`, every
    read is of the final read. Raises TableError and Unreachable."""
    sent = columns.typed(open_table(spark, sends), SENDS)
    read = columns.typed(open_table(spark, reads), READS)
    columns.unlike((sent, read))
    is_final = F.col("f") == FINAL if "f" in read.has else F.lit(all_final)
    sent_rows = _completed(sent, PRODUCER)
    read_rows = _completed(read, READER).withColumn("final", F.coalesce(is_final, F.lit(False)))
    both = (sent, read)
    of_sends = _look(sent, sent_rows, _wrong_sends(both), _send_facts())
    of_reads = _look(read, read_rows, _wrong_reads(both), _read_facts())
    _refuse_two_topics(both, of_sends, of_reads)
    producers, _ = _processes(sent, sent_rows, of_sends)
    readers, final_readers = _processes(read, read_rows, of_reads)
    _refuse_twice(sent, sent_rows)
    times = [row[name] for row in (of_sends, of_reads) for name in ("first_ns", "last_ns")]
    known = [time for time in times if time is not None]
    partitions = (of_sends["partition"], of_reads["partition"])
    return Tables(
        sends=_clean(sent_rows, "type", "start_ns", "end_ns"),
        reads=_clean(read_rows, "end_ns", "final"),
        producers=producers,
        readers=readers,
        acked=of_sends["acked"],
        final=of_reads["final"],
        final_readers=final_readers,
        partitions=1 + max((each for each in partitions if each is not None), default=0),
        homeless=of_sends["homeless"],
        start_ns=max(1, min(known, default=1)),
        end_ns=max(1, *known, 1),
        last_ack_ns=None if of_sends["timeless"] else of_sends["last_ack_ns"],
        last_final_ns=None if of_reads["timeless"] else of_reads["last_final_ns"],
        begins_told=not of_sends["beginless"] and not of_sends["timeless"],
        values_told=not of_reads["valueless"],
        read_times_told=not of_reads["unread"],
        topic=of_sends["topic"] or of_reads["topic"],
    )


def _completed(table: Typed, process: str) -> DataFrame:
    """With a process in each row, and `at`, the offset where one is told: what did not certainly
    happen is nowhere."""
    is_known = F.col("offset") != -1
    if "type" in table.rows.columns:
        is_known &= F.col("type") == "ok"
    rows = table.rows.withColumn("at", F.when(is_known, F.col("offset")))
    return rows if "process" in table.has else rows.withColumn("process", F.lit(process))


def _clean(rows: DataFrame, *more: str) -> DataFrame:
    """What is known, and no more."""
    return rows.select("value", *more, "partition", F.col("at").alias("offset"), "process")


# --- rows that cannot be

_Wrong = tuple[Column, str | None, str]  # which, the column that is shown, what is wrong with it


def _wrong_sends(both: Sequence[Typed]) -> Iterator[_Wrong]:
    sends = both[0]
    yield F.col("value").isNull(), None, "have no value, so nobody can tell whether it was read"
    yield from _wrong_words("type", _TYPES)
    ok = F.col("type") == "ok"
    yield ok & F.col("partition").isNull(), "value", "are ok without a partition"
    ended = F.col("end_ns") < F.col("start_ns")
    yield ended, "value", "ended before they began: times must be of one clock"
    yield from _wrong_anyhow(sends, both)


def _wrong_reads(both: Sequence[Typed]) -> Iterator[_Wrong]:
    reads = both[1]
    for name in ("partition", "offset"):
        yield F.col(name).isNull(), "value", f"have no {name}: a record that is read has one"
    if "f" in reads.has:
        yield from _wrong_words("f", _READS)
    yield from _wrong_anyhow(reads, both)


def _wrong_words(name: str, known: Sequence[str]) -> Iterator[_Wrong]:
    other = ~F.coalesce(F.col(name).isin(*known), F.lit(False))
    yield other, name, f"have another {name} than {', '.join(known)}"


def _wrong_anyhow(table: Typed, both: Sequence[Typed]) -> Iterator[_Wrong]:
    limits = {"partition": (0, MOST_PARTITIONS - 1), "offset": (-1, LAST_OFFSET)}
    limits |= dict.fromkeys(("start_ns", "end_ns"), (0, LAST_NS))
    for name in table.cells:
        least, most = limits[name]
        words = f"have {_a(name)} that is no whole number from {least} to {most}"
        yield columns.is_no_number(name), f"shown_{name}", words
    for name in ("value", "topic"):
        if table.texts and name in table.has:
            yield F.col(name).contains(_NO_UTF_8), None, f"have {_a(name)} {_DECODED}"
    for name in (name for name in limits if name in table.has):
        least, most = limits[name]
        beyond = ~F.col(name).between(least, most)
        yield beyond, name, f"have {_a(name)} that is not {least} to {most}"
    if "process" in table.has:
        named = F.coalesce(F.col("process").rlike(rf"^{PROCESS_NAME}\z"), F.lit(False))
        yield ~named, "process", f"have a process that is not {_HOW_NAMED}"
    if columns.mixed(both) is table:
        words = "have a value that is no number as the other table has them: cast one of the two"
        yield columns.no_number(), "value", words


# --- what all rows together tell


def _send_facts() -> dict[str, Column]:
    ok = F.col("type") == "ok"
    return {
        "acked": F.count_if(ok),
        "homeless": F.count_if(F.col("partition").isNull()),
        "beginless": F.count_if(F.col("start_ns").isNull()),
        "timeless": F.count_if(ok & F.col("end_ns").isNull()),
        "last_ack_ns": F.max(F.when(ok, F.col("end_ns"))),
        "first_ns": F.min(F.coalesce("start_ns", "end_ns")),
        "last_ns": F.max(F.coalesce("end_ns", "start_ns")),
    }


def _read_facts() -> dict[str, Column]:
    final = F.col("final")
    return {
        "final": F.count_if(final),
        "valueless": F.count_if(F.col("value").isNull()),
        "unread": F.count_if(F.col("end_ns").isNull()),
        "timeless": F.count_if(final & F.col("end_ns").isNull()),
        "last_final_ns": F.max(F.when(final, F.col("end_ns"))),
        "first_ns": F.min("end_ns"),
        "last_ns": F.max("end_ns"),
    }


def _look(
    table: Typed, rows: DataFrame, wrong: Iterable[_Wrong], facts: Mapping[str, Column]
) -> Row:
    """One pass over a table. Raises TableError where it has no rows, or one that cannot be."""
    refused = list(wrong)
    found: dict[str, Column] = {
        **facts,
        "rows": F.count("*"),
        "partition": F.max("partition"),
        "topic": F.min("topic"),
        "last_topic": F.max("topic"),
    }
    for number, (which, shown, _) in enumerate(refused):
        is_it = F.coalesce(which, F.lit(False))
        found[f"many_{number}"] = F.count_if(is_it)
        one = F.lit(None) if shown is None else F.col(shown)
        found[f"one_{number}"] = F.min(F.when(is_it, one.cast("string")))
    with told(table.name):
        row = rows.agg(*(column.alias(name) for name, column in found.items())).first()
    assert row is not None
    if not row["rows"]:
        raise TableError(f"{table.name}: it has no rows: nothing can be told from it")
    for number, (_, _, words) in enumerate(refused):
        if many := row[f"many_{number}"]:
            one = row[f"one_{number}"]
            shown = "" if one is None else f", such as {_short(one)}"
            raise TableError(f"{table.name}: {many:,} of {row['rows']:,} rows {words}{shown}")
    return row


def _processes(table: Typed, rows: DataFrame, look: Row) -> tuple[dict[str, int], tuple[str, ...]]:
    """How many rows each process has, and which of them made the final read."""
    if "process" not in table.has:
        name, final = (READER, look["final"]) if "final" in look else (PRODUCER, 0)
        return {name: look["rows"]}, (name,) if final else ()
    final = F.count_if("final") if "final" in rows.columns else F.lit(0)
    with told(table.name):
        counted = rows.groupBy("process").agg(F.count("*").alias("rows"), final.alias("final"))
        found = sorted(counted.limit(MOST_PROCESSES + 1).collect(), key=lambda row: row["process"])
    if len(found) > MOST_PROCESSES:
        raise TableError(
            f"{table.name}: it has more than {MOST_PROCESSES:,} processes: name clients there, and "
            "not requests"
        )
    many = {str(row["process"]): int(row["rows"]) for row in found}
    return many, tuple(str(row["process"]) for row in found if row["final"])


def _refuse_twice(table: Typed, sends: DataFrame) -> None:
    """Raises TableError where a value is sent twice."""
    with told(table.name):
        twice = sends.groupBy("value").count().where(F.col("count") > 1).limit(1).collect()
    if twice:
        raise TableError(
            f"{table.name}: the value {_short(twice[0]['value'])} is sent {twice[0]['count']:,} "
            "times: each must be sent once, or nobody could tell which was read (add a number to "
            "it, or its key)"
        )


def _refuse_two_topics(both: Sequence[Typed], *looks: Row) -> None:
    topics = [(table, row[name]) for table, row in zip(both, looks, strict=True) for name in _TOPIC]
    known = [(table, topic) for table, topic in topics if topic is not None]
    for table, topic in known:
        if topic != known[0][1]:
            raise TableError(
                f"{table.name}: it has records of topic {topic}, beside {known[0][1]}: check one "
                "topic at a time"
            )


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
