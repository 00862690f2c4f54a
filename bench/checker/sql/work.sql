-- What each worker did, and which faults met its sends (analysis.measures.work_done).
create temp table left_sends as
select process, type, "partition", start_ns,
    coalesce(end_ns, died_ns, (select load_end_ns from run)) as until_ns, error
from operations left join deaths on deaths.producer = (value >> 40)
where f = 'send' and not (
    type = 'fail' and coalesce(error, '') like '\_%' escape '\' and coalesce(error, '') not in
        ('_ABORTED', '_MSG_TIMED_OUT', '_PURGE_QUEUE', '_PURGE_INFLIGHT', '_NO_ACK')
);

create temp table reaching as
select process, type, "partition", start_ns, max(until_ns) over (
    partition by process, type, "partition" order by start_ns
    range between unbounded preceding and current row) as reach_ns
from left_sends;

create temp table met as
with spans as (
    select fault, 'met' as what, coalesce(end_ns, 4611686018427387903)
            + case when end_ns - invoke_ns < 1000000000 then 1000000000 else 0 end as latest_ns,
        invoke_ns - case when end_ns - invoke_ns < 1000000000 then 1000000000 else 0 end as reach_ns
    from faults
    union all
    select fault, 'before', invoke_ns, invoke_ns - 2000000000 from faults
),
asked as (
    select * from (select distinct process, type, "partition" from reaching), spans
)
select asked.process, asked.type, asked."partition",
    list(fault order by fault) filter (what = 'met') as met,
    list(fault order by fault) filter (what = 'before') as before
from asked asof join reaching
    on asked.process = reaching.process and asked.type = reaching.type
    and asked."partition" = reaching."partition" and reaching.start_ns <= asked.latest_ns
where reaching.reach_ns >= asked.reach_ns
group by all;

create temp table work as
with unanswered as (
    select process, type, "partition", count(*) as unexplained
    from operations as o left join deaths on deaths.producer = (value >> 40)
    where f = 'send' and type <> 'ok' and coalesce(error, '') not in ('_ABORTED', '_NO_ACK')
        and not exists (
            select 1 from faults where explains
                and o.start_ns <= coalesce(faults.end_ns, 4611686018427387903)
                and coalesce(o.end_ns, died_ns, (select load_end_ns from run)) >= faults.invoke_ns)
    group by all
),
leaving as (
    select process, type, "partition", count(*) as times, min(start_ns) as loaded_from_ns,
        max(until_ns) as loaded_until_ns
    from left_sends group by all
),
counted as (
    select process, f, type, "partition", count(*) as count, min(start_ns) as first_ns,
        max(coalesce(end_ns, start_ns)) as last_ns
    from operations group by all
)
select counted.*,
    case when f = 'send' then count - coalesce(times, 0) else 0 end as refused,
    case when f = 'send' then coalesce(unexplained, 0) else 0 end as unexplained,
    case when f = 'send' then loaded_from_ns end as loaded_from_ns,
    case when f = 'send' then loaded_until_ns end as loaded_until_ns,
    case when f = 'send' then coalesce(met, []) else [] end as met,
    case when f = 'send' then coalesce(before, []) else [] end as before
from counted
left join unanswered using (process, type, "partition")
left join leaving using (process, type, "partition")
left join met using (process, type, "partition");
