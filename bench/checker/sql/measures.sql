-- What the report tells beside anomalies, one table per field of analysis.measures.measured.Measured.
create temp table counts as
with ended as (
    select *,
        case when f <> 'final-read'
            then floor((coalesce(end_ns, start_ns) - load_start_ns) / bucket_ns)::bigint else -1 end as bucket,
        case when f = 'send' and type = 'ok' then round((end_ns - intended_ns) / 1e6, 2) end as ack_ms
    from operations, run
)
select bucket,
    count(*) filter (f = 'send') as sends,
    count(*) filter (f = 'send' and type = 'ok') as acked,
    count(*) filter (f = 'send' and type = 'ok' and "offset" is null) as acked_without_offset,
    count(*) filter (f = 'send' and type = 'fail') as failed,
    count(*) filter (f = 'send' and type = 'fail' and error = '_ABORTED') as aborted,
    count(*) filter (f = 'send' and type = 'info') as indeterminate,
    count(*) filter (f = 'read') as reads,
    count(*) filter (delivery) as deliveries,
    count(*) filter (f = 'lookup') as lookups,
    count(*) filter (f = 'lookup' and type <> 'ok' and end_ns is not null) as lookups_not_found,
    count(*) filter (f = 'final-read') as final_read_records,
    count(*) filter (f = 'process' and type = 'ok') as processed,
    count(*) filter (f = 'commit' and type = 'ok') as commits,
    quantile_cont(ack_ms, [0.5, 0.95, 0.99, 0.999, 1.0]) as latency_ms
from ended
group by grouping sets ((), (bucket));

create temp table acked_isr_alone as
select count(*) as acked_isr_alone from operations as o
where f = 'send' and type = 'ok' and exists (
    select 1 from alone where alone."partition" = o."partition"
        and o.end_ns >= alone.from_ns and o.end_ns < alone.to_ns
);

create temp table reached as
select "partition", min("offset") filter (f = 'poll') as started,
    max("offset") filter (f in ('commit', 'committed')) as upto
from operations
where f in ('poll', 'commit', 'committed') and type = 'ok'
group by "partition";

create temp table landings as
with due as (
    select *,
        coalesce(delivered_ns, case when (
                (first_place is not null and sent <> 1)
                or (sent = 4 and not (first_place is null and (complete or (passed and one_copy))))
            ) and intended_ns < load_end_ns and (tailing or grouped) then load_end_ns end) as had_ns,
        exists (
            select 1 from elections where elections."partition" = (acked_place >> 48)
                and (acked_place & 281474976710655) >= elections.log_end
                and acked_ns < elections.looked_ns
        ) as past,
        first_place is null and value in (from superseded) as superseded,
        first_place is null and value not in (from superseded) and (
            (complete and coalesce((acked_place & 281474976710655) >= log_start, log_start = 0))
            or (passed and one_copy)
        ) as gone,
        polled_ns is null and processed + begun + failed = 0 and exists (
            select 1 from reached where reached."partition" = acked_place >> 48
                and (acked_place & 281474976710655) >= case when from_start then 0 else started end
                and (acked_place & 281474976710655) < upto
        ) and not exists (
            select 1 from passed_over where passed_over."partition" = acked_place >> 48
                and (acked_place & 281474976710655) >= from_offset
                and (acked_place & 281474976710655) < to_offset
        ) as unread,
        coalesce(first_place < first_acked, false) as below_first
    from run, fates left join (
        select acked_place >> 48 as acked_in, min(acked_place) as first_acked
        from fates where acked_place is not null group by acked_in
    ) on acked_in = first_place >> 48
)
select
    count(*) filter (sent in (2, 3) and first_place is not null
        and not (sent = 2 and in_use and below_first)) as indeterminate_landed,
    count(*) filter (sent in (2, 3) and first_place is null and complete) as indeterminate_not_landed,
    count(*) filter (first_place is null and (acked_place & 281474976710655) < log_start)
        as acked_below_log_start,
    count(*) filter (first_place is null and (acked_place & 281474976710655) < log_start and unread)
        as expired_unread,
    count(*) filter (superseded and sent = 4
        and coalesce((acked_place & 281474976710655) >= log_start, true)) as superseded,
    count(*) filter (sent = 3 and first_place is null and complete and log_start = 0
        and not superseded) as unacknowledged_lost,
    count(*) filter (past and gone) as lost_past_log_end,
    count(*) filter (past and first_place is not null) as kept_past_log_end,
    count(*) filter (sent = 1 and not coalesce(was_aborted, false) and first_place is not null)
        as failed_landed,
    count(*) filter (first_place is null and (
        (sent = 1 and not coalesce(was_aborted, false))
        or (sent = 2 and complete and log_start = 0 and not superseded))) as undelivered,
    quantile_cont(round((had_ns - intended_ns) / 1e6, 2), [0.5, 0.95, 0.99, 0.999, 1.0])
        filter (sent is not null) as latency_ms
from due;

create temp table errors as
select error, count(*) as sends, min(coalesce(end_ns, start_ns)) as first_ns
from operations
where f = 'send' and type <> 'ok' and coalesce(error, '') not in ('_ABORTED', '_NO_ACK')
group by error;

create temp table after_faults as
select "partition", min("offset") filter (f = 'send' and end_ns > since_ns) as acked_from,
    coalesce(max(case when f = 'process' then "offset" when f in ('commit', 'committed') then "offset" - 1 end), -1)
        as done_to
from operations, (select max(coalesce(end_ns, invoke_ns)) as since_ns from faults)
where type = 'ok' and "offset" is not null
group by "partition"
having acked_from is not null;

create temp table redeliveries as
select coalesce(sum(given - bit_count(seen)), 0)::bigint as redeliveries from (
    select count(*) as given, bit_or(1::ubigint << ("offset" & 63)) as seen
    from operations
    where f in ('read', 'poll') and type = 'ok'
    group by case when f = 'read' then process end, "partition", "offset" >> 6
);

create temp table acks as
select "partition", from_ns, count(*) as acks
from (select "partition", end_ns from operations where f = 'send' and type = 'ok') as acked
asof join cuts on acked.end_ns >= cuts.from_ns
where acked.end_ns < (select load_end_ns from run)
group by all;

create temp table positions as
select slice_ns, greatest(0, floor((end_ns - load_start_ns) / slice_ns))::bigint as slice, "partition",
    case f when 'poll' then 'consumer group' when 'read' then process end as reader,
    max("offset") + 1 as position
from operations, run
where ((f = 'send' and type = 'ok') or (f in ('read', 'poll') and type = 'ok'))
    and "offset" is not null and end_ns <= load_end_ns
group by all;

-- Every send with a number, and the few that the page draws.
create temp table drawn as
with sized as (
    select acked, failed + indeterminate as unacked, latency_ms[3] as p99_ms, latency_ms[4] as p999_ms,
        latency_ms[5] as max_ms
    from counts where bucket is null
),
numbered as (
    select type, intended_ns as due_ns, end_ns, round((end_ns - intended_ns) / 1e6, 2) as ms,
        type = 'ok' as was_acked, (hash(process, id) >> 33)::bigint as draw
    from operations where f = 'send'
)
select type, due_ns, end_ns from numbered, sized
where (was_acked and ms >= max_ms) or draw < 2147483648 * 1000 / greatest(1000, case
    when not was_acked then unacked
    when ms > p999_ms then acked / 1000 when ms > p99_ms then acked / 100 else acked end);
