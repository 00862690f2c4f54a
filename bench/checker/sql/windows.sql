-- Windows of unavailability (analysis.checks.unavailability): gaps from the first and last success in
-- each slice of time, and what was attempted in them. Gaps of a kind and partition follow one
-- another, so each attempt finds its first and its last one by a search, not by a join with all.
create temp table gaps as
with slices as (
    select
        case when f = 'send' then 'produce' when f = 'process' then 'process' else 'consume' end as kind,
        "partition", floor((end_ns - load_start_ns) / threshold_ns)::bigint as slice,
        min(end_ns) as to_ns, max(end_ns) as last_ns, min("offset") as least, max("offset") as most
    from operations, run
    where ((f = 'send' and type = 'ok') or delivery or (f = 'process' and type = 'ok'))
        and end_ns between load_start_ns and load_end_ns
    group by all
),
bounded as (
    from slices
    union all
    select kind, "partition", bound.slice, bound.at_ns, bound.at_ns, null, null
    from ends, run, (select unnest(['produce', 'consume', 'process']) as kind),
        lateral (select unnest([
            {'slice': -1, 'at_ns': load_start_ns}, {'slice': 4611686018427387904, 'at_ns': load_end_ns}
        ]) as bound)
),
ordered as (
    select *,
        lag(last_ns) over (w order by slice) as from_ns,
        max(most) over (w order by slice rows between unbounded preceding and 1 preceding) as reached,
        min(least) over (w) as first_offset
    from bounded, run
    where kind = 'produce' or (kind = 'consume' and tailing) or (kind = 'process' and grouped)
    window w as (partition by kind, "partition")
)
select kind, "partition", from_ns, to_ns, reached, first_offset,
    case when slice < 4611686018427387904 then to_ns end as next_success_ns,
    row_number() over (partition by kind, "partition" order by from_ns) as number
from ordered
where to_ns - from_ns >= (select threshold_ns from run);

-- Of the many short attempts only those that begin or end in a slice of a gap can meet one.
create temp table slices_of_gaps as
select distinct unnest(generate_series(from_ns >> 28, to_ns >> 28)) as slice from gaps;

create temp table windows as
with readable as (
    select fates.*, died_ns,
        not (first_place is null and (complete or (passed and (select one_copy from run)))) as is_there
    from fates left join deaths on deaths.producer = (value >> 40)
),
tried as (
    select 'produce' as kind, home as "partition", sent_ns as start_ns,
        coalesce(ended_ns, died_ns) as end_ns, null::bigint as done_ns, null::bigint as at_offset
    from readable where sent_ns is not null
    union all
    select 'consume', home, acked_ns, delivered_ns, null, null
    from readable
    where sent = 4 and is_there and (delivered_ns is null or delivered_ns > acked_ns)
    union all
    select 'process', home, acked_ns, done_ns, done_ns,
        coalesce(first_place, acked_place) & 281474976710655
    from readable
    where sent = 4 and is_there and (done_ns is null or done_ns > acked_ns)
),
near as (
    select * from tried
    where end_ns is null or end_ns - start_ns >= 1 << 28
        or (start_ns >> 28) in (select slice from slices_of_gaps)
        or (end_ns >> 28) in (select slice from slices_of_gaps)
),
first_gaps as (
    select near.*, gaps.number as first_number
    from near asof join gaps
        on near.kind = gaps.kind and near."partition" = gaps."partition"
        and near.start_ns < gaps.to_ns
    where gaps.from_ns < coalesce(near.end_ns, gaps.to_ns)
),
numbered as (
    select first_gaps.*, last_gaps.number as last_number
    from first_gaps asof join gaps as last_gaps
        on first_gaps.kind = last_gaps.kind and first_gaps."partition" = last_gaps."partition"
        and coalesce(first_gaps.end_ns, 9223372036854775807) > last_gaps.from_ns
),
attempts as (
    select gaps.kind, gaps."partition", from_ns, next_success_ns,
        greatest(start_ns, from_ns) as start_ns, least(coalesce(end_ns, to_ns), to_ns) as end_ns
    from (
        select *, unnest(generate_series(first_number, last_number)) as number from numbered
    ) as each_gap
    join gaps using (kind, "partition", number)
    where kind <> 'process' or done_ns is not null
        or not (coalesce(reached >= at_offset, false) or coalesce(at_offset < first_offset, false))
),
paused as (
    select *, start_ns - max(end_ns) over (
        partition by kind, "partition", from_ns order by start_ns
        rows between unbounded preceding and 1 preceding) >= (select threshold_ns from run) as begins
    from attempts
),
stretched as (
    select *, sum(coalesce(begins, false)::integer) over (
        partition by kind, "partition", from_ns order by start_ns
        rows between unbounded preceding and current row) as stretch
    from paused
)
select kind, "partition", min(start_ns) as start_ns, max(end_ns) as end_ns, next_success_ns,
    count(*) as attempts
from stretched
group by kind, "partition", from_ns, next_success_ns, stretch
having max(end_ns) - min(start_ns) >= (select threshold_ns from run);
