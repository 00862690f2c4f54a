-- Places with two values, or with a payload that is none (analysis.frames.operations.places,
-- analysis.frames.claims).
create temp table odd_places as
select
    place,
    min(value) as value,
    max(value) as other_value,
    max(value) filter (f = 'final-read') as final_value,
    min(end_ns) filter (f <> 'send' and value is null) as garbled_ns,
    min(end_ns) filter (delivery) as delivered_ns
from operations
where delivery or f = 'final-read' or (f = 'send' and type = 'ok' and place is not null)
group by place
having min(value) <> max(value) or count(*) filter (value is null) > 0;

create temp table contested as
select
    odd_places.*,
    claims.known_ns,
    coalesce(garbled_ns is not null and place in (select place from corrupt), false) as corrupt
from odd_places left join (
    select place, min(end_ns) as known_ns
    from operations
    where place in (select place from odd_places) and value is not null
        and (delivery or f = 'final-read' or (f = 'send' and type = 'ok'))
    group by place
) as claims using (place);
