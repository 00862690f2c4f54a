-- What is odd about readers' steps, beside the log (analysis.frames.steps).
create temp table log as
select "partition", "offset", min(value) as read, min(end_ns) as end_ns
from operations where f = 'final-read' group by "partition", "offset";

create temp table odd_steps as
with given as (
    select
        process as reader, "partition", "offset", value as read, start_ns, end_ns, epoch, instance,
        lag("offset") over w as from_offset, lag(value) over w as from_value,
        lag(start_ns) over w as from_ns, lag(epoch) over w as from_epoch
    from operations
    where f = 'final-read' or (delivery and f <> 'lookup')
    window w as (partition by process, instance, "partition" order by id)
)
select given.*,
    case when from_value <> final_value then final_value end as other_value
from given left join odd_places
    on odd_places.place = ((given."partition"::bigint << 48) | from_offset)
    and odd_places.final_value is not null
where from_offset is not null and (
    "offset" <> from_offset + 1
    or coalesce(from_value <> final_value, false)
    or coalesce(epoch < from_epoch, false)
);

create temp table steps as
with beside as (
    select odd_steps.*, log."offset" as kept_offset, log.read as kept_value
    from odd_steps asof left join log
        on odd_steps."partition" = log."partition" and odd_steps."offset" > log."offset"
),
telling as (
    select * from beside
    where not ("offset" > from_offset) or kept_offset > from_offset or other_value is not null
        or epoch < from_epoch
),
unmoved as (
    select telling.*, coalesce(log.read = telling.read, false) as confirmed
    from telling left join log
        on log."partition" = telling."partition" and log."offset" = telling."offset"
    where not exists (
        select 1 from moves
        where moves.process = telling.reader
            and (moves."partition" is null or moves."partition" = telling."partition")
            and moves.time_ns >= telling.from_ns and moves.since_ns <= telling.end_ns
    )
)
select 'skip' as odd, coalesce(other_value, kept_value) as value, * exclude (read)
from unmoved
where confirmed and "offset" > from_offset
    and (instance is not null or not (select to_end from run))
    and (coalesce(kept_offset > from_offset, false) or other_value is not null)
union all
select 'back', read, * exclude (read)
from unmoved
where instance is not null and "offset" <= from_offset
    and not (coalesce(epoch > from_epoch, false) and other_value is not null)
union all
select 'older', read, * exclude (read)
from unmoved where "offset" > from_offset and coalesce(epoch < from_epoch, false);

-- Holes, where each offset is a record's.
create temp table holes as
with logged as (
    select "partition", "offset", end_ns,
        lag("offset") over (partition by "partition" order by "offset") as kept_offset
    from (
        select "partition", "offset", end_ns from log
        union all
        select "partition", position, null from ends where complete
    )
    where (select dense from run)
)
select logged."partition", logged."offset", end_ns,
    greatest(coalesce(kept_offset + 1, 0), coalesce(log_start, 0)) as next_offset
from logged join ends using ("partition")
where complete and (end_ns is not null or kept_offset is not null)
    and logged."offset" > greatest(coalesce(kept_offset + 1, 0), coalesce(log_start, 0));
