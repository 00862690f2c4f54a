-- One row a value: what became of it, and what the group did to it (analysis.frames.operations.fates,
-- analysis.checks.groups.handling). One aggregation; the few values with several places are looked
-- at once more.
create temp table fates as
with seen as (
    select
        value,
        max(case when f = 'send' then
            case type when 'ok' then 4 when 'fail' then 1
            else case when error = '_NO_ACK' then 3 else 2 end end end) as sent,
        max("partition") filter (f = 'send') as home,
        max(instance) filter (f = 'send') as instance,
        max("transaction") filter (f = 'send') as transaction_number,
        max(process) filter (f = 'send') as client,
        max(error) filter (f = 'send' and type = 'fail') as fail_error,
        bool_and(coalesce(error, '') = '_ABORTED') filter (f = 'send' and type = 'fail') as was_aborted,
        min(intended_ns) filter (f = 'send') as intended_ns,
        min(start_ns) filter (f = 'send') as sent_ns,
        max(end_ns) filter (f = 'send') as ended_ns,
        min(end_ns) filter (f = 'send' and type = 'ok') as acked_ns,
        max(place) filter (f = 'send' and type = 'ok') as acked_place,
        min(end_ns) filter (delivery) as delivered_ns,
        max(place) filter (delivery) as delivered_place,
        min(place) filter (delivery or f = 'final-read') as lowest_place,
        max(place) filter (delivery or f = 'final-read') as highest_place,
        min(place) filter (f = 'final-read') as first_place,
        max(place) filter (f = 'final-read') as last_place,
        max(end_ns) filter (f = 'lookup' and type <> 'ok') as gave_up_ns,
        min(end_ns) filter (f = 'poll') as polled_ns,
        min(end_ns) filter (f = 'process' and type = 'ok') as done_ns,
        count(*) filter (f = 'process' and type = 'ok') as processed,
        count(*) filter (f = 'process' and type = 'info') as begun,
        count(*) filter (f = 'process' and type = 'fail') as failed
    from operations
    where value is not null
    group by value
),
placed as (
    select
        seen.* replace (coalesce(home, (lowest_place >> 48)::integer) as home),
        case when first_place is null then 0 when first_place = last_place then 1 end as copies,
        coalesce(acked_place = first_place or acked_place = last_place, false) as stayed
    from seen
)
select
    placed.*,
    coalesce(ends.complete, false) as complete,
    coalesce(ends.log_start, 0) as log_start,
    coalesce(
        not stayed and not coalesce(ends.complete, false)
        and (acked_place & 281474976710655) >= coalesce(ends.log_start, 0)
        and (acked_place & 281474976710655) < ends.position, false
    ) as passed
from placed left join ends on ends."partition" = placed.home;

create temp table several as
select value, count(distinct place) as copies, list(distinct place) as places
from operations
where f = 'final-read' and value in (select value from fates where first_place <> last_place)
group by value;
update fates set copies = several.copies, stayed = coalesce(list_contains(places, acked_place), false)
from several where several.value = fates.value;

-- Where readers were given what the final read does not have there.
create temp table apart as
select value, max(place) as apart_place, arg_max(delivered_ns, place) as apart_ns
from (
    select value, place, min(end_ns) filter (delivery) as delivered_ns,
        bool_or(f = 'final-read') as is_there
    from operations
    where value in (
        select value from fates
        where complete and (lowest_place < first_place or highest_place > last_place or copies > 1)
    )
    group by value, place
)
where delivered_ns is not null and not is_there
group by value;

-- Whoever was processed more than once: at one place?
create temp table handled_again as
select
    value,
    arg_max(place, times) as processed_place,
    max(times) as processed,
    arg_max(processed_ns, times) as processed_ns,
    arg_max(members, times) as members
from (
    select value, place, count(*) as times, max(end_ns) as processed_ns,
        count(distinct process) as members
    from operations
    where f = 'process' and type = 'ok' and value in (select value from fates where processed > 1)
    group by value, place
)
group by value having max(times) > 1;
