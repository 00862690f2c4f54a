"""The cause that permits a row of evidence: analysis.causes.cause's rule, as columns of Spark.

A row has one or more *records* whose loss would explain it: its own, or its `victims` if a rule
names them (two values at one offset: either may be gone). Only a cause with its outcome explains a
row without records. A row is permitted if a sure cause permits one of its records, in doubt if only
a cause that is not sure does, and forbidden otherwise."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

PERMITTED, FORBIDDEN, IN_DOUBT = "permitted", "forbidden", "in-doubt"


def permission() -> dict[str, Column]:
    """Columns `judged` (one of the words above) and `cause` (the number of the cause; null where
    it is forbidden), of rows of evidence with the `causes` of their run.

    Beside what the evidence has: known_ns (acked, delivered or ended: from then on the record was
    there), shown_ns (what shows the anomaly ended; null: the final read did), lacked_by (members of
    the ISR, as text), polled_by and
    polled_ns (the member that was given the record last), passed_ns (when that one processed a
    later one), sender and transaction (who sent it, as a number, and in which; of_offsets: it
    is that of the offsets instead, which lie elsewhere), victims.
    """
    found = F.filter("causes", _permits)
    # Sure ones come first in a run's list.
    cause = F.get(found, F.lit(0))
    judged = F.when(cause.isNull(), FORBIDDEN).when(cause["sure"], PERMITTED).otherwise(IN_DOUBT)
    return {"judged": judged, "cause": cause["number"]}


def _permits(cause: Column) -> Column:
    return (
        F.array_contains(cause["anomalies"], F.col("anomaly"))
        & _or_no_limit(cause["partition"], _is_there(cause["partition"]))
        & _or_no_limit(
            cause["shown_from_ns"], _unknown_or(F.col("shown_ns") > cause["shown_from_ns"])
        )
        & _or_no_limit(
            cause["shown_until_ns"], _unknown_or(F.col("time_ns") <= cause["shown_until_ns"])
        )
        & ~F.exists(cause["settled"], _is_settled)
        & ((F.size(cause["brokers"]) == 0) | _lacked_by_none_but(cause["brokers"]))
        & ((F.size(cause["outcomes"]) == 0) | F.array_contains(cause["outcomes"], F.col("outcome")))
        & _or_no_limit(cause["from_offset"], _offset_is(F.col("offset") >= cause["from_offset"]))
        & _or_no_limit(cause["to_offset"], _offset_is(F.col("offset") < cause["to_offset"]))
        & (cause["process"].isNull() | _stopped(cause))
        & (F.exists(_records(), lambda record: _permits_record(cause, record)) | _named(cause))
    )


def _is_there(partition: Column) -> Column:
    """Whether a row is about a partition: a record that was read in another one about that, too."""
    elsewhere = _has_no_record() & (partition == F.col("other_partition"))
    return (partition == F.col("partition")) | F.coalesce(elsewhere, F.lit(False))


def _is_settled(last: Column) -> Column:
    """Whether a row's transaction is this one of its worker, or an earlier one."""
    here = (last["partition"] == F.col("partition")) & F.col("of_offsets").isNull()
    known = (last["sender"] == F.col("sender")) & (F.col("transaction") <= last["transaction"])
    return F.coalesce(known, F.lit(False)) & (
        last["partition"].isNull() | F.coalesce(here, F.lit(False))
    )


def _offset_is(within: Column) -> Column:
    """An offset that is not known lies nowhere."""
    return F.coalesce(within, F.lit(False))


def _lacked_by_none_but(brokers: Column) -> Column:
    others = F.size(F.array_except(F.split("lacked_by", ","), brokers))
    return F.col("lacked_by").isNull() | (others == 0)


def _named(cause: Column) -> Column:
    """No record's loss explains it, but the cause says that it makes such rows."""
    return _has_no_record() & (F.size(cause["outcomes"]) > 0)


def _has_no_record() -> Column:
    return F.coalesce(F.size("victims") == 0, F.lit(False))


def _records() -> Column:
    own = F.struct(F.col("sent_ns"), F.col("known_ns"), F.lit(False).alias("delivered"))
    return F.coalesce(F.col("victims"), F.array(own))


def _permits_record(cause: Column, record: Column) -> Column:
    begun, known = record["sent_ns"], record["known_ns"]
    return (
        _or_no_limit(cause["begun_before_ns"], _unknown_or(begun < cause["begun_before_ns"]))
        & _or_no_limit(cause["known_from_ns"], _unknown_or(known >= cause["known_from_ns"]))
        & _or_no_limit(cause["known_until_ns"], _unknown_or(known <= cause["known_until_ns"]))
        & ~(cause["acked_only"] & F.coalesce(record["delivered"], F.lit(False)))
    )


def _stopped(cause: Column) -> Column:
    """Whether the member that was given the record stopped before it processed a later one."""
    at_ns = cause["at_ns"]
    passed = F.coalesce(F.col("passed_ns") < at_ns, F.lit(False))
    given = F.coalesce(F.col("polled_ns") <= at_ns, F.lit(False))
    return F.coalesce(F.col("polled_by") == cause["process"], F.lit(False)) & given & ~passed


def _or_no_limit(limit: Column, within: Column) -> Column:
    return limit.isNull() | within


def _unknown_or(within: Column) -> Column:
    """A time that is not known passes: it may lie within the limit."""
    return F.coalesce(within, F.lit(True))
