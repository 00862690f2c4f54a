"""What DuckDB is asked beside our check: SQL for each anomaly and measure, or why there is none.

A check that one side leaves out would make a comparison worthless. So each anomaly of
analysis.anomalies and each measure of analysis.measures.measured.Measured has its line here, and a
test fails where one is missing. What has no sensible form in SQL, or has nothing to look at in
these histories, is a `Left` with its reason; those of which our side does the work all the same are
timed apart (`apart`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """A select of findings (columns of `found`)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Why it is not asked of DuckDB."""

    why: str
    apart: str | None = None  # what our side does for it, as bench.checker.ours times it


OFFSET = 281474976710655  # the offset's bits of a place
_VALUE = "value, sent, home, copies, sent_ns, acked_ns, delivered_ns"
_OWED = f"(complete and coalesce((acked_place & {OFFSET}) >= log_start, log_start = 0))"
_PROVABLE = f"({_OWED} or (passed and (select one_copy from run)))"
_STEP = """from steps left join fates using (value)"""
_PLACED = '((steps."partition"::bigint << 48) | steps."offset")'
_FROM = '((steps."partition"::bigint << 48) | steps.from_offset)'
_KNOWN_VALUE = "value, sent, copies, sent_ns, acked_ns, fates.delivered_ns"
_NOT_SENT = (
    "('_QUEUE_FULL', '_PURGE_QUEUE', '_STATE', '_INVALID_ARG', '_FATAL', '_UNKNOWN_TOPIC', "
    "'_UNKNOWN_PARTITION', '_CRIT_SYS_RESOURCE', 'MSG_SIZE_TOO_LARGE')"
)
_LAST = 2**63 - 1
_NO_DUMPS = Left(why="these histories have no replicas' dumps")
_NO_LOOKS = Left(why="these histories have no samples of replicas")
_NO_OUTPUTS = Left(why="these histories have no transformers")
_NO_PROGRAMS = Left(why="bench.outputs compares these")

ANOMALIES: Mapping[str, Sql | Left] = {
    "lost": Sql(
        text=f"""
        select fates.{_VALUE.replace(", ", ", fates.")}, acked_place as place,
            fates.acked_ns as time_ns, odd_places.final_value as other_value,
            case when fates.delivered_ns is null then 'never_delivered' else 'delivered_before' end
                as outcome
        from fates left join odd_places on odd_places.place = acked_place
        where sent = 4 and first_place is null and {_PROVABLE}"""
    ),
    "vanished": Sql(
        text=f"""
        select {_VALUE}, delivered_place as place, delivered_ns as time_ns, delivered_ns as known_ns
        from fates
        where delivered_ns is not null and sent is not null and first_place is null and complete
            and (delivered_place & {OFFSET}) >= log_start"""
    ),
    "unseen": Sql(
        text=f"""
        select {_VALUE}, acked_place as place, acked_ns as time_ns
        from fates
        where sent = 4 and first_place is null and not {_PROVABLE}
            and not (complete and acked_place is not null) and not passed"""
    ),
    "duplicate": Sql(
        text=f"""
        select {_VALUE}, case when copies > 1 then first_place else lowest_place end as place,
            coalesce(acked_ns, sent_ns) as time_ns, ended_ns as known_ns,
            case when copies > 1 then last_place else highest_place end as other_place,
            case when copies > 1 and complete then 'in_log' else 'in_reads' end as outcome
        from fates
        where copies > 1 or (not complete and lowest_place <> highest_place)"""
    ),
    "phantom": Sql(
        text=f"""
        select {_VALUE}, lowest_place as place, coalesce(delivered_ns, sent_ns) as time_ns,
            case when sent is null then 'never_sent'
                when transactional and not coalesce(fail_error in {_NOT_SENT}, false)
                    then 'aborted' else 'send_failed' end as outcome,
            case when outcome = 'aborted' then ended_ns else coalesce(delivered_ns, {_LAST}) end
                as known_ns
        from fates, run where (sent is null or sent = 1) and lowest_place is not null
        union all by name
        select place, delivered_ns, delivered_ns as time_ns, value,
            coalesce(garbled_ns, {_LAST}) as known_ns, 'unparsable' as outcome
        from contested where garbled_ns is not null and not corrupt"""
    ),
    "inconsistent-offset": Sql(
        text=f"""
        select {_VALUE}, case when apart then apart_place else acked_place end as place,
            case when apart then apart_ns
                else coalesce(acked_ns, delivered_ns, sent_ns) end as time_ns,
            case when apart then apart_ns end as known_ns,
            case when strayed then
                case when (lowest_place >> 48) <> home then lowest_place else highest_place end
                else first_place end as other_place,
            case when strayed then 'other_partition' when apart then 'read_elsewhere'
                when moved then 'acked_elsewhere' else 'passed_over' end as outcome
        from (
            select *,
                coalesce(sent > 1 and (
                    (lowest_place >> 48) <> home or (highest_place >> 48) <> home
                ), false) as strayed,
                not strayed and coalesce(sent > 1 and first_place is not null and complete
                    and (apart_place >> 48) = home and (apart_place & {OFFSET}) >= log_start, false
                ) as apart,
                coalesce(sent = 4 and first_place is not null and acked_place is not null
                    and not stayed and (acked_place & {OFFSET}) >= log_start
                    and (complete or passed), false) as moved
            from fates left join apart using (value)
        ) as fates
        where strayed or apart or moved
            or (sent = 4 and first_place is null and passed and not (select one_copy from run))
        union all by name
        select value, place, delivered_ns, coalesce(delivered_ns, known_ns) as time_ns, known_ns,
            case when value <> other_value then other_value end as other_value,
            'two_values' as outcome
        from contested
        where value is not null and (value <> other_value or garbled_ns is not null)"""
    ),
    "reordered": Sql(
        text="""
        select own.value, own.sent, own.home, own.copies, own.sent_ns, own.acked_ns,
            own.delivered_ns, own.first_place as place, own.acked_ns as time_ns,
            other.first_place as other_place, in_order.overtaken_by as other_value
        from in_order join fates as own on own.value = in_order.value
            join fates as other on other.value = in_order.overtaken_by
        where is_first and of_client is not null and overtaken_by > in_order.value"""
    ),
    "real-time-violation": Sql(
        text=f"""
        select {_VALUE}, first_place as place, acked_ns as time_ns, passed.other_place,
            passed.other_value
        from fates join passed using (value)"""
    ),
    "uncommitted-read": Sql(
        text=f"""
        select {_VALUE}, coalesce(delivered_place, first_place) as place,
            coalesce(delivered_ns, sent_ns) as time_ns, delivered_ns as shown_ns,
            case when delivered_ns < asked_ns then 'before' else 'never' end as outcome
        from in_transactions
        where delivered_ns < asked_ns
            or (asked_ns is null and (delivered_ns is not null or first_place is not null))"""
    ),
    "torn": Sql(
        text=f"""
        select {_VALUE}, acked_place as place, coalesce(acked_ns, asked_ns) as time_ns,
            coalesce(acked_ns, asked_ns) as known_ns,
            case when sent = 4 then 'committed' else 'doubtful' end as outcome
        from torn"""
    ),
    "hanging-transaction": Sql(
        text="""
        select ("partition"::bigint << 48) | "offset" as place, time_ns from hanging"""
    ),
    "circular-flow": Left(
        why="strong components of a graph; our driver finds them too, not Spark", apart="cycles"
    ),
    "stable-back": Sql(
        text=f"""
        select furthest.place, furthest.delivered_ns, furthest.delivered_ns as time_ns,
            furthest.value, (select load_end_ns from run) as shown_ns,
            (ends."partition"::bigint << 48) | committed_end as other_place
        from (
            select (delivered_place >> 48)::integer as "partition", max(delivered_place) as place,
                arg_max(delivered_ns, delivered_place) as delivered_ns,
                arg_max(value, delivered_place) as value
            from fates where delivered_place is not null group by 1
        ) as furthest join ends using ("partition")
        where committed_end <= (furthest.place & {OFFSET})
            and (furthest.place & {OFFSET}) < uncommitted_end"""
    ),
    "poll-skip": Sql(
        text=f"""
        select {_KNOWN_VALUE}, end_ns as time_ns, {_PLACED} as other_place, reader,
            case when other_value is null
                then (steps."partition"::bigint << 48) | kept_offset else {_FROM} end as place,
            case when other_value is not null then from_value end as other_value,
            case when other_value is not null then 'put_under' else 'passed' end as outcome
        {_STEP} where odd = 'skip'"""
    ),
    "poll-back": Sql(
        text=f"""
        select {_KNOWN_VALUE}, end_ns as time_ns, end_ns as shown_ns, {_PLACED} as place,
            {_FROM} as other_place, reader,
            case when steps."offset" < from_offset then 'went_back' else 'repeats' end as outcome
        {_STEP} where odd = 'back'"""
    ),
    "hole": Sql(
        text="""
        select ("partition"::bigint << 48) | next_offset as place,
            ("partition"::bigint << 48) | "offset" as other_place,
            coalesce(end_ns, (select load_end_ns from run)) as time_ns
        from holes"""
    ),
    "corrupt": Sql(
        text=f"""
        select value, place, delivered_ns, delivered_ns as time_ns,
            coalesce(garbled_ns, {_LAST}) as known_ns
        from contested where corrupt"""
    ),
    "epoch-back": Sql(
        text=f"""
        select {_KNOWN_VALUE}, end_ns as time_ns, end_ns as shown_ns, {_PLACED} as place,
            {_FROM} as other_place, from_value as other_value, reader
        {_STEP} where odd = 'older'"""
    ),
    "stale-read": Sql(
        text=f"""
        select {_VALUE}, acked_place as place, gave_up_ns as time_ns,
            case when delivered_ns is not null then 'appeared'
                when first_place is not null then 'late' else 'never' end as outcome,
            case when delivered_ns is not null then greatest(delivered_ns - acked_ns, 0) end
                as lasted_ns
        from fates where sent = 4 and gave_up_ns is not null"""
    ),
    "skipped": Sql(
        text=f"""
        select {_VALUE}, first_place as place, coalesce(polled_ns, committed_ns) as time_ns,
            case when failed > 0 then 'failed' when polled_ns is not null then 'polled'
                else 'never_polled' end as outcome
        from skipped"""
    ),
    "reprocessed": Sql(
        text="""
        select value, sent, home, copies, sent_ns, acked_ns, delivered_ns,
            again.processed_place as place, again.processed_ns as time_ns,
            again.processed_ns as shown_ns,
            case when again.members > 1 then 'by_another' else 'by_the_same' end as outcome
        from handled_again as again join fates using (value)"""
    ),
    "no-output": _NO_OUTPUTS,
    "two-outputs": _NO_OUTPUTS,
    "strange-output": _NO_PROGRAMS,
    "not-passed": _NO_PROGRAMS,
    "commit-back": Sql(
        text="""
        select ("partition"::bigint << 48) | "offset" as place, end_ns as time_ns, reader,
            higher_acked_ns as known_ns, end_ns as shown_ns,
            ("partition"::bigint << 48) | higher as other_place
        from answers where same_ns is null or same_ns < higher_begun_ns"""
    ),
    "zombie-commit": Sql(
        text="""
        select ("partition"::bigint << 48) | "offset" as place, end_ns as time_ns, reader,
            since_ns as known_ns, end_ns as shown_ns
        from zombies"""
    ),
    "two-owners": Sql(
        text="""
        select "partition" as home, owners as reader, from_ns as time_ns, from_ns as shown_ns,
            until_ns - from_ns as lasted_ns
        from shared"""
    ),
    "unowned-partition": Sql(
        text="""
        select "partition" as home, from_ns as time_ns, from_ns as shown_ns,
            until_ns - from_ns as lasted_ns
        from unowned"""
    ),
    "unacknowledged-lost": Sql(
        text=f"""
        select {_VALUE}, sent_ns as time_ns
        from fates where sent = 3 and first_place is null and complete and log_start = 0"""
    ),
    "diverged": _NO_DUMPS,
    "watermark-ahead": _NO_LOOKS,
    "early-read": _NO_LOOKS,
    "end-back": _NO_LOOKS,
    "watermark-back": _NO_LOOKS,
    "metadata-back": Left(why="these histories are of a cluster with ZooKeeper"),
}

MEASURES: Mapping[str, str] = {  # by the field, the table that has the answer
    **{
        name: name
        for name in ("counts", "landings", "redeliveries", "acks", "windows", "work", "errors")
    },
    "after_faults": "after_faults",
    "sends": "drawn",
    "positions": "positions",
}
DRIVER: Mapping[str, Left] = {  # what a check does besides, and no SQL
    "tables": Left(why="digests, and rows that no recorder writes", apart="open"),
    "page": Left(why="report.json, report.html and junit.xml", apart="publish"),
    "cycles": Left(why="transactions that read from one another", apart="cycles"),
}
