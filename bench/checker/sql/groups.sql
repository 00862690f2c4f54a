-- What the consumer group skipped and committed (analysis.checks.groups).
create temp table progress as
select "partition",
    min("offset") filter (f = 'poll') as started,
    arg_max("offset", end_ns) filter (f in ('commit', 'committed') and type = 'ok') as committed,
    max(end_ns) filter (f in ('commit', 'committed') and type = 'ok') as committed_ns
from operations where f in ('poll', 'commit', 'committed')
group by "partition";

-- What a reset passed over while it was in the log was there, too, though it was deleted later.
create temp view once_there as
select fates.* replace (coalesce(first_place, case
    when complete and (acked_place & 281474976710655) < log_start and exists (
        select 1 from passed_over where "partition" = (acked_place >> 48)
            and (acked_place & 281474976710655) >= from_offset
            and (acked_place & 281474976710655) < to_offset
    ) then acked_place end) as first_place)
from fates;

create temp table skipped as
select fates.* exclude (polled_ns), last_poll.polled_ns, committed_ns
from once_there as fates
join progress on progress."partition" = (first_place >> 48)
left join (
    select value, max(end_ns) as polled_ns from operations where f = 'poll'
        and value in (select value from fates where processed = 0 and begun = 0)
    group by value
) as last_poll on last_poll.value = fates.value
where processed = 0 and begun = 0 and (first_place & 281474976710655) < committed
    and (first_place & 281474976710655) >= least(started, (
        select min(from_offset) from passed_over where "partition" = (first_place >> 48)));

create temp table answers as
with asked as (
    select process as reader, id, "partition", "offset", start_ns, end_ns from operations
    where f = 'committed' and start_ns < end_ns
),
commits as (
    select "partition", "offset" as upto, start_ns as begun_ns, end_ns as acked_ns,
        type = 'ok' and start_ns < end_ns as acked
    from operations where f = 'commit' and type <> 'fail'
)
select reader, asked."partition", "offset", end_ns,
    arg_max(upto, begun_ns) filter (acked and upto > "offset" and acked_ns < start_ns) as higher,
    arg_max(acked_ns, begun_ns) filter (acked and upto > "offset" and acked_ns < start_ns)
        as higher_acked_ns,
    max(begun_ns) filter (acked and upto > "offset" and acked_ns < start_ns) as higher_begun_ns,
    max(case when acked then acked_ns else 9223372036854775807 end)
        filter (coalesce(upto = "offset", true) and begun_ns <= end_ns) as same_ns
from asked join commits using ("partition")
where (acked and upto > "offset" and acked_ns < start_ns)
    or (coalesce(upto = "offset", true) and begun_ns <= end_ns)
group by reader, id, asked."partition", "offset", end_ns
having higher is not null;

create temp table zombies as
select o.process as reader, o."partition", o."offset", o.start_ns, o.end_ns, since_ns
from operations as o join outdated
    on o.process = outdated.process and o.generation = outdated.generation
where f = 'commit' and type = 'ok' and o.start_ns < o.end_ns and o.start_ns > since_ns
    and not coalesce(until_ns <= o.end_ns, false);
